"""How far apart the positive values of a table lie, as base-2 logarithms of the smallest and the largest."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.logarithms import LN2

Bits: TypeAlias = tuple[float, float]

RANGE_BITS = 960.0
"""The widest ratio, in bits, of largest to smallest positive value that a linear result may reach."""

SAFE_BITS = 1000.0
"""Stored linear results stay within 2 to plus or minus this power; beyond it they are rescaled first."""


def linear_ends(flat: Floats, exponent: int) -> Bits | None:
    """The bits of the smallest positive and the largest entry; None where all are zero.

    >>> linear_ends(np.array([0.0, 0.5, 4.0]), 10)
    (9.0, 12.0)
    """
    top = float(np.maximum.reduce(flat))
    if top == 0.0:
        return None
    low = float(np.minimum.reduce(flat)) or float(flat[flat > 0].min())
    return math.log2(low) + exponent, math.log2(top) + exponent


def log_ends(logs: Floats) -> Bits | None:
    """The same of entries that are known by their logarithms.

    >>> log_ends(np.array([-np.inf, LN2]))
    (1.0, 1.0)
    """
    top = float(np.maximum.reduce(logs))
    if top == -math.inf:
        return None
    low = float(np.minimum.reduce(logs))
    return (low if low > -math.inf else float(logs[logs > -np.inf].min())) / LN2, top / LN2


def widened(bits: Bits) -> Bits:
    """A little more than `bits`, for results that were rounded."""
    return bits[0] - 1.0, bits[1] + 1.0


def sum_bits(left: Bits, right: Bits, sign: int) -> Bits:
    """Bits that enclose the products of entries, or their quotients with `sign=-1`.

    >>> sum_bits((0.0, 1.0), (2.0, 5.0), -1)
    (-5.0, -1.0)
    """
    low, high = right if sign > 0 else (-right[1], -right[0])
    return left[0] + low, left[1] + high


def is_safe(bits: Bits, exponent: int) -> bool:
    """Whether linear entries with these bits, stored under this exponent, stay clear of float64's ends."""
    return bits[0] - exponent > -SAFE_BITS and bits[1] - exponent < SAFE_BITS
