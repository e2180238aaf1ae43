"""The derivatives that the effects of parameters on a posterior are found from, with what rounding may have taken."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.engine.effects.parametereffects import ROUNDING
from sepset.inference.compiled.gradients import Gradient
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete, State


@dataclass(frozen=True, eq=False)
class Sweeps:
    """The derivatives that effects are found from.

    Attributes:
        part: those of the part with the target's state.
        whole: those of the whole.
        needed: the numbers of the factors that the target depends on; None for all.
    """

    part: Gradient
    whole: Gradient
    needed: frozenset[int] | None = None

    @property
    def posterior(self) -> float:
        """The share of the part."""
        return math.exp(self.part.log_partition - self.whole.log_partition)

    @property
    def rounding(self) -> float:
        """The relative rounding of derivatives; logarithms lose digits where they are large."""
        logs = [abs(one.log_partition) for one in (self.part, self.whole) if one.log_partition > -math.inf]
        return ROUNDING * (1.0 + sum(logs) / 4.0)

    def is_needed(self, factors: Sequence[int]) -> bool:
        """Whether the target depends on some of these factors."""
        return self.needed is None or not self.needed.isdisjoint(factors)

    def reach(self, factors: Sequence[int]) -> bool:
        """Whether some of these factors is not barren."""
        return any(number in one.parts for one in (self.part, self.whole) for number in factors)

    def relative(self, problem: Problem, number: int) -> Iterator[Floats]:
        """The derivatives of the part and of the whole with respect to one factor; zeros if it is barren."""
        for gradient in (self.part, self.whole):
            found = gradient.relative(number, self.whole.log_partition)
            yield np.zeros(problem.shapes[number]) if found is None else found


def with_state(evidence: Evidence, position: int, variable: Discrete, state: State | None) -> Evidence:
    """The evidence with the target's state added, or with none of its states excluded if that is None.

    A likelihood of the target stays in the product. Either way the target is summed over, so that the probabilities of
    its states have the same terms.
    """
    row = np.array(evidence.weights.get(position, np.ones(variable.num_states)), np.float64)
    if state is not None:
        row[np.arange(len(row)) != variable.code(state)] = 0.0
    return Evidence(evidence.codes, {**evidence.weights, position: row})
