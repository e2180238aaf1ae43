r"""How far the lines of a network are from the true ones, in closed form, family by family.

With $y = a_d + B_d\mathbf u + N(0, S_d)$ the regressions of a child on its real parents in $Q$ under the truth $P$, one
for each joint state $d$ of its discrete parents,

$$\tfrac12 \sum_d P(d) \left[ \log\frac{|C_d|}{|S_d|} + \operatorname{tr} C_d^{-1}\!\left(S_d
+ \Delta_B \Sigma_{uu \mid d} \Delta_B^\top + \delta\delta^\top\right) - k \right], \qquad
\Delta_B = B_d - B^Q_d, \quad \delta = a_d - a^Q_d + \Delta_B \mu_{u \mid d}$$

is what the parameters of $Q$ lose, and $\tfrac12 E \log |S_d| - \tfrac12 E \log |C^P_d|$ what its graph does. Only
first and second moments of $P$ are needed, and those of a mixture are exact: given the discrete variables above a real
one, it is normal.

The moments come as roots, $\Sigma = R^\top R$, and no covariances are subtracted: with the triangular factor of the
columns of $\mathbf u$ and $\mathbf y$, $S_d = R_{yy}^\top R_{yy}$ and
$\Delta_B \Sigma_{uu} \Delta_B^\top = T^\top T$ with $T = R_{uy} - R_{uu} B_d^{Q\top}$. Rounding errors are bounded to
first order by the same sums of absolute values; where they may matter, all is done again in decimal numbers
(`decimalgaps`).

Reference: Koller & Friedman, sections 8.4.2, 8.5.2 and 14.2; Higham (2002), Accuracy and stability of numerical
algorithms, chapters 19 and 20.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.lazy import lazy
from sepset.cpds.lineargaussian import LinearGaussian, is_linear_gaussian
from sepset.engine.kept import engine_for
from sepset.errors import TooLarge
from sepset.factors.coordinates import entries, places, width
from sepset.inference.capabilities import moments
from sepset.inference.method import ContextMoments, FindsMoments, Method, can
from sepset.learning.evaluation.divergence.decimalgaps import ExactParts, Marginal, exact_parts
from sepset.learning.evaluation.divergence.expectedlog import is_same
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Vector

UNIT = 2.0**-53

SURE = 0.1
"""The relative error of a parent, given those before, from which a bound to first order means nothing."""


class Gap(NamedTuple):
    """The part of a family in a divergence: by its graph, by its parameters, and a bound of the errors of both."""

    graph: float
    parameters: float
    error: float = 0.0


class Fit(NamedTuple):
    r"""The regressions under the truth and a line to compare, one per context.

    Attributes:
        left: $R_{yy}$, a root of the covariance that the regressions leave.
        slope: $T$, with $T^\top T$ the covariance of the difference of both.
        apart: the difference of both at the mean of the parents.
        off: bounds of the errors of each column of `left`, of `slope` and `left` together, and of `apart`.
        lost: the relative errors of parents, given those before.
    """

    left: Floats
    slope: Floats
    apart: Floats
    off: tuple[Floats, Floats, Floats]
    lost: Floats


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
    >>> round(GaussianTruth(standard).gap(wide, "x").parameters, 6)
    0.318147
    """

    network: BayesNet
    marginal: Marginal = field(default=lambda names: np.ones(()), repr=False)
    method: Method | None = None

    def gap(self, model: BayesNet, child: str) -> Gap:
        """The part of the family of a child; infinite if only one of the lines is deterministic."""
        own, cpd = line_of(self.network, child), line_of(model, child)
        if is_same(own, cpd):  # whatever its marginal is
            return Gap(0.0, 0.0)
        weights = self._weights(cpd.by)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            fit = self._fit(own, cpd)
            gaps, errors = _compared(fit, cpd.covariance, weights > 0)
            logs = 2.0 * np.log(np.abs(np.diagonal(fit.left, axis1=1, axis2=2))).sum(axis=1)
        parameters, error = 0.5 * _mean(weights, gaps), 0.5 * _mean(weights, errors)
        graph = 0.0
        if set(own.parents) != set(cpd.parents):
            ours, theirs = _mean(self._weights(own.by), log_dets(own.covariance)), _mean(weights, logs)
            graph = 0.0 if ours == theirs == -math.inf else 0.5 * (theirs - ours)
            error += UNIT * (abs(ours) + abs(theirs)) if ours > -math.inf else math.inf
        return Gap(graph, max(parameters, 0.0), math.inf if math.isnan(error) else error)

    def exact_parts(self, model: BayesNet) -> ExactParts | None:
        """The same of all families in decimal numbers; None if that takes too long."""
        return exact_parts(self.network, self.marginal, model)

    @property
    def entropy(self) -> float:
        r"""$\tfrac12 \sum_i E \log |2\pi e\, C_{i,d}|$ in nats; minus infinity where a relation is deterministic."""
        parts = [cpd for cpd in self.network.cpds if is_linear_gaussian(cpd)]
        logs = [_mean(self._weights(cpd.by), log_dets(cpd.covariance)) for cpd in parts]
        size = sum(cpd.child.size for cpd in parts)
        return 0.5 * (size * math.log(2.0 * math.pi * math.e) + math.fsum(logs))

    def _weights(self, by: Sequence[Discrete]) -> Floats:
        return np.asarray(self.marginal([v.name for v in by])).reshape(-1)

    def _fit(self, own: LinearGaussian, cpd: LinearGaussian) -> Fit:
        """The regressions of a CPD's child on its parents under the truth, and the CPD's own."""
        if set(own.given) == set(cpd.given) and set(own.by) <= set(cpd.by):
            return self._own_fit(own, cpd)
        scope, size = (*cpd.given, cpd.child), width(cpd.given)
        found, sizes = self._moments(scope, cpd.by), self._sizes(scope, cpd.by)
        R = _triangle(found.root)
        B, ones = cpd.coefficients, np.ones((len(R), cpd.child.size))
        slope = R[:, :size, size:] - R[:, :size, :size] @ B.swapaxes(1, 2)
        apart = found.mean[:, size:] - cpd.intercept - np.einsum("dij,dj->di", B, found.mean[:, :size])
        inverse = _inverses(R[:, :size, :size])
        best = np.abs(inverse @ R[:, :size, size:]).swapaxes(1, 2)
        off = sizes[:, size:] + np.einsum("dij,dj->di", best, sizes[:, :size])
        both = sizes[:, size:] + np.einsum("dij,dj->di", np.abs(B), sizes[:, :size])
        lost = np.einsum("di,dij->dj", sizes[:, :size], np.abs(inverse))
        return Fit(R[:, size:, size:], slope, apart, (off, both, both + UNIT * np.abs(cpd.intercept) * ones), lost)

    def _own_fit(self, own: LinearGaussian, cpd: LinearGaussian) -> Fit:
        """The same if the CPD has the real parents of the truth: then its regressions are known."""
        at, order = entries(cpd.by, own.by), places(own.given, cpd.given)
        slope = own.coefficients[at][:, :, order] - cpd.coefficients
        apart, size = own.intercept[at] - cpd.intercept, np.abs(own.intercept[at]) + np.abs(cpd.intercept)
        left = _roots(own.covariance)[at]
        turned, none = np.zeros((len(at), 0, cpd.child.size)), np.zeros_like(apart)
        both, away = none, np.where(apart == 0.0, 0.0, UNIT * size)
        if slope.any():
            found, sizes = self._moments(cpd.given, cpd.by), self._sizes(cpd.given, cpd.by)
            turned = found.root @ slope.swapaxes(1, 2)
            apart = apart + np.einsum("dij,dj->di", slope, found.mean)
            both = np.einsum("dij,dj->di", np.abs(slope), sizes)
            away = UNIT * np.abs(own.intercept[at] - cpd.intercept) + both
        rounding = np.array([_rounding(root) for root in left])[:, None] if left.shape[1] > 1 else np.zeros((1, 1))
        off = rounding * np.abs(np.diagonal(left, axis1=1, axis2=2))
        return Fit(left, turned, apart, (off, both, away), np.zeros((len(at), 0)))

    def _sizes(self, reals: Sequence[Vector], by: Sequence[Discrete]) -> Floats:
        """Bounds of the rounding errors of the columns of a root and of the mean, in each context."""
        found = self._moments(reals, by, of=self._absolute)
        sizes = np.sqrt(np.square(found.root).sum(axis=1) + np.square(found.mean))
        return np.asarray(UNIT * self._operations * sizes)

    @lazy
    def _absolute(self) -> BayesNet:
        """The network with absolute parameters: its moments bound all terms of those of the truth."""
        return self.network.with_cpds(*(_absolute(cpd) for cpd in self.network.cpds if is_linear_gaussian(cpd)))

    @lazy
    def _operations(self) -> float:
        """How many operations round a root, about: two for each step along the longest path, and its factor."""
        depth, dag = dict[str, int](), self.network.dag
        for name in dag.topological_order:
            depth[name] = 1 + max((depth[parent] for parent in dag.parents(name)), default=0)
        vectors = (cpd for cpd in self.network.cpds if is_linear_gaussian(cpd) and cpd.child.size > 1)
        lost = max((_rounding(root) for cpd in vectors for root in _roots(cpd.covariance)), default=0.0)
        return 2.0 * max(depth.values()) + 4.0 * math.sqrt(len(depth)) + 8.0 + lost / UNIT

    @lazy
    def is_sure(self) -> bool:
        """Whether the method finds roots, not covariances."""
        return can(engine_for(self.network, self.method).prepared, FindsMoments)

    def _moments(
        self, reals: Sequence[Vector], by: Sequence[Discrete], *, of: BayesNet | None = None
    ) -> ContextMoments:
        """The moments of reals in each joint state of discrete variables, in the truth or in another network."""
        network = self.network if of is None else of
        at = network.variables.id
        try:
            return moments(engine_for(network, self.method).prepared, [at(v) for v in reals], [at(v) for v in by])
        except TooLarge as error:
            raise TooLarge(f"{error} Use divergence(p, q, samples=...).") from error


