r"""How far a linear Gaussian network is from the true one, in closed form, family by family.

With $y = a + B\mathbf u + N(0, S)$ the regression of a child on its parents in $Q$ under the truth $P$,

$$\tfrac12 \left[ \log\frac{|C|}{|S|} + \operatorname{tr} C^{-1}\!\left(S + \Delta_B \Sigma_{uu} \Delta_B^\top
+ \delta\delta^\top\right) - d \right], \qquad \Delta_B = B - B^Q, \quad \delta = a - a^Q + \Delta_B \mu_u$$

is what the parameters of $Q$ lose, and $\tfrac12 \log |S| / |C^P|$ what its graph does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.cpds.linear import LinearGaussian, joint_gaussian
from sepset.factors.coordinates import places
from sepset.factors.moments import Gaussian
from sepset.models.bayesnet import BayesNet
from sepset.variables import Vector

Array: TypeAlias = NDArray[np.float64]


class Line(NamedTuple):
    """A regression: intercept, coefficients, and the covariance of what they leave."""

    intercept: Array
    coefficients: Array
    covariance: Array


@dataclass(frozen=True)
class GaussianTruth:
    r"""What the divergence from a linear Gaussian network needs of it: its moments, and regressions.

    >>> from sepset.variables import Real
    >>> x = Real("x")
    >>> standard, wide = (BayesNet(LinearGaussian(x, covariance=c)) for c in (1.0, 4.0))
    >>> round(GaussianTruth(standard).parameter_gap(wide, "x"), 6)
    0.318147
    """

    network: BayesNet

    def graph_gap(self, model: BayesNet, child: str) -> float:
        r"""$\tfrac12 \log |S| / |C|$: how much more of the child its parents in the model leave open."""
        if set(model.parents(child)) == set(self.network.parents(child)):
            return 0.0
        ours, theirs = _line(self.network, child).covariance, self._regression(_cpd(model, child)).covariance
        return 0.0 if _is_singular(ours) and _is_singular(theirs) else 0.5 * (_log_det(theirs) - _log_det(ours))

    def parameter_gap(self, model: BayesNet, child: str) -> float:
        """What the child's line in the model loses beyond its graph; infinite where one is deterministic alone."""
        cpd = _cpd(model, child)
        ours, theirs = self._regression(cpd), _line(model, child)
        u = places(self._joint.scope, cpd.given)
        slope = ours.coefficients - theirs.coefficients
        apart = ours.intercept - theirs.intercept + slope @ self._joint.mu[u]
        extra = slope @ self._joint.covariance[u[:, None], u] @ slope.T + np.outer(apart, apart)
        if _is_singular(ours.covariance) or _is_singular(theirs.covariance):
            same = np.array_equal(ours.covariance, theirs.covariance) and not extra.any()
            return 0.0 if same else math.inf
        gap = float(np.trace(np.linalg.solve(theirs.covariance, extra)))
        if not np.array_equal(ours.covariance, theirs.covariance):
            ratio: Array = np.asarray(np.linalg.solve(theirs.covariance, ours.covariance), np.float64)
            gap += float(np.trace(ratio)) - len(ratio) - _log_det(ratio)
        return max(0.5 * gap, 0.0)

    @property
    def entropy(self) -> float:
        r"""$\tfrac12 \sum_i \log |2\pi e\, C_i|$ in nats; minus infinity where a relation is deterministic."""
        parts = [_line(self.network, v.name).covariance for v in self.network.variables]
        return math.fsum(0.5 * (len(C) * math.log(2.0 * math.pi * math.e) + _log_det(C)) for C in parts)

    @cached_property
    def _joint(self) -> Gaussian:
        return joint_gaussian(_cpd(self.network, v.name) for v in self.network.variables)

    def _regression(self, cpd: LinearGaussian) -> Line:
        """The regression of a CPD's child on its parents under the truth."""
        own = _cpd(self.network, cpd.child.name)
        if set(own.given) == set(cpd.given):
            line, order = _line(self.network, cpd.child.name), places(own.given, cpd.given)
            return line._replace(coefficients=line.coefficients[:, order])
        y, u = places(self._joint.scope, (cpd.child,)), places(self._joint.scope, cpd.given)
        mean, covariance = self._joint.mu, self._joint.covariance
        B: Array = np.asarray(
            np.linalg.lstsq(covariance[u[:, None], u], covariance[u[:, None], y], rcond=None)[0].T, np.float64
        )
        left = covariance[y[:, None], y] - B @ covariance[u[:, None], y]
        return Line(mean[y] - B @ mean[u], B, left)


def _cpd(model: BayesNet, child: str) -> LinearGaussian:
    found = model.cpd(child)
    assert isinstance(found, LinearGaussian)
    return found


def _line(model: BayesNet, child: str) -> Line:
    cpd = _cpd(model, child)
    return Line(cpd.intercept[0], cpd.coefficients[0], cpd.covariance[0])


def _log_det(matrix: Array) -> float:
    sign, log = np.linalg.slogdet(matrix)
    return float(log) if sign > 0 else -math.inf


def _is_singular(covariance: Array) -> bool:
    return _log_det(covariance) == -math.inf


def is_linear_gaussian(model: BayesNet) -> bool:
    """Whether all variables are real, and all CPDs lines."""
    return bool(model.cpds) and all(
        isinstance(cpd, LinearGaussian) and isinstance(cpd.child, Vector) and not cpd.by for cpd in model.cpds
    )
