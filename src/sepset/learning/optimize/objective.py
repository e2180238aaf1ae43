"""An objective over the parameters of a network without constraints: slopes, kinks, and line searches along them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.errors import ImpossibleEvidence, NotClosed
from sepset.learning.blocks import Blocks, FlatStatistics, PriorTerms
from sepset.learning.optimize.directions import steepest, stopped
from sepset.learning.optimize.linesearch import line_search
from sepset.learning.optimize.vector import ParameterVector
from sepset.models.bayesnet import BayesNet

FAILURES = (ImpossibleEvidence, NotClosed, np.linalg.LinAlgError)
"""The errors that an evaluation at bad parameters may raise."""


class Evaluated(Protocol):
    """A network with its expected statistics and the value of the objective."""

    @property
    def model(self) -> BayesNet:
        """The network."""

    @property
    def statistics(self) -> FlatStatistics:
        """The flat statistics expected at its parameters."""

    @property
    def objective(self) -> float:
        """The log-likelihood with the log prior."""


P = TypeVar("P", bound=Evaluated)


@dataclass(frozen=True, slots=True, eq=False)
class Objective(Generic[P]):
    """The log-likelihood of incomplete rows with a log prior, over parameters without constraints.

    Attributes:
        vector: the parameters.
        terms: the terms that the prior adds to each block.
        kinks: the sharpness of a Laplace prior along each coordinate.
        evaluate: the iterate at a network, by one pass over the rows.
    """

    vector: ParameterVector = field(repr=False)
    terms: PriorTerms = field(repr=False)
    kinks: Floats = field(repr=False)
    evaluate: Callable[[BayesNet], P] = field(repr=False)

    @classmethod
    def of(cls, blocks: Blocks, terms: PriorTerms, evaluate: Callable[[BayesNet], P]) -> Objective[P]:
        """The objective of a network's blocks under a prior."""
        vector = ParameterVector.of(blocks)
        return cls(vector, terms, vector.kinks(terms), evaluate)

    def slope(self, point: P) -> Floats:
        """The gradient of the smooth part."""
        return self.vector.slope(point.model, point.statistics, self.terms)

    def steepest(self, point: P) -> Floats:
        """The gradient, as far as it is steeper than the kinks."""
        return steepest(self.vector.pack(point.model), self.slope(point), self.kinks)

    def scale(self, point: P) -> Floats:
        """A diagonal guess of the inverse curvature: the information of completed rows, and one row more."""
        return np.asarray(1.0 / (self.vector.curvature(point.model, point.statistics, self.terms) + 1.0))

    def expected_rise(self, point: P) -> float:
        """The approximate gain of a step along the slope, relative to the objective; small steps are not the end."""
        rise = 0.5 * float(self.scale(point) @ self.steepest(point) ** 2)
        return rise / max(abs(point.objective), 1e-300)

    def pair(self, start: P, end: P) -> tuple[Floats, Floats]:
        """The step between two points, and how much the smooth slope fell by it."""
        return self.vector.pack(end.model) - self.vector.pack(start.model), self.slope(start) - self.slope(end)

    def search(self, start: P, slope: Floats, direction: Floats, flattening: float) -> P | None:
        """The iterate where a line search along a direction ends; None where no step rises.

        Where a kink stops the path, it bends, and any step that rises enough is accepted.
        """
        tried: dict[float, P] = {}
        x = self.vector.pack(start.model)

        def trial(t: float) -> tuple[float, Floats]:
            straight = x + t * direction
            ahead = stopped(x, slope, self.kinks, straight)
            try:
                tried[t] = self.evaluate(self.vector.unpack(ahead))
            except FAILURES:
                return -np.inf, slope
            bends = (ahead != straight).any()
            return tried[t].objective, np.zeros(len(x)) if bends else self.steepest(tried[t])

        t = line_search(start.objective, slope, direction, trial, flattening)
        return None if t is None else tried[t]
