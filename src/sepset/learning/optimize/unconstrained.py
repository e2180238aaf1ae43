r"""Parameters without constraints, for gradients and information: logits, weights, lines and log deviations.

With $\theta = \text{softmax}(\lambda)$ the slope of the log-likelihood is a difference of expected counts,

$$\frac{\partial \ell}{\partial \lambda_{x \mid \mathbf u}}
= \bar M[x, \mathbf u] - \theta_{x \mid \mathbf u}\,\bar M[\mathbf u],$$

and every other CPD has its own by the chain rule.

Reference: Koller & Friedman, lemma 19.1 and section 19.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.priors.weights import Laplace, Normal
from sepset.errors import NotApplicable
from sepset.learning.incomplete.families import Cells, Contributions, JointStates, contributing, contributions, joined
from sepset.learning.incomplete.gaussianfamily import ConjugatePrior, GaussianFamily
from sepset.learning.incomplete.mstep import Reestimation, Statistics
from sepset.models.bayesnet import BayesNet

LOWEST = -69.0
"""Logits this far below the largest of their group would be a probability of about 1e-30, and are zero."""


class Coordinates(Protocol):
    """How the parameters of one CPD become a vector without constraints, and back."""

    def pack(self, cpd: Any) -> Floats:
        """The vector of the CPD's parameters."""

    def unpack(self, cpd: Any, x: Floats) -> CPD:
        """The CPD of the same form with these parameters."""

    def slope(self, cpd: Any, stats: Floats, alpha: Any) -> Floats:
        """The gradient of the expected log-likelihood with these statistics, and of a smooth log prior."""

    def curvature(self, cpd: Any, stats: Floats, alpha: Any) -> Floats:
        """About how fast the slope falls along each coordinate."""

    def natural(self, cpd: Any) -> Floats:
        """The parameters as the CPD is written with them."""


def coordinates_of(cpd: CPD, family: object) -> Coordinates:
    """The coordinates of one CPD.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> coin = TableCPD(Discrete("coin"), [0.25, 0.75])
    >>> logits = coordinates_of(coin, Cells(None))
    >>> np.exp(logits.pack(coin)).tolist(), logits.slope(coin, np.array([3.0, 5.0]), None).tolist()
    ([0.25, 0.75], [1.0, -1.0])
    """
    if isinstance(family, Cells):
        known = cast(Any, cpd)
        try:
            return Logits(known.groups, known.multiplicities)
        except NotApplicable as error:
            raise NotApplicable(
                f"{cpd!r} has rules that several contexts share, so its parameters have no coordinates without "
                "constraints. Use EM(), plain or with acceleration='squarem' or 'aitken'."
            ) from error
    if isinstance(family, Contributions):
        return ContributionLogits()
    if isinstance(family, GaussianFamily):
        return Lines(family)
    if isinstance(family, JointStates) and isinstance(cpd, LogisticCPD):
        return Weights()
    return Nothing()


