"""One number per set of columns from the counts of its joint states, for all sets up to a size.

Sets are visited depth first, and distinct rows are kept as a partition by joint state that each further column refines.
A row that is alone in its part stays so: it is counted by its weight and dropped, which leaves little work for large
sets.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import AnyInts, Bytes, Floats, Ints
from sepset.kernels.kernel import kernel


def _work(codes: AnyInts, *args: object) -> float:
    masks = args[-3]
    return float(np.size(masks) * codes.shape[1])  # type: ignore[arg-type]  # an array


@kernel(inline=True)
def _term(count: float, pseudo: float, below: float, logs: Floats) -> float:
    """m log m without a pseudo-count a; otherwise log Gamma(a + m) - log Gamma(a), the latter given as `below`."""
    if pseudo > 0.0:
        return math.lgamma(pseudo + count) - below
    if logs.size:
        return float(logs[int(count)])
    return count * math.log(count)


@kernel
def _whole(num_rows: int, max_size: int, num_kinds: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Room for the parts of each depth, with all rows in one part at first: rows, starts, numbers, and single rows."""
    rows = np.empty((max_size + 1, num_rows), dtype=np.int64)
    starts = np.zeros((max_size + 1, num_rows + 2), dtype=np.int64)
    parts = np.zeros(max_size + 1, dtype=np.int64)
    for i in range(num_rows):
        rows[0, i] = i
    parts[0] = 1 if num_rows else 0
    starts[0, 1] = num_rows
    return rows, starts, parts, np.zeros((max_size + 1, num_kinds), dtype=np.int64)


@kernel(work=_work)
def set_sums(
    codes: AnyInts, cards: Ints, weights: Floats, kinds: Ints, kind_weights: Floats, logs: Floats, alpha: float,
    is_divided: bool, max_size: int, prefix: Ints, first: int, masks: Ints, values: Floats, cancel: Bytes,
) -> None:  # fmt: skip
    """The sum over joint states of m log m, or of log Gamma(a + m) - log Gamma(a), for every set up to `max_size`.

    Sets with other columns of those before `first` are the work of other threads.

    Args:
        codes: one row per column; the rows are distinct.
        cards: the number of states of each column.
        weights: the weight of each row, above zero.
        kinds: the number of each row's weight among the distinct weights.
        kind_weights: the distinct weights.
        logs: the numbers m log m up to the total weight, if weights are whole; otherwise empty.
        alpha: the pseudo-count a of a cell; zero for m log m.
        is_divided: whether a is divided by the number of joint states of the set.
        max_size: the largest number of columns in a set.
        prefix: the columns before `first` that every set has.
        first: the first of the columns that a set may have or not.
        masks: filled with the sets.
        values: filled with their sums.
        cancel: a flag that ends the work.
    """
    n, num_rows = codes.shape
    rows, starts, parts, singles = _whole(num_rows, max_size, kind_weights.size)
    column, mask = np.full(max_size + 2, -1, dtype=np.int64), np.zeros(max_size + 1, dtype=np.int64)
    cells, terms = np.ones(max_size + 1), np.zeros(kind_weights.size)
    tally, sums = np.zeros(cards.max() + 1, dtype=np.int64), np.zeros(cards.max() + 1)
    _enter(codes, cards, kinds, prefix, tally, rows, starts, parts, singles, mask, cells)
    total, depth = 1, prefix.size
    column[depth + 1] = first - 1
    masks[0], pseudo = mask[depth], alpha / cells[depth] if is_divided else alpha
    values[0] = _value(rows[depth], starts[depth], parts[depth], singles[depth], kind_weights, weights, logs, pseudo)
    while depth >= prefix.size and not cancel[0]:
        column[depth + 1] += 1
        j = column[depth + 1]
        if j >= n or depth == max_size:
            depth -= 1
            continue
        size = cells[depth] * cards[j]
        pseudo = alpha / size if is_divided else alpha
        masks[total] = mask[depth] | (1 << j)
        if j == n - 1 or depth + 1 == max_size:  # the last column on this path: counts alone are needed
            values[total] = _split_value(
                rows[depth], starts[depth], parts[depth], codes[j], cards[j], kinds, kind_weights, weights, logs,
                pseudo, singles[depth], sums, terms,
            )  # fmt: skip
        else:
            depth += 1
            for kind in range(singles.shape[1]):
                singles[depth, kind] = singles[depth - 1, kind]
            parts[depth] = _refine(
                rows[depth - 1], starts[depth - 1], parts[depth - 1], codes[j], cards[j], kinds, tally, rows[depth],
                starts[depth], singles[depth],
            )  # fmt: skip
            mask[depth], cells[depth], column[depth + 1] = masks[total], size, j
            values[total] = _value(
                rows[depth], starts[depth], parts[depth], singles[depth], kind_weights, weights, logs, pseudo
            )
        total += 1


