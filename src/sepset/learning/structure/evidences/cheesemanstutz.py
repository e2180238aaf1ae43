r"""Cheeseman and Stutz's evidence: that of expected counts, corrected by what the rows leave open.

$$\log P(\mathcal D^* \mid \mathcal G) - \ell(\tilde\theta : \mathcal D^*) + \ell(\tilde\theta : \mathcal D)$$

with $\mathcal D^*$ the expected statistics at $\tilde\theta$. The last two terms are the entropy of
$Q(\mathbf h) = P(\mathbf h \mid \mathcal D, \tilde\theta)$, and the first is
$\log \int P(\theta) \exp E_Q[\log P(\mathcal D, \mathbf h \mid \theta)]\, d\theta$, so that the sum is the largest free
energy with this $Q$: a lower bound of the log evidence at any $\tilde\theta$.
"""

from __future__ import annotations

from dataclasses import dataclass

from sepset.cpds.parameters import Parameterization, check_parameterization
from sepset.cpds.priors.dirichlet import BDeu
from sepset.inference.result import Guarantee
from sepset.learning.structure.evidences.logevidence import EvidenceTask, LogEvidenceResult, Mode


@dataclass(frozen=True, slots=True)
class CheesemanStutz:
    r"""The evidence of expected counts, corrected by the likelihoods of both: a lower bound.

    Args:
        prior: of the parameters; a Dirichlet, such as `BDeu(1)`, `K2()`.
        parameterization: where the mode is taken: "softmax" adds $\alpha$ to the counts, "theta" adds $\alpha - 1$,
            which with `K2()` is maximum likelihood.

    Cost: that of EM.
    Reference: Cheeseman & Stutz (1996); Chickering & Heckerman (1997); Beal & Ghahramani (2006) for the bound.
    Guarantee: lower bound; exact for complete rows.
    Tested by: learning/structure/evidences/test_logevidence.py::test_worked_evidences

    >>> from sepset.cpds.priors.dirichlet import K2
    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.evidences.logevidence import log_evidence
    >>> round(log_evidence(DAG.parse("x"), {"x": [0, 0, 1, None]}, method=CheesemanStutz(K2())).value, 6)
    -2.584697
    """

    prior: object = BDeu(1.0)
    parameterization: Parameterization = "softmax"

    def __post_init__(self) -> None:
        check_parameterization(self.parameterization)

    def evidence(self, task: EvidenceTask) -> LogEvidenceResult:
        """The log evidence."""
        task.require_multinomials("CheesemanStutz")
        mode = task.mode(self.prior, self.parameterization)
        completed = expected_evidence(mode, self.prior)
        entropy = mode.log_likelihood - mode.expectation.blocks.score(mode.model, mode.statistics)
        bound = Guarantee.LOWER_BOUND if mode.expectation.is_exact else Guarantee.HEURISTIC
        return LogEvidenceResult(
            completed + entropy,
            {"evidence_of_expected_counts": completed, "entropy_of_missing_cells": entropy},
            model=mode.model,
            log_likelihood=mode.log_likelihood,
            dimension=mode.model.num_parameters,
            method=self,
            guarantees={"log_evidence": bound},
            status=mode.status,
        )


def expected_evidence(mode: Mode, prior: object) -> float:
    """The log evidence of the expected counts, as if they had been counted."""
    total = 0.0
    for (own, members), statistics in zip(mode.blocks, mode.statistics, strict=True):
        if own.cpd.num_parameters:
            total += mode.posterior(prior, members, statistics).log_marginal_likelihood()
    return total
