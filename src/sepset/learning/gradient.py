r"""Gradient ascent on the likelihood of incomplete rows, in parameters without constraints.

$$\frac{\partial \log P(\mathcal D)}{\partial \lambda_{x \mid \mathbf u}}
= \bar M[x, \mathbf u] - \theta_{x \mid \mathbf u}\, \bar M[\mathbf u]$$

so that one E-step is one gradient. Near the optimum it is faster than EM, whose rate is the share of what is missing.

Reference: Koller & Friedman, section 19.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.errors import ImpossibleEvidence, NotApplicable, NotClosed
from sepset.inference.iterate import Info
from sepset.learning.ascent import Ascent, Climbing, Point
from sepset.learning.lbfgs import Curvature, line_search
from sepset.learning.maximization import Parameterization
from sepset.learning.starts import Start
from sepset.learning.unconstrained import Unconstrained
from sepset.models.bayesnet import BayesNet

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class GradientAscent(Climbing):
    r"""L-BFGS on the exact log-likelihood, in softmax parameters.

    Args:
        prior, parameterization, restarts, start, holdout, threads: as in `EM`.
        memory: how many recent steps tell of the curvature.

    Every step raises the objective. Zeros of the start stay (nearly) zero.

    Cost: one E-step for each trial of a step, most often one.
    Reference: Koller & Friedman, section 19.2.1; Nocedal & Wright, algorithm 7.5.

    >>> from sepset.learning.fit import fit
    >>> from sepset.graphs.graph import DAG
    >>> found = fit(DAG.parse("x"), {"x": ["a", "a", "b", None]}, GradientAscent())
    >>> found.model.cpd("x").values.round(3).tolist()
    [0.667, 0.333]
    """

    prior: object = None
    parameterization: Parameterization = "softmax"
    restarts: int | None = None
    start: Start | BayesNet = "auto"
    memory: int = 10
    holdout: object = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.memory, bool) or self.memory < 1:
            raise NotApplicable(f"memory is a whole number of at least 1; found {self.memory!r}.")

    def first(self, task: Ascent, model: BayesNet) -> Point:
        """The point at these parameters."""
        return replace(task.point(model), memory=Curvature())

    def step(self, task: Ascent, state: Point, rng: np.random.Generator) -> tuple[Point, Info]:
        """The point at the end of a line search."""
        vector = Unconstrained.of(task.expectation.blocks)
        x, slope = vector.pack(state.model), vector.slope(state.model, state.statistics, task.alphas)
        scale = 1.0 / (vector.curvature(state.model, state.statistics, task.alphas) + 1.0)
        direction = state.memory.direction(slope, scale)
        if not slope @ direction > 0:
            direction = scale * slope
        tried: dict[float, tuple[Point, Array]] = {}

        def trial(t: float) -> tuple[float, Array]:
            found = self._at(task, vector, x + t * direction)
            if found is None:
                return -np.inf, slope
            tried[t] = found
            return found[0].objective, found[1]

        t = line_search(state.objective, slope, direction, trial)
        if t is None:
            return state, Info(state.objective, 0.0, is_done=True)
        point, new_slope = tried[t]
        new = replace(point, memory=state.memory.updated(t * direction, slope - new_slope, self.memory))
        return new, new.info(state)

    def _at(self, task: Ascent, vector: Unconstrained, x: Array) -> tuple[Point, Array] | None:
        """The point at a vector with its slope; None where the rows are impossible there."""
        try:
            point = task.point(vector.unpack(x))
        except (ImpossibleEvidence, NotClosed):
            return None
        return point, vector.slope(point.model, point.statistics, task.alphas)