@kernel
def _enter(
    codes: AnyInts, cards: Ints, kinds: Ints, prefix: Ints, tally: Ints, rows: Ints, starts: Ints, parts: Ints,
    singles: Ints, mask: Ints, cells: Floats,
) -> None:  # fmt: skip
    """Split the parts by the columns that every set has."""
    for depth in range(1, prefix.size + 1):
        j = prefix[depth - 1]
        for kind in range(singles.shape[1]):
            singles[depth, kind] = singles[depth - 1, kind]
        parts[depth] = _refine(
            rows[depth - 1], starts[depth - 1], parts[depth - 1], codes[j], cards[j], kinds, tally, rows[depth],
            starts[depth], singles[depth],
        )  # fmt: skip
        mask[depth], cells[depth] = mask[depth - 1] | (1 << j), cells[depth - 1] * cards[j]


@kernel
def _split_value(
    rows: Ints,
    starts: Ints,
    parts: int,
    codes: AnyInts,
    card: int,
    kinds: Ints,
    kind_weights: Floats,
    weights: Floats,
    logs: Floats,
    pseudo: float,
    singles: Ints,
    sums: Floats,
    terms: Floats,
) -> float:
    """The sum after one more column has split the parts, which are not kept."""
    below = math.lgamma(pseudo) if pseudo > 0.0 else 0.0
    found = 0.0
    for k in range(singles.size):
        terms[k] = _term(kind_weights[k], pseudo, below, logs)
        found += singles[k] * terms[k]
    for p in range(parts):
        first, last = starts[p], starts[p + 1]
        if last - first == 2:
            a, b = rows[first], rows[first + 1]
            if codes[a] != codes[b]:
                found += terms[kinds[a]] + terms[kinds[b]]
            else:
                found += _term(weights[a] + weights[b], pseudo, below, logs)
            continue
        for c in range(card):
            sums[c] = 0.0
        for i in range(first, last):
            sums[codes[rows[i]]] += weights[rows[i]]
        for c in range(card):
            if sums[c] > 0.0:
                found += _term(sums[c], pseudo, below, logs)
    return found


@kernel
def _refine(
    rows: Ints,
    starts: Ints,
    parts: int,
    codes: AnyInts,
    card: int,
    kinds: Ints,
    tally: Ints,
    new_rows: Ints,
    new_starts: Ints,
    singles: Ints,
) -> int:
    """The parts split by one more column, without rows that are alone: `singles` counts those by weight."""
    made = 0
    end = 0
    for p in range(parts):
        first, last = starts[p], starts[p + 1]
        if last - first == 2:  # the most frequent case
            a, b = rows[first], rows[first + 1]
            if codes[a] != codes[b]:
                singles[kinds[a]] += 1
                singles[kinds[b]] += 1
            else:
                new_rows[end] = a
                new_rows[end + 1] = b
                end += 2
                made += 1
                new_starts[made] = end
            continue
        for c in range(card + 1):
            tally[c] = 0
        for i in range(first, last):
            tally[codes[rows[i]] + 1] += 1
        place = end
        for c in range(card):
            size = tally[c + 1]
            tally[c + 1] = -1 if size == 1 else place
            if size > 1:
                place += size
                made += 1
                new_starts[made] = place
        for i in range(first, last):
            row = rows[i]
            c = codes[row] + 1
            if tally[c] < 0:
                singles[kinds[row]] += 1
            else:
                new_rows[tally[c]] = row
                tally[c] += 1
        end = place
    return made


@kernel
def _value(
    rows: Ints,
    starts: Ints,
    parts: int,
    singles: Ints,
    kind_weights: Floats,
    weights: Floats,
    logs: Floats,
    pseudo: float,
) -> float:
    below = math.lgamma(pseudo) if pseudo > 0.0 else 0.0
    found = 0.0
    for k in range(singles.size):
        if singles[k]:
            found += singles[k] * _term(kind_weights[k], pseudo, below, logs)
    for p in range(parts):
        count = 0.0
        for i in range(starts[p], starts[p + 1]):
            count += weights[rows[i]]
        found += _term(count, pseudo, below, logs)
    return found
