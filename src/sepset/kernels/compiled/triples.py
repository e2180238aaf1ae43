r"""Contractions over supports: only products of two entries that can both be positive, listed once, run many times.

A tensor is the list of its cells that can be positive, as flat places in its scope, ascending. A step $d = \sum a b$ is
for each entry of d a list of pairs, places of a and b in one workspace of such entries. The reverse sweep runs over the
same triples:

$$\bar a_i \mathrel{+}= \bar d_k\, b_j, \qquad \bar b_j \mathrel{+}= \bar d_k\, a_i.$$
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints, UInt32s
from sepset.kernels.compiled.sorting import ascending
from sepset.kernels.kernel import kernel

# The largest entry stays within 2 to plus or minus LIMIT; a range of more bits than RANGE is flagged.
LIMIT, RANGE = 60, 450


@kernel
def input_support(
    start: Ints,
    members: Ints,
    strides: Ints,
    offset: int,
    values: Floats,
    cards: Ints,
    rank: Ints,
    number: int,
) -> tuple[Ints, Ints]:
    """The cells of a factor over its ranked variables, ascending by rank, that are positive for some values of the
    others; and the place in the store of each, with the others' codes zero."""
    begin, arity = start[number], start[number + 1] - start[number]
    step = np.zeros(arity, np.int64)
    size = 1
    for _ in range(arity):
        best = -1
        for k in range(arity):
            r = rank[members[begin + k]]
            if r >= 0 and step[k] == 0 and (best < 0 or r > rank[members[begin + best]]):
                best = k
        if best >= 0:
            step[best] = size
            size *= cards[members[begin + best]]
    total = 1
    for k in range(arity):
        total *= cards[members[begin + k]]
    home = np.full(size, -1, np.int64)
    for i in range(total):
        cell, base, rest = 0, offset, i
        for k in range(arity - 1, -1, -1):
            card = cards[members[begin + k]]
            code = rest % card
            rest //= card
            cell += step[k] * code
            base += strides[begin + k] * code if step[k] > 0 else 0
        if values[offset + i] > 0.0:
            home[cell] = base
    count = 0
    for cell in range(size):
        count += 1 if home[cell] >= 0 else 0
    cells, places = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for cell in range(size):
        if home[cell] >= 0:
            cells[count], places[count] = cell, home[cell]
            count += 1
    return cells, places


@kernel
def _split(cells: Ints, scope: Ints, cards: Ints, weights: Ints) -> Ints:
    """For each cell the sum over its scope of code times weight."""
    found = np.zeros(len(cells), np.int64)
    for i in range(len(cells)):
        rest = cells[i]
        for k in range(len(scope) - 1, -1, -1):
            card = cards[scope[k]]
            found[i] += (rest % card) * weights[scope[k]]
            rest //= card
    return found


@kernel(inline=True)
def _shared_strides(scope_a: Ints, scope_b: Ints, cards: Ints) -> Ints:
    """The stride of each variable in a table over those of both scopes, in the order of the second; else zero."""
    key, own = np.zeros(len(cards), np.int64), np.zeros(len(cards), np.int64)
    step = 1
    for r in scope_a:
        own[r] = 1
    for r in scope_b:
        if own[r] == 1:
            key[r] = step
            step *= cards[r]
    return key


@kernel(inline=True)
def _by_cell(where: Ints) -> tuple[Ints, Ints, Ints]:
    """The entries by their cell, the number of entries of each cell, and the cells, ascending."""
    by_cell = ascending(where)
    counts, cells = np.zeros(len(where), np.int64), np.empty(len(where), np.int64)
    count = 0
    for i in range(len(by_cell)):
        if i == 0 or where[by_cell[i]] != where[by_cell[i - 1]]:
            cells[count] = where[by_cell[i]]
            count += 1
        counts[count - 1] += 1
    return by_cell, counts[:count].copy(), cells[:count].copy()


