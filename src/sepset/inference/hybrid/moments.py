r"""Moments of real variables in discrete contexts: by enumeration of states, or by one sweep from parents to children.

In every joint state $s$ of the discrete variables above them, real variables are jointly normal, and the moments in a
context are those of the mixture of its joint states:

$$\bar\mu = \sum_s w_s \mu_s, \qquad
\bar\Sigma = \sum_s w_s \left(\Sigma_s + (\mu_s - \bar\mu)(\mu_s - \bar\mu)^\top\right).$$

Covariances are kept as roots, $\Sigma = R^\top R$, whose columns are the weights of independent noises: a regression
adds up columns, and a mixture has the triangular factor of all rows $\sqrt{w_s} R_s$ and
$\sqrt{w_s} (\mu_s - \bar\mu)$. So what depends on differences of nearly equal numbers keeps its digits.

If joint states are too many to enumerate, a frontier holds the variables that later ones depend on: a table over the
discrete ones with, in each joint state, its probability and the moments of the real ones. A discrete child multiplies
probabilities, a regression extends the moments, and a discrete variable that leaves mixes them.
First and second moments stay exact, since regressions are linear. The frontier of a switching chain does not grow with
its length.

Reference: Koller & Friedman, section 14.3.4, on exact first and second moments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.base.membership import without
from sepset.base.text import listing
from sepset.errors import TooLarge
from sepset.factors.algebra import AnyVariable, num_entries
from sepset.factors.coordinates import entries, places, width
from sepset.factors.regression import Regression
from sepset.inference import costs
from sepset.inference.method import ContextMoments, Prepared, dense
from sepset.problem import ConditionalGroup, Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete, Vector

MOST_MOMENT_ENTRIES = 2**26
"""The largest number of entries that moments may have at a time; beyond it, `TooLarge`."""


@dataclass(frozen=True, eq=False)
class Node:
    """A variable of a network with its parents and its conditional distribution.

    Attributes:
        child: the variable.
        parents: its discrete and real parents.
        problem, group: the problem and the conditional of its factors.
    """

    child: AnyVariable
    parents: tuple[AnyVariable, ...]
    problem: Problem = field(repr=False)
    group: ConditionalGroup = field(repr=False)

    @property
    def regression(self) -> Regression:
        """The regression of a real child on its parents."""
        return self.problem.regressions[self.group.child]

    @lazy
    def table(self) -> Floats:
        """The probabilities of a discrete child, one row per joint state of its parents; auxiliaries are summed out."""
        hidden = [self.problem.variables[v] for v in self.group.auxiliaries]
        first, *rest = self.problem.factors(self.group.factors)
        for factor in rest:
            first = first * factor
        table = dense(first.marginalize(hidden)).align((*self.parents, self.child))
        return np.asarray(table.values).reshape(-1, self.child.num_states)  # type: ignore[union-attr]  # discrete


def nodes(problem: Problem) -> dict[AnyVariable, Node]:
    """The variables of a network with their parents."""
    variables = problem.variables
    return {
        variables[g.child]: Node(variables[g.child], tuple(variables[v] for v in g.parents), problem, g)
        for g in problem.conditionals
    }


@dataclass(frozen=True, eq=False)
class RegressionMoments:
    """The moments of real variables in discrete contexts, for one problem of discrete variables and regressions.

    Attributes:
        problem: the network.
        discrete: its discrete part, prepared; None if there is none.
        states: the positions of the variables of that part.
    """

    problem: Problem
    discrete: Prepared | None
    states: tuple[int, ...]
    _listed: Cache[ContextMoments] = field(default_factory=lambda: Cache(8), repr=False)

    def of(self, reals: Sequence[int], by: Sequence[int]) -> ContextMoments:
        """The moments of real variables in each joint state of discrete ones: enumerated, or by a sweep if smaller.

        Args:
            reals: the positions of real variables.
            by: the positions of discrete variables, the contexts in C order.
        """
        variables = self.problem.variables
        wanted = [v for v in map(variables.__getitem__, reals) if isinstance(v, Vector)]
        contexts = [v for v in map(variables.__getitem__, by) if isinstance(v, Discrete)]
        above = self._above(wanted)
        scope = tuple(regression.child for regression in above)
        joint = tuple(dict.fromkeys((*contexts, *(d for regression in above for d in regression.by))))
        size = num_entries(joint) * (width(scope) + 1) ** 2
        targets: tuple[AnyVariable, ...] = (*contexts, *wanted)
        is_shared = self.discrete is None  # by the moments of all numbers, which are listed once
        outright = costs.MOMENT_ENTRIES_LISTED_ONCE if is_shared else costs.MOMENT_ENTRIES_LISTED_OUTRIGHT
        if size > MOST_MOMENT_ENTRIES or (size > outright and size > frontier_size(self.problem, targets)):
            return forward_moments(self.problem, wanted, contexts, largest=MOST_MOMENT_ENTRIES)
        found = self._listed.get((scope, joint), lambda: self._in_all_states(above, scope, joint))
        at = places(scope, wanted)
        return mixed(found.weights, found.mean[:, at], found.root[:, :, at], num_entries(contexts))

    @lazy
    def _order(self) -> list[Regression]:
        """All regressions, parents first."""
        left, placed, found = dict(self.problem.regressions), set[Vector](), []
        while left:
            for v in [v for v, regression in left.items() if placed.issuperset(regression.given)]:
                found.append(left.pop(v))
                placed.add(found[-1].child)
        return found

    def _above(self, reals: Sequence[AnyVariable]) -> list[Regression]:
        """The regressions of real variables and of their ancestors, parents first; all if no variable is discrete."""
        if self.discrete is None:
            return self._order
        wanted: set[AnyVariable] = set(reals)
        found = []
        for regression in reversed(self._order):
            if regression.child in wanted:
                wanted.update(regression.given)
                found.append(regression)
        return found[::-1]

    def _in_all_states(
        self, above: list[Regression], scope: tuple[Vector, ...], joint: tuple[Discrete, ...]
    ) -> ContextMoments:
        r"""Moments in each joint state, parents first.

        $$\mu_y = a + B\mu_u, \quad R_y = R_u B^\top \text{ and a root of } C \text{ in rows of its own}$$
        """
        count, size = num_entries(joint), width(scope)
        mean, root = np.zeros((count, size)), np.zeros((count, size, size))
        for regression in above:
            at = entries(joint, regression.by)
            y, u = places(scope, regression.frontal), places(scope, regression.given)
            B, before = regression.coefficients[at], slice(0, y[0])
            mean[:, y] = regression.intercept[at] + np.einsum("dij,dj->di", B, mean[:, u])
            root[:, before, y] = root[:, before, u] @ B.swapaxes(1, 2)
            root[:, y[:, None], y] = roots(regression.covariance)[at]
        return ContextMoments(self._weights(joint), mean, root)

    def _weights(self, joint: tuple[Discrete, ...]) -> Floats:
        """The probability of every joint state."""
        if self.discrete is None or not joint:
            return np.ones(num_entries(joint))
        targets = [self.states.index(self.problem.variables.id(v)) for v in joint]
        return np.asarray(dense(self.discrete.query(targets, Evidence()).distribution).values).reshape(-1)


def forward_moments(
    problem: Problem, reals: Sequence[Vector], by: Sequence[Discrete], *, largest: int = MOST_MOMENT_ENTRIES
) -> ContextMoments:
    """The moments of real variables in each joint state of discrete ones, by a sweep.

    Args:
        problem: of discrete variables and regressions.
        reals: the real variables.
        by: the contexts, in C order.
        largest: the largest number of entries of a frontier; above it, `TooLarge` with their number.

    Cost: one pass over the ancestors, each as large as the frontier there.

    Reference: Koller & Friedman 14.3.4.
    Guarantee: exact first and second moments.
    Tested by: inference/hybrid/test_moments.py::test_moments_are_those_of_all_joint_states
    """
    steps, peak = _schedule(problem, (*by, *reals))
    if peak > largest:
        raise TooLarge(
            f"The moments of {listing(v.name for v in reals)} take {peak:,} numbers, more than {largest:,}, whichever "
            "way they are computed. Ask for fewer at a time, or draw samples."
        )
    frontier = Frontier((), (), ContextMoments(np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 0))))
    for node, gone in steps:
        frontier = frontier.extended(node).without(gone)
    return frontier.arranged(by, reals)


def frontier_size(problem: Problem, targets: Sequence[AnyVariable]) -> int:
    """The number of entries of the largest frontier of a sweep for these variables."""
    return _schedule(problem, targets)[1]


@dataclass(frozen=True, slots=True, eq=False)
class Frontier:
    """The moments of some real variables in each joint state of some discrete ones."""

    states: tuple[Discrete, ...]
    reals: tuple[Vector, ...]
    moments: ContextMoments

    def extended(self, node: Node) -> Frontier:
        """The frontier with one more variable, whose parents are all in it."""
        w, mean, root = self.moments
        if isinstance(node.child, Discrete):
            size = node.child.num_states
            parents = [v for v in node.parents if isinstance(v, Discrete)]
            new = (w[:, None] * node.table[entries(self.states, parents)]).reshape(-1)
            repeated = ContextMoments(new, np.repeat(mean, size, axis=0), np.repeat(root, size, axis=0))
            return Frontier((*self.states, node.child), self.reals, repeated)
        regression = node.regression
        at, u = entries(self.states, regression.by), places(self.reals, regression.given)
        B, noise = regression.coefficients[at], roots(regression.covariance)[at]
        across = root[:, :, u] @ B.swapaxes(1, 2)
        center = np.concatenate([mean, regression.intercept[at] + np.einsum("dij,dj->di", B, mean[:, u])], axis=1)
        own = np.concatenate([np.zeros((len(w), noise.shape[1], mean.shape[1])), noise], axis=2)
        spread = np.concatenate([np.concatenate([root, across], axis=2), own], axis=1)
        return Frontier(self.states, (*self.reals, regression.child), ContextMoments(w, center, spread))

    def without(self, gone: set[AnyVariable]) -> Frontier:
        """The frontier with some variables summed or integrated out."""
        return self._arranged([v for v in self.states if v not in gone], [v for v in self.reals if v not in gone])

    def arranged(self, by: Sequence[Discrete], reals: Sequence[Vector]) -> ContextMoments:
        """The moments with contexts and coordinates in the order asked."""
        return self._arranged(by, reals).moments

    def _arranged(self, by: Sequence[Discrete], reals: Sequence[Vector]) -> Frontier:
        w, mean, root = self.moments
        at = places(self.reals, reals)
        rest = without(self.states, by)
        shape = [v.num_states for v in self.states]
        order = np.arange(len(w)).reshape(shape).transpose([self.states.index(v) for v in (*by, *rest)]).reshape(-1)
        merged = mixed(w[order], mean[order][:, at], root[order][:, :, at], num_entries(by))
        return Frontier(tuple(by), tuple(reals), merged)


def mixed(weights: Floats, mean: Floats, root: Floats, contexts: int) -> ContextMoments:
    """The moments of mixtures: one mixture of all joint states with the same leading context.

    >>> found = mixed(np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.zeros((2, 1, 1)), 1)
    >>> found.mean.tolist(), found.covariance.round(12).tolist()
    ([[0.0]], [[[1.0]]])
    """
    shares = weights.reshape(contexts, -1)
    total = shares.sum(axis=1)
    if shares.shape[1] == 1:
        dead = total <= 0
        return ContextMoments(total, np.where(dead[:, None], 0.0, mean), np.where(dead[:, None, None], 0.0, _low(root)))
    shares = np.divide(shares, total[:, None], out=np.zeros_like(shares), where=total[:, None] > 0)
    size, height = mean.shape[1], root.shape[1]
    means = mean.reshape(*shares.shape, size)
    center = np.einsum("ds,dsi->di", shares, means)
    share = np.sqrt(shares)[:, :, None, None]
    rows = np.empty((*shares.shape, height + 1, size))
    np.multiply(share, root.reshape(*shares.shape, height, size), out=rows[:, :, :height])
    rows[:, :, height] = share[:, :, 0] * (means - center[:, None])
    return ContextMoments(total, center, _low(rows.reshape(contexts, shares.shape[1] * (height + 1), size)))


def _low(root: Floats) -> Floats:
    """A root of as many rows as columns at most: the triangular factor of one with more."""
    return root if root.shape[1] <= root.shape[2] else np.asarray(np.linalg.qr(root, mode="r"))


def roots(covariances: Floats) -> Floats:
    r"""Matrices $R$ with $R^\top R = C$ for each covariance, which may be singular.

    >>> roots(np.array([[[4.0]]])).tolist()
    [[[2.0]]]
    """
    if covariances.shape[1] == 1:
        return np.asarray(np.sqrt(covariances))
    try:
        return np.asarray(np.linalg.cholesky(covariances).swapaxes(1, 2))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariances)
        return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, :, None] * vectors.swapaxes(1, 2))


def _schedule(problem: Problem, targets: Sequence[AnyVariable]) -> tuple[list[tuple[Node, set[AnyVariable]]], int]:
    """An order of the targets' ancestors that keeps the frontier small, the variables leaving after each, the peak."""
    everyone = nodes(problem)
    waiting: dict[AnyVariable, Node] = {}
    stack = list(targets)
    while stack:
        child = stack.pop()
        if child not in waiting:
            waiting[child] = everyone[child]
            stack += everyone[child].parents
    waiting = {child: node for child, node in everyone.items() if child in waiting}
    needed: dict[AnyVariable, set[AnyVariable]] = {v: set() for v in waiting}
    for node in waiting.values():
        for parent in node.parents:
            needed[parent].add(node.child)
    frontier: set[AnyVariable] = set()
    steps: list[tuple[Node, set[AnyVariable]]] = []
    placed: set[AnyVariable] = set()
    peak = 1
    while waiting:
        ready = [node for node in waiting.values() if placed.issuperset(node.parents)]
        found = [
            (*_size(frontier | {n.child}, set(_leaving(frontier, n, needed, targets))), i) for i, n in enumerate(ready)
        ]
        node = ready[min(found)[-1]]
        peak = max(peak, _numbers(frontier | {node.child}))
        gone = set(_leaving(frontier, node, needed, targets))
        for parent in node.parents:
            needed[parent].discard(node.child)
        frontier = (frontier | {node.child}) - gone
        placed.add(waiting.pop(node.child).child)
        steps.append((node, gone))
    return steps, peak


def _leaving(
    frontier: set[AnyVariable],
    node: Node,
    needed: dict[AnyVariable, set[AnyVariable]],
    targets: Sequence[AnyVariable],
) -> Iterator[AnyVariable]:
    """The variables that no later one depends on after this node is added."""
    for v in (*frontier, node.child):
        if v not in targets and not needed[v] - {node.child}:
            yield v


def _size(frontier: set[AnyVariable], gone: set[AnyVariable]) -> tuple[int, int]:
    """The sizes of a frontier, after the step and during it; joint states first."""
    left = num_entries([v for v in frontier - gone if isinstance(v, Discrete)])
    return left, _numbers(frontier)


def _numbers(frontier: set[AnyVariable]) -> int:
    count = num_entries([v for v in frontier if isinstance(v, Discrete)])
    return count * (width([v for v in frontier if isinstance(v, Vector)]) + 1) ** 2
