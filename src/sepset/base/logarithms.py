r"""Sums that keep their digits: of numbers given by their logarithms, and of products that nearly cancel; constants.

$$a + b = s + e_s, \qquad a b = p + e_p$$

hold exactly for floats $s$, $p$ and $e$, as long as nothing leaves the range of floats: what rounding takes from each
operation can be added up, and a sum then has twice the digits.

Reference: Knuth, The art of computer programming, volume 2, section 4.2.2; Dekker (1971); Ogita, Rump & Oishi (2005),
Accurate sum and dot product.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Floats

LN2 = math.log(2.0)
r"""$\log 2$: the natural logarithm of one unit of a base-2 exponent."""

LOG_2PI = math.log(2.0 * math.pi)
r"""$\log 2\pi$, a constant of Gaussian densities."""

HALF = 2.0**27 + 1.0
"""Times a float, less the same less the float, it leaves the upper half of its digits."""


def log_sum(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    r"""$\log \sum_i e^{v_i}$ without overflow; the empty or all $-\infty$ sum is $-\infty$.

    >>> round(float(log_sum(np.array([-2000.0, -2000.0]), 0)), 6)
    -1999.306853
    """
    if values.size == 0:
        return np.full(np.delete(values.shape, axis), -np.inf)
    top = values.max(axis=axis)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(values - np.expand_dims(shift, axis)).sum(axis=axis))
    return np.asarray(total + shift)


def rounded_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded sum, and what it lacks.

    >>> [float(x) for x in rounded_sum(np.float64(1.0), np.float64(2.0**-60))] == [1.0, 2.0**-60]
    True
    """
    found = a + b
    part = found - a
    return found, (a - (found - part)) + (b - part)


def rounded_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded product, and what it lacks.

    >>> float(rounded_product(np.float64(1 + 2.0**-30), np.float64(1 - 2.0**-30))[1]) == -(2.0**-60)
    True
    """
    found = a * b
    upper_a, upper_b = (HALF * x - (HALF * x - x) for x in (a, b))
    rest_a, rest_b = a - upper_a, b - upper_b
    return found, ((upper_a * upper_b - found) + upper_a * rest_b + rest_a * upper_b) + rest_a * rest_b


def differences(y: Floats, start: Floats, slopes: Floats, u: Floats) -> Floats:
    r"""$\mathbf y - \mathbf a - B \mathbf u$ for each row, rounded once at the end.

    Args:
        y, start: one row each, or one for all.
        slopes: a matrix for each row, or one for all.
        u: one row each.
    """
    found, lost = rounded_sum(y, -start)
    for k in range(u.shape[1]):
        part, low = rounded_product(-slopes[..., k], u[:, k, None])
        found, rest = rounded_sum(found, part)
        lost = lost + (low + rest)
    return np.asarray(found + lost)
