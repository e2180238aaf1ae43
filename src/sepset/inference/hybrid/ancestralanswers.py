"""Answers about a few numbers of a wide network, from sums over paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.lazy import lazy
from sepset.base.logarithms import LOG_2PI
from sepset.factors.canonical import Cholesky
from sepset.factors.moments import Gaussian
from sepset.inference.hybrid.ancestry import Ancestry
from sepset.inference.method import Best
from sepset.variables.variable import Vector


@dataclass(frozen=True, eq=False)
class AncestralAnswer:
    """Real variables as sums over their ancestors, given others that are such sums.

    Attributes:
        scope: the variables.
        parts: in each part of the network that shares no hidden number with others, their coordinates there and their
            places in `scope`.
        log_partition: the log density of the evidence.
        residual: an approximate bound of the relative error.
    """

    scope: tuple[Vector, ...]
    parts: tuple[tuple[Ancestry, Ints], ...]
    log_partition: float
    residual: float

    @lazy
    def distribution(self) -> Gaussian:
        """Their joint distribution."""
        size = sum(v.size for v in self.scope)
        mean, covariance = np.zeros(size), np.zeros((size, size))
        for found, at in self.parts:
            mean[at], covariance[at[:, None], at] = found.moments.mean, found.moments.covariance
        return Gaussian._make(self.scope, mean, covariance)

    def best(self, over: Sequence[int]) -> Best | None:
        """The most probable values of these variables, which are its own; None if they have no joint density.

        Args:
            over: their positions, in the order of `scope`.
        """
        if self.log_partition == -np.inf:
            return Best({}, -np.inf)
        mean, covariance = np.atleast_1d(self.distribution.mu), self.distribution.covariance
        chol = Cholesky.of(covariance[None])
        if not chol.definite.all():
            return None
        pivots = np.diagonal(chol.lower[0]) / chol.scale[0]
        log_peak = -0.5 * len(mean) * LOG_2PI - float(np.log(pivots).sum())
        ends = np.cumsum([0, *(v.size for v in self.scope)]).tolist()
        values = {v: mean[a:b] for v, a, b in zip(over, ends, ends[1:], strict=False)}
        return Best(values, self.log_partition + log_peak)


class AncestralMarginals(NamedTuple):
    """The marginal of every unobserved variable, real ones as sums over their ancestors.

    Attributes:
        read: gives that of one variable.
        log_partition: the log density of the evidence.
        residual: an approximate bound of the relative error.
    """

    read: Callable[[int], Any]
    log_partition: float
    residual: float
