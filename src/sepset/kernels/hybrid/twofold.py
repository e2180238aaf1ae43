r"""The sweep of `conditioning` in twofold precision: each number is the sum of two floats, the larger one first.

Loadings that nearly cancel lose digits, and so does the difference of an observed value from an expectation that nearly
equals it. Here about 32 digits are carried, so that half of them may be lost. Arrays of such numbers have the larger
parts in their first row and the smaller ones in their second; the layout is otherwise that of `conditioning`.

Reference: Dekker (1971), A floating-point technique for extending the available precision; Knuth, The art of computer
programming, volume 2, section 4.2.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.hybrid.conditioning import MISSING, ROUNDING, TINY
from sepset.kernels.kernel import kernel

HALF = 134217729.0  # 2^27 + 1: times a float, less that and itself, it leaves the upper half of the digits
LARGE, DOWN, UP = 2.0**990, 2.0**-60, 2.0**60  # beyond this, that product overflows: it is taken of a smaller number


def _sweep(*args: Any) -> float:
    """Passes over the loadings, thirty times as many operations."""
    entries, loadings, gains = args[6], args[10], args[12]
    return 30.0 * float(loadings.size * entries.shape[1] + entries.size + gains.size)


def _filling(*args: Any) -> float:
    """Passes over the parents and gains of each row."""
    above, entries, gains, values = args[1], args[6], args[9], args[13]
    return 30.0 * float(values.size + len(values) * (above.size + gains.size / max(1, len(entries))))


@kernel(inner=True)
def add(a: float, low_a: float, b: float, low_b: float) -> tuple[float, float]:
    """The sum of two numbers."""
    s = a + b
    t = s - a
    rest = (a - (s - t)) + (b - t)
    low = low_a + low_b
    t = low - low_a
    lowest = (low_a - (low - t)) + (low_b - t)
    rest += low
    s, rest = s + rest, rest - ((s + rest) - s)
    rest += lowest
    return s + rest, rest - ((s + rest) - s)


@kernel(inner=True)
def multiply(a: float, low_a: float, b: float, low_b: float) -> tuple[float, float]:
    """The product of two numbers."""
    scale = 1.0
    if abs(a) > LARGE:
        a, low_a, scale = a * DOWN, low_a * DOWN, scale * UP
    if abs(b) > LARGE:
        b, low_b, scale = b * DOWN, low_b * DOWN, scale * UP
    p = a * b
    t = HALF * a
    upper_a = t - (t - a)
    t = HALF * b
    upper_b = t - (t - b)
    rest_a, rest_b = a - upper_a, b - upper_b
    rest = ((upper_a * upper_b - p) + upper_a * rest_b + rest_a * upper_b) + rest_a * rest_b
    rest += a * low_b + low_a * b
    return scale * (p + rest), scale * (rest - ((p + rest) - p))


@kernel(inner=True)
def divide(a: float, low_a: float, b: float, low_b: float) -> tuple[float, float]:
    """The quotient of two numbers, by two steps of long division."""
    q = a / b
    p, low_p = multiply(q, 0.0, b, low_b)
    r, low_r = add(a, low_a, -p, -low_p)
    s = r / b
    p, low_p = multiply(s, 0.0, b, low_b)
    r, low_r = add(r, low_r, -p, -low_p)
    return add(q, 0.0, s, r / b)


@kernel(work=_sweep)
def spread_twofold(
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
    cancel: Bytes,
) -> None:
    """Fill the loadings and the gains (initially zero), the noise and the variances of each group, unless canceled."""
    num_groups, size = entries.shape
    slot, terms, work = np.empty(size, np.int64), np.empty(size), np.empty((6, size))
    f = work[:2]
    for g in range(num_groups):
        used, width = 0, begin[g + 1] - begin[g]
        F, D = loadings[:, square[g] : square[g + 1]], noise[:, begin[g] : begin[g + 1]]
        for i in range(size):
            if cancel[0]:
                return
            slot[i] = -1
            total[0, g, i], total[1, g, i] = variance[first[i] + entries[g, i]], 0.0
            if kinds[g, i] == 0:
                continue
            count = start[i + 1] - start[i]
            own = slope_first[i] + entries[g, i] * count
            for c in range(used):
                f[0, c], f[1, c], terms[c] = 0.0, 0.0, 0.0
            for k in range(count):
                row = slot[above[start[i] + k]]
                if row >= 0:
                    for c in range(used):
                        part, low = multiply(slopes[own + k], 0.0, F[0, row * width + c], F[1, row * width + c])
                        f[0, c], f[1, c] = add(f[0, c], f[1, c], part, low)
                        terms[c] += abs(part)
            for c in range(used):
                if abs(f[0, c]) <= ROUNDING * count * terms[c]:
                    f[0, c], f[1, c] = 0.0, 0.0
            if kinds[g, i] == MISSING:
                for c in range(used):
                    F[0, used * width + c], F[1, used * width + c] = f[0, c], f[1, c]
                F[0, used * width + used] = 1.0
                slot[i], D[0, used], D[1, used] = used, total[0, g, i], 0.0
                used += 1
            elif used > 0:
                known, low = _measure(F, D, work, used, width, total[0, g, i])
                total[0, g, i], total[1, g, i] = known, low
                if known > 0.0:
                    at = begin[g] * size + i * width
                    for r in range(used):
                        gains[0, at + r], gains[1, at + r] = divide(work[2, r], work[3, r], known, low)


@kernel
def _measure(F: Floats, D: Floats, work: Floats, used: int, width: int, noise: float) -> tuple[float, float]:
    """Update loadings and noise by a measurement with loadings `work[:2]`; return its variance.

    Its covariances with the missing values are then in `work[2:4]`; `work[4:]` is space.
    """
    before, low_before = noise, 0.0
    for c in range(used):
        f, low_f = work[0, c], work[1, c]
        work[4, c], work[5, c] = 0.0, 0.0
        if before > 0.0:
            work[4, c], work[5, c] = divide(f, low_f, before, low_before)
        weight, low_weight = multiply(D[0, c], D[1, c], f, low_f)
        part, low = multiply(weight, low_weight, f, low_f)
        after, low_after = add(before, low_before, part, low)
        if after > 0.0 and f != 0.0:
            one, low_one, other, low_other = before, low_before, D[0, c], D[1, c]
            if one <= TINY * after:
                one, low_one, other, low_other = other, low_other, one, low_one
            part, low = divide(one, low_one, after, low_after)
            D[0, c], D[1, c] = multiply(other, low_other, part, low)
        work[0, c], work[1, c] = weight, low_weight
        before, low_before = after, low_after
    for r in range(used):
        reached, low_reached = 0.0, 0.0
        for c in range(r * width, r * width + used):
            old, low_old = F[0, c], F[1, c]
            part, low = multiply(work[4, c - r * width], work[5, c - r * width], reached, low_reached)
            F[0, c], F[1, c] = add(old, low_old, -part, -low)
            part, low = multiply(old, low_old, work[0, c - r * width], work[1, c - r * width])
            reached, low_reached = add(reached, low_reached, part, low)
        work[2, r], work[3, r] = reached, low_reached
    return before, low_before


@kernel(work=_filling)
def fill_twofold(
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
    constant: Floats,
    group: Ints,
    values: Floats,
    log_density: Floats,
    cancel: Bytes,
) -> None:
    """Replace the missing values of each row by expectations, and compute the log density of the observed ones.

    Relations without noise are taken to hold. It ends early if it is canceled.
    """
    size = entries.shape[1]
    place, rest = np.empty(size, np.int64), np.empty(size)
    for row in range(len(values)):
        if cancel[0]:
            return
        g, used, x = group[row], 0, values[row]
        width = begin[g + 1] - begin[g]
        rest[:] = 0.0
        for i in range(size):
            if kinds[g, i] == 0:
                continue
            e, count = entries[g, i], start[i + 1] - start[i]
            mean, low, own = intercept[first[i] + e], 0.0, slope_first[i] + e * count
            for k in range(count):
                u = above[start[i] + k]
                part, low_part = multiply(slopes[own + k], 0.0, x[u], rest[u])
                mean, low = add(mean, low, part, low_part)
            if kinds[g, i] == MISSING:
                x[i], rest[i] = mean, low
                place[used] = i
                used += 1
            elif total[0, g, i] > 0.0:
                apart, low_apart = add(x[i], 0.0, -mean, -low)
                ratio, low_ratio = divide(apart, low_apart, total[0, g, i], total[1, g, i])
                log_density[row] += constant[g, i] - 0.5 * multiply(apart, low_apart, ratio, low_ratio)[0]
                at = begin[g] * size + i * width
                for r in range(used):
                    u = place[r]
                    step, low_step = multiply(gains[0, at + r], gains[1, at + r], apart, low_apart)
                    x[u], rest[u] = add(x[u], rest[u], step, low_step)
