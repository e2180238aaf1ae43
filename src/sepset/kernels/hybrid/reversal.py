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

from typing import Any, NamedTuple

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


class Rows(NamedTuple):
    """The slopes of all rows, and for each number a list of the rows that may depend on it.

    Attributes:
        at, length: where the slopes of each row begin, and their number.
        column, weight: the numbers that they belong to, and the slopes.
        head, listed, following: the first place of each number in the lists; the row and the next place there.
    """

    at: Ints
    length: Ints
    column: Ints
    weight: Floats
    head: Ints
    listed: Ints
    following: Ints


class Clique(NamedTuple):
    """The rows that depend on a number, and its own, over the other numbers in them.

    Attributes:
        rows: hidden numbers first, then findings.
        columns: the other numbers.
        slope: of the number itself in each row.
        A, own: the slopes of the others in each row, and in that of the number.
        was: which slopes were there.
    """

    rows: Ints
    columns: Ints
    slope: Floats
    A: Floats
    own: Floats
    was: Bytes


class Marks(NamedTuple):
    """In which turn each row was seen and each number was given its place in a clique, and that place."""

    seen: Ints
    marked: Ints
    local: Ints


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
    rows, used, links = _first_rows(start, above, slopes, kinds)
    noise = np.zeros((2, n))
    noise[0] = variance
    steps, factors, taken = np.empty(max(64, 4 * n), np.int64), np.empty((2, max(64, 4 * n))), 0
    begin, below, given = np.zeros(len(order) + 1, np.int64), np.empty(len(rows.column), np.int64), rows.weight.copy()
    marks = Marks(np.full(n, -1), np.full(n, -1), np.zeros(n, np.int64))
    for turn in range(len(order)):
        if cancel[0]:
            break
        x = order[turn]
        found, hidden = _dependent(x, turn, rows, kinds, marks)
        clique = _clique(x, turn, rows, found, hidden, marks)
        num, width = clique.was.shape
        need = 2 * (taken + num + (num - hidden) * width)
        if need >= len(steps):
            steps, factors = _places(steps, need), _room(factors, need)
        for k in range(num):
            _reverse(clique, k, x, noise, steps, factors, taken, keep, gone)
            if k < hidden:
                place = marks.local[clique.rows[k]]
                clique.own[0, place], clique.own[1, place] = -factors[0, 2 * taken + 1], -factors[1, 2 * taken + 1]
            taken += 1
        if num - hidden > width:
            taken = _combine(clique, noise, hidden, steps, factors, taken, keep, gone)
        kept = begin[turn]
        if kept + width >= len(below):
            below, given = _places(below, kept + width), _room(given, kept + width)
        begin[turn + 1], rows.length[x] = _conditional(clique, below, given, kept), 0
        rows = _with_room(rows, used + num * width, links + num * width)
        used, links = _put_back(clique, rows, used, links)
    kept = begin[len(order)]
    return steps[: 2 * taken], factors[:, : 2 * taken], begin, below[:kept], given[:, :kept], noise


@kernel(inner=True)
def _first_rows(start: Ints, above: Ints, slopes: Floats, kinds: Bytes) -> tuple[Rows, int, int]:
    """The rows as they are given, without findings, and the places used of slopes and lists."""
    n, capacity, used = len(kinds), max(64, 4 * len(above)), 0
    rows = Rows(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.empty(capacity, np.int64), np.empty((2, capacity)),
        np.full(n, -1), np.empty(capacity, np.int64), np.empty(capacity, np.int64),
    )  # fmt: skip
    for i in range(n):
        rows.at[i] = used
        if kinds[i] == 0:
            continue
        for edge in range(start[i], start[i + 1]):
            j = above[edge]
            if kinds[j] == HIDDEN and slopes[edge] != 0.0:
                rows.column[used], rows.weight[0, used], rows.weight[1, used] = j, slopes[edge], 0.0
                rows.listed[used], rows.following[used], rows.head[j] = i, rows.head[j], used
                used += 1
        rows.length[i] = used - rows.at[i]
    return rows, used, used


@kernel(inner=True)
def _with_room(rows: Rows, slopes: int, links: int) -> Rows:
    """The same rows, with room for at least so many slopes and places in lists."""
    column, weight, listed, following = rows.column, rows.weight, rows.listed, rows.following
    if slopes >= len(column):
        column, weight = _places(column, slopes), _room(weight, slopes)
    if links >= len(listed):
        listed, following = _places(listed, links), _places(following, links)
    return Rows(rows.at, rows.length, column, weight, rows.head, listed, following)


