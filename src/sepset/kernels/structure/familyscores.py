r"""Scores of many families of one child in one pass over the rows for each few of them.

Rows are numbered by their context: `ids[row]` is the number of the joint state of the parents, among those with rows.
A further parent $x$ splits each context into its states, so that the cell of a row is `code_x * S + key`, with
`key = id * r + code_child` and `S` cells before the split. A row that does not count has the context `SKIPPED`.

A table's score is a sum over contexts $\mathbf u$ with rows, and over their cells:

    kind 0   sum n log n - sum N log N                                       log-likelihood
    kind 1   sum [lgamma(n + a) - lgamma(a)] - sum [lgamma(N + r a) - lgamma(r a)]      evidence, a per cell
    kind 2   the same with a = alpha / (contexts with rows * r)
    kind 3   kind 0 - sum regret[N]                                          factorized maximum likelihood
    kind 4   sum n log((n - 1 + a) / (N - 1 + r a))                          leave-one-out
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import AnyArray, AnyInts, Bytes, Floats, Ints, UInt32s, UInt64s
from sepset.kernels.kernel import kernel

SKIPPED = np.uint32(0xFFFFFFFF)
"""The context of a row that does not count."""

LIKELIHOOD, EVIDENCE, SPARSE_EVIDENCE, FACTORIZED, LEAVE_ONE_OUT = range(5)
"""The kinds of sums."""


@kernel
def refine(ids: UInt32s, codes: AnyInts, card: int, marks: UInt32s, out: UInt32s) -> int:
    """The contexts split by one more column: their numbers in `out`, and how many have rows.

    `marks` holds zeros on entry, one for each pair of a context and a state. A missing code skips its row.
    """
    for i in range(len(ids)):
        code = codes[i]
        if ids[i] != SKIPPED and code >= 0:
            place = ids[i] * np.uint32(card) + np.uint32(code)
            out[i] = place
            marks[place] = 1
        else:
            out[i] = SKIPPED
    count = np.uint32(0)
    for place in range(len(marks)):
        if marks[place]:
            marks[place] = count
            count += np.uint32(1)
    for i in range(len(ids)):
        if out[i] != SKIPPED:
            out[i] = marks[out[i]]
    return int(count)


@kernel
def keys(ids: UInt32s, codes: AnyInts, card: int, out: UInt32s) -> None:
    """The cell of each row in the table of contexts by child states."""
    for i in range(len(ids)):
        if ids[i] != SKIPPED and codes[i] >= 0:
            out[i] = ids[i] * np.uint32(card) + np.uint32(codes[i])
        else:
            out[i] = SKIPPED


@kernel
def xlogx(n: float, logs: Floats) -> float:
    """The product of a count and its logarithm, from a table where the count is whole and small."""
    whole = int(n)
    if whole < len(logs) and whole == n:
        return float(logs[whole])
    return n * math.log(n)


@kernel
def log_rise(a: float, n: float) -> float:
    r"""The logarithm of $\Gamma(a + n) / \Gamma(a)$; of the rising product for few whole $n$."""
    if n <= 8.0 and n == math.floor(n):
        product = 1.0
        for k in range(int(n)):
            product *= a + k
        if 1e-290 < product < 1e290:
            return math.log(product)
    return math.lgamma(a + n) - math.lgamma(a)


@kernel
def table_score(
    table: AnyArray, num_contexts: int, r: int, kind: int, alpha: float, logs: Floats, regret: Floats
) -> float:
    """The sum over a table of contexts by child states; see the module's head."""
    a = alpha
    if kind == SPARSE_EVIDENCE:
        seen = 0
        for u in range(num_contexts):
            total = 0.0
            for y in range(r):
                total += table[u * r + y]
            if total > 0.0:
                seen += 1
        a = alpha / (max(seen, 1) * r)
    score = 0.0
    for u in range(num_contexts):
        total, part = 0.0, 0.0
        for y in range(r):
            n = float(table[u * r + y])
            if n > 0.0:
                total += n
                if kind == LIKELIHOOD or kind == FACTORIZED:
                    part += xlogx(n, logs)
                elif kind != LEAVE_ONE_OUT:
                    part += log_rise(a, n)
        if total > 0.0:
            if kind == LIKELIHOOD:
                score += part - xlogx(total, logs)
            elif kind == FACTORIZED:
                score += part - xlogx(total, logs) - regret[round(total)]
            elif kind == LEAVE_ONE_OUT:
                for y in range(r):
                    n = float(table[u * r + y])
                    if n > 0.0:
                        top, below = n - 1.0 + a, total - 1.0 + r * a
                        part += n * math.log(top / below) if top > 0.0 else -np.inf
                score += part
            else:
                score += part - log_rise(r * a, total)
    return score


