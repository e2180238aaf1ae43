"""Learned structures that come with their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sepset.graphs.graph import DAG
from sepset.learning.fit import FitResult, LearningMethod, fit as fit_parameters
from sepset.learning.incomplete.em import EM
from sepset.learning.structure.learned import Learned
from sepset.models.bayesnet import BayesNet


@dataclass(frozen=True, eq=False, repr=False)
class LearnedBayesNet(Learned[DAG]):
    r"""A structure learned from incomplete rows, with its parameters.

    Attributes:
        model: the network with the parameters that were learned with the structure.
        log_likelihood: of the observed cells under it.
        parameter_prior: the prior of the parameters; None if they maximize the likelihood.
        score: of the observed cells. With a penalized likelihood, the log-likelihood less the penalty; with the
            evidence under a prior, the lower bound of Cheeseman and Stutz.
        trace: the largest score after each round.
    """

    model: BayesNet = field(kw_only=True)
    log_likelihood: float = field(kw_only=True)
    parameter_prior: object = field(default=None, kw_only=True)

    def fit(self, method: LearningMethod | None = None, **options: Any) -> FitResult:
        """The network with parameters from the same rows.

        Args:
            method: how to estimate them; EM from those of `model` by default, which are near its end.
            options: as `fit` takes them: seed, until, progress, checkpoint.
        """
        chosen = EM(self.parameter_prior, start="model") if method is None else method
        found: FitResult = fit_parameters(self.model, self.columns.dataset, chosen, **options)
        return found

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield from super()._facts()
        yield "log-likelihood", f"{self.log_likelihood:.10g}"
