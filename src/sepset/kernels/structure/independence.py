r"""Tests of independence by counting rows: many second variables with one first variable and one conditioning set.

Rows are numbered by the joint state of the conditioning set, then counted by the states of the two variables:

$$G = 2 \sum_{x,y,z} M[x,y,z] \log \frac{M[x,y,z]\, M[z]}{M[x,z]\, M[y,z]}, \qquad
X^2 = \sum_{x,y,z} \frac{(M[x,y,z] - E[x,y,z])^2}{E[x,y,z]}, \quad E[x,y,z] = \frac{M[x,z]\, M[y,z]}{M[z]}$$
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import AnyArray, AnyInts, Bools, Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel

G_TEST, PEARSON = 0, 1

SPARSE = 4
"""Joint states are renumbered once they are more than this share of the rows."""

TILE = 2048
"""Rows whose cells are computed before they are counted."""

TINY = 1e-300
"""The least denominator of a continued fraction."""


@kernel
def upper_gamma(a: float, x: float) -> float:
    r"""The regularized upper incomplete gamma function $Q(a, x)$, by its series or its continued fraction.

    Reference: Press et al. (2007), Numerical Recipes, section 6.2.
    """
    if x <= 0.0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        k = a
        while term > total * 1e-17:
            k += 1.0
            term *= x / k
            total += term
        return max(1.0 - total * scale, 0.0)
    b = x + 1.0 - a
    c = 1.0 / TINY
    d = 1.0 / b
    h = d
    for i in range(1, 100_000):
        step = -i * (i - a)
        b += 2.0
        d = step * d + b
        d = 1.0 / (d if abs(d) > TINY else TINY)
        c = b + step / c
        c = c if abs(c) > TINY else TINY
        h *= d * c
        if abs(d * c - 1.0) < 1e-16:
            break
    return min(scale * h, 1.0)


@kernel
def chi_square_tail(statistic: float, degrees: float) -> float:
    """The probability that a chi-square variable is at least this; one where there is no degree of freedom."""
    if degrees <= 0.0:
        return 1.0
    return upper_gamma(0.5 * degrees, 0.5 * statistic)


@kernel
def refine(ids: Int32s, column: AnyInts, card: int, count: int, seen: Int32s, out: Int32s) -> int:
    """The rows' numbers split by one more column, -1 where a code is missing; how many numbers there are.

    Numbers are those of all joint states while these are few relative to the rows, then of the ones that occur.
    """
    num_rows = len(ids)
    for row in range(num_rows):
        out[row] = ids[row] * card + column[row] if ids[row] >= 0 and column[row] >= 0 else -1
    size = count * card
    if SPARSE * size <= num_rows:
        return size
    seen[:size] = -1
    found = 0
    for row in range(num_rows):
        place = out[row]
        if place >= 0:
            if seen[place] < 0:
                seen[place] = found
                found += 1
            out[row] = seen[place]
    return found


@kernel(borrows=True)
def cells_of(base: Int32s, column: AnyInts, card: int, spare: int, out: Int32s) -> None:
    """The cell of each row's number and code; rows with a missing code go to a spare one."""
    for row in range(len(base)):
        place = base[row] * np.int32(card) + np.int32(column[row])
        out[row] = place if base[row] >= 0 and column[row] >= 0 else np.int32(spare)


@kernel
def tally(base: Int32s, column: AnyInts, card: int, weights: AnyArray, cells: int, counts: AnyArray) -> None:
    """Count each row in the cell of its number and its code; rows with a missing code are left out.

    Rows take turns among four tables where cells are few, since consecutive additions to one cell wait for each other.
    A single weight applies to every row.
    """
    is_same, step = len(weights) == 1, cells + 1
    lanes = 4 if 16 * cells <= len(base) else 1
    counts[: lanes * step] = 0
    place = np.empty(min(TILE, len(base)), np.int32)
    for start in range(0, len(base), TILE):
        size = min(TILE, len(base) - start)
        cells_of(base[start : start + size], column[start : start + size], card, cells, place)
        whole = size - size % 4 if lanes == 4 and is_same else 0
        for i in range(0, whole, 4):
            counts[place[i]] += weights[0]
            counts[step + place[i + 1]] += weights[0]
            counts[2 * step + place[i + 2]] += weights[0]
            counts[3 * step + place[i + 3]] += weights[0]
        for i in range(whole, size):
            counts[place[i]] += weights[0] if is_same else weights[start + i]
    for lane in range(1, lanes):
        for k in range(cells):
            counts[k] += counts[lane * step + k]