@kernel
def score_candidates(
    codes: AnyInts,
    key: UInt32s,
    weights: AnyArray,
    num_contexts: int,
    r: int,
    cards: Ints,
    candidates: Ints,
    kind: int,
    alphas: Floats,
    logs: Floats,
    regret: Floats,
    is_complete: bool,
    is_unit: bool,
    room: AnyArray,
    cancel: Bytes,
    out: Floats,
    totals: Floats,
) -> None:
    """The sum of each candidate's table, and the weight of its rows.

    Args:
        codes: one row per column of data.
        key: each row's cell before the split.
        weights: one per row, of the type that tables have.
        num_contexts: the contexts before the split.
        r: the states of the child.
        cards: the states of every column.
        candidates: the columns that split the contexts; the child itself for no split.
        kind: of the sum.
        alphas: a number for each candidate that the kind takes.
        logs: `n log n` of small whole numbers.
        regret: for each number of rows, where the kind takes it.
        is_complete: whether the candidates have no missing cell, and every row counts.
        is_unit: whether every row counts once.
        room: four of the largest tables.
        cancel: set where the work is to be ended.
        out: one sum per candidate.
        totals: one weight per candidate.
    """
    size = num_contexts * r
    for first in range(0, len(candidates), 4):
        if cancel[0]:
            return
        four = candidates[first : first + 4]
        width = size * int(np.max(cards[four]))
        room[: len(four) * width] = 0
        if is_complete and len(four) == 4:
            if is_unit:
                count_four_ones(codes, key, size, width, four, room)
            else:
                count_four(codes, key, weights, size, width, four, room)
        else:
            for k in range(len(four)):
                count_one(codes[four[k]], key, weights, size, room[k * width : (k + 1) * width])
        for k in range(len(four)):
            contexts = num_contexts * cards[four[k]]
            table = room[k * width : k * width + contexts * r]
            out[first + k] = table_score(table, contexts, r, kind, alphas[first + k], logs, regret)
            totals[first + k] = table.sum()


@kernel(borrows=True)
def count_four(
    codes: AnyInts, key: UInt32s, weights: AnyArray, size: int, width: int, four: Ints, room: AnyArray
) -> None:
    """Add every row to the tables of four candidates: additions to one cell wait for each other, these do not.

    Cells are found by unsigned numbers, which need no test for negative ones.
    """
    a, b, c, d = codes[four[0]], codes[four[1]], codes[four[2]], codes[four[3]]
    one, two, three = room[:width], room[width : 2 * width], room[2 * width : 3 * width]
    last, step = room[3 * width : 4 * width], np.uint32(size)
    for i in range(len(key)):
        place, weight = key[i], weights[i]
        one[np.uint32(a[i]) * step + place] += weight
        two[np.uint32(b[i]) * step + place] += weight
        three[np.uint32(c[i]) * step + place] += weight
        last[np.uint32(d[i]) * step + place] += weight


