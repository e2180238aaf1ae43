"""Sums of numbers given by their logarithms, and constants."""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Floats

LN2 = math.log(2.0)
r"""$\log 2$: the natural logarithm of one unit of a base-2 exponent."""

LOG_2PI = math.log(2.0 * math.pi)
r"""$\log 2\pi$, a constant of Gaussian densities."""


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
