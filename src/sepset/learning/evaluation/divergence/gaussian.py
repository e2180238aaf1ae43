r"""How far the lines of a network are from the true ones, in closed form, family by family.

With $y = a_d + B_d\mathbf u + N(0, S_d)$ the regressions of a child on its real parents in $Q$ under the truth $P$, one
for each joint state $d$ of its discrete parents,

$$\tfrac12 \sum_d P(d) \left[ \log\frac{|C_d|}{|S_d|} + \operatorname{tr} C_d^{-1}\!\left(S_d
+ \Delta_B \Sigma_{uu \mid d} \Delta_B^\top + \delta\delta^\top\right) - k \right], \qquad
\Delta_B = B_d - B^Q_d, \quad \delta = a_d - a^Q_d + \Delta_B \mu_{u \mid d}$$

is what the parameters of $Q$ lose, and $\tfrac12 E \log |S_d| - \tfrac12 E \log |C^P_d|$ what its graph does. Only
first and second moments of $P$ are needed, and those of a mixture are exact: given the discrete variables above a real
one, it is normal.

Reference: Koller & Friedman, sections 8.4.2, 8.5.2 and 14.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.cpds.lineargaussian import LinearGaussian, is_linear_gaussian
from sepset.engine.kept import engine_for
from sepset.errors import TooLarge
from sepset.factors.coordinates import entries, places, width
from sepset.inference.capabilities import moments
from sepset.inference.method import ContextMoments, Method
from sepset.learning.evaluation.divergence.expectedlog import is_same
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Vector

Marginal: TypeAlias = Callable[[Sequence[str]], Floats]


class Lines(NamedTuple):
    """Regressions, one per context: intercepts, coefficients, and the covariances of what they leave."""

    intercept: Floats
    coefficients: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class GaussianTruth:
    r"""The parts of a network with real variables that divergences from it need: moments in contexts, and regressions.

    Args:
        network: the truth.
        marginal: the joint distribution of discrete variables, by name.
        method: what finds the moments; exact by default.

    >>> from sepset.variables.variable import Real
    >>> x = Real("x")
    >>> standard, wide = (BayesNet(LinearGaussian(x, covariance=c)) for c in (1.0, 4.0))
    >>> round(GaussianTruth(standard).parameter_gap(wide, "x"), 6)
    0.318147
    """

    network: BayesNet
    marginal: Marginal = field(default=lambda names: np.ones(()), repr=False)
    method: Method | None = None

    def graph_gap(self, model: BayesNet, child: str) -> float:
        r"""$\tfrac12 E\log |S_d| - \tfrac12 E\log |C_d|$: how much more of the child the model's parents leave open."""
        own, cpd = line_of(self.network, child), line_of(model, child)
        if set(own.parents) == set(cpd.parents):
            return 0.0
        ours = _mean(self._weights(own.by), log_dets(own.covariance))
        theirs = _mean(self._weights(cpd.by), log_dets(self._regression(cpd).covariance))
        return 0.0 if ours == theirs == -math.inf else 0.5 * (theirs - ours)

    def parameter_gap(self, model: BayesNet, child: str) -> float:
        """The loss from the child's regressions beyond that from the graph; infinite if only one is deterministic."""
        own, cpd = line_of(self.network, child), line_of(model, child)
        if is_same(own, cpd):  # whatever its marginal is
            return 0.0
        weights = self._weights(cpd.by)
        ours, theirs = self._regression(cpd), _lines(cpd)
        slope, apart = ours.coefficients - theirs.coefficients, ours.intercept - theirs.intercept
        extra = np.zeros_like(ours.covariance)
        if slope.any():
            _, mean, covariance = self._moments(cpd.given, cpd.by)
            apart = apart + np.einsum("dij,dj->di", slope, mean)
            extra = slope @ covariance @ slope.swapaxes(1, 2)
        extra = extra + apart[:, :, None] * apart[:, None, :]
        gaps = _gaps(ours.covariance, theirs.covariance, extra, weights > 0)
        return max(0.5 * _mean(weights, gaps), 0.0)

    @property
    def entropy(self) -> float:
        r"""$\tfrac12 \sum_i E \log |2\pi e\, C_{i,d}|$ in nats; minus infinity where a relation is deterministic."""
        parts = [cpd for cpd in self.network.cpds if is_linear_gaussian(cpd)]
        logs = [_mean(self._weights(cpd.by), log_dets(cpd.covariance)) for cpd in parts]
        size = sum(cpd.child.size for cpd in parts)
        return 0.5 * (size * math.log(2.0 * math.pi * math.e) + math.fsum(logs))

    def _weights(self, by: Sequence[Discrete]) -> Floats:
        return np.asarray(self.marginal([v.name for v in by])).reshape(-1)

    def _regression(self, cpd: LinearGaussian) -> Lines:
        """The regressions of a CPD's child on its parents under the truth."""
        own = line_of(self.network, cpd.child.name)
        if set(own.given) == set(cpd.given) and set(own.by) <= set(cpd.by):
            line, at, order = _lines(own), entries(cpd.by, own.by), places(own.given, cpd.given)
            return Lines(line.intercept[at], line.coefficients[at][:, :, order], line.covariance[at])
        _, mean, covariance = self._moments((*cpd.given, cpd.child), cpd.by)
        size = width(cpd.given)
        B = covariance[:, size:, :size] @ np.linalg.pinv(covariance[:, :size, :size], hermitian=True)
        left = covariance[:, size:, size:] - B @ covariance[:, :size, size:]
        return Lines(mean[:, size:] - np.einsum("dij,dj->di", B, mean[:, :size]), B, left)

    def _moments(self, reals: Sequence[Vector], by: Sequence[Discrete]) -> ContextMoments:
        """The moments of reals in each joint state of discrete variables."""
        at = self.network.variables.id
        try:
            return moments(engine_for(self.network, self.method).prepared, [at(v) for v in reals], [at(v) for v in by])
        except TooLarge as error:
            raise TooLarge(f"{error} Use divergence(p, q, samples=...).") from error


