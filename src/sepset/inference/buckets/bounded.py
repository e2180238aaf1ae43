"""Functions of many variables with an observed child: their values, and bounds by tangents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.errors import TooLarge
from sepset.factors.decomposition import Concave, Decomposition
from sepset.factors.table import Table
from sepset.variables.variable import Discrete

LONGEST = 600.0
"""The largest logarithm of the ratio of two values of one factor."""

SLACK = 1e-11
"""The difference of logarithms, relative to their size, within which a bound counts as reached."""


class Maximum(NamedTuple):
    """An assignment from position to code, and the logarithm of its value."""

    values: Mapping[int, int]
    log_value: float


@dataclass(frozen=True, eq=False)
class Bounded:
    """A function of many variables with an observed child, and the places of its variables.

    Attributes:
        child: the child.
        code: its code.
        function: the concave form.
        places: the positions of the variables of the function.
    """

    child: Discrete
    code: int
    function: Concave
    places: tuple[int, ...]

    def sums(self, values: Mapping[int, int]) -> Floats:
        """The argument of the concave part at an assignment."""
        parts = [term[values[place]] for term, place in zip(self.function.terms, self.places, strict=True)]
        return np.asarray(sum(parts, self.function.start))

    @property
    def middle(self) -> Floats:
        """An argument at which the gradient is moderate."""
        low = sum((term.min(axis=0) for term in self.function.terms), self.function.start)
        high = sum((term.max(axis=0) for term in self.function.terms), self.function.start)
        return np.asarray(self.function.between(low, high, 3)[1])

    def inside(self, at: Floats, masks: Mapping[int, Floats]) -> Floats:
        """A point of contact at which the factors of the bound are floating-point numbers."""
        reach = max(
            (float(np.ptp(self._allowed(i, masks), axis=0).max()) for i in range(len(self.places))), default=0.0
        )
        return self.function.inside(at, LONGEST / max(reach, LONGEST * 1e-9))

    def _allowed(self, axis: int, masks: Mapping[int, Floats]) -> Floats:
        """The terms of the states of one variable that are allowed and possible."""
        kept = self.function.fixed[axis] > -np.inf
        mask = masks.get(self.places[axis])
        terms = self.function.terms[axis][kept if mask is None else kept & (mask > 0)]
        return terms if len(terms) else np.zeros((1, terms.shape[1]))

    def tangent(self, at: Floats, masks: Mapping[int, Floats]) -> tuple[Decomposition, float]:
        """The factors of the bound that touches at a point, scaled to about one, and the log scale."""
        slope = self.function.slope(at)
        scale = float(self.function.value(at)) + float(slope @ (self.function.start - at))
        factors = []
        for i, (parent, fixed) in enumerate(zip(self.function.variables, self.function.fixed, strict=True)):
            allowed = self._allowed(i, masks) @ slope
            if allowed.max() - allowed.min() > 1.1 * LONGEST:
                raise TooLarge(
                    f"The contributions of {parent.name} to {self.child.name} differ by a factor of more than "
                    f"e^{LONGEST:g}, which no bound of its best states can hold. Observe {parent.name}."
                )
            logs, top = self.function.terms[i] @ slope, float(allowed.max())
            scale += top
            factors.append(Table.from_log((parent,), fixed + np.minimum(logs - top, LONGEST)))
        here = (np.arange(self.child.num_states) == self.code).astype(np.float64)
        return Decomposition((Table((self.child,), here), *factors)), scale

    def above(self, sums: Floats, at: Floats) -> float:
        """The height of the bound over the function, zero where they touch."""
        line = float(self.function.value(at)) + float(self.function.slope(at) @ (sums - at))
        return line - float(self.function.value(sums))