@kernel
def entropy_term(count: float, table: Floats) -> float:
    """The count times its logarithm, from a table where there is one."""
    if len(table):
        return float(table[int(count)])
    return count * math.log(count) if count > 0.0 else 0.0


@kernel
def margins(block: AnyArray, r: int, c: int, margin: Floats) -> float:
    """Fill the sums of a table's rows, then of its columns; the sum of all."""
    margin[: r + c] = 0.0
    total = 0.0
    for i in range(r):
        for j in range(c):
            n = float(block[i * c + j])
            margin[i] += n
            margin[r + j] += n
            total += n
    return total


@kernel
def occurring(margin: Floats) -> int:
    """How many sums are positive."""
    found = 0
    for k in range(len(margin)):
        found += margin[k] > 0.0
    return found


@kernel
def deviance_of(block: AnyArray, r: int, c: int, total: float, kind: int, table: Floats, margin: Floats) -> float:
    """The statistic of one table, with its margins."""
    found = 0.0
    if kind == G_TEST:
        found = entropy_term(total, table)
        for k in range(r + c):
            found -= entropy_term(margin[k], table)
        for k in range(r * c):
            found += entropy_term(float(block[k]), table)
        return 2.0 * found
    for i in range(r):
        for j in range(c):
            expected = margin[i] * margin[r + j] / total
            if expected > 0.0:
                found += (block[i * c + j] - expected) ** 2 / expected
    return found


@kernel
def deviance(
    counts: AnyArray, strata: int, r: int, c: int, kind: int, table: Floats, margin: Floats
) -> tuple[float, float]:
    """The statistic of counts `[stratum, x, y]`, and its degrees of freedom in the rows and columns that occur."""
    statistic = degrees = 0.0
    for z in range(strata):
        block = counts[z * r * c : (z + 1) * r * c]
        total = margins(block, r, c, margin)
        if total > 0.0:
            rows, columns = occurring(margin[:r]), occurring(margin[r : r + c])
            degrees += (rows - 1) * (columns - 1)
            if rows > 1 and columns > 1:
                statistic += deviance_of(block, r, c, total, kind, table, margin)
    return max(statistic, 0.0), degrees


@kernel
def numbered(ids: Int32s, column: AnyInts, card: int, base: Int32s) -> None:
    """The number of each row's stratum and code together, -1 where one is missing."""
    for row in range(len(ids)):
        base[row] = ids[row] * card + column[row] if ids[row] >= 0 and column[row] >= 0 else -1


@kernel
def widest_of(cards: Ints) -> int:
    """The largest number of states."""
    found = 1
    for k in range(len(cards)):
        found = max(found, cards[k])
    return found


@kernel
def outcomes(
    codes: AnyInts,
    cards: Ints,
    weights: AnyArray,
    table: Floats,
    kind: int,
    full_strata: float,
    x: int,
    ys: Ints,
    given: Ints,
    out: Floats,
) -> None:
    """Fill `out[k]` with the statistic, the degrees of freedom, and the p-value of `x` and `ys[k]` given `given`.

    Degrees of freedom are `(|x| - 1) (|y| - 1) full_strata` where `full_strata` is positive.
    """
    num_rows, widest, r = codes.shape[1], widest_of(cards), cards[x]
    ids, base = np.zeros(num_rows, np.int32), np.empty(num_rows, np.int32)
    seen = np.empty(num_rows * widest if len(given) else 0, np.int32)
    strata = 1
    for k in range(len(given)):
        strata = refine(ids, codes[given[k]], cards[given[k]], strata, seen, ids)
    numbered(ids, codes[x], r, base)
    margin = np.empty(r + widest, np.float64)
    for k in range(len(ys)):
        c = cards[ys[k]]
        counts = np.empty(4 * (strata * r * c + 1), weights.dtype)
        tally(base, codes[ys[k]], c, weights, strata * r * c, counts)
        statistic, degrees = deviance(counts, strata, r, c, kind, table, margin)
        if full_strata > 0.0:
            degrees = (r - 1) * (c - 1) * full_strata
        out[k, 0], out[k, 1], out[k, 2] = statistic, degrees, chi_square_tail(statistic, degrees)