@dataclass(frozen=True, slots=True, eq=False)
class Unconstrained:
    """The parameters of a network as one vector, each block once.

    Attributes:
        blocks: the network's blocks.
        parts: the coordinates of each block.
        bounds: where each block's part of the vector starts.
    """

    blocks: Reestimation
    parts: tuple[Coordinates, ...] = field(repr=False)
    bounds: Ints = field(repr=False)

    @classmethod
    def of(cls, blocks: Reestimation) -> Unconstrained:
        """The vector of a network's parameters."""
        firsts = [members[0] for members in blocks.members]
        parts = tuple(coordinates_of(blocks.template.cpds[i], blocks.families[i]) for i in firsts)
        sizes = [part.pack(blocks.template.cpds[i]).size for part, i in zip(parts, firsts, strict=True)]
        return cls(blocks, parts, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))

    def _firsts(self, model: BayesNet) -> list[CPD]:
        return [model.cpds[members[0]] for members in self.blocks.members]

    def pack(self, model: BayesNet) -> Floats:
        """The vector of a network."""
        found = [part.pack(cpd) for part, cpd in zip(self.parts, self._firsts(model), strict=True)]
        return np.concatenate([np.zeros(0), *found])

    def unpack(self, x: Floats) -> BayesNet:
        """The network at a vector."""
        made: list[CPD] = list(self.blocks.template.cpds)
        for members, part, start, stop in zip(
            self.blocks.members, self.parts, self.bounds[:-1], self.bounds[1:], strict=True
        ):
            for i in members:
                made[i] = part.unpack(made[i], x[start:stop])
        template = self.blocks.template
        return BayesNet(*made, name=template.name, notes=template.notes)

    def slope(self, model: BayesNet, statistics: Statistics, alphas: Sequence[Any]) -> Floats:
        """The gradient of log-likelihood and smooth log prior, from the statistics expected at the network."""
        statistics, alphas = self.blocks.joined(model, statistics, alphas)
        rows = self._joined(model, statistics, alphas)
        return np.concatenate([np.zeros(0), *(part.slope(cpd, s, a) for part, cpd, s, a in rows)])

    def curvature(self, model: BayesNet, statistics: Statistics, alphas: Sequence[Any]) -> Floats:
        """The information of completed rows, coordinate by coordinate."""
        statistics, alphas = self.blocks.joined(model, statistics, alphas)
        rows = self._joined(model, statistics, alphas)
        return np.concatenate([np.zeros(0), *(part.curvature(cpd, s, a) for part, cpd, s, a in rows)])

    def _joined(
        self, model: BayesNet, statistics: Statistics, alphas: Sequence[Any]
    ) -> Iterator[tuple[Coordinates, Any, Floats, Any]]:
        """Each block's part and CPD, its statistics with those of imaginary rows, and what is left of the prior."""
        families = [self.blocks.families[members[0]] for members in self.blocks.members]
        for part, family, cpd, stats, alpha in zip(
            self.parts, families, self._firsts(model), statistics, alphas, strict=True
        ):
            yield part, cpd, *joined(family, cpd, stats, alpha)

    def edges(self, alphas: Sequence[Any]) -> Floats:
        r"""How sharp a Laplace prior's edge at zero is along each coordinate: $1 / s$ for weights, zero for all else.

        The slope leaves such a prior out; see `steepest` for both together.
        """
        found = np.zeros(self.bounds[-1])
        rows = zip(self.parts, self._firsts(self.blocks.template), alphas, self.bounds[:-1], strict=True)
        for part, cpd, alpha, start in rows:
            if isinstance(alpha, Laplace) and isinstance(part, Weights | Lines):
                sharp = part.penalized(cast(Any, cpd)) / alpha.scale
                found[start : start + sharp.size] = sharp
        return found

    def natural(self, model: BayesNet) -> list[Floats]:
        """The parameters of each block as its CPDs are written with them."""
        return [part.natural(cpd) for part, cpd in zip(self.parts, self._firsts(model), strict=True)]


@dataclass(frozen=True, slots=True)
class Nothing:
    """No parameters."""

    def pack(self, cpd: CPD) -> Floats:
        """Nothing."""
        return np.zeros(0)

    def unpack(self, cpd: CPD, x: Floats) -> CPD:
        """The CPD itself."""
        return cpd

    def slope(self, cpd: CPD, stats: Floats, alpha: object) -> Floats:
        """Nothing."""
        return np.zeros(0)

    def curvature(self, cpd: CPD, stats: Floats, alpha: object) -> Floats:
        """Nothing."""
        return np.zeros(0)

    def natural(self, cpd: CPD) -> Floats:
        """Nothing."""
        return np.zeros(0)


