r"""Arrays of numbers $n\,2^e$ with whole $n$: sums, products and differences of floats without any rounding.

Every float is such a number. The $n$ are Python's integers, which have as many digits as they need, so that a
difference of nearly equal sums of products is right to the last digit; rounding happens once, in `over`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints

BITS = 53
"""The binary digits of a float."""


class WholeNumbers(NamedTuple):
    """The array of numbers `values` times two to the power of `exponent`.

    >>> tenth, fifth, third = (WholeNumbers.of(np.array([x])) for x in (0.1, 0.2, 0.3))
    >>> (tenth + fifth - third).over(WholeNumbers.of(np.ones(1))).tolist() == [2.0**-55]
    True
    """

    values: Any
    exponent: int

    @classmethod
    def of(cls, array: Floats) -> WholeNumbers:
        """The floats of an array, which are finite."""
        mantissas, exponents = np.frexp(array)
        whole = np.ldexp(mantissas, BITS).astype(np.int64).astype(object)
        is_zero = mantissas == 0.0
        least = int(exponents.min(where=~is_zero, initial=np.iinfo(exponents.dtype).max))
        shifts = np.where(is_zero, 0, exponents - least).astype(object)
        return cls(np.asarray(whole << shifts, object), 0 if is_zero.all() else least - BITS)

    @property
    def num_bits(self) -> int:
        """The binary digits of the largest number."""
        return max((abs(value).bit_length() for value in self.values.reshape(-1).tolist()), default=0)

    def __mul__(self, other: WholeNumbers) -> WholeNumbers:  # type: ignore[override]  # of tuples
        return WholeNumbers(np.asarray(self.values * other.values, object), self.exponent + other.exponent)

    def __add__(self, other: WholeNumbers) -> WholeNumbers:  # type: ignore[override]  # of tuples
        first, second, exponent = self._aligned(other)
        return WholeNumbers(np.asarray(first + second, object), exponent)

    def __sub__(self, other: WholeNumbers) -> WholeNumbers:
        first, second, exponent = self._aligned(other)
        return WholeNumbers(np.asarray(first - second, object), exponent)

    def _aligned(self, other: WholeNumbers) -> tuple[Any, Any, int]:
        """The values of both at one exponent."""
        least = min(self.exponent, other.exponent)
        return self.values << self.exponent - least, other.values << other.exponent - least, least

    def where(self, chosen: Bools, other: WholeNumbers) -> WholeNumbers:
        """These numbers where they are chosen, and the others elsewhere."""
        first, second, exponent = self._aligned(other)
        return WholeNumbers(np.where(chosen, first, second), exponent)

    def sum(self, axes: Sequence[int]) -> WholeNumbers:
        """The sums over these axes."""
        return WholeNumbers(np.asarray(self.values.sum(axis=tuple(axes)), object), self.exponent)

    def reshape(self, *shape: int) -> WholeNumbers:
        """The same numbers in another shape."""
        return WholeNumbers(self.values.reshape(shape), self.exponent)

    def take(self, rows: Ints) -> WholeNumbers:
        """The numbers of some rows."""
        return WholeNumbers(self.values[rows], self.exponent)

    def over(self, other: WholeNumbers) -> Floats:
        """The quotients as floats, each rounded once; those by zero are NaN, and those beyond floats infinite."""
        shift = self.exponent - other.exponent
        first = self.values << max(shift, 0)
        return np.asarray(_quotients(first, other.values << max(-shift, 0)), np.float64)


def _quotient(first: int, second: int) -> float:
    if second == 0:
        return float("nan")
    try:
        return first / second
    except OverflowError:
        return float("inf") if (first > 0) == (second > 0) else float("-inf")


_quotients = np.frompyfunc(_quotient, 2, 1)