def _gaps(ours: Floats, theirs: Floats, extra: Floats, counted: Bools) -> Floats:
    """Twice the divergence in each context that is counted; zero in others."""
    gaps = np.zeros(len(ours))
    singular = (log_dets(ours) == -np.inf) | (log_dets(theirs) == -np.inf)
    equal = (ours == theirs).all(axis=(1, 2))
    same = equal & ~extra.any(axis=(1, 2))
    gaps[counted & singular & ~same] = np.inf
    plain = counted & ~singular & ~same
    if plain.any():
        gaps[plain] = np.trace(np.linalg.solve(theirs[plain], extra[plain]), axis1=1, axis2=2)
    wider = plain & ~equal
    if wider.any():
        ratio = np.linalg.solve(theirs[wider], ours[wider])
        gaps[wider] += np.trace(ratio, axis1=1, axis2=2) - ratio.shape[1] - log_dets(ratio)
    return gaps


def _mean(weights: Floats, values: Floats) -> float:
    """The mean of values, those of weight zero left out."""
    counted = weights > 0
    return float(weights[counted] @ values[counted])


def line_of(model: BayesNet, child: str) -> LinearGaussian:
    """The CPD of a real variable."""
    found = model.cpd(child)
    assert is_linear_gaussian(found)
    return found


def _lines(cpd: LinearGaussian) -> Lines:
    return Lines(cpd.intercept, cpd.coefficients, cpd.covariance)


def log_dets(matrices: Floats) -> Floats:
    r"""$\log |C|$ of each matrix; minus infinity where it is singular.

    >>> log_dets(np.array([[[1.0]], [[0.0]]])).tolist()
    [0.0, -inf]
    """
    sign, log = np.linalg.slogdet(matrices)
    return np.asarray(np.where(sign > 0, log, -np.inf))