@kernel(inner=True)
def _depends(rows: Rows, r: int, x: int) -> bool:
    """Whether a row has a slope for a number."""
    for e in range(rows.at[r], rows.at[r] + rows.length[r]):
        if rows.column[e] == x:
            return True
    return False


@kernel(inner=True)
def _dependent(x: int, turn: int, rows: Rows, kinds: Bytes, marks: Marks) -> tuple[Ints, int]:
    """The rows that depend on a number, each once, hidden ones first, parents first; and how many are hidden."""
    num, hidden, link = 0, 0, rows.head[x]
    found = np.empty(16, np.int64)
    while link >= 0:
        r = rows.listed[link]
        if marks.seen[r] != turn and _depends(rows, r, x):
            if num == len(found):
                found = _places(found, num)
            found[num] = r
            num, hidden = num + 1, hidden + (kinds[r] == HIDDEN)
        marks.seen[r], link = turn, rows.following[link]
    chosen, first, second = np.sort(found[:num]), 0, hidden
    for r in chosen:
        if kinds[r] == HIDDEN:
            found[first] = r
            first += 1
        else:
            found[second] = r
            second += 1
    return found[:num], hidden


@kernel(inner=True)
def _clique(x: int, turn: int, rows: Rows, found: Ints, hidden: int, marks: Marks) -> Clique:
    """The rows that depend on a number, over all other numbers in them; children that are hidden are among these."""
    num, width, most = len(found), 0, hidden + rows.length[x]
    for r in found:
        most += rows.length[r]
    columns = np.empty(most, np.int64)
    for k in range(-1, num):
        r = x if k < 0 else found[k]
        for e in range(rows.at[r], rows.at[r] + rows.length[r] + (0 <= k < hidden)):
            j = r if e == rows.at[r] + rows.length[r] else rows.column[e]
            if j != x and marks.marked[j] != turn:
                marks.marked[j], marks.local[j], columns[width] = turn, width, j
                width += 1
    slope, own = np.zeros((2, num)), np.zeros((2, width))
    A, was = np.zeros((2, num, width)), np.zeros((num, width), np.uint8)
    for e in range(rows.at[x], rows.at[x] + rows.length[x]):
        c = marks.local[rows.column[e]]
        own[0, c], own[1, c] = rows.weight[0, e], rows.weight[1, e]
    for k in range(num):
        for e in range(rows.at[found[k]], rows.at[found[k]] + rows.length[found[k]]):
            if rows.column[e] == x:
                slope[0, k], slope[1, k] = rows.weight[0, e], rows.weight[1, e]
            else:
                c = marks.local[rows.column[e]]
                A[0, k, c], A[1, k, c], was[k, c] = rows.weight[0, e], rows.weight[1, e], 1
    return Clique(found, columns[:width], slope, A, own, was)


@kernel(inner=True)
def _reverse(
    clique: Clique, k: int, x: int, noise: Floats, steps: Ints, factors: Floats, taken: int, keep: float, gone: float
) -> None:
    """Turn one row of a clique around, and keep the step."""
    r, A, own = clique.rows[k], clique.A, clique.own
    d, low_d = clique.slope[0, k], clique.slope[1, k]
    total, low_total, gain, low_gain, share, low_share = _turn(
        d, low_d, noise[0, r], noise[1, r], noise[0, x], noise[1, x], keep
    )
    for c in range(own.shape[1]):
        a, low_a, b, low_b = A[0, k, c], A[1, k, c], own[0, c], own[1, c]
        if b == 0.0 and a == 0.0:
            continue
        A[0, k, c], A[1, k, c] = _plus(a, low_a, d, low_d, b, low_b, keep, gone)
        b, low_b = multiply(share, low_share, b, low_b)
        own[0, c], own[1, c] = _plus(b, keep * low_b, -gain, -low_gain, a, low_a, keep, gone)
    _settle(r, x, d, low_d, gain, low_gain, share, low_share, noise, steps, factors, taken, keep)
    noise[0, r], noise[1, r] = total, low_total


