r"""Semirings: what "sum" means when a variable is eliminated.

The product is always $\times$ on the non-negative reals; only the sum varies. Distributivity,
$a \times (b \oplus c) = (a \times b) \oplus (a \times c)$, is what allows sums to be pushed inward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import number
from sepset.base.foreign import translated
from sepset.base.logarithms import log_sum


@dataclass(frozen=True, slots=True)
class Semiring:
    r"""A commutative sum $\oplus$ on the non-negative reals that distributes over the product.

    Args:
        name: how it prints.
        reduce: $\bigoplus$ over one axis of an array of linear values.
        log_reduce: the same over logarithms.
        scales: whether a common factor passes through, $\bigoplus c v_i = c \bigoplus v_i$.

    >>> import numpy as np
    >>> MAX.reduce(np.array([[1.0, 3.0], [2.0, 0.0]]), 1)
    array([3., 2.])
    """

    name: str
    reduce: Callable[[Floats, int], Floats] = field(repr=False, compare=False)
    _: KW_ONLY
    log_reduce: Callable[[Floats, int], Floats] = field(repr=False, compare=False)
    scales: bool = True

    def __str__(self) -> str:
        return self.name


def _sum(values: Floats, axis: int) -> Floats:
    return np.asarray(np.add.reduce(values, axis=axis))


def _max(values: Floats, axis: int) -> Floats:
    return np.asarray(np.maximum.reduce(values, axis=axis, initial=0.0))


def _log_max(values: Floats, axis: int) -> Floats:
    return np.asarray(values.max(axis=axis, initial=-np.inf))


SUM = Semiring("sum", _sum, log_reduce=log_sum)
"""The ordinary sum: marginals and partition functions."""

MAX = Semiring("max", _max, log_reduce=_log_max)
"""The maximum: max-marginals and most probable assignments."""


def _any(values: Floats, axis: int) -> Floats:
    return np.asarray((values > 0).any(axis=axis), dtype=np.float64)


def _log_any(values: Floats, axis: int) -> Floats:
    return np.where((values > -np.inf).any(axis=axis), 0.0, -np.inf)


BOOLEAN = Semiring("any", _any, log_reduce=_log_any, scales=False)
r"""Satisfiability: 1 where some value is positive. It distributes over products of 0/1 factors only."""


@translated
def temperature(t: float) -> Semiring:
    r"""The power sum $\bigl(\sum_i v_i^{1/t}\bigr)^t$: `SUM` at $t = 1$, `MAX` in the limit $t \to 0$.

    Guarantee: semiring laws.
    Tested by: test_semiring.py::test_temperatures_run_from_the_maximum_to_the_sum

    >>> round(float(temperature(0.5).reduce(np.array([3.0, 4.0]), 0)), 12)
    5.0
    """
    number("A temperature", t, least=0)
    if t == 0.0:
        return MAX
    if t == 1.0:
        return SUM

    def log_reduce(values: Floats, axis: int) -> Floats:
        return np.asarray(t * log_sum(values / t, axis))

    def reduce(values: Floats, axis: int) -> Floats:
        with np.errstate(divide="ignore"):
            return np.exp(log_reduce(np.log(values), axis))

    return Semiring(f"temperature({t:g})", reduce, log_reduce=log_reduce)
