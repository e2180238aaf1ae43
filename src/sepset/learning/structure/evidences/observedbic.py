r"""The Bayesian information criterion of incomplete rows, with the dimension that the rows can determine.

$$\ell(\hat\theta : \mathcal D) - \frac{\log M}{2} \text{Dim}$$

With hidden variables not every parameter leaves a trace: the rank of the Jacobian of the observed distribution is the
effective dimension, and counting more parameters penalizes the structure too much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sepset.base.checks import number, one_of
from sepset.data.missingness import missing_patterns
from sepset.inference.result import Guarantee
from sepset.learning.missing.identifiability import identifiability
from sepset.learning.structure.evidences.logevidence import EvidenceTask, LogEvidenceResult

Dimension = Literal["effective", "parameters"]


@dataclass(frozen=True, slots=True)
class ObservedBIC:
    r"""The maximal log-likelihood of the observed cells less half the dimension times $\log M$.

    Args:
        dimension: the "effective" dimension, which is the rank of the Jacobian of the observed distribution at random
            parameters; or the number of "parameters".
        penalty: multiplies the penalty; one by default.

    Cost: that of EM; for the rank one sweep for each joint state of what is observed (a sample of many).
    Reference: Koller & Friedman, section 19.4.1; Geiger, Heckerman & Meek (1996) for the effective dimension.
    Guarantee: asymptotic estimate at regular points.
    Tested by: learning/structure/evidences/test_observedbic.py::test_the_effective_dimension_of_a_latent_class

    >>> from sepset.learning.classify.latentclass import latent_class
    >>> from sepset.learning.structure.evidences.logevidence import log_evidence
    >>> from sepset.variables.variable import Discrete
    >>> rows = {"a": [0, 0, 1, 1, 1], "b": [0, 0, 1, 1, 0]}
    >>> net = latent_class([Discrete("a"), Discrete("b")], 2)
    >>> found = log_evidence(net, rows, method=ObservedBIC())
    >>> net.num_parameters, found.dimension
    (5, 3)
    """

    dimension: Dimension = "effective"
    penalty: float = 1.0

    def __post_init__(self) -> None:
        one_of("dimension", self.dimension, ("effective", "parameters"))
        number("ObservedBIC(penalty=)", self.penalty, least=0)

    def evidence(self, task: EvidenceTask) -> LogEvidenceResult:
        """The log evidence."""
        mode = task.mode()
        size = self.num_dimensions(task)
        cost = -self.penalty * 0.5 * math.log(task.total) * size
        return LogEvidenceResult(
            mode.log_likelihood + cost,
            {"log-likelihood": mode.log_likelihood, "penalty": cost},
            model=mode.model,
            log_likelihood=mode.log_likelihood,
            dimension=size,
            method=self,
            guarantees={"log_evidence": Guarantee.ESTIMATE if mode.expectation.is_exact else Guarantee.HEURISTIC},
            status=mode.status,
            info={"parameters": mode.model.num_parameters},
        )

    def num_dimensions(self, task: EvidenceTask) -> int:
        """The dimension that is counted."""
        if self.dimension == "parameters" or not any(task.dataset.num_missing.values()):
            return task.template.num_parameters
        return identifiability(task.template, missing_patterns(task.dataset)).effective_dimension
