r"""Laplace's approximation of the evidence: a normal density at the mode of the posterior.

$$\log P(\mathcal D \mid \mathcal G) \approx \ell(\tilde\theta) + \log P(\tilde\theta) + \frac d2 \log 2\pi
- \frac12 \log \left| -\nabla^2 \log P(\tilde\theta \mid \mathcal D) \right|$$
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.parameters import Parameterization, check_parameterization
from sepset.cpds.priors.dirichlet import BDeu
from sepset.errors import NotApplicable, TooLarge
from sepset.inference.result import Guarantee
from sepset.learning.structure.evidences.curvature import CellCovariance, Simplices
from sepset.learning.structure.evidences.logevidence import EvidenceTask, LogEvidenceResult, Mode, num_relabelings

LARGEST = 2_000
"""The largest number of parameters: each takes a few passes of inference, and all together a dense matrix."""

BORDER = 1e-6
"""Counts, with what a prior adds to them, below which the mode of a probability is zero."""


@dataclass(frozen=True, slots=True)
class Laplace:
    r"""The evidence by a normal approximation of the posterior at its mode.

    One mode is counted. States of hidden variables can be relabeled, so that there are others of the same height: where
    they are well separated, add the logarithm of their number (`info["relabelings"]`).

    Args:
        prior: of the parameters; a Dirichlet, such as `BDeu(1)`, `K2()`.
        parameterization: the coordinates of the normal density: "softmax" (logits, where the mode is always in the
            interior and the posterior closer to normal), or "theta", the probabilities themselves.

    Cost: that of EM, and three passes of inference for each parameter, over the rows that leave it open.
    Reference: Koller & Friedman, section 19.4.1; Chickering & Heckerman (1997); MacKay (1998) for the coordinates.
    Guarantee: asymptotic estimate; relative error of the evidence $O(1/M)$ at a regular mode.
    Tested by: learning/structure/evidences/test_laplace.py::test_the_hessian_by_finite_differences

    >>> from sepset.cpds.priors.dirichlet import K2
    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.evidences.logevidence import log_evidence
    >>> round(log_evidence(DAG.parse("x"), {"x": [0, 0, 1, None]}, method=Laplace(K2())).value, 3)
    -2.537
    """

    prior: object = BDeu(1.0)
    parameterization: Parameterization = "softmax"

    def __post_init__(self) -> None:
        check_parameterization(self.parameterization)

    def evidence(self, task: EvidenceTask) -> LogEvidenceResult:
        """The log evidence."""
        if task.template.num_parameters > LARGEST:
            raise TooLarge(
                f"Laplace takes a dense Hessian of {task.template.num_parameters:,} parameters; at most {LARGEST:,} "
                "are allowed. Use CheesemanStutz()."
            )
        task.require_multinomials("Laplace")
        mode = task.mode(self.prior, self.parameterization)
        precision = -self.hessian(mode)
        log_prior = self.log_prior(mode)
        volume = 0.5 * (len(precision) * math.log(2.0 * math.pi) - _log_determinant(precision))
        return LogEvidenceResult(
            mode.log_likelihood + log_prior + volume,
            {"log_likelihood": mode.log_likelihood, "log_prior_density": log_prior, "log_volume": volume},
            model=mode.model,
            log_likelihood=mode.log_likelihood,
            dimension=len(precision),
            method=self,
            guarantees={"log_evidence": Guarantee.ESTIMATE if mode.expectation.is_exact else Guarantee.HEURISTIC},
            status=mode.status,
            info={"relabelings": num_relabelings(task)},
        )

    def log_prior(self, mode: Mode) -> float:
        """The log density of the mode under the prior, in the coordinates of the approximation."""
        total = 0.0
        for own, members in mode.blocks:
            if own.cpd.num_parameters:
                total += mode.posterior(self.prior, members, own.zero).log_density(own.cpd, self.parameterization)
        return total

    def hessian(self, mode: Mode) -> Floats:
        """The second derivatives of the log posterior by the free coordinates at a mode."""
        covariance = CellCovariance(mode.expectation, mode.model)
        masses, groups, learned = _cells(mode)
        counts = np.concatenate([np.zeros(0), *mode.statistics]) + self._exponents(mode)
        if self.parameterization == "theta" and not (counts[learned] > BORDER).all():
            raise NotApplicable(
                "The mode has probabilities of zero, or contexts without rows, where no normal density fits. "
                'Use Laplace(parameterization="softmax").'
            )
        kept = np.flatnonzero(learned)
        simplices = Simplices(masses[kept], groups[kept])
        form = simplices.in_logits if self.parameterization == "softmax" else simplices.in_probabilities
        return form(covariance.matrix[np.ix_(kept, kept)], counts[kept])

    def _exponents(self, mode: Mode) -> Floats:
        """The terms that the prior adds to the counts."""
        terms = mode.expectation.blocks.prior_terms(self.prior, is_theta=self.parameterization == "theta")
        parts = [
            np.zeros(len(own.zero)) if term is None or term.counts is None else term.counts
            for (own, _), term in zip(mode.blocks, terms, strict=True)
        ]
        return np.concatenate([np.zeros(0), *parts])


def _cells(mode: Mode) -> tuple[Floats, Ints, Any]:
    """The mass and the group of each cell, and whether it is learned."""
    masses, groups, learned = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.bool_)]
    number = 0
    for own, _ in mode.blocks:
        any_own: Any = own
        size = len(own.zero)
        has = own.cpd.num_parameters > 0
        masses.append(any_own.probabilities * any_own.multiplicities if has else np.ones(size))
        groups.append(number + (any_own.groups if has else np.zeros(size, np.int64)))
        learned.append(np.full(size, has))
        number = int(groups[-1].max(initial=number - 1)) + 1
    return np.concatenate(masses), np.concatenate(groups), np.concatenate(learned)


def _log_determinant(precision: Floats) -> float:
    """The log determinant of a positive definite matrix."""
    if not len(precision):
        return 0.0
    try:
        return 2.0 * float(np.log(np.diag(np.linalg.cholesky(precision))).sum())
    except np.linalg.LinAlgError:
        raise NotApplicable(
            "The log posterior does not fall in all directions where EM stopped: a saddle, or a flat direction that "
            "neither rows nor prior determine. Use more starting points, em=EM(restarts=20), a stronger prior, or "
            "CheesemanStutz()."
        ) from None
