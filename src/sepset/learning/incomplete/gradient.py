r"""Gradient ascent on the likelihood of incomplete rows, in parameters without constraints.

$$\frac{\partial \log P(\mathcal D)}{\partial \lambda_{x \mid \mathbf u}}
= \bar M[x, \mathbf u] - \theta_{x \mid \mathbf u}\, \bar M[\mathbf u]$$

so that one E-step gives one gradient. Near the optimum it is faster than EM, whose rate of convergence is the share
of missing information.

Reference: Koller & Friedman, section 19.2.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from sepset.base.checks import number, one_of, whole
from sepset.cpds.parameters import Parameterization
from sepset.inference.iterate import Info
from sepset.inference.method import Method
from sepset.learning.incomplete.minibatches import mini_batches
from sepset.learning.incomplete.run import EMTask, Iterate, IterativeEstimator
from sepset.learning.incomplete.starts import Start
from sepset.learning.optimize.directions import DIRECTIONS, Curvature, within
from sepset.learning.optimize.stochastic import COOLING, SlopeMoments, shrunk
from sepset.learning.optimize.vector import ParameterVector
from sepset.models.bayesnet import BayesNet

Optimizer: TypeAlias = Literal["lbfgs", "conjugate", "steepest", "stochastic"]
"""How the gradient becomes a step."""


@dataclass(frozen=True, slots=True, repr=False)
class GradientAscent(IterativeEstimator):
    r"""Gradient ascent on the exact log-likelihood, or log posterior, in softmax parameters.

    Args:
        prior, parameterization, restarts, start, holdout, threads, inference: as in `EM`; a `LaplaceWeights` prior
        makes exact
            zeros.
        optimizer: "lbfgs", "conjugate" or "steepest" directions with a line search, each scaled by the information of
            completed rows; or "stochastic" steps after each mini-batch, for many rows and a rough answer early.
        memory: the number of recent steps from which "lbfgs" estimates the curvature.
        batch: the number of rows per "stochastic" step; a step of the trace is a pass over all rows.
        rate: the length of the first "stochastic" steps in each coordinate.

    With a line search every step raises the objective, and the run ends when no step does. The trace of "stochastic"
    adds up the log-likelihood of each mini-batch when it was visited, and may fall; the seed decides the order of the
    rows. `FitResult.info["gradient_norm"]` is the length of the gradient at the end, per row. Zeros of the start stay
    (nearly) zero. CPDs with rules that several contexts share have no such parameters, and are left to `EM`.

    Cost: one E-step for each trial of a step, most often one; of "stochastic" one for each pass.
    Reference: Koller & Friedman, section 19.2.1; Nocedal & Wright, chapters 3, 5 and 7; Andrew & Gao (2007) for
        Laplace priors; Kingma & Ba (2015).
    Guarantee: with line search never decreases; stationary.
    Tested by: claims/test_methods_for_incomplete_rows.py::test_the_end_is_stationary

    >>> from sepset.api.learning import fit
    >>> from sepset.graphs.graph import DAG
    >>> found = fit(DAG.parse("x"), {"x": ["a", "a", "b", None]}, GradientAscent())
    >>> found.model.cpd("x").values.round(3).tolist()
    [0.667, 0.333]
    """

    prior: object = None
    _: KW_ONLY
    parameterization: Parameterization = "softmax"
    restarts: int | None = None
    start: Start | BayesNet = "auto"
    optimizer: Optimizer = "lbfgs"
    memory: int = 10
    batch: int = 100
    rate: float = 0.2
    holdout: object = None
    threads: int | None = None
    inference: Method | None = None

    def __post_init__(self) -> None:
        IterativeEstimator.__post_init__(self)
        one_of("optimizer", self.optimizer, get_args(Optimizer))
        whole("memory", self.memory, least=1)
        whole("batch", self.batch, least=1)
        number("rate", self.rate, above=0)

    @property
    def uses_rows(self) -> bool:
        """False: steps follow expected moments."""
        return False

    @property
    def is_monotone(self) -> bool:
        """Whether no step lowers the objective."""
        return self.optimizer != "stochastic"

    def first(self, task: EMTask, model: BayesNet) -> Iterate:
        """The iterate at these parameters, or after an M-step where the prior density is zero."""
        state = task.evaluate(model)
        if state.objective == -np.inf:
            state = task.evaluate(task.expectation.blocks.maximize(model, state.statistics, task.terms))
        return replace(state, memory=Curvature() if self.is_monotone else ())

    def step(self, task: EMTask, state: Iterate, rng: np.random.Generator) -> tuple[Iterate, Info]:
        """The iterate at the end of a line search, or after a pass."""
        if self.optimizer != "stochastic":
            return self._searched(task, state)
        new = stochastic_pass(task, state, self.batch, self.rate, rng)
        return new, self.info(task, new, state)

    def facts(self, task: EMTask, state: Iterate) -> Mapping[str, object]:
        """The length of the gradient."""
        norm = np.linalg.norm(task.objective.steepest(state))
        return {"gradient_norm": float(f"{norm / max(task.expectation.weights.sum(), 1e-300):.3g}")}

    def _searched(self, task: EMTask, state: Iterate) -> tuple[Iterate, Info]:
        ways = DIRECTIONS[self.optimizer]
        objective = task.objective
        slope, scale = objective.steepest(state), objective.scale(state)
        ahead = within(ways.ahead(state.memory, slope, scale), slope, objective.kinks)
        searches = (objective.search(state, slope, direction, ways.flattening) for direction in (ahead, scale * slope))
        found = next((end for end in searches if end is not None), None)
        if found is None:
            return state, Info(state.objective, 0.0, is_done=True)
        task.expectation.blocks.check_bounded(found.model, task.terms)
        keep = self.memory if ways.memory is None else ways.memory
        new = replace(found, memory=state.memory.updated(*objective.pair(state, found), keep) if keep else state.memory)
        made = self.info(task, new, state)
        return new, made._replace(change=max(made.change, objective.expected_rise(new)))


def stochastic_pass(task: EMTask, state: Iterate, size: int, rate: float, rng: np.random.Generator) -> Iterate:
    """The iterate after one pass over the rows; its objective adds up the log-likelihood of each batch when visited.

    Args:
        size: the number of rows per batch.
        rate: the largest length of the first steps along each coordinate.
    """
    vector = ParameterVector.of(task.expectation.blocks)
    kinks, share = vector.kinks(task.terms), 1.0 / task.expectation.weights.sum()
    x, model, statistics, total = vector.pack(state.model), state.model, state.statistics, 0.0
    moments = SlopeMoments(*state.memory) if state.memory else SlopeMoments.none(len(x))
    batches = list(mini_batches(task, size, rng))
    for batch in batches:
        statistics, log_likelihood = batch.expect(task, model)
        total += log_likelihood
        moments = moments.updated(share * vector.slope(model, statistics, task.terms))
        lengths = moments.lengths(rate * (1.0 + moments.steps / len(batches)) ** -COOLING)
        x = shrunk(x + lengths * moments.slope, share * lengths * kinks)
        model = vector.unpack(x)
    task.expectation.blocks.check_bounded(model, task.terms)
    return task.iterate(model, statistics, total, memory=tuple(moments))