def _compared(fit: Fit, covariance: Floats, counted: Bools) -> tuple[Floats, Floats]:
    """Twice the divergence in each context that is counted, and bounds of the errors; zero in others."""
    gaps, errors = np.zeros((2, len(covariance)))
    for d in np.flatnonzero(counted).tolist():
        parts = (fit.left[d], fit.slope[d], fit.apart[d], tuple(x[d] for x in fit.off), fit.lost[d])
        gaps[d], errors[d] = _compared_once(Fit(*parts), covariance[d])
    return gaps, errors


def _compared_once(fit: Fit, covariance: Floats) -> tuple[float, float]:
    root = _roots(covariance[None])[0]
    pivots, own = np.abs(np.diagonal(fit.left)), np.abs(np.diagonal(root))
    moved = fit.slope.any() or fit.apart.any()
    if not (pivots.all() and own.all()):  # decimal numbers tell
        return (0.0 if np.array_equal(fit.left, root) and not moved else math.inf), math.inf
    inverse = np.linalg.inv(root)  # a triangle turns the noise of the line into unit noise
    left, slope, apart = fit.left @ inverse, fit.slope @ inverse, fit.apart @ inverse
    excess = left.T @ left - np.eye(len(root))
    grown = np.linalg.eigvalsh(excess) if len(root) > 1 else (pivots - own) * (pivots + own) / own**2
    is_near = np.abs(grown).max() < 0.5
    logs = float(np.log1p(grown).sum() if is_near else 2.0 * np.log(pivots / own).sum())
    gap = float(grown.sum() - logs + np.square(slope).sum() + np.square(apart).sum())
    width = np.abs(inverse)
    shift = fit.off[1] @ width
    spread = np.sqrt(np.square(slope).sum(axis=0) + np.square(left).sum(axis=0) * (fit.off[0] > 0).any())
    error = 2.0 * float(spread @ shift) + float(shift @ shift) + float((fit.off[2] @ width) @ (2.0 * np.abs(apart)))
    error += float(np.square(fit.off[2] @ width).sum()) + 2.0 * float((fit.off[0] / pivots).sum())
    error += float(np.square(fit.lost).sum()) + 4.0 * UNIT * (gap + abs(logs))
    rounding = _rounding(root)
    away = float(np.abs(grown).sum() + np.square(slope).sum() + np.square(apart).sum())
    error += rounding * (away + (len(root) > 1) * len(root) * rounding)
    worst = max(rounding, *(float(np.max(x, initial=0.0)) for x in (fit.lost, fit.off[0] / pivots)))
    return gap, error if worst < SURE else math.inf