def logs(probabilities: Floats) -> Floats:
    """Logits of probabilities; those of zeros are so low that they stay zero.

    >>> logs(np.array([1.0, 0.0])).tolist()
    [0.0, -138.0]
    """
    return np.log(probabilities, out=np.full(np.shape(probabilities), 2.0 * LOWEST), where=probabilities > 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Logits:
    r"""Multinomials: $\theta_c = e^{\lambda_c} / \sum_{c'} n_{c'} e^{\lambda_{c'}}$ over the cells of a group."""

    groups: Ints
    sizes: Floats

    def pack(self, cpd: Any) -> Floats:
        """The logarithms of the probabilities."""
        return logs(cpd.parameters)

    def unpack(self, cpd: Any, x: Floats) -> CPD:
        """The CPD with these logits."""
        return cast(CPD, cpd.from_statistics(self.sizes * self._softmax(x)))

    def _softmax(self, x: Floats) -> Floats:
        top = np.full(int(self.groups.max()) + 1, -np.inf)
        np.maximum.at(top, self.groups, x)
        below = x - top[self.groups]
        weights = np.where(below > LOWEST, np.exp(below), 0.0)
        return np.asarray(weights / np.bincount(self.groups, self.sizes * weights)[self.groups])

    def slope(self, cpd: Any, stats: Floats, alpha: Floats | None) -> Floats:
        """Counts less expected counts."""
        total = stats if alpha is None else stats + alpha
        return np.asarray(total - self.sizes * cpd.parameters * np.bincount(self.groups, total)[self.groups])

    def curvature(self, cpd: Any, stats: Floats, alpha: Floats | None) -> Floats:
        """The variances of the counts."""
        total = stats if alpha is None else stats + alpha
        share = self.sizes * cpd.parameters
        return np.asarray(share * (1.0 - share) * np.bincount(self.groups, total)[self.groups])

    def natural(self, cpd: Any) -> Floats:
        """The probabilities."""
        return np.asarray(cpd.parameters)


@dataclass(frozen=True, slots=True)
class ContributionLogits:
    """Noisy-or and noisy-max: logits of each row of contributions that can be learned."""

    def _logits(self, cpd: Any) -> tuple[Logits, Bools]:
        k = cpd.child.num_states
        free = np.repeat(np.concatenate(cpd._free()), k)
        return Logits(np.arange(int(free.sum())) // k, np.ones(int(free.sum()))), free

    def pack(self, cpd: Any) -> Floats:
        """The logarithms of the probabilities that can be learned."""
        return logs(self.natural(cpd)[self._logits(cpd)[1]])

    def unpack(self, cpd: Any, x: Floats) -> CPD:
        """The CPD with these logits."""
        logits, free = self._logits(cpd)
        flat = self.natural(cpd).copy()
        if len(x):
            flat[free] = logits._softmax(x)
        tables = contributions(cpd)
        parts = np.split(flat, np.cumsum([t.size for t in tables])[:-1])
        return contributing(cpd, [p.reshape(t.shape) for p, t in zip(parts, tables, strict=True)])

    def slope(self, cpd: Any, stats: Floats, alpha: Floats | None) -> Floats:
        """Counts less expected counts."""
        total = (stats if alpha is None else stats + alpha)[self._logits(cpd)[1]].reshape(-1, cpd.child.num_states)
        share = self.natural(cpd)[self._logits(cpd)[1]].reshape(total.shape)
        return np.asarray(total - share * total.sum(axis=1, keepdims=True)).reshape(-1)

    def curvature(self, cpd: Any, stats: Floats, alpha: Floats | None) -> Floats:
        """The variances of the counts."""
        total = (stats if alpha is None else stats + alpha)[self._logits(cpd)[1]].reshape(-1, cpd.child.num_states)
        share = self.natural(cpd)[self._logits(cpd)[1]].reshape(total.shape)
        return np.asarray(share * (1.0 - share) * total.sum(axis=1, keepdims=True)).reshape(-1)

    def natural(self, cpd: Any) -> Floats:
        """The contributions, leak first."""
        return np.concatenate([t.reshape(-1) for t in contributions(cpd)])


@dataclass(frozen=True, slots=True)
class Weights:
    """Logistic CPDs: bias and weights, with those of all first states at zero."""

    def pack(self, cpd: LogisticCPD) -> Floats:
        """The bias, then each parent's weights."""
        odds = [w - w[:, :1] for w in cpd.weights]
        bias = cpd.bias - cpd.bias[0] + sum(o[0] for o in odds)
        return np.concatenate([bias[1:], *((o - o[:1])[1:, 1:].reshape(-1) for o in odds)])

    def unpack(self, cpd: LogisticCPD, x: Floats) -> CPD:
        """The CPD with these weights."""
        k = cpd.child.num_states - 1
        rows = np.concatenate([np.zeros((len(x) // max(k, 1), 1)), x.reshape(-1, k)], axis=1)
        parts = np.split(rows[1:], np.cumsum([p.num_states - 1 for p in cpd.parents])[:-1])
        full = [np.concatenate([np.zeros((1, k + 1)), part]) for part in parts]
        return LogisticCPD(cpd.child, dict(zip(cpd.parents, full, strict=True)), rows[0], block=cpd.block)

    def slope(self, cpd: LogisticCPD, stats: Floats, alpha: Any) -> Floats:
        """Counts less expected counts, summed by parent's state."""
        counts = stats.reshape([v.num_states for v in cpd.scope])
        error = counts - cpd.to_table().values * counts.sum(axis=-1, keepdims=True)
        found = self._by_state(error)
        if isinstance(alpha, Normal):
            found -= self.penalized(cpd) * self.pack(cpd) / alpha.scale**2
        return found

    def penalized(self, cpd: LogisticCPD) -> Floats:
        """One for each weight, zero for the bias."""
        bias = cpd.child.num_states - 1
        return np.repeat([0.0, 1.0], [bias, self.pack(cpd).size - bias])

    def curvature(self, cpd: LogisticCPD, stats: Floats, alpha: Any) -> Floats:
        """The variances of the counts."""
        counts, share = stats.reshape([v.num_states for v in cpd.scope]), cpd.to_table().values
        return self._by_state(share * (1.0 - share) * counts.sum(axis=-1, keepdims=True))

    def _by_state(self, table: Floats) -> Floats:
        child = table.ndim - 1
        parts = [table.sum(axis=tuple(range(child)))[1:]]
        for axis in range(child):
            rest = tuple(a for a in range(child) if a != axis)
            parts.append(table.sum(axis=rest)[1:, 1:].reshape(-1))
        return np.concatenate(parts)

    def natural(self, cpd: LogisticCPD) -> Floats:
        """The same as `pack`."""
        return self.pack(cpd)


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Linear Gaussians: for each context intercept, coefficients, and the logarithm of the standard deviation."""

    family: GaussianFamily

    def pack(self, cpd: LinearGaussian) -> Floats:
        """The lines about the family's center."""
        center = self.family.center
        shifted = cpd.intercept[:, 0] + cpd.coefficients[:, 0] @ center[:-1] - center[-1]
        return np.column_stack([shifted, cpd.coefficients[:, 0], 0.5 * np.log(cpd.covariance[:, 0, 0])]).reshape(-1)

    def unpack(self, cpd: LinearGaussian, x: Floats) -> CPD:
        """The CPD with these lines."""
        center = self.family.center
        rows = x.reshape(len(cpd.intercept), -1)
        slopes = rows[:, 1:-1]
        intercept = rows[:, 0] + center[-1] - slopes @ center[:-1]
        variance = np.exp(2.0 * np.clip(rows[:, -1], -300.0, 300.0))
        return cpd.with_parameters(intercept[:, None], slopes[:, None, :].copy(), variance[:, None, None])

    def slope(self, cpd: LinearGaussian, stats: Floats, alpha: Any) -> Floats:
        """Residues times parents, and their spread beyond the variance."""
        lines = self.pack(cpd).reshape(len(cpd.intercept), -1)
        found = np.empty_like(lines)
        for e, (line, sums) in enumerate(zip(lines, stats, strict=True)):
            variance = float(np.exp(2.0 * line[-1]))
            residue = np.concatenate([-line[:-1], [1.0]])
            found[e, :-1] = (sums @ residue)[:-1] / variance
            found[e, -1] = residue @ sums @ residue / variance - sums[0, 0]
        return (found + self._prior_slope(cpd, alpha)).reshape(-1)

    def _prior_slope(self, cpd: LinearGaussian, alpha: Any) -> Floats:
        lines = np.column_stack([cpd.intercept[:, 0], cpd.coefficients[:, 0]])
        found = np.zeros((len(lines), lines.shape[1] + 1))
        if isinstance(alpha, Normal):
            found[:, 1:-1] = -lines[:, 1:] / alpha.scale**2
        if not isinstance(alpha, ConjugatePrior):
            return found
        prior = alpha.prior
        power = prior.shape + 0.5 * lines.shape[1] + alpha.is_theta
        for e, line in enumerate(lines):
            variance, apart = float(cpd.covariance[e, 0, 0]), line - prior.mean
            pull = -(prior.precision @ apart) / variance
            found[e, 0] = pull[0]
            found[e, 1:-1] = pull[1:] - self.family.center[:-1] * pull[0]
            found[e, -1] = -2.0 * power + 2.0 * (prior.rate + 0.5 * apart @ prior.precision @ apart) / variance
        return found

    def penalized(self, cpd: LinearGaussian) -> Floats:
        """One for each coefficient, zero for intercepts and deviations."""
        found = np.zeros((len(cpd.intercept), cpd.coefficients.shape[2] + 2))
        found[:, 1:-1] = 1.0
        return found.reshape(-1)

    def curvature(self, cpd: LinearGaussian, stats: Floats, alpha: Any) -> Floats:
        """Sums of squares over the variance, and twice the counts."""
        squares = np.diagonal(stats, axis1=1, axis2=2)[:, :-1] / cpd.covariance[:, 0, 0][:, None]
        return np.column_stack([squares, 2.0 * stats[:, 0, 0]]).reshape(-1)

    def natural(self, cpd: LinearGaussian) -> Floats:
        """Intercept, coefficients and variance of each context."""
        return np.column_stack([cpd.intercept[:, 0], cpd.coefficients[:, 0], cpd.covariance[:, 0, 0]]).reshape(-1)
