r"""Estimates of parameters from complete data: maximum likelihood, Bayesian, and maximum a posteriori."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.learning.fit import Fit
from sepset.learning.statistics import Statistics
from sepset.learning.task import Task

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class MLE:
    """Maximum likelihood."""

    unseen: str = "raise"

    def fit(self, task: Task) -> Fit:
        """The network of largest likelihood."""
        stats = Statistics.of(task, "MLE")
        model = stats.estimated(lambda cpd, total: cpd.from_statistics(total, unseen=self.unseen))  # type: ignore[call-arg]
        log_likelihood = stats.log_likelihood(model)
        return Fit(model, log_likelihood, method=self, trace=np.array([log_likelihood]), num_rows=stats.num_rows)

    def __repr__(self) -> str:
        return "MLE()" if self.unseen == "raise" else f"MLE(unseen={self.unseen!r})"