@kernel(borrows=True)
def count_four_ones(codes: AnyInts, key: UInt32s, size: int, width: int, four: Ints, room: AnyArray) -> None:
    """As `count_four`, of rows that count once."""
    a, b, c, d = codes[four[0]], codes[four[1]], codes[four[2]], codes[four[3]]
    one, two, three = room[:width], room[width : 2 * width], room[2 * width : 3 * width]
    last, step = room[3 * width : 4 * width], np.uint32(size)
    for i in range(len(key)):
        place = key[i]
        one[np.uint32(a[i]) * step + place] += 1
        two[np.uint32(b[i]) * step + place] += 1
        three[np.uint32(c[i]) * step + place] += 1
        last[np.uint32(d[i]) * step + place] += 1


@kernel(borrows=True)
def count_one(codes: AnyInts, key: UInt32s, weights: AnyArray, size: int, table: AnyArray) -> None:
    """Add the rows that count to the table of one candidate."""
    for i in range(len(key)):
        if key[i] != SKIPPED and codes[i] >= 0:
            table[np.int64(codes[i]) * size + key[i]] += weights[i]


@kernel(borrows=True)
def count_cells(key: UInt32s, weights: AnyArray, table: AnyArray) -> None:
    """Add the rows that count to their cells."""
    for i in range(len(key)):
        if key[i] != SKIPPED:
            table[key[i]] += weights[i]


@kernel(inline=True)
def num_bits(word: np.uint64) -> np.uint64:
    """The number of bits that are set, by sums of neighbors: compilers know this form and vectorize it."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel(borrows=True)
def set_bits(places: AnyInts, out: UInt64s) -> None:
    """Set the bit of each row in the row of `out` at its place."""
    for i in range(len(places)):
        out[places[i], i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@kernel
def score_by_bits(
    cells: UInt64s,
    totals: Ints,
    num_contexts: int,
    r: int,
    bits: UInt64s,
    offsets: Ints,
    cards: Ints,
    candidates: Ints,
    kind: int,
    alphas: Floats,
    logs: Floats,
    regret: Floats,
    room: Ints,
    cancel: Bytes,
    out: Floats,
) -> None:
    """As `score_candidates` for rows that count once, from sets of rows: a cell's count is that of an intersection.

    Args:
        cells: the rows of each cell before the split, as bits.
        totals: their number.
        bits: the rows of each state of each column, as bits.
        offsets: the first state of each column in `bits`.
        room: the largest table.
    """
    size = num_contexts * r
    for c in range(len(candidates)):
        if cancel[0]:
            return
        x = candidates[c]
        card = cards[x]
        for cell in range(size):
            rest = totals[cell]
            for v in range(1, card):
                count = np.uint64(0)
                if rest > 0:
                    one, other = cells[cell], bits[offsets[x] + v]
                    for w in range(cells.shape[1]):
                        count += num_bits(one[w] & other[w])
                room[v * size + cell] = count
                rest -= np.int64(count)
            room[cell] = rest
        out[c] = table_score(room[: card * size], num_contexts * card, r, kind, alphas[c], logs, regret)


@kernel
def sparse_score(
    cells: Floats, owners: Ints, totals: Floats, r: int, kind: int, alpha: float, logs: Floats, regret: Floats
) -> float:
    """As `table_score`, from the cells that have rows, the context of each, and the rows of each context."""
    a, score = alpha, 0.0
    if kind == SPARSE_EVIDENCE:
        num_contexts = int(np.count_nonzero(totals))
        a = alpha / (max(num_contexts, 1) * r)
    for c in range(len(cells)):
        n = cells[c]
        if n > 0.0:
            if kind == LIKELIHOOD or kind == FACTORIZED:
                score += xlogx(n, logs)
            elif kind == LEAVE_ONE_OUT:
                top, below = n - 1.0 + a, totals[owners[c]] - 1.0 + r * a
                score += n * math.log(top / below) if top > 0.0 else -np.inf
            else:
                score += log_rise(a, n)
    for total in totals:
        if total > 0.0 and kind != LEAVE_ONE_OUT:
            score -= xlogx(total, logs) if kind == LIKELIHOOD or kind == FACTORIZED else log_rise(r * a, total)
            if kind == FACTORIZED:
                score -= regret[round(total)]
    return score
