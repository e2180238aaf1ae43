r"""Missing values of rows given observed ones: loadings and noise of each group of rows, then the rows themselves.

Coordinates are in an order in which parents come first. Coordinate $i$ has the parents
`above[start[i] : start[i + 1]]`; in a context its parameters are row `entry` of those from `first[i]` on (intercept,
variance) and from `slope_first[i]` on (one slope per parent). A kind is 0 if the coordinate is not needed, 1 if it is
observed, 2 if it is missing. The missing coordinates of group `g` have the noise `noise[begin[g] : begin[g + 1]]`, and
as many rows and
columns of loadings from `square[g]` on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel

FOUND, MISSING = 1, 2
UNIT = 2.0**-53
"""The relative rounding of one operation."""

SPREAD = (4.0 * UNIT) ** 2
"""The square of the relative rounding of a row of loadings in one update."""

TINY = 2.0**-960
"""A quotient below this may have lost digits, and is not used."""

ROUNDING = 16.0 * UNIT
"""A sum is zero if it is smaller than its terms by this factor times their number."""


def _sweep(*args: Any) -> float:
    """Passes over the loadings: at most one for each coordinate."""
    entries, loadings, gains = args[6], args[10], args[12]
    return float(loadings.size * entries.shape[1] + entries.size + gains.size)


def _filling(*args: Any) -> float:
    """Passes over the parents and gains of each row."""
    above, entries, gains, values = args[1], args[6], args[9], args[14]
    return float(values.size + len(values) * (above.size + gains.size / max(1, len(entries))))


@kernel(work=_sweep)
def spread(
    start: Ints,
    above: Ints,
    first: Ints,
    slope_first: Ints,
    slopes: Floats,
    variance: Floats,
    entries: Ints,
    kinds: Bytes,
    begin: Ints,
    square: Ints,
    loadings: Floats,
    noise: Floats,
    gains: Floats,
    total: Floats,
    growth: Floats,
    away: Floats,
    unsure: Floats,
    cancel: Bytes,
) -> None:
    """Fill the loadings (initially zero) and noise of each group's missing values given the observed ones, and gains.

    Args:
        gains: for each group and coordinate, the change of the missing values per unit of difference; initially zero.
        total: for each group and coordinate, the variance of that difference.
        growth: for each group, one at first: by how much sums that cancel have increased relative errors.
        away: for each missing value its variance when it came in, and the square of the rounding error of its row.
        unsure: for each group and coordinate, the square of the relative rounding error of the difference's deviation;
            initially zero.
        cancel: a flag that ends the work.
    """
    num_groups, size = entries.shape
    slot, f, terms, pull = np.empty(size, np.int64), np.empty(size), np.empty(size), np.empty(size)
    turn = np.empty(size)
    for g in range(num_groups):
        used, width = 0, begin[g + 1] - begin[g]
        F, D = loadings[square[g] : square[g + 1]], noise[begin[g] : begin[g + 1]]
        wide, off = away[0, begin[g] : begin[g + 1]], away[1, begin[g] : begin[g + 1]]
        for i in range(size):
            if cancel[0]:
                return
            slot[i] = -1
            total[g, i] = variance[first[i] + entries[g, i]]
            if kinds[g, i] == 0:
                continue
            count = start[i + 1] - start[i]
            own, parents = slope_first[i] + entries[g, i] * count, above[start[i] : start[i + 1]]
            lost, grown = _load(F, slopes[own : own + count], parents, slot, wide, off, used, width, f, terms)
            growth[g] = max(growth[g], grown)
            if kinds[g, i] == MISSING:
                slot[i] = used
                wide[used], off[used] = total[g, i], lost
                for c in range(used):
                    wide[used] += f[c] * D[c] * f[c]
                    F[used * width + c] = f[c]
                F[used * width + used] = 1.0
                D[used] = total[g, i]
                used += 1
            elif used > 0:
                total[g, i] = _measure(F, D, f, used, width, total[g, i], pull, turn)
                if total[g, i] > 0.0:
                    at = begin[g] * size + i * width
                    unsure[g, i] = lost / total[g, i]
                    for r in range(used):
                        gains[at + r] = pull[r] / total[g, i]
                        off[r] += gains[at + r] * total[g, i] * gains[at + r] * unsure[g, i] + SPREAD * wide[r]
                elif lost > 0.0:
                    unsure[g, i] = np.inf


@kernel
def _load(
    F: Floats, slopes: Floats, parents: Ints, slot: Ints, wide: Floats, off: Floats, used: int, width: int, f: Floats,
    terms: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Fill `f` by the loadings through missing parents; returns the square of its error, and by how much errors grow.

    `wide` and `off` are the variances that rows came in with and the squares of their errors; `terms` is space.
    """
    f[:used] = 0.0
    terms[:used] = 0.0
    lost, mass, grown = 0.0, 0.0, 1.0
    for k in range(len(parents)):
        row = slot[parents[k]]
        if row >= 0:
            lost += slopes[k] * off[row] * slopes[k]
            mass += slopes[k] * wide[row] * slopes[k]
            for c in range(used):
                term = slopes[k] * F[row * width + c]
                f[c] += term
                terms[c] += abs(term)
    for c in range(used):
        if abs(f[c]) <= ROUNDING * len(parents) * terms[c]:
            f[c] = 0.0
        else:
            grown = max(grown, terms[c] / abs(f[c]))
    return lost + SPREAD * mass, grown


