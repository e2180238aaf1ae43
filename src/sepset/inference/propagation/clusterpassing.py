r"""Message passing between clusters of variables, whose messages are tables over several variables.

$$\delta_{a \to b}(\mathbf s_{ab}) \propto \sum_{\mathbf c_a \setminus \mathbf s_{ab}} \psi_a
\prod_{c \ne b} \delta_{c \to a}, \qquad \log Z \approx \sum_a \log \sum \psi_a \prod_c \delta_{c \to a}
- \sum_{ab} \log \sum \delta_{a \to b}\, \delta_{b \to a}$$

at a fixed point; exact on trees of clusters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.logarithms import log_sum
from sepset.base.text import listing
from sepset.base.threads import require_time
from sepset.errors import NotApplicable, TooLarge
from sepset.factors.algebra import MAX_ENTRIES
from sepset.graphs.clusters import ClusterGraph
from sepset.inference.iterate import Info, Run
from sepset.inference.propagation.passing import is_fixed
from sepset.inference.result import Status
from sepset.inference.wiring import Wiring

Scope = tuple[int, ...]
Messages = tuple[Floats, ...]
"""The log messages: for each edge the one forward, then for each edge the one back."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters of a wired model with their log potentials.

    Attributes:
        wiring: the model, without states that arc consistency rules out.
        scopes: the variables of each cluster, in increasing order.
        edges: pairs of clusters.
        sepsets: the variables of each edge, in increasing order.
        homes: the cluster of each factor.
        logs: the log potential of each cluster, an axis per variable.
    """

    wiring: Wiring
    scopes: tuple[Scope, ...]
    edges: tuple[tuple[int, int], ...]
    sepsets: tuple[Scope, ...]
    homes: tuple[int, ...]
    logs: tuple[Floats, ...]

    @classmethod
    def of(cls, wiring: Wiring, graph: ClusterGraph, place: Mapping[str, int]) -> Clusters:
        """The clusters of a graph over names.

        Args:
            place: the variable of each name; clusters lose names that are not there, which are observed.
        """
        scopes = tuple(_places(scope, place) for scope in graph.clusters)
        sepsets = tuple(_places(scope, place) for scope in graph.sepsets)
        around = _around(wiring.num_variables, scopes)
        homes = tuple(_home(wiring, f, scopes, around) for f in range(wiring.num_factors))
        logs = [np.zeros(_shape(wiring, scope)) for scope in scopes]
        for f, home in enumerate(homes):
            require_time()
            scope = wiring.scope(f).tolist()
            table = wiring.table(f).transpose(np.argsort(scope, kind="stable"))
            logs[home] += _widened(table, tuple(sorted(scope)), scopes[home])
        for i, inside in enumerate(around):
            if not inside:
                raise NotApplicable(f"No cluster has {wiring.name(i)!r}. Add it to one.")
            logs[inside[0]] += _widened(wiring.logs(i), (i,), scopes[inside[0]])
        return cls(wiring, scopes, graph.edges, sepsets, homes, tuple(logs))

    @lazy
    def around(self) -> Sequence[Sequence[int]]:
        """For each variable the clusters that have it."""
        return _around(self.wiring.num_variables, self.scopes)

    @lazy
    def incoming(self) -> tuple[tuple[int, ...], ...]:
        """For each cluster the numbers of the messages to it."""
        found: list[list[int]] = [[] for _ in self.scopes]
        for e, (a, b) in enumerate(self.edges):
            found[b].append(e)
            found[a].append(e + len(self.edges))
        return tuple(map(tuple, found))

    def belief(self, a: int, messages: Sequence[Floats], *, without: int = -1) -> Floats:
        """The log belief of a cluster, not normalized, or that without one of the messages."""
        logs, num = self.logs[a], len(self.edges)
        for m in self.incoming[a]:
            if m != without:
                logs = logs + _widened(messages[m], self.sepsets[m % num], self.scopes[a])
        return logs

    def marginal(self, logs: Floats, scope: Scope, kept: Scope, *, is_max: bool) -> Floats:
        """The log sums (or maxima) of log values over the variables that are not kept."""
        axes = tuple(axis for axis, i in enumerate(scope) if i not in kept)
        return np.asarray(logs.max(axis=axes) if is_max else log_sum(logs, axes))


def _places(names: Sequence[str], place: Mapping[str, int]) -> Scope:
    return tuple(sorted(place[name] for name in names if name in place))


def _shape(wiring: Wiring, scope: Scope) -> tuple[int, ...]:
    shape = tuple(int(wiring.plugs.cards[i]) for i in scope)
    if math.prod(shape) > MAX_ENTRIES:
        raise TooLarge(f"A cluster of {len(shape)} variables has a table of {math.prod(shape):.3g} entries.")
    return shape


def _around(num_variables: int, scopes: Sequence[Scope]) -> list[list[int]]:
    """For each variable the clusters that have it."""
    found: list[list[int]] = [[] for _ in range(num_variables)]
    for a, scope in enumerate(scopes):
        for i in scope:
            found[i].append(a)
    return found


def _home(wiring: Wiring, f: int, scopes: Sequence[Scope], around: Sequence[Sequence[int]]) -> int:
    """The smallest cluster that covers a factor, among those that have the rarest of its variables."""
    scope = set(wiring.scope(f).tolist())
    fits = [
        a for a in min((around[i] for i in scope), key=len, default=range(len(scopes))) if scope.issubset(scopes[a])
    ]
    if not fits:
        names = listing([wiring.name(i) for i in sorted(scope)])
        raise NotApplicable(f"No cluster covers the factor over {names}. Add one, or let ClusterBP(bound=) build them.")
    return min(fits, key=lambda a: len(scopes[a]))


def _widened(logs: Floats, scope: Scope, wide: Scope) -> Floats:
    """Log values with an axis for each variable of a wider scope, both in increasing order."""
    shape = dict(zip(scope, logs.shape, strict=True))
    return logs.reshape([shape.get(i, 1) for i in wide])


@dataclass(frozen=True, eq=False)
class ClusterPassing:
    """Passes of messages between clusters, forth through the edges and back.

    Attributes:
        clusters: those of the model.
        damping: the part of each old log message that is kept; none on trees.
        is_max: maxima in place of sums.
    """

    clusters: Clusters
    damping: float
    is_max: bool
    is_forest: bool

    def __repr__(self) -> str:
        return f"ClusterPassing({len(self.clusters.scopes)} clusters, {self.damping}, {self.is_max})"

    def init(self, task: object, rng: np.random.Generator) -> Messages:
        """Messages of one."""
        return tuple(np.zeros(_shape(self.clusters.wiring, s)) for s in self.clusters.sepsets * 2)

    def step(self, task: object, state: Messages, rng: np.random.Generator) -> tuple[Messages, Info]:
        """All messages forward, and all back."""
        messages, residual, num = list(state), 0.0, len(self.clusters.edges)
        for m in (*range(num), *range(2 * num - 1, num - 1, -1)):
            require_time()
            change = self._send(m, messages)
            if np.isnan(change):
                return tuple(messages), Info(-np.inf, np.inf, is_done=True)
            residual = max(residual, change)
        return tuple(messages), Info(-residual, residual)

    def _send(self, m: int, messages: list[Floats]) -> float:
        """Replace one message; returns its largest change, NaN if all is impossible."""
        made, num = self.clusters, len(self.clusters.edges)
        a = made.edges[m % num][0 if m < num else 1]
        logs = made.belief(a, messages, without=(m + num) % (2 * num))
        new = made.marginal(logs, made.scopes[a], made.sepsets[m % num], is_max=self.is_max)
        top = new.max()
        if top == -np.inf:
            return math.nan
        new, old = new - top, messages[m]
        both = (new > -np.inf) & (old > -np.inf)
        change = np.where(both, new - np.where(both, old, 0.0), 0.0)
        lost = bool(((new > -np.inf) != (old > -np.inf)).any())
        kept = 0.0 if self.is_forest else self.damping
        messages[m] = np.where(both, old + (1.0 - kept) * change, new)
        return math.inf if lost else float(np.abs(change).max())


@dataclass(frozen=True, eq=False)
class ClusterBeliefs:
    """Messages between clusters where passes ended, and the beliefs that they give.

    Attributes:
        passing: the passes.
        ended: how they ended.
    """

    passing: ClusterPassing
    ended: Run[Any]

    @property
    def wiring(self) -> Wiring:
        """The model."""
        return self.passing.clusters.wiring

    @property
    def is_forest(self) -> bool:
        """Whether the graph of clusters has no cycle."""
        return self.passing.is_forest

    @property
    def status(self) -> Status:
        """How the passes ended."""
        return self.ended.status

    @property
    def has_converged(self) -> bool:
        """Whether the messages are those of a fixed point, which a large tolerance alone does not make them."""
        return is_fixed(self.ended)

    @property
    def num_passes(self) -> int:
        """The number of passes."""
        return self.ended.num_steps

    @property
    def residual(self) -> float:
        """The largest change of a log message in the last pass."""
        return 0.0 if self.ended.info is None else float(self.ended.info.change)

    @lazy
    def logs(self) -> tuple[Floats, ...]:
        """The log beliefs of the clusters, not normalized."""
        made = self.passing.clusters
        return tuple(made.belief(a, self.ended.state) for a in range(len(made.scopes)))

    @lazy
    def log_totals(self) -> float:
        """The free energy without the constant; -inf if the evidence is impossible."""
        made, messages, num = self.passing.clusters, self.ended.state, len(self.passing.clusters.edges)
        if self.ended.info is not None and self.ended.info.is_done:
            return -math.inf
        totals = [self._total(logs) for logs in self.logs]
        if min(totals, default=0.0) == -math.inf or made.wiring.constant == -math.inf:
            return -math.inf
        return sum(totals) - sum(self._total(messages[e] + messages[e + num]) for e in range(num))

    def _total(self, logs: Floats) -> float:
        return float(logs.max() if self.passing.is_max else log_sum(logs, tuple(range(logs.ndim))))

    def energy(self) -> float:
        """The free energy of the clusters: the log partition on a tree."""
        return self.wiring.constant + self.log_totals if self.log_totals > -math.inf else -math.inf

    def over(self, scope: Scope, a: int) -> Floats:
        """The logarithm of the belief of some variables of a cluster, in increasing order."""
        made = self.passing.clusters
        logs = made.marginal(self.logs[a], made.scopes[a], scope, is_max=self.passing.is_max)
        logs = logs - logs.max()
        return np.asarray(logs - np.log(np.exp(logs).sum()))

    def variable(self, i: int) -> Floats:
        """The belief of one variable."""
        return np.asarray(np.exp(self.variable_logs(i)))

    def variable_logs(self, i: int) -> Floats:
        """The logarithm of the belief of one variable, from the smallest cluster that has it."""
        home = min(self.passing.clusters.around[i], key=lambda a: self.logs[a].size)
        return self.over((i,), home)

    def rows(self, places: Ints) -> Floats:
        """The beliefs of variables with the same number of states, one row each."""
        return np.array([self.variable(i) for i in places.tolist()]).reshape(len(places), -1)

    def factor(self, f: int) -> Floats:
        """The belief of the variables of one factor, an axis per variable of its scope."""
        return np.asarray(np.exp(self.factor_logs(f)))

    def factor_logs(self, f: int) -> Floats:
        """The logarithm of the belief of the variables of one factor, an axis per variable of its scope."""
        scope = self.wiring.scope(f).tolist()
        found = self.over(tuple(sorted(scope)), self.passing.clusters.homes[f])
        return np.asarray(found.transpose([sorted(scope).index(i) for i in scope]))

    def decoded(self) -> Ints:
        """The assignment of one cluster after another, each its best states given those before it."""
        made = self.passing.clusters
        codes, order = np.full(self.wiring.num_variables, -1, np.int64), _walk(made)
        for a in order:
            scope = made.scopes[a]
            logs = self.logs[a][tuple(codes[i] if codes[i] >= 0 else slice(None) for i in scope)]
            free = [i for i in scope if codes[i] < 0]
            if free:
                codes[free] = np.unravel_index(int(logs.argmax()), logs.shape)
        return codes


def _walk(made: Clusters) -> list[int]:
    """The clusters breadth first, so that each is next to one before it."""
    around: list[list[int]] = [[] for _ in made.scopes]
    for a, b in made.edges:
        around[a].append(b)
        around[b].append(a)
    order: dict[int, None] = {}
    for root in range(len(made.scopes)):
        queue = [root] if root not in order else []
        while queue:
            a = queue.pop(0)
            if a not in order:
                order[a] = None
                queue += around[a]
    return list(order)
