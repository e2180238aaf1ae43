r"""The effects of parameters on a posterior in whole numbers, where differences of floats have no digits left.

With $y = P(y, \mathbf e)$, $z = P(\mathbf e)$ and their derivatives $y'$ and $z'$ in a parameter,

$$\frac{\partial P(y \mid \mathbf e)}{\partial \theta} = \frac{y' z - z' y}{z^2},$$

whose terms are nearly equal if the parameter hardly matters. All four are sums of products of floats, so that they are
known without rounding, and the quotient is rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.cpd import CPD
from sepset.inference.compiled.gradients import Derivatives
from sepset.inference.wholenumbers.gradients import WholeGradient, whole_gradient
from sepset.inference.wholenumbers.numbers import WholeNumbers
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

Divided: TypeAlias = tuple[WholeNumbers, WholeNumbers]
"""Numbers, and what they are to be divided by."""

MOST_NANOSECONDS = 5e8
"""The longest time of one sweep in whole numbers, as estimated; floats are kept where it would take longer."""


@dataclass(frozen=True, eq=False)
class WholeGradients:
    """The derivatives of the part with the target's state, and of the whole, without rounding."""

    part: WholeGradient
    whole: WholeGradient

    @classmethod
    def of(cls, derivatives: Derivatives, part: Evidence, whole: Evidence) -> WholeGradients | None:
        """Both; None if they take too long, or factors hold logarithms."""
        first = whole_gradient(derivatives, whole, most=MOST_NANOSECONDS)
        second = None if first is None else whole_gradient(derivatives, part, most=MOST_NANOSECONDS)
        return None if first is None or second is None else cls(second, first)

    @property
    def posterior(self) -> float:
        """The posterior, rounded once."""
        return float(self.part.partition.over(self.whole.partition))

    def rows(self, problem: Problem, cpd: CPD, theta: Floats, factors: Sequence[int], chosen: Ints) -> Floats:
        """The numbers of some rows of a CPD, one line for each entry."""
        part, whole = (self._slopes_of(problem, cpd, one, factors).take(chosen) for one in (self.part, self.whole))
        exact = WholeNumbers.of(theta[chosen])
        return self._numbers(theta[chosen], _in_proportion(exact, part), _in_proportion(exact, whole))

    def entries(self, theta: Floats, number: int, chosen: Ints) -> Floats:
        """The numbers of the entries of a factor in some rows, one line for each."""
        one = WholeNumbers.of(np.ones(1))
        part, whole = (_derivatives(theta.shape, number, gradient).take(chosen) for gradient in (self.part, self.whole))
        return self._numbers(theta[chosen], (part, one), (whole, one))

    def _slopes_of(self, problem: Problem, cpd: CPD, gradient: WholeGradient, factors: Sequence[int]) -> WholeNumbers:
        """The derivatives with respect to the rows of a CPD."""
        found = [_derivatives(problem.shapes[number], number, gradient) for number in factors]
        least = min(one.exponent for one in found)
        return WholeNumbers(cpd.parameters.varied_slopes([one.values << one.exponent - least for one in found]), least)

    def _numbers(self, theta: Floats, part: Divided, whole: Divided) -> Floats:
        """Value, coefficients and slope of each parameter from the slopes of part and whole, each over a divisor."""
        (a, divisor), (c, _) = part, whole
        y, z, value = self.part.partition, self.whole.partition, WholeNumbers.of(theta)
        over = divisor * z
        columns = a, y * divisor - a * value, c, over - c * value
        coefficients = [one.over(over) for one in columns]
        slope = (a * z - c * y).over(over * z)
        return np.stack(
            [np.broadcast_to(one, theta.shape).reshape(-1) for one in (theta, *coefficients, slope)], axis=1
        )


def _derivatives(shape: Sequence[int], number: int, gradient: WholeGradient) -> WholeNumbers:
    """The derivatives with respect to one factor, in this shape; zeros if it is barren."""
    found = gradient.parts.get(number)
    return WholeNumbers.of(np.zeros(shape)) if found is None else found.reshape(*shape)


def _in_proportion(theta: WholeNumbers, derivative: WholeNumbers) -> Divided:
    r"""$A_x \sum_{x' \ne x} \theta_{x'} - \sum_{x' \ne x} A_{x'} \theta_{x'}$, and the divisor, the first sum.

    If a parameter is one, the others have no proportions to keep and get equal shares.
    """
    alike = WholeNumbers.of(np.ones(theta.values.shape))
    kept, equal = _kept(theta, derivative), _kept(alike, derivative)
    has_proportions = kept[1].values > 0
    first, second = (one.where(has_proportions, other) for one, other in zip(kept, equal, strict=True))
    return first, second


def _kept(shares: WholeNumbers, derivative: WholeNumbers) -> Divided:
    """The same where the others of a row have these shares."""
    rest = _others(shares)
    return derivative * rest - _others(shares * derivative), rest


def _others(numbers: WholeNumbers) -> WholeNumbers:
    """For each entry of a row the sum of the others."""
    return WholeNumbers(numbers.values.sum(axis=1, keepdims=True) - numbers.values, numbers.exponent)