@kernel(inner=True)
def _settle(
    r: int, x: int, d: float, low_d: float, gain: float, low_gain: float, share: float, low_share: float,
    noise: Floats, steps: Ints, factors: Floats, taken: int, keep: float,
) -> None:  # fmt: skip
    """Keep a step, and the share of its source's noise that it leaves."""
    noise[0, x], noise[1, x] = multiply(share, low_share, noise[0, x], noise[1, x])
    noise[1, x] *= keep
    steps[2 * taken], steps[2 * taken + 1] = r, x
    factors[0, 2 * taken], factors[1, 2 * taken] = d, low_d
    factors[0, 2 * taken + 1], factors[1, 2 * taken + 1] = -gain, -low_gain


@kernel(inner=True)
def _conditional(clique: Clique, below: Ints, given: Floats, kept: int) -> int:
    """Keep what a number depends on once nothing depends on it; the places used."""
    for c in range(len(clique.columns)):
        if clique.own[0, c] != 0.0:
            below[kept], given[0, kept], given[1, kept] = clique.columns[c], clique.own[0, c], clique.own[1, c]
            kept += 1
    return kept


@kernel(inner=True)
def _put_back(clique: Clique, rows: Rows, used: int, links: int) -> tuple[int, int]:
    """Put the rows of a clique back among all, in their old places if these are large enough; the places used."""
    columns, A = clique.columns, clique.A
    for k in range(len(clique.rows)):
        r = clique.rows[k]
        if rows.length[r] < len(columns):
            rows.at[r] = used
        e = rows.at[r]
        for c in range(len(columns)):
            if A[0, k, c] != 0.0:
                j = columns[c]
                rows.column[e], rows.weight[0, e], rows.weight[1, e] = j, A[0, k, c], A[1, k, c]
                e += 1
                if not clique.was[k, c]:
                    rows.listed[links], rows.following[links], rows.head[j] = r, rows.head[j], links
                    links += 1
        rows.length[r] = e - rows.at[r]
        used = max(used, e)
    return used, links


@kernel(inner=True)
def _strongest(clique: Clique, c: int, noise: Floats, first: int, used: Bytes) -> int:
    """Of the findings that are not used, the one that says most about a number; -1 if none depends on it."""
    chosen, most = -1, 0.0
    for k in range(first, len(clique.rows)):
        if not used[k] and clique.A[0, k, c] != 0.0:
            strength = abs(clique.A[0, k, c]) / np.sqrt(noise[0, clique.rows[k]])  # its square may be no float
            if chosen < 0 or strength > most:
                chosen, most = k, strength
    return chosen


@kernel(inner=True)
def _combine(
    clique: Clique, noise: Floats, first: int, steps: Ints, factors: Floats, taken: int, keep: float, gone: float
) -> int:
    """Combine findings until each number has at most one row that it comes first in; the number of steps so far."""
    rows, A, used = clique.rows, clique.A, np.zeros(len(clique.rows), np.uint8)
    for c in range(len(clique.columns)):
        pivot = _strongest(clique, c, noise, first, used)
        if pivot < 0:
            continue
        used[pivot], p = 1, rows[pivot]
        for k in range(first, len(rows)):
            if used[k] or A[0, k, c] == 0.0:
                continue
            r = rows[k]
            ratio, low_ratio = divide(A[0, k, c], A[1, k, c], A[0, pivot, c], A[1, pivot, c])
            ratio, low_ratio = -ratio, -keep * low_ratio
            total, low_total, gain, low_gain, share, low_share = _turn(
                ratio, low_ratio, noise[0, r], noise[1, r], noise[0, p], noise[1, p], keep
            )
            for j in range(c + 1, len(clique.columns)):
                a, low_a, b, low_b = A[0, k, j], A[1, k, j], A[0, pivot, j], A[1, pivot, j]
                A[0, k, j], A[1, k, j] = _plus(a, low_a, ratio, low_ratio, b, low_b, keep, gone)
                b, low_b = multiply(share, low_share, b, low_b)
                A[0, pivot, j], A[1, pivot, j] = _plus(b, keep * low_b, -gain, -low_gain, a, low_a, keep, gone)
            A[0, k, c], A[1, k, c] = 0.0, 0.0
            _settle(r, p, ratio, low_ratio, gain, low_gain, share, low_share, noise, steps, factors, taken, keep)
            noise[0, r], noise[1, r] = total, low_total
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
        if cancel[0]:
            break
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