@kernel
def _measure(F: Floats, D: Floats, f: Floats, used: int, width: int, noise: float, pull: Floats, turn: Floats) -> float:
    """Update loadings and noise by a measurement with loadings `f`; its variance, and the covariances in `pull`.

    Rows of loadings are independent of each other, and are updated one after the other. `f` is used up, and `turn` is
    space.
    """
    before = noise
    for c in range(used):
        turn[c] = f[c] / before if before > 0.0 else 0.0
        weight = D[c] * f[c]
        after = before + weight * f[c]
        if after > 0.0 and f[c] != 0.0:
            share = before / after
            D[c] = D[c] * share if share > TINY else D[c] / after * before
        f[c] = weight
        before = after
    for r in range(used):
        row, reached = r * width, 0.0
        for c in range(used):
            old = F[row + c]
            F[row + c] = old - turn[c] * reached
            reached += old * f[c]
        pull[r] = reached
    return before


@kernel(work=_filling)
def fill(
    start: Ints,
    above: Ints,
    first: Ints,
    slope_first: Ints,
    intercept: Floats,
    slopes: Floats,
    entries: Ints,
    kinds: Bytes,
    begin: Ints,
    gains: Floats,
    total: Floats,
    growth: Floats,
    constant: Floats,
    tolerance: float,
    group: Ints,
    values: Floats,
    log_density: Floats,
    exact: Ints,
    loss: Floats,
    cancel: Bytes,
) -> None:
    """Replace the missing values of each row by expectations, and compute the log density of the observed ones.

    Args:
        constant: for each group and coordinate the log density of no difference.
        tolerance: the largest difference that counts as zero without variance, relative to its terms.
        exact: the number of differences without variance.
        loss: bounds of the rounding error of each log density, in proportion to the unit and to its square.
        cancel: a flag that ends the work.
    """
    size = entries.shape[1]
    place, error, slope = np.empty(size, np.int64), np.zeros(size), np.zeros(size)
    for row in range(len(values)):
        if cancel[0]:
            return
        g, used, x = group[row], 0, values[row]
        for i in range(size):
            if kinds[g, i] == 0:
                continue
            e, count = entries[g, i], start[i + 1] - start[i]
            mean, own = intercept[first[i] + e], slope_first[i] + e * count
            terms, rounding = abs(mean), 0.0
            for k in range(count):
                u = above[start[i] + k]
                part = slopes[own + k] * x[u]
                mean, terms = mean + part, terms + abs(part)
                if kinds[g, u] == MISSING:
                    slope[u] = slopes[own + k]
                    rounding += abs(slope[u]) * error[u]
            if kinds[g, i] == MISSING:
                x[i], error[i], place[used] = mean, rounding + UNIT * terms, i
                used += 1
            else:
                terms += abs(x[i])
                rounding += UNIT * terms
                if total[g, i] > 0.0:
                    at, apart = begin[g] * size + i * (begin[g + 1] - begin[g]), x[i] - mean
                    ratio, unit = apart / total[g, i], UNIT * growth[g]
                    log_density[row] += constant[g, i] - 0.5 * apart * ratio
                    loss[0, row] += rounding * abs(ratio) + unit * (1.0 + apart * ratio)
                    loss[1, row] += rounding * rounding / total[g, i]
                    _correct(x, error, slope, place[:used], gains[at : at + used], apart, rounding, unit)
                else:
                    exact[row] += 1
                    if abs(x[i] - mean) > tolerance * terms + 4.0 * rounding:
                        log_density[row] = -np.inf
            for k in range(count):
                slope[above[start[i] + k]] = 0.0


