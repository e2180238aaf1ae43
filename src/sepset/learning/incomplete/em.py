r"""Expectation maximization: distribute missing cells by their posterior, estimate, and repeat.

$$\bar M^t[x, \mathbf u] = \sum_m P(x, \mathbf u \mid \mathbf o[m], \theta^t), \qquad
\theta^{t+1}_{x \mid \mathbf u} = \frac{\bar M^t[x, \mathbf u]}{\bar M^t[\mathbf u]}$$

Every step raises the log-likelihood (with a prior, the log posterior) or stays where it is.

Reference: Koller & Friedman, section 19.2.2; Dempster, Laird & Rubin (1977).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from sepset.base.checks import one_of, whole
from sepset.base.foreign import often
from sepset.cpds.parameters import Parameterization
from sepset.inference.iterate import Info
from sepset.inference.method import Method
from sepset.learning.blocks import FlatStatistics
from sepset.learning.incomplete.acceleration import ACCELERATIONS, accelerated
from sepset.learning.incomplete.run import EMTask, Iterate, IterativeEstimator
from sepset.learning.incomplete.starts import Start
from sepset.models.bayesnet import BayesNet


def dealt(task: EMTask, model: BayesNet, parts: int) -> Iterate:
    """The iterate at these parameters, with the rows divided into parts."""
    visits = tuple(_visit(task, model, part, parts) for part in range(parts))
    return _joined(task, model, visits)


def one_pass(task: EMTask, state: Iterate) -> Iterate:
    """Each part in turn visited at the newest parameters, followed by estimates from all."""
    visits, model = list(state.memory), state.model
    for part in range(len(visits)):
        model = task.maximize(model, _total(visits))
        visits[part] = _visit(task, model, part, len(visits))
    return _joined(task, model, tuple(visits))


def _visit(task: EMTask, model: BayesNet, part: int, parts: int) -> tuple[FlatStatistics, float]:
    r"""The statistics of one part, and the entropy $H(Q)$ of its completions as far as the free energy needs it."""
    num_rows = len(task.expectation.weights)
    rows = np.flatnonzero(np.random.default_rng(num_rows).permutation(num_rows) % parts == part)
    found = task.expectation.expect(model, rows)
    return found.statistics, found.log_likelihood - task.expectation.blocks.score(model, found.statistics)


def _joined(task: EMTask, model: BayesNet, visits: tuple[tuple[FlatStatistics, float], ...]) -> Iterate:
    total = _total(visits)
    energy = task.expectation.blocks.score(model, total) + sum(entropy for _, entropy in visits)
    return task.iterate(model, total, energy, memory=visits)


def _total(visits: tuple[tuple[FlatStatistics, float], ...] | list[tuple[FlatStatistics, float]]) -> FlatStatistics:
    return tuple(np.sum(arrays, axis=0) for arrays in zip(*(stats for stats, _ in visits), strict=True))


Accelerated: TypeAlias = Literal["squarem", "aitken", "conjugate"]
"""How EM goes further than its steps."""


@dataclass(frozen=True, slots=True, repr=False)
class EM(IterativeEstimator):
    r"""Expectation maximization with the posterior of every row.

    Args:
        prior: what to add to the counts: one prior, several, or a mapping by block (see `PosteriorMode`); None
        maximizes the
            likelihood.
        parameterization: where the mode is taken: "softmax" adds $\alpha$ to the counts, "theta" adds $\alpha - 1$.
        restarts: the number of starting points that get a short run before the best goes on; by default one, or five
            where variables have no column and no start is given.
        start: which parameters to begin at: "auto", "model", "data", "random", or a network.
        acceleration: "squarem" and "aitken" extrapolate every third step, along the path of all expected counts or of
            each by itself; "conjugate" turns each step away from the last and searches along it. None of them accepts
            a point that rises less than EM is known to.
        holdout: held-out rows: the iteration ends before the step that lowers their log-likelihood.
        threads: their number; one per processor by default. Answers do not depend on it.
        inference: the method that finds the posterior of each row; clique trees by default. Expected counts of an
            approximate method are approximate, steps may fall, and the fit is heuristic.

    Contexts that no row can reach become uniform. The result is a stationary point; more restarts find better ones.

    Cost: one pass of inference over the different rows per step; nothing is planned again.
    Reference: Koller & Friedman, section 19.2.2; Varadhan & Roland (2008), Laird, Lange & Stram (1987), Jamshidian &
        Jennrich (1993) for the accelerations.
    Guarantee: never decreases; stationary.
    Tested by:
        learning/incomplete/test_acceleration.py::test_every_step_rises_at_least_as_much_as_the_m_step_is_known_to

    >>> from sepset.api.learning import fit
    >>> from sepset.graphs.graph import DAG
    >>> rows = {"x": ["a", "a", "b", None], "y": ["c", "d", "d", "d"]}
    >>> found = fit(DAG.parse("x -> y"), rows, EM())
    >>> found.status.value, found.model.cpd("x").values.round(1).tolist()
    ('converged', [0.6, 0.4])
    """

    prior: object = None
    _: KW_ONLY
    parameterization: Parameterization = "softmax"
    restarts: int | None = None
    start: Start | BayesNet = "auto"
    acceleration: Accelerated | None = None
    holdout: object = None
    threads: int | None = None
    inference: Method | None = None

    def __post_init__(self) -> None:
        IterativeEstimator.__post_init__(self)
        if self.acceleration is not None:
            one_of("acceleration", self.acceleration, get_args(Accelerated), otherwise="None")

    @often
    def step(self, task: EMTask, state: Iterate, rng: np.random.Generator) -> tuple[Iterate, Info]:
        """The next iterate: an M-step and the E-step at its estimate, or a point further on."""
        made = task.maximize(state.model, state.statistics)
        if self.acceleration is None:
            new = task.evaluate(made)
        else:
            new = accelerated(ACCELERATIONS[self.acceleration], task, state, made)
        return new, self.info(task, new, state)


@dataclass(frozen=True, slots=True, repr=False)
class HardEM(IterativeEstimator):
    r"""Hard-assignment EM: complete each row by its most probable values, estimate, and repeat.

    $$\mathbf h[m] = \arg\max_{\mathbf h} P(\mathbf h \mid \mathbf o[m], \theta)$$

    It raises the likelihood of the *completed* rows and stops after finitely many steps; for mixtures of spheres this
    is the k-means algorithm. The trace is about the completed rows, `FitResult.log_likelihood` about those given.

    Args:
        prior, parameterization, restarts, start, inference: as in `EM`.

    Cost: one max-product pass per step for each different row with missing cells.
    Reference: Koller & Friedman, section 19.2.2.6.
    Guarantee: completed likelihood never decreases; terminates.
    Tested by: learning/incomplete/test_em.py::test_hard_em_terminates_where_completions_repeat

    >>> from sepset.api.learning import fit
    >>> from sepset.graphs.graph import DAG
    >>> fit(DAG.parse("x"), {"x": ["a", "a", "b", None]}, HardEM()).model.cpd("x").values.tolist()
    [0.75, 0.25]
    """

    prior: object = None
    _: KW_ONLY
    parameterization: Parameterization = "softmax"
    restarts: int | None = None
    start: Start | BayesNet = "auto"
    inference: Method | None = None

    @often
    def first(self, task: EMTask, model: BayesNet) -> Iterate:
        """The iterate at these parameters, with the rows completed."""
        return task.evaluate(model, is_hard=True)

    @often
    def step(self, task: EMTask, state: Iterate, rng: np.random.Generator) -> tuple[Iterate, Info]:
        """Estimates from the completed rows, and new completions."""
        new = self.first(task, task.maximize(state.model, state.statistics))
        same = all(np.array_equal(a, b) for a, b in zip(new.statistics, state.statistics, strict=True))
        return new, self.info(task, new, state)._replace(is_done=same)


@dataclass(frozen=True, slots=True, repr=False)
class IncrementalEM(IterativeEstimator):
    r"""EM that estimates again after each part of the rows.

    Each part keeps its expected statistics from when it was last looked at. The objective is the free energy

    $$F[\theta, Q] = E_Q[\log P(\mathcal D, \mathcal H \mid \theta)] + H(Q) \le \log P(\mathcal D \mid \theta),$$

    which every update raises; it meets the log-likelihood where the iteration converges. A step is one pass.

    Args:
        parts: the number of parts that the rows are divided into, at random.
        prior, parameterization, restarts, start, threads, inference: as in `EM`.

    Reference: Neal & Hinton (1998), A view of the EM algorithm that justifies incremental variants.
    Guarantee: free energy never decreases, bounds the likelihood.
    Tested by: learning/incomplete/test_em.py::test_free_energy_is_a_lower_bound_that_is_met

    >>> from sepset.api.learning import fit
    >>> from sepset.graphs.graph import DAG
    >>> found = fit(DAG.parse("x"), {"x": ["a", "a", "b", None]}, IncrementalEM(parts=2))
    >>> found.model.cpd("x").values.round(2).tolist()
    [0.67, 0.33]
    """

    parts: int = 8
    prior: object = None
    _: KW_ONLY
    parameterization: Parameterization = "softmax"
    restarts: int | None = None
    start: Start | BayesNet = "auto"
    threads: int | None = None
    inference: Method | None = None

    def __post_init__(self) -> None:
        IterativeEstimator.__post_init__(self)
        whole("parts", self.parts, least=1)

    @often
    def first(self, task: EMTask, model: BayesNet) -> Iterate:
        """The iterate at these parameters, with statistics part by part."""
        return dealt(task, model, self.parts)

    @often
    def step(self, task: EMTask, state: Iterate, rng: np.random.Generator) -> tuple[Iterate, Info]:
        """One pass over the parts."""
        new = one_pass(task, state)
        return new, self.info(task, new, state)
