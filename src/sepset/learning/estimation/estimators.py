r"""Estimates of parameters from complete data: maximum likelihood, Bayesian, and maximum a posteriori."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from sepset.base.checks import fraction, number
from sepset.cpds.cpd import CPD
from sepset.cpds.parameters import Parameterization, check_parameterization
from sepset.errors import ArgumentError
from sepset.inference.result import Guarantee
from sepset.learning.blocks import require_taken
from sepset.learning.coverage import CoverageResult
from sepset.learning.estimation.maximization import check_policy, maximize_block
from sepset.learning.fit import FitResult, PosteriorFitResult
from sepset.learning.posterior import Posterior
from sepset.learning.statistics import Statistics
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete


@dataclass(frozen=True, eq=False, repr=False)
class MLE:
    r"""Maximum likelihood: $\hat\theta_{x \mid \mathbf u} = M[\mathbf u, x] / M[\mathbf u]$ for tables.

    Cells without data get probability zero, so that a row with such a cell has likelihood zero and a log-loss of
    infinity. Nothing is repaired unless asked for.

    Args:
        unseen: contexts without data: "raise" an error (the default), "uniform", the child's "marginal", "keep" the
            parameters of the network, or a prior to fill them with; or a mapping from names of variables or blocks to
            these, with `...` for all others. `FitResult.coverage` lists them.
        floor: the least probability of a cell; rows are divided by their sums after raising. None by default.
        min_variance: the least variance of a linear Gaussian. Without it a variance of zero (a constant child, or a
            perfect fit) is an error, since the likelihood is unbounded there.

    Reference: Koller & Friedman, sections 17.1 and 17.2.
    Guarantee: exact; local optimum where searched.
    Tested by: learning/estimation/test_estimators.py::test_frequencies_by_plain_counting

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.api.learning import fit
    >>> fit(DAG.parse("coin"), {"coin": list("HHHTTTTTTT")}, MLE()).model.cpd("coin").values.tolist()
    [0.3, 0.7]
    """

    unseen: Any = "raise"
    floor: float | None = None
    _: KW_ONLY
    min_variance: float | None = None

    def __post_init__(self) -> None:
        check_policy(self.unseen)
        if self.floor is not None:
            fraction("floor", self.floor)
        if self.min_variance is not None:
            number("min_variance", self.min_variance, above=0, otherwise="None")

    keeps_checkpoint: ClassVar[bool] = False
    """It does not iterate."""

    def fit(self, task: Task) -> FitResult:
        """The network of largest likelihood."""
        stats = Statistics.of(task, "MLE")
        model = stats.estimated(lambda cpds, total: self._block(cpds, total, stats))
        return _fitted(self, stats, model)

    def _block(self, cpds: tuple[CPD, ...], total: Any, stats: Statistics) -> tuple[CPD, ...]:
        return maximize_block(
            cpds, total, unseen=self.unseen, rows=stats.rows_of(cpds), floor=self.floor, min_variance=self.min_variance
        )

    def __repr__(self) -> str:
        return shown(self)


@dataclass(frozen=True, eq=False, repr=False)
class Bayes:
    r"""Bayesian estimation: the posterior over parameters, and the network of its means.

    $$\theta_{\cdot \mid \mathbf u} \mid \mathcal D \sim \text{Dir}(\alpha + M[\mathbf u, \cdot])$$

    and normal-gamma for linear Gaussians. `FitResult.model` is the posterior-mean network, `FitResult.posterior` the
    distribution:
    intervals, tails, evidence, exact predictions, updates.

    Args:
        prior: `BDeu`, `BDe`, `K2`, `Dirichlet`, `ContextStrength`, `DirichletMixture`, `ImaginaryData`; `NormalGamma`,
            `LinearNormalGamma`, `NormalInverseWishart` for linear Gaussians. A sequence of them, of which the first
            that fits a CPD counts; or a mapping by name of variable or block, `...` standing for all others.

    Reference: Koller & Friedman, sections 17.3 and 17.4.
    Guarantee: exact.
    Tested by: claims/test_published_estimates.py::test_bdeu_does_not

    >>> from sepset.cpds.priors.dirichlet import Dirichlet
    >>> from sepset.graphs.graph import DAG
    >>> from sepset.api.learning import fit
    >>> found = fit(DAG.parse("coin"), {"coin": list("HHHTTTTTTT")}, Bayes(Dirichlet(10)))
    >>> found.model.cpd("coin").values.round(4).tolist()
    [0.4333, 0.5667]
    """

    prior: Any

    def __post_init__(self) -> None:
        check_prior("Bayes", self.prior)

    keeps_checkpoint: ClassVar[bool] = False
    """It does not iterate."""

    def fit(self, task: Task) -> PosteriorFitResult:
        """The posterior, and the network of its means."""
        require_taken(task.template, self.prior, _without_rows)
        stats = Statistics.of(task, "Bayes")
        posterior = Posterior.of(stats, self.prior)
        model = posterior.mean_model()
        return PosteriorFitResult(model, posterior=posterior, **_about(self, stats, model))

    def __repr__(self) -> str:
        return shown(self)


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorMode:
    r"""Maximum a posteriori: the parameters of largest posterior density, in a stated parameterization.

    A mode moves with the parameterization. Of logits it is $(M_k + \alpha_k) / (M + \alpha)$, the same as the posterior
    mean; of probabilities it is $(M_k + \alpha_k - 1) / (M + \alpha - K)$, and there pseudo-counts below one raise an
    error, since the density is unbounded. Noisy-or, noisy-max and logistic CPDs, and linear Gaussians with
    `NormalWeights`
    or `LaplaceWeights` priors, are found numerically.

    Args:
        prior: as `Bayes` takes it, and `NormalWeights` or `LaplaceWeights` on weights and coefficients.
        parameterization: "softmax" (logits, logarithms of variances), or "theta" (the parameters themselves).
        unseen: contexts that neither data nor prior determine, as in `MLE`.

    Reference: Koller & Friedman, section 17.4.4 and box 17.D.
    Guarantee: exact; local optimum where searched.
    Tested by: learning/estimation/test_maximization.py::test_modes_of_lines_by_scipy

    >>> from sepset.cpds.priors.dirichlet import Dirichlet
    >>> from sepset.graphs.graph import DAG
    >>> from sepset.api.learning import fit
    >>> found = fit(DAG.parse("coin"), {"coin": list("HHT")}, PosteriorMode(Dirichlet(2), parameterization="theta"))
    >>> found.model.cpd("coin").values.tolist()
    [0.6, 0.4]
    """

    prior: Any
    parameterization: Parameterization = "softmax"
    _: KW_ONLY
    unseen: Any = "raise"

    def __post_init__(self) -> None:
        check_prior("PosteriorMode", self.prior)
        check_policy(self.unseen)
        check_parameterization(self.parameterization)

    keeps_checkpoint: ClassVar[bool] = False
    """It does not iterate."""

    def fit(self, task: Task) -> FitResult:
        """The network of largest posterior density."""
        is_theta = self.parameterization == "theta"
        require_taken(
            task.template, self.prior, lambda cpds, p: cpds[0].parameters.prior_term(p, cpds, is_theta=is_theta)
        )
        stats = Statistics.of(task, "PosteriorMode")
        return _fitted(self, stats, stats.estimated(self._block))

    def _block(self, cpds: tuple[CPD, ...], total: Any) -> tuple[CPD, ...]:
        return maximize_block(cpds, total, self.prior, parameterization=self.parameterization, unseen=self.unseen)

    def __repr__(self) -> str:
        return shown(self)


def _without_rows(cpds: Sequence[CPD], prior: object) -> None:
    """The posterior that a prior is by itself: refused if the CPDs take another kind of prior."""
    own = cpds[0].parameters
    nothing = {v: np.zeros(0, np.int64 if isinstance(v, Discrete) else np.float64) for v in cpds[0].scope}
    own.posterior(prior, cpds, own.statistics(nothing) if own.is_conjugate else None)


def check_prior(owner: str, prior: object) -> None:
    """Raise for a missing prior, a class in place of a value, and an empty collection."""
    parts = list(prior.values()) if isinstance(prior, Mapping) else prior
    listed = parts if isinstance(parts, list | tuple) else [parts]
    if not listed or any(p is None or isinstance(p, type | str | int | float) for p in listed):
        raise ArgumentError(f"{owner} needs a prior, a value such as BDeu(10) or Dirichlet(1); found {prior!r}.")


def shown(method: Any) -> str:
    """A method with the settings that are not the default.

    >>> shown(MLE(unseen="uniform"))
    "MLE(unseen='uniform')"
    """
    parts = []
    for f in fields(method):
        value = getattr(method, f.name)
        if isinstance(value, type(f.default)) and value == f.default:
            continue
        parts.append(repr(value) if f.name == "prior" else f"{f.name}={value!r}")
    return f"{type(method).__name__}({', '.join(parts)})"


def _fitted(method: object, stats: Statistics, model: BayesNet) -> FitResult:
    return FitResult(model, **_about(method, stats, model))


def _about(method: object, stats: Statistics, model: BayesNet) -> dict[str, Any]:
    """The arguments of a result that describe its network."""
    log_likelihood, facts = stats.log_likelihood(model), _facts(stats, model)
    return {
        "log_likelihood": log_likelihood,
        "method": method,
        "trace": np.array([log_likelihood]),
        "coverage": CoverageResult.of(stats),
        "num_rows": stats.num_rows,
        "guarantees": {"parameters": _guarantee(model, facts)},
        "info": facts,
    }


def _guarantee(model: BayesNet, facts: Mapping[str, object]) -> Guarantee:
    """Exact where estimates have a closed form and their digits; a search may stop at a local optimum."""
    if "relative_error" in facts:
        return Guarantee.ESTIMATE
    closed = all(cpd.parameters.is_exact or not cpd.num_parameters for cpd in model.cpds)
    return Guarantee.EXACT if closed else Guarantee.LOCAL_OPTIMUM


def _facts(stats: Statistics, model: BayesNet) -> dict[str, object]:
    """Facts about how well the rows determine the parameters of each block, by fact and block."""
    found: dict[str, dict[str, object]] = {}
    for pool in stats.blocks.values():
        own = model.cpd(pool.cpds[0].child).parameters
        for fact, told in own.facts(pool.total, has_rows=bool(stats.columns)).items():
            found.setdefault(fact, {})[pool.cpds[0].block.name] = told
    return {**found}