@kernel(inline=True)
def _correct(
    x: Floats, error: Floats, slope: Floats, place: Ints, gains: Floats, apart: float, rounding: float, unit: float
) -> None:
    """Move missing values by their gains times a difference, and bound what rounding has done to them."""
    for r in range(len(place)):
        u, step = place[r], gains[r] * apart
        x[u] += step
        rest = abs(gains[r]) * (rounding - abs(slope[u]) * error[u])
        error[u] = abs(1.0 - gains[r] * slope[u]) * error[u] + rest + UNIT * abs(x[u]) + unit * abs(step)


@kernel(work=_filling)
def mean_errors(
    start: Ints,
    above: Ints,
    first: Ints,
    slope_first: Ints,
    intercept: Floats,
    slopes: Floats,
    entries: Ints,
    kinds: Bytes,
    begin: Ints,
    gains: Floats,
    total: Floats,
    away: Floats,
    unsure: Floats,
    group: Ints,
    values: Floats,
    errors: Floats,
) -> None:
    """Fill in the squares of the rounding errors that `fill` makes in missing values, taken to be independent.

    Args:
        values: one row per row; the missing values are filled in again.
        errors: of the same shape, initially zero.
    """
    size = entries.shape[1]
    place, slope = np.empty(size, np.int64), np.zeros(size)
    for row in range(len(values)):
        g, used, x, error = group[row], 0, values[row], errors[row]
        width = begin[g + 1] - begin[g]
        for i in range(size):
            if kinds[g, i] == 0:
                continue
            e, count = entries[g, i], start[i + 1] - start[i]
            mean, own = intercept[first[i] + e], slope_first[i] + e * count
            largest, squares = abs(mean), 0.0
            for k in range(count):
                u = above[start[i] + k]
                part = slopes[own + k] * x[u]
                mean += part
                largest = max(largest, abs(part), abs(mean))
                if kinds[g, u] == MISSING:
                    slope[u] = slopes[own + k]
                    squares += slope[u] * error[u] * slope[u]
            if kinds[g, i] == MISSING:
                x[i], error[i] = mean, squares + (4.0 * UNIT * largest) ** 2
                place[used] = i
                used += 1
            elif total[g, i] > 0.0:
                at, apart = begin[g] * size + i * width, x[i] - mean
                rounding = (4.0 * UNIT * max(largest, abs(x[i]))) ** 2
                score = apart / total[g, i] * apart
                for r in range(used):
                    u, gain = place[r], gains[at + r]
                    step = gain * apart
                    others = max(squares - slope[u] * error[u] * slope[u], 0.0)
                    kept = max(abs(1.0 - gain * slope[u]), 4.0 * UNIT)
                    error[u] = kept * error[u] * kept + gain * (others + rounding) * gain
                    x[u] += step
                    error[u] += (4.0 * UNIT * max(abs(x[u]), abs(step))) ** 2
                    error[u] += score * away[1, begin[g] + r] + step * unsure[g, i] * step
            for k in range(count):
                slope[above[start[i] + k]] = 0.0


