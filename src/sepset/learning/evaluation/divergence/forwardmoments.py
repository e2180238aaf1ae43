r"""Moments of real variables by one sweep from parents to children, where joint states are too many to list.

A frontier holds the variables that something still to come depends on: a table over the discrete ones with, in each
joint state, its probability $w$ and the mean and covariance of the real ones. Adding a discrete child multiplies $w$,
adding a line extends the moments, and dropping a discrete variable takes the moments of the mixture:

$$\bar\mu = \sum_s w_s \mu_s, \qquad
\bar\Sigma = \sum_s w_s \left(\Sigma_s + (\mu_s - \bar\mu)(\mu_s - \bar\mu)^\top\right).$$

First and second moments stay exact, since lines are linear. The frontier of a switching chain does not grow with it.

Reference: Koller & Friedman, section 14.3.4, on exact first and second moments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.text import listing
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import is_linear_gaussian
from sepset.errors import TooLarge
from sepset.factors.algebra import AnyVariable, num_entries
from sepset.factors.coordinates import entries, places, width
from sepset.graphs.graph import ancestors
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Vector


class Moments(NamedTuple):
    """Of real variables in each context: its probability, the mean and the covariance."""

    weights: Floats
    mean: Floats
    covariance: Floats


def forward_moments(
    network: BayesNet, reals: Sequence[Vector], by: Sequence[Discrete], *, largest: int = 2**26
) -> Moments:
    """The moments of real variables in each joint state of discrete ones.

    Args:
        network: of discrete CPDs and lines.
        reals: whose moments are asked.
        by: the contexts, in C order.
        largest: the most numbers that a frontier may take; more are refused with the figure.

    Cost: one pass over the ancestors, each as large as the frontier there.

    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Real
    >>> d, x = Discrete("d"), Real("x")
    >>> net = BayesNet(TableCPD(d, [0.5, 0.5]), LinearGaussian(x, [-1.0, 1.0], covariance=1.0, by=d))
    >>> [part.tolist() for part in forward_moments(net, [x], [])]
    [[1.0], [[0.0]], [[[2.0]]]]
    """
    steps, peak = _schedule(network, (*by, *reals))
    if peak > largest:
        raise TooLarge(
            f"The moments of {listing(v.name for v in reals)} take {peak:,} numbers, more than {largest:,}, whichever "
            "way they are computed. Use sampled_divergence."
        )
    frontier = Frontier((), (), Moments(np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 0))))
    for cpd, gone in steps:
        frontier = frontier.extended(cpd).without(gone)
    return frontier.arranged(by, reals)


def frontier_size(network: BayesNet, targets: Sequence[AnyVariable]) -> int:
    """How many numbers the largest frontier of a sweep for these variables takes.

    >>> from sepset.cpds.table import TableCPD
    >>> frontier_size(BayesNet(TableCPD(Discrete("d"), [0.5, 0.5])), [Discrete("d")])
    2
    """
    return _schedule(network, targets)[1]


@dataclass(frozen=True, slots=True, eq=False)
class Frontier:
    """The moments of some real variables in each joint state of some discrete ones."""

    states: tuple[Discrete, ...]
    reals: tuple[Vector, ...]
    moments: Moments

    def extended(self, cpd: Any) -> Frontier:
        """With one variable more, whose parents are all here."""
        w, mean, covariance = self.moments
        if not is_linear_gaussian(cpd):
            table = np.asarray(cpd.to_table().values).reshape(-1, cpd.child.num_states)
            size = cpd.child.num_states
            new = (w[:, None] * table[entries(self.states, cpd.parents)]).reshape(-1)
            repeated = Moments(new, np.repeat(mean, size, axis=0), np.repeat(covariance, size, axis=0))
            return Frontier((*self.states, cpd.child), self.reals, repeated)
        at, u = entries(self.states, cpd.by), places(self.reals, cpd.given)
        B = cpd.coefficients[at]
        across = B @ covariance[:, u]
        own = across[:, :, u] @ B.swapaxes(1, 2) + cpd.covariance[at]
        top = np.concatenate([covariance, across.swapaxes(1, 2)], axis=2)
        center = np.concatenate([mean, cpd.intercept[at] + np.einsum("dij,dj->di", B, mean[:, u])], axis=1)
        spread = np.concatenate([top, np.concatenate([across, own], axis=2)], axis=1)
        return Frontier(self.states, (*self.reals, cpd.child), Moments(w, center, spread))

    def without(self, gone: set[AnyVariable]) -> Frontier:
        """With some variables summed or integrated out."""
        return self._arranged([v for v in self.states if v not in gone], [v for v in self.reals if v not in gone])

    def arranged(self, by: Sequence[Discrete], reals: Sequence[Vector]) -> Moments:
        """The moments with contexts and coordinates in the order asked."""
        return self._arranged(by, reals).moments

    def _arranged(self, by: Sequence[Discrete], reals: Sequence[Vector]) -> Frontier:
        w, mean, covariance = self.moments
        at = places(self.reals, reals)
        mean, covariance = mean[:, at], covariance[:, at[:, None], at]
        rest = [v for v in self.states if v not in set(by)]
        shape = [v.num_states for v in self.states]
        order = np.arange(len(w)).reshape(shape).transpose([self.states.index(v) for v in (*by, *rest)]).reshape(-1)
        merged = mixed(w[order], mean[order], covariance[order], num_entries(by))
        return Frontier(tuple(by), tuple(reals), merged)


def mixed(weights: Floats, mean: Floats, covariance: Floats, contexts: int) -> Moments:
    """The moments of mixtures: all joint states that begin with the same context are taken together.

    >>> [part.tolist() for part in mixed(np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.zeros((2, 1, 1)), 1)]
    [[1.0], [[0.0]], [[[1.0]]]]
    """
    shares = weights.reshape(contexts, -1)
    total = shares.sum(axis=1)
    shares = np.divide(shares, total[:, None], out=np.zeros_like(shares), where=total[:, None] > 0)
    size = mean.shape[1]
    means = mean.reshape(*shares.shape, size)
    center = np.einsum("ds,dsi->di", shares, means)
    off = means - center[:, None]
    within = np.einsum("ds,dsij->dij", shares, covariance.reshape(*shares.shape, size, size))
    return Moments(total, center, within + np.einsum("ds,dsi,dsj->dij", shares, off, off))


def _schedule(network: BayesNet, targets: Sequence[AnyVariable]) -> tuple[list[tuple[CPD, set[AnyVariable]]], int]:
    """An order of the targets' ancestors that keeps the frontier small, what leaves after each, and the peak."""
    kept = set(ancestors(network.dag, [v.name for v in targets], inclusive=True))
    waiting = {cpd.child: cpd for cpd in network.cpds if cpd.child.name in kept}
    needed = {v: {c.child for c in waiting.values() if v in c.parents} for v in waiting}
    frontier: set[AnyVariable] = set()
    steps: list[tuple[CPD, set[AnyVariable]]] = []
    placed: set[AnyVariable] = set()
    peak = 1
    while waiting:
        ready = [cpd for cpd in waiting.values() if placed.issuperset(cpd.parents)]
        found = [
            (*_size(frontier | {c.child}, set(_leaving(frontier, c, needed, targets))), i) for i, c in enumerate(ready)
        ]
        cpd = ready[min(found)[-1]]
        peak = max(peak, _numbers(frontier | {cpd.child}))
        gone = set(_leaving(frontier, cpd, needed, targets))
        for parent in cpd.parents:
            needed[parent].discard(cpd.child)
        frontier = (frontier | {cpd.child}) - gone
        placed.add(waiting.pop(cpd.child).child)
        steps.append((cpd, gone))
    return steps, peak


def _leaving(
    frontier: set[AnyVariable], cpd: CPD, needed: dict[AnyVariable, set[AnyVariable]], targets: Sequence[AnyVariable]
) -> Iterator[AnyVariable]:
    """The variables that nothing depends on any more once this CPD is added."""
    for v in (*frontier, cpd.child):
        if v not in targets and not needed[v] - {cpd.child}:
            yield v


def _size(frontier: set[AnyVariable], gone: set[AnyVariable]) -> tuple[int, int]:
    """How large a frontier is after a step, and during it; joint states first."""
    left = num_entries([v for v in frontier - gone if isinstance(v, Discrete)])
    return left, _numbers(frontier)


def _numbers(frontier: set[AnyVariable]) -> int:
    count = num_entries([v for v in frontier if isinstance(v, Discrete)])
    return count * (width([v for v in frontier if isinstance(v, Vector)]) + 1) ** 2