def _rounding(root: Floats) -> float:
    """How far rounding moves the whitened covariance of a vector whose root this is; a number's root is as good."""
    size = len(root)
    if size == 1:
        return 2.0 * UNIT
    pivots = np.diagonal(root)
    grown = float((np.abs(root) @ np.abs(np.linalg.inv(root))).max()) if pivots.all() else math.inf
    return 4.0 * size * size * UNIT * grown * grown


def _absolute(cpd: LinearGaussian) -> LinearGaussian:
    deviation = np.sqrt(np.diagonal(cpd.covariance, axis1=1, axis2=2))
    spread = deviation[:, :, None] * deviation[:, None, :]
    return cpd.with_parameters(np.abs(cpd.intercept), np.abs(cpd.coefficients), covariance=spread)


def _triangle(root: Floats) -> Floats:
    """The triangular factor of columns, with zeros below."""
    R = np.asarray(np.linalg.qr(root, mode="r")) if root.shape[1] > 0 else root
    return np.pad(R, ((0, 0), (0, root.shape[2] - R.shape[1]), (0, 0)))


def _inverses(upper: Floats) -> Floats:
    """The inverses of triangles; infinite where there is none."""
    found = np.full_like(upper, np.inf)
    plain = np.diagonal(upper, axis1=1, axis2=2).all(axis=1) & np.isfinite(upper).all(axis=(1, 2))
    if plain.any():
        found[plain] = np.linalg.inv(upper[plain])
    return found


def _roots(covariances: Floats) -> Floats:
    """Upper triangles whose squares are the covariances; zero where one is singular."""
    if covariances.shape[1] == 1:
        return np.asarray(np.sqrt(covariances))
    found = np.zeros_like(covariances)
    for d, covariance in enumerate(covariances):
        with contextlib.suppress(np.linalg.LinAlgError):
            found[d] = np.linalg.cholesky(covariance).T
    return found


def _mean(weights: Floats, values: Floats) -> float:
    """The mean of values, those of weight zero left out."""
    counted = weights > 0
    return float(weights[counted] @ values[counted])


def line_of(model: BayesNet, child: str) -> LinearGaussian:
    """The CPD of a real variable."""
    found = model.cpd(child)
    assert is_linear_gaussian(found)
    return found


def log_dets(matrices: Floats) -> Floats:
    r"""$\log |C|$ of each matrix; minus infinity where it is singular.

    >>> log_dets(np.array([[[1.0]], [[0.0]]])).tolist()
    [0.0, -inf]
    """
    sign, log = np.linalg.slogdet(matrices)
    return np.asarray(np.where(sign > 0, log, -np.inf))