@kernel
def group_equal(codes: AnyInts, cards: Ints, columns: Ints, most: int, ids: Int32s) -> int:
    """Number the rows by their codes in some columns, missing ones included; -1 if that takes more than `most`."""
    seen = np.empty(len(ids) * (widest_of(cards) + 1), np.int32)
    shifted = np.empty(len(ids), np.int32)
    ids[:] = 0
    count = 1
    for k in range(len(columns)):
        for row in range(len(ids)):
            shifted[row] = codes[columns[k], row] + 1
        count = refine(ids, shifted, cards[columns[k]] + 1, count, seen, ids)
        if count > most:
            return -1
    present = np.zeros(count, np.int32)
    for row in range(len(ids)):
        present[ids[row]] = 1
    found = 0
    for k in range(count):
        if present[k]:
            present[k] = found
            found += 1
    for row in range(len(ids)):
        ids[row] = present[ids[row]]
    return found if found <= most else -1


@kernel
def next_subset(places: Ints, size: int) -> int:
    """Advance the places of a subset to the next in lexicographic order: the first that changed, or -1 at the end."""
    chosen = len(places)
    k = chosen - 1
    while k >= 0 and places[k] == size - chosen + k:
        k -= 1
    if k < 0:
        return -1
    places[k] += 1
    for j in range(k + 1, chosen):
        places[j] = places[j - 1] + 1
    return k


@kernel
def is_asked(adjacent: Bools, x: int, y: int, given: Ints) -> bool:
    """Whether a question is for this turn: an earlier one, that of `y`, asked about sets of neighbors of `y`."""
    is_new = y > x
    for k in range(len(given)):
        if given[k] == y:
            return False
        is_new = is_new or not adjacent[y, given[k]]
    return is_new


@kernel
def note(best: Floats, best_given: Ints, done: Bools, y: int, p: float, level: float, given: Ints) -> None:
    """Keep the largest p-value and its set; a pair above the level is separated."""
    if p > best[y]:
        best[y] = p
        best_given[y, : len(given)] = given
    if p > level:
        done[y] = True


@kernel
def separate(
    codes: AnyInts,
    cards: Ints,
    weights: AnyArray,
    table: Floats,
    kind: int,
    is_full: bool,
    pool: Ints,
    adjacent: Bools,
    x: int,
    size: int,
    level: float,
    done: Bools,
    best: Floats,
    best_given: Ints,
    cancel: Bytes,
) -> int:
    """Look for sets of `size` neighbors of `x` that separate it from another neighbor; the number of tests.

    Args:
        codes, cards: of `x`, then of the neighbors in `pool`.
        adjacent: who is joined to whom at the beginning of this size.
        level: pairs with a larger p-value are separated.
        done: which others need no test; those that are separated are added.
        best, best_given: for each other variable the largest p-value until now, and its set.
    """
    num_rows, widest, num_tests, r = codes.shape[1], widest_of(cards), 0, cards[0]
    places, given = np.arange(size), np.empty(size, np.int64)
    ids, strata = np.zeros((size + 1, num_rows), np.int32), np.ones(size + 1, np.int64)
    base, margin = np.empty(num_rows, np.int32), np.empty(2 * widest, np.float64)
    seen = np.empty(num_rows * widest if size else 0, np.int32)
    counts = np.zeros(64, weights.dtype)
    changed = stale = 0
    while changed >= 0 and len(pool) >= size and cancel[0] == 0:
        for k in range(changed, size):
            given[k] = pool[places[k]]
        stale = min(stale, changed)
        is_numbered = False
        for k in range(len(pool)):
            y, c = pool[k], cards[k + 1]
            if done[y] or not is_asked(adjacent, x, y, given):
                continue
            if not is_numbered:
                for j in range(stale, size):
                    s = places[j] + 1
                    strata[j + 1] = refine(ids[j], codes[s], cards[s], strata[j], seen, ids[j + 1])
                numbered(ids[size], codes[0], r, base)
                is_numbered, stale = True, size
            cells = strata[size] * r * c
            if 4 * (cells + 1) > len(counts):
                counts = np.zeros(8 * (cells + 1), weights.dtype)
            tally(base, codes[k + 1], c, weights, cells, counts)
            statistic, degrees = deviance(counts, strata[size], r, c, kind, table, margin)
            if is_full:
                degrees = (r - 1.0) * (c - 1.0)
                for j in range(size):
                    degrees *= cards[places[j] + 1]
            note(best, best_given, done, y, chi_square_tail(statistic, degrees), level, given)
            num_tests += 1
        changed = next_subset(places, len(pool))
    return num_tests