@kernel
def join_step(
    cells_a: Ints, scope_a: Ints, cells_b: Ints, scope_b: Ints, scope_d: Ints, cards: Ints, limit: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """The pairs of each entry of a step's result, as indices of entries, one entry after the other; the number of pairs
    of each, and the cells of the result. Empty if there are more pairs than `limit`."""
    none = np.zeros(0, np.int64)
    key, at_d = _shared_strides(scope_a, scope_b, cards), np.zeros(len(cards), np.int64)
    step = 1
    for k in range(len(scope_d) - 1, -1, -1):
        at_d[scope_d[k]] = step
        step *= cards[scope_d[k]]
    key_a, key_b = _split(cells_a, scope_a, cards, key), _split(cells_b, scope_b, cards, key)
    to_a = _split(cells_a, scope_a, cards, at_d)
    for r in scope_a:
        at_d[r] = 0
    to_b = _split(cells_b, scope_b, cards, at_d)
    order_a, order_b = ascending(key_a), ascending(key_b)
    first, second, where = none, none, none
    for fill in range(2):
        top, j = 0, 0
        for i in order_a:
            while j < len(order_b) and key_b[order_b[j]] < key_a[i]:
                j += 1
            m = j
            while m < len(order_b) and key_b[order_b[m]] == key_a[i]:
                if fill == 1:
                    first[top], second[top], where[top] = i, order_b[m], to_a[i] + to_b[order_b[m]]
                top += 1
                m += 1
            if top > limit:
                return none, none, none, none
        if fill == 0:
            first, second, where = np.empty(top, np.int64), np.empty(top, np.int64), np.empty(top, np.int64)
    by_cell, counts, cells = _by_cell(where)
    return first[by_cell], second[by_cell], counts, cells


@kernel(inline=True)
def _rescale(w: Floats, first: int, end: int) -> tuple[int, bool]:
    """Scale the largest entry near one if it has drifted; the power of two, and whether the range is too wide."""
    high, low = 0.0, np.inf
    for i in range(first, end):
        high = max(high, w[i])
        low = min(low, w[i]) if w[i] > 0.0 else low
    if high == 0.0:
        return 0, False
    top = int(np.floor(np.log2(high)))
    wide = top - np.log2(low) > RANGE
    if -LIMIT <= top <= LIMIT:
        return 0, wide
    scale = 2.0 ** float(-top)
    for i in range(first, end):
        w[i] *= scale
    return top, wide


@kernel(borrows=True)
def run_triples(
    w: Floats,
    g: Floats,
    steps: Ints,
    tensors: Ints,
    a: UInt32s,
    b: UInt32s,
    bounds: Ints,
    exponents: Ints,
    roots: Ints,
    backward: bool,
    cancel: Bytes,
) -> tuple[float, bool]:
    """The logarithm of the total, and whether some range is too wide; `w` holds entries and `g` their derivatives.

    Args:
        steps: rows of result, first and second (0 is the number one).
        tensors: the start of each tensor's entries, and the end.
        bounds: the start of the pairs of each entry of a result, and the end.
        exponents: the power of two of each tensor, filled in for the inputs.
    """
    is_wide = False
    for s in range(steps.shape[0]):
        if cancel[0] != 0:
            return 0.0, True
        t = steps[s, 0]
        for k in range(tensors[t], tensors[t + 1]):
            total = 0.0
            for i in range(bounds[k], bounds[k + 1]):
                total += w[a[i]] * w[b[i]]
            w[k] = total
        moved, wide = _rescale(w, tensors[t], tensors[t + 1])
        exponents[t] = exponents[steps[s, 1]] + exponents[steps[s, 2]] + moved
        is_wide = is_wide or wide
    log_total = 0.0
    for t in roots:
        mass = 0.0
        for k in range(tensors[t], tensors[t + 1]):
            mass += w[k]
        log_total += np.log(mass) + exponents[t] * np.log(2.0)
    return log_total, is_wide or (backward and _run_back(w, g, steps, tensors, a, b, bounds, roots, cancel))


@kernel(inline=True)
def _run_back(
    w: Floats,
    g: Floats,
    steps: Ints,
    tensors: Ints,
    a: UInt32s,
    b: UInt32s,
    bounds: Ints,
    roots: Ints,
    cancel: Bytes,
) -> bool:
    """Fill in the derivatives, each tensor's up to a power of two; whether some range is too wide."""
    is_wide = False
    g[:] = 0.0
    for t in roots:
        g[tensors[t] : tensors[t + 1]] = 1.0
    for s in range(steps.shape[0] - 1, -1, -1):
        if cancel[0] != 0:
            return True
        t, summed = steps[s, 0], steps[s, 2] == 0
        for k in range(tensors[t], tensors[t + 1]):
            above = g[k]
            if summed:
                for i in range(bounds[k], bounds[k + 1]):
                    g[a[i]] += above
            else:
                for i in range(bounds[k], bounds[k + 1]):
                    x, y = a[i], b[i]
                    g[x] += above * w[y]
                    g[y] += above * w[x]
        for side in range(1, 3):
            _, wide = _rescale(g, tensors[steps[s, side]], tensors[steps[s, side] + 1])
            is_wide = is_wide or wide
    return is_wide
