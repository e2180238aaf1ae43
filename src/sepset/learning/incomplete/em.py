r"""Expectation maximization: fill in what is missing with its posterior, estimate, and repeat.

$$\bar M^t[x, \mathbf u] = \sum_m P(x, \mathbf u \mid \mathbf o[m], \theta^t), \qquad
\theta^{t+1}_{x \mid \mathbf u} = \frac{\bar M^t[x, \mathbf u]}{\bar M^t[\mathbf u]}$$

Every step raises the log-likelihood (with a prior, the log posterior) or stays where it is.

Reference: Koller & Friedman, section 19.2.2; Dempster, Laird & Rubin (1977).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from sepset.base.checks import one_of, whole
from sepset.cpds.parameters import Parameterization
from sepset.inference.iterate import Info
from sepset.learning.incomplete.run import Ascent, Climbing, Point
from sepset.learning.incomplete.starts import Start
from sepset.models.bayesnet import BayesNet

Accelerated: TypeAlias = Literal["squarem", "aitken", "conjugate"]
"""How EM goes further than its steps."""


@dataclass(frozen=True, slots=True, repr=False)
class EM(Climbing):
    r"""Expectation maximization with the exact posterior of every row.

    Args:
        prior: what to add to the counts: one prior, several, or a mapping by block (see `MAP`); None maximizes the
            likelihood.
        parameterization: where the mode is taken: "softmax" adds $\alpha$ to the counts, "theta" adds $\alpha - 1$.
        restarts: how many starting points get a short run before the best goes on; by default one, or five where
            variables have no column and no start is given.
        start: which parameters to begin at: "auto", "model", "data", "random", or a network.
        acceleration: "squarem" and "aitken" extrapolate every third step, along the path of all expected counts or of
            each by itself; "conjugate" turns each step away from the last and searches along it. None of them accepts
            a point that rises less than EM is known to.
        holdout: rows to watch: the iteration ends before the step that lowers their log-likelihood.
        threads: how many; one a processor by default. Answers do not depend on it.

    Contexts that no row can reach become uniform. The result is a stationary point; more restarts find better ones.

    Cost: one pass of exact inference over the different rows a step; nothing is planned again.
    Reference: Koller & Friedman, section 19.2.2; Varadhan & Roland (2008), Laird, Lange & Stram (1987), Jamshidian &
    Jennrich (1993) for the accelerations.

    >>> from sepset.api.learning import fit
    >>> from sepset.graphs.graph import DAG
    >>> rows = {"x": ["a", "a", "b", None], "y": ["c", "d", "d", "d"]}
    >>> found = fit(DAG.parse("x -> y"), rows, EM())
    >>> found.status.value, found.model.cpd("x").values.round(1).tolist()
    ('converged', [0.6, 0.4])
    """

    prior: object = None
    parameterization: Parameterization = "softmax"
    restarts: int | None = None
    start: Start | BayesNet = "auto"
    acceleration: Accelerated | None = None
    holdout: object = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.acceleration is not None:
            one_of("acceleration", self.acceleration, get_args(Accelerated), otherwise="None")

    def first(self, task: Ascent, model: BayesNet) -> Point:
        """The point at these parameters."""
        return task.point(model)

    def step(self, task: Ascent, state: Point, rng: np.random.Generator) -> tuple[Point, Info]:
        """The next point: an M-step and the E-step at what it found, or something further on."""
        made = task.expectation.blocks.maximize(state.model, state.statistics, task.terms)
        if self.acceleration is None:
            new = task.point(made)
        else:
            from sepset.learning.incomplete.acceleration import ACCELERATIONS, accelerated

            new = accelerated(ACCELERATIONS[self.acceleration], task, state, made)
        return new, new.info(state)


@dataclass(frozen=True, slots=True, repr=False)
class HardEM(Climbing):
    r"""Hard-assignment EM: complete each row by its most probable values, estimate, and repeat.

    $$\mathbf h[m] = \arg\max_{\mathbf h} P(\mathbf h \mid \mathbf o[m], \theta)$$

    It raises the likelihood of the *completed* rows and stops after finitely many steps; for mixtures of spheres this
    is the k-means algorithm. The trace is about the completed rows, `Fit.log_likelihood` about those given.

    Args:
        prior, parameterization, restarts, start: as in `EM`.

    Cost: one max-product pass for each different row that misses anything, a step.
    Reference: Koller & Friedman, section 19.2.2.6.

    >>> from sepset.api.learning import fit
    >>> from sepset.graphs.graph import DAG
    >>> fit(DAG.parse("x"), {"x": ["a", "a", "b", None]}, HardEM()).model.cpd("x").values.tolist()
    [0.75, 0.25]
    """

    prior: object = None
    parameterization: Parameterization = "softmax"
    restarts: int | None = None
    start: Start | BayesNet = "auto"

    def first(self, task: Ascent, model: BayesNet) -> Point:
        """The point at these parameters, with the rows completed."""
        return task.point(model, is_hard=True)

    def step(self, task: Ascent, state: Point, rng: np.random.Generator) -> tuple[Point, Info]:
        """Estimates from the completed rows, and new completions."""
        new = self.first(task, task.expectation.blocks.maximize(state.model, state.statistics, task.terms))
        same = all(np.array_equal(a, b) for a, b in zip(new.statistics, state.statistics, strict=True))
        return new, new.info(state)._replace(is_done=same)


@dataclass(frozen=True, slots=True, repr=False)
class IncrementalEM(Climbing):
    r"""EM that estimates again after each part of the rows.

    Each part keeps its expected statistics from when it was last looked at. The objective is the free energy

    $$F[\theta, Q] = E_Q[\log P(\mathcal D, \mathcal H \mid \theta)] + H(Q) \le \log P(\mathcal D \mid \theta),$$

    which every update raises; it meets the log-likelihood where the iteration converges. A step is one pass.

    Args:
        parts: how many parts the rows are dealt into, at random.
        prior, parameterization, restarts, start, threads: as in `EM`.

    Reference: Neal & Hinton (1998), A view of the EM algorithm that justifies incremental variants.

    >>> from sepset.api.learning import fit
    >>> from sepset.graphs.graph import DAG
    >>> found = fit(DAG.parse("x"), {"x": ["a", "a", "b", None]}, IncrementalEM(parts=2))
    >>> found.model.cpd("x").values.round(2).tolist()
    [0.67, 0.33]
    """

    parts: int = 8
    prior: object = None
    parameterization: Parameterization = "softmax"
    restarts: int | None = None
    start: Start | BayesNet = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        whole("parts", self.parts, least=1)

    def first(self, task: Ascent, model: BayesNet) -> Point:
        """The point at these parameters, with statistics part by part."""
        from sepset.learning.incomplete.incremental import dealt

        return dealt(task, model, self.parts)

    def step(self, task: Ascent, state: Point, rng: np.random.Generator) -> tuple[Point, Info]:
        """One pass over the parts."""
        from sepset.learning.incomplete.incremental import one_pass

        new = one_pass(task, state)
        return new, new.info(state)