@kernel
def add_moments(
    family_start: Ints,
    family: Ints,
    moment_first: Ints,
    entries: Ints,
    group: Ints,
    values: Floats,
    weights: Floats,
    moments: Floats,
    mass: Floats,
) -> None:
    """Add the weighted products of (1, values) of each row to those of each family, in the row's context.

    Only the lower triangles of the matrices, one per context, are filled. The weight of each group is added to `mass`.

    Args:
        family_start, family: the coordinates of each family, the last of them the child's.
        moment_first: the start of each family's matrices.
    """
    for row in range(len(values)):
        mass[group[row]] += weights[row]
    z = np.ones(values.shape[1] + 1)
    for k in range(len(family_start) - 1):
        first, side = family_start[k], family_start[k + 1] - family_start[k] + 1
        child = family[first + side - 2]
        for row in range(len(values)):
            if weights[row] == 0.0:
                continue
            for a in range(1, side):
                z[a] = values[row, family[first + a - 1]]
            at = moment_first[k] + entries[group[row], child] * side * side
            for a in range(side):
                left = weights[row] * z[a]
                for b in range(a + 1):
                    moments[at + b] += left * z[b]
                at += side


@kernel
def add_spreads(
    family_start: Ints,
    family: Ints,
    moment_first: Ints,
    entries: Ints,
    kinds: Bytes,
    begin: Ints,
    square: Ints,
    loadings: Floats,
    noise: Floats,
    mass: Floats,
    moments: Floats,
) -> None:
    """Add to the same matrices the covariances of each group's missing values, times its weight."""
    num_groups, size = entries.shape
    slot = np.empty(size, np.int64)
    for g in range(num_groups):
        width, used = begin[g + 1] - begin[g], 0
        if width == 0 or mass[g] == 0.0:
            continue
        for i in range(size):
            slot[i] = used if kinds[g, i] == MISSING else -1
            used += kinds[g, i] == MISSING
        F, D = loadings[square[g] : square[g + 1]], noise[begin[g] : begin[g + 1]]
        for k in range(len(family_start) - 1):
            members = family[family_start[k] : family_start[k + 1]]
            side = len(members) + 1
            at = moment_first[k] + entries[g, members[-1]] * side * side
            for a in range(side - 1):
                for b in range(a + 1):
                    r, s = slot[members[a]], slot[members[b]]
                    if r >= 0 and s >= 0:
                        moments[at + (a + 1) * side + b + 1] += mass[g] * _covariance(F, D, r, s, width)


@kernel
def _covariance(F: Floats, D: Floats, r: int, s: int, width: int) -> float:
    total = 0.0
    for c in range(width):
        total += F[r * width + c] * D[c] * F[s * width + c]
    return total


@kernel
def disturb(
    kinds: Bytes,
    begin: Ints,
    square: Ints,
    loadings: Floats,
    noise: Floats,
    group: Ints,
    normals: Floats,
    values: Floats,
) -> None:
    """Add a draw from their posterior noise to the missing values of each row; `normals` are used in order."""
    next_ = 0
    for row in range(len(values)):
        g, used = group[row], 0
        width = begin[g + 1] - begin[g]
        F, D = loadings[square[g] : square[g + 1]], noise[begin[g] : begin[g + 1]]
        for i in range(kinds.shape[1]):
            if kinds[g, i] == MISSING:
                for c in range(width):
                    values[row, i] += F[used * width + c] * np.sqrt(D[c]) * normals[next_ + c]
                used += 1
        next_ += width
