r"""Regressions of hidden numbers eliminated one after the other, by the reversal of arcs.

A row is the regression of a hidden number on others, or a finding, $0 = g + A \mathbf z + \varepsilon$. To eliminate
$x = a + B \mathbf u + \varepsilon$, $\varepsilon \sim N(0, c)$, each row $g + d x + A \mathbf u$ of variance $v$ that
depends on it is turned around, hidden numbers first, parents first: with $\alpha = v + d^2 c$ and $k = d c / \alpha$,

$$g \leftarrow g + d a, \quad A \leftarrow A + d B, \quad v \leftarrow \alpha, \qquad
a \leftarrow a - k g, \quad B \leftarrow \frac{v}{\alpha} B - k A, \quad c \leftarrow \frac{v c}{\alpha}.$$

Then nothing depends on $x$, and its row is its distribution given those that are eliminated later. Variances are only
added and multiplied, so that small noise keeps its digits and no noise is a relation. Findings that are more than the
numbers they depend on are combined by the same step: one is turned around by another as if that were a number. The
steps do the same to the constants $g$ and $a$ of all rows of evidence with the same observed numbers.

All numbers are the sum of two floats, as in `twofold`. With `keep` zero the second is dropped after each operation: the
same computation with half of the digits.

Reference: Shachter & Kenley (1989), Gaussian influence diagrams; Bierman (1977), chapter V.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.hybrid.twofold import add, divide, multiply
from sepset.kernels.kernel import kernel

FOUND, HIDDEN = 1, 2


@kernel(inner=True)
def _plus(
    a: float, low_a: float, b: float, low_b: float, c: float, low_c: float, keep: float, gone: float
) -> tuple[float, float]:
    """a + b c; zero if so little is left of the terms that it is rounding."""
    p, low_p = multiply(b, low_b, c, low_c)
    s, low_s = add(a, low_a, p, keep * low_p)
    if abs(s) <= gone * abs(p):
        return 0.0, 0.0
    return s, keep * low_s


@kernel(inner=True)
def _room(numbers: Floats, used: int) -> Floats:
    """The same numbers, with room for at least as many again."""
    made = np.empty((2, 2 * used))
    for i in range(numbers.shape[1]):
        made[0, i], made[1, i] = numbers[0, i], numbers[1, i]
    return made


@kernel(inner=True)
def _places(numbers: Ints, used: int) -> Ints:
    """The same places, with room for at least as many again."""
    made = np.empty(2 * used, np.int64)
    for i in range(len(numbers)):
        made[i] = numbers[i]
    return made


def _passes(*args: Any) -> float:
    """Several hundred operations for each arc and number."""
    return 300.0 * float(args[1].size + args[3].size)


@kernel(inner=True)
def _turn(
    d: float, low_d: float, v: float, low_v: float, c: float, low_c: float, keep: float
) -> tuple[float, float, float, float, float, float]:
    """The variance of a row without a number of slope d and variance c, the gain, and the share of its own noise."""
    k, low_k = multiply(d, low_d, c, low_c)
    low_k *= keep
    part, low_part = multiply(d, low_d, k, low_k)
    total, low_total = add(v, low_v, part, keep * low_part)
    low_total *= keep
    if total == 0.0:
        return 0.0, 0.0, 0.0, 0.0, 1.0, 0.0
    gain, low_gain = divide(k, low_k, total, low_total)
    share, low_share = divide(v, low_v, total, low_total)
    return total, low_total, gain, keep * low_gain, share, keep * low_share


@kernel(work=_passes)
def reverse_arcs(
    start: Ints, above: Ints, slopes: Floats, variance: Floats, kinds: Bytes, order: Ints, keep: float, gone: float,
    cancel: Bytes,
) -> tuple[Ints, Floats, Ints, Ints, Floats, Floats]:  # fmt: skip
    """The steps of an elimination, and the distribution of each hidden number given those eliminated later.

    Args:
        start, above, slopes: the parents of each number, which come first, and their slopes.
        variance: of the noise of each.
        kinds: 1 if it was found, 2 if it is hidden, 0 if it is not needed.
        order: the hidden numbers, first eliminated first.
        gone: the relative size below which a difference is rounding.

    Returns:
        The row and the source of each step (rows) and its two multipliers; where the conditional of each number in the
        order begins, the numbers it depends on and their slopes; the variances that are left of each row.
    """
    n = len(kinds)
    at, length, capacity = np.zeros(n, np.int64), np.zeros(n, np.int64), max(64, 4 * len(above))
    column, weight, used = np.empty(capacity, np.int64), np.empty((2, capacity)), 0
    head, listed, following, links = np.full(n, -1), np.empty(capacity, np.int64), np.empty(capacity, np.int64), 0
    noise = np.zeros((2, n))
    for i in range(n):
        noise[0, i] = variance[i]
        at[i] = used
        if kinds[i] == 0:
            continue
        for edge in range(start[i], start[i + 1]):
            j = above[edge]
            if kinds[j] == HIDDEN and slopes[edge] != 0.0:
                column[used], weight[0, used], weight[1, used] = j, slopes[edge], 0.0
                used += 1
                listed[links], following[links], head[j] = i, head[j], links
                links += 1
        length[i] = used - at[i]
    steps, factors, taken = np.empty(max(64, 4 * n), np.int64), np.empty((2, max(64, 4 * n))), 0
    begin, below, given, kept = (
        np.zeros(len(order) + 1, np.int64),
        np.empty(capacity, np.int64),
        np.empty((2, capacity)),
        0,
    )
    seen, local, marked = np.full(n, -1), np.zeros(n, np.int64), np.full(n, -1)
    rows, columns = np.empty(n, np.int64), np.empty(n, np.int64)
    for turn in range(len(order)):
        if cancel[0]:
            break
        x, num = order[turn], 0
        link = head[x]
        while link >= 0:  # the rows that depend on it, each once
            r = listed[link]
            if seen[r] != turn:
                seen[r] = turn
                for e in range(at[r], at[r] + length[r]):
                    if column[e] == x:
                        rows[num] = r
                        num += 1
                        break
            link = following[link]
        chosen = np.sort(rows[:num])
        hidden = 0
        for r in chosen:
            if kinds[r] == HIDDEN:
                rows[hidden] = r
                hidden += 1
        place = hidden
        for r in chosen:
            if kinds[r] == FOUND:
                rows[place] = r
                place += 1
        width = 0
        for k in range(-1, num):  # the numbers that these rows depend on, and those that are children
            r = x if k < 0 else rows[k]
            for e in range(at[r], at[r] + length[r]):
                j = column[e]
                if j != x and marked[j] != turn:
                    marked[j], local[j], columns[width] = turn, width, j
                    width += 1
            if 0 <= k < hidden and marked[r] != turn:
                marked[r], local[r], columns[width] = turn, width, r
                width += 1
        A, own, was = np.zeros((2, num, width)), np.zeros((2, width)), np.zeros((num, width), np.uint8)
        d = np.zeros((2, num))
        for e in range(at[x], at[x] + length[x]):
            own[0, local[column[e]]], own[1, local[column[e]]] = weight[0, e], weight[1, e]
        for k in range(num):
            r = rows[k]
            for e in range(at[r], at[r] + length[r]):
                if column[e] == x:
                    d[0, k], d[1, k] = weight[0, e], weight[1, e]
                else:
                    c = local[column[e]]
                    A[0, k, c], A[1, k, c], was[k, c] = weight[0, e], weight[1, e], 1
        need = taken + num + (num - hidden) * width
        if 2 * need >= len(steps):
            steps = _places(steps, 2 * need)
            factors = _room(factors, 2 * need)
        for k in range(num):
            r = rows[k]
            total, low_total, gain, low_gain, share, low_share = _turn(
                d[0, k], d[1, k], noise[0, r], noise[1, r], noise[0, x], noise[1, x], keep
            )
            for c in range(width):
                a, low_a, b, low_b = A[0, k, c], A[1, k, c], own[0, c], own[1, c]
                if b == 0.0 and a == 0.0:
                    continue
                A[0, k, c], A[1, k, c] = _plus(a, low_a, d[0, k], d[1, k], b, low_b, keep, gone)
                b, low_b = multiply(share, low_share, b, low_b)
                own[0, c], own[1, c] = _plus(b, keep * low_b, -gain, -low_gain, a, low_a, keep, gone)
            if k < hidden:
                own[0, local[r]], own[1, local[r]] = gain, low_gain
            noise[0, x], noise[1, x] = multiply(share, low_share, noise[0, x], noise[1, x])
            noise[1, x] *= keep
            noise[0, r], noise[1, r] = total, low_total
            steps[2 * taken], steps[2 * taken + 1] = r, x
            factors[0, 2 * taken], factors[1, 2 * taken] = d[0, k], d[1, k]
            factors[0, 2 * taken + 1], factors[1, 2 * taken + 1] = -gain, -low_gain
            taken += 1
        if num - hidden > width:
            taken = _combine(A, rows, noise, hidden, num, width, steps, factors, taken, keep, gone)
        need = kept + width
        if need >= len(below):
            below = _places(below, need)
            given = _room(given, need)
        for c in range(width):
            if own[0, c] != 0.0:
                below[kept], given[0, kept], given[1, kept] = columns[c], own[0, c], own[1, c]
                kept += 1
        begin[turn + 1], length[x] = kept, 0
        need = used + num * width
        if need >= len(column):
            column = _places(column, need)
            weight = _room(weight, need)
        need = links + num * width
        if need >= len(listed):
            listed = _places(listed, need)
            following = _places(following, need)
        for k in range(num):
            r = rows[k]
            if length[r] < width:
                at[r] = used
            length[r], e = 0, at[r]
            for c in range(width):
                if A[0, k, c] != 0.0:
                    column[e], weight[0, e], weight[1, e] = columns[c], A[0, k, c], A[1, k, c]
                    e += 1
                    if not was[k, c]:
                        listed[links], following[links], head[columns[c]] = r, head[columns[c]], links
                        links += 1
            length[r] = e - at[r]
            used = max(used, e)
    return steps[: 2 * taken], factors[:, : 2 * taken], begin, below[:kept], given[:, :kept], noise


@kernel(inner=True)
def _combine(
    A: Floats, rows: Ints, noise: Floats, first: int, last: int, width: int, steps: Ints, factors: Floats, taken: int,
    keep: float, gone: float,
) -> int:  # fmt: skip
    """Combine findings until each number has at most one row that it comes first in; the number of steps so far."""
    used = np.zeros(last, np.uint8)
    for c in range(width):
        pivot, most = -1, 0.0
        for k in range(first, last):
            if not used[k] and A[0, k, c] != 0.0:
                strength = abs(A[0, k, c]) / np.sqrt(noise[0, rows[k]])  # whose square may leave the range of floats
                if pivot < 0 or strength > most:
                    pivot, most = k, strength
        if pivot < 0:
            continue
        used[pivot], p = 1, rows[pivot]
        for k in range(first, last):
            if used[k] or A[0, k, c] == 0.0:
                continue
            r = rows[k]
            ratio, low_ratio = divide(A[0, k, c], A[1, k, c], A[0, pivot, c], A[1, pivot, c])
            ratio, low_ratio = -ratio, -keep * low_ratio
            total, low_total, gain, low_gain, share, low_share = _turn(
                ratio, low_ratio, noise[0, r], noise[1, r], noise[0, p], noise[1, p], keep
            )
            for j in range(c, width):
                a, low_a, b, low_b = A[0, k, j], A[1, k, j], A[0, pivot, j], A[1, pivot, j]
                if j > c:
                    A[0, k, j], A[1, k, j] = _plus(a, low_a, ratio, low_ratio, b, low_b, keep, gone)
                    b, low_b = multiply(share, low_share, b, low_b)
                    A[0, pivot, j], A[1, pivot, j] = _plus(b, keep * low_b, -gain, -low_gain, a, low_a, keep, gone)
            A[0, k, c], A[1, k, c] = 0.0, 0.0
            noise[0, p], noise[1, p] = multiply(share, low_share, noise[0, p], noise[1, p])
            noise[1, p] *= keep
            noise[0, r], noise[1, r] = total, low_total
            steps[2 * taken], steps[2 * taken + 1] = r, p
            factors[0, 2 * taken], factors[1, 2 * taken] = ratio, low_ratio
            factors[0, 2 * taken + 1], factors[1, 2 * taken + 1] = -gain, -low_gain
            taken += 1
    return taken


def _lifting(*args: Any) -> float:
    """Several passes for each row, arc and step."""
    return 30.0 * float(len(args[5]) * (args[1].size + args[6].size + args[3].size))


@kernel(work=_lifting)
def carry_constants(
    start: Ints, above: Ints, slopes: Floats, intercept: Floats, kinds: Bytes, rows: Floats, steps: Ints,
    factors: Floats, constants: Floats, terms: Floats, keep: float, cancel: Bytes,
) -> None:  # fmt: skip
    """The constants of all rows of an elimination, after its steps.

    Args:
        rows: the values of observed numbers, one row per row of evidence.
        steps, factors: from `reverse_arcs`.
        constants: filled, one row per number and one column per row of evidence.
        terms: filled with the largest term of each.
    """
    for i in range(len(kinds)):
        if kinds[i] == 0:
            continue
        for m in range(len(rows)):
            a, low_a, most = intercept[i], 0.0, abs(intercept[i])
            if kinds[i] == FOUND:
                a, low_a = add(a, 0.0, -rows[m, i], 0.0)
                low_a, most = keep * low_a, max(most, abs(rows[m, i]))
            for edge in range(start[i], start[i + 1]):
                if kinds[above[edge]] != HIDDEN:
                    a, low_a = _plus(a, low_a, slopes[edge], 0.0, rows[m, above[edge]], 0.0, keep, 0.0)
                    most = max(most, abs(slopes[edge] * rows[m, above[edge]]))
            constants[0, i, m], constants[1, i, m], terms[i, m] = a, low_a, most
    for step in range(len(steps) // 2):
        if cancel[0]:
            break
        r, x = steps[2 * step], steps[2 * step + 1]
        p, low_p = factors[0, 2 * step], factors[1, 2 * step]
        q, low_q = factors[0, 2 * step + 1], factors[1, 2 * step + 1]
        for m in range(len(rows)):
            a, low_a, b, low_b = constants[0, r, m], constants[1, r, m], constants[0, x, m], constants[1, x, m]
            a, low_a = _plus(a, low_a, p, low_p, b, low_b, keep, 0.0)
            terms[r, m] = max(terms[r, m], abs(p * b))
            constants[0, r, m], constants[1, r, m] = a, low_a
            constants[0, x, m], constants[1, x, m] = _plus(b, low_b, q, low_q, a, low_a, keep, 0.0)
            terms[x, m] = max(terms[x, m], abs(q * a))


def _reading(*args: Any) -> float:
    """Several passes for each row and slope."""
    return 30.0 * float(args[4].shape[2] * (args[2].size + args[0].size))


@kernel(work=_reading)
def read_numbers(
    order: Ints, begin: Ints, below: Ints, given: Floats, constants: Floats, terms: Floats, keep: float, cancel: Bytes
) -> None:
    """Add to the constants of hidden numbers what they are given the numbers eliminated later; last ones first.

    Args:
        order: the hidden numbers, first eliminated first.
        begin, below, given: from `reverse_arcs`.
        constants: those of all numbers after all steps; written over by the numbers.
        terms: the largest term of each; written over.
    """
    for turn in range(len(order) - 1, -1, -1):
        if cancel[0]:
            break
        x = order[turn]
        for e in range(begin[turn], begin[turn + 1]):
            j = below[e]
            for m in range(constants.shape[2]):
                b, low_b = constants[0, j, m], constants[1, j, m]
                terms[x, m] = max(terms[x, m], abs(given[0, e] * b))
                constants[0, x, m], constants[1, x, m] = _plus(
                    constants[0, x, m], constants[1, x, m], given[0, e], given[1, e], b, low_b, keep, 0.0
                )


def _pairs(*args: Any) -> float:
    """Several passes for each pair of a clique."""
    return 60.0 * float(np.square(np.diff(args[0]) + 1.0).sum())


@kernel(work=_pairs)
def spread_cliques(
    start: Ints, scopes: Ints, begin: Ints, below: Ints, given: Floats, variance: Floats, across: Floats, keep: float,
    cancel: Bytes,
) -> None:  # fmt: skip
    r"""The variance of each number, and its covariances with the rest of its clique, last ones first.

    $$\operatorname{cov}(z_i, z_u) = \sum_j B_{ij} \operatorname{cov}(z_j, z_u), \qquad
    \operatorname{var}(z_i) = D_i + \sum_j B_{ij} \operatorname{cov}(z_i, z_j)$$

    Args:
        start, scopes: the clique of each number without itself, ascending; numbers are ranks in the order.
        begin, below, given: the regression of each number on those eliminated later.
        variance: the noise of each number; written over.
        across: filled with the covariances, in the places of `scopes`.
    """
    for i in range(len(start) - 2, -1, -1):
        if cancel[0]:
            break
        for place in range(start[i], start[i + 1]):
            u, s, low_s = scopes[place], 0.0, 0.0
            for e in range(begin[i], begin[i + 1]):
                j = below[e]
                if j == u:
                    c, low_c = variance[0, u], variance[1, u]
                else:
                    least, most = min(j, u), max(j, u)
                    low, high = start[least], start[least + 1]
                    while high - low > 1:
                        middle = (low + high) // 2
                        if scopes[middle] <= most:
                            low = middle
                        else:
                            high = middle
                    c, low_c = across[0, low], across[1, low]
                s, low_s = _plus(s, low_s, given[0, e], given[1, e], c, low_c, keep, 0.0)
            across[0, place], across[1, place] = s, low_s
        place = start[i]
        s, low_s = variance[0, i], variance[1, i]
        for e in range(begin[i], begin[i + 1]):
            while scopes[place] < below[e]:
                place += 1
            s, low_s = _plus(s, low_s, given[0, e], given[1, e], across[0, place], across[1, place], keep, 0.0)
        variance[0, i], variance[1, i] = s, low_s
