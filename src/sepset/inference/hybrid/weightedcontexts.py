r"""The discrete part of a network with the densities of its numbers as weights of their contexts.

$$P(\mathbf d, \mathbf o) = P(\mathbf d, \mathbf o_d) \prod_k w_k(\mathbf c_k), \qquad
w_k(\mathbf c_k) = N(\mathbf o_k; \mu_{\mathbf c_k}, \Sigma_{\mathbf c_k})$$

Weights of one variable are likelihood evidence; others, and those whose range is beyond that of float64, are tables
of the problem, in log space if needed. Without noise an observed number that follows from others has probability one,
which outweighs every density: contexts in which fewer numbers follow are impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.factors.block import Single
from sepset.factors.table import Table
from sepset.inference.hybrid.discretepart import DiscretePart
from sepset.inference.method import Prepared, dense
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

WIDEST = 600.0
"""The largest range of the logarithms of likelihood evidence."""

FEW = 8
"""Single variables up to which each is asked for alone: a pass over all of them is longer than one question."""


class Weights(NamedTuple):
    """The weights of the joint states of some contexts.

    Attributes:
        by: the positions of the contexts in the whole problem.
        logs: the logarithm of the weight of each joint state, in C order.
        exact: in each state the number of observed values that have probability one.
    """

    by: tuple[int, ...]
    logs: Floats
    exact: Ints


@dataclass(frozen=True, eq=False)
class WeightedContexts:
    """Questions about the discrete variables of a network, given states and numbers.

    Attributes:
        prepared: the discrete part, with tables of weights if needed; None if no variable is discrete.
        evidence: evidence about it.
        constant: the logarithm of the weight that all states share.
        place: the position of each variable within the discrete part.
    """

    prepared: Prepared | None
    evidence: Evidence
    constant: float
    place: Mapping[int, int]
    _shares: Cache[Floats] = field(default_factory=lambda: Cache(64), repr=False)

    @lazy
    def log_partition(self) -> float:
        """The log density of all evidence."""
        if self.prepared is None or self.constant == -np.inf:
            return self.constant
        return self.constant + self.prepared.log_partition(self.evidence)

    def log_shares(self, positions: Sequence[int]) -> Floats:
        """The log probability of each joint state of unobserved discrete variables, in C order."""
        prepared = self.prepared
        if prepared is None or not positions:
            return np.zeros(1)
        return self._shares.get(tuple(positions), lambda: self._log_shares(prepared, positions))

    def each_log_shares(self, groups: Sequence[tuple[int, ...]]) -> Iterator[Floats]:
        """The same for several groups of variables; single variables, if there are many, from one pass for all."""
        prepared = self.prepared
        single = {group for group in groups if len(group) == 1}
        if prepared is None or len(single) <= FEW:
            yield from map(self.log_shares, groups)
            return
        read, _ = prepared.marginals(self.evidence)
        for group in groups:
            is_read = group in single
            yield dense(read(self.place[group[0]])).log_values.reshape(-1) if is_read else self.log_shares(group)

    def _log_shares(self, prepared: Prepared, positions: Sequence[int]) -> Floats:
        answer = prepared.query([self.place[v] for v in positions], self.evidence)
        return np.asarray(dense(answer.distribution).log_values).reshape(-1)


def weighted(
    part: DiscretePart,
    prepare: Callable[[Problem], Prepared],
    base: Prepared | None,
    evidence: Evidence,
    weights: Sequence[Weights],
) -> WeightedContexts:
    """The discrete part with these weights.

    Args:
        part: the discrete part of the problem.
        prepare: prepares a problem of discrete variables.
        base: the discrete part, prepared without weights.
        evidence: evidence about the whole problem.
    """
    place = {v: i for i, v in enumerate(part.positions)}
    found = _combined(part, prepare, base, _inside(evidence, place), place, weights)
    mask = _most_exact(found, weights)
    if mask is None:
        return found
    return _combined(part, prepare, base, _inside(evidence, place), place, [*weights, mask])


def _inside(evidence: Evidence, place: Mapping[int, int]) -> Evidence:
    """Evidence about the discrete part, from evidence about the problem."""
    codes, likelihoods = ({place[v]: x for v, x in kind.items()} for kind in (evidence.codes, evidence.weights))
    return Evidence(codes, likelihoods)  # type: ignore[arg-type]  # one of codes, one of weights


def _combined(
    part: DiscretePart,
    prepare: Callable[[Problem], Prepared],
    base: Prepared | None,
    evidence: Evidence,
    place: Mapping[int, int],
    weights: Sequence[Weights],
) -> WeightedContexts:
    constant, logs = _collected(weights)
    likelihoods = dict(evidence.weights)
    tables: dict[tuple[int, ...], Floats] = {}
    for by, each in logs.items():
        own = tuple(place[v] for v in by)
        with np.errstate(divide="ignore"):
            both = each + np.log(likelihoods[own[0]]) if len(own) == 1 and own[0] in likelihoods else each
        if len(own) == 1 and _is_narrow(both):
            top = float(both.max())
            likelihoods[own[0]], constant = np.exp(both - top), constant + top
        else:
            tables[own] = each
    changed = replace(evidence, weights=likelihoods)
    if part.problem is None or constant == -np.inf:
        return WeightedContexts(None, changed, constant, place)
    prepared = prepare(_extended(part.problem, tables)) if tables else base
    return WeightedContexts(prepared, changed, constant, place)


def _collected(weights: Sequence[Weights]) -> tuple[float, dict[tuple[int, ...], Floats]]:
    """The logarithm that all states share, and the others, summed where contexts are the same."""
    constant, logs = 0.0, dict[tuple[int, ...], Floats]()
    for by, each, _ in weights:
        top = float(each.max())
        if top == -np.inf:
            return -np.inf, {}
        constant += top
        if by:
            logs[by] = logs.get(by, 0.0) + (each - top)
    return constant, logs


def _is_narrow(logs: Floats) -> bool:
    """Whether likelihoods with these logarithms can be numbers."""
    alive = logs[logs > -np.inf]
    return len(alive) > 0 and float(alive.max() - alive.min()) < WIDEST


def _extended(problem: Problem, tables: Mapping[tuple[int, ...], Floats]) -> Problem:
    """The problem with these tables as further factors."""
    more = (Single(_table(problem, scope, logs), scope) for scope, logs in tables.items())
    return replace(problem, blocks=(*problem.blocks, *more))


def _table(problem: Problem, scope: tuple[int, ...], logs: Floats) -> Table:
    return Table.from_log([problem.variables[v] for v in scope], logs)  # type: ignore[misc]  # discrete


def _most_exact(found: WeightedContexts, weights: Sequence[Weights]) -> Weights | None:
    """Zero weight for possible contexts in which fewer values have probability one than in others; None if none are."""
    uneven = [w for w in weights if _varies(w)]
    if not uneven or found.constant == -np.inf:
        return None
    union = tuple(sorted({v for w in uneven for v in w.by}))
    alive = found.log_shares(union) > -np.inf
    cards = _cards(found, union)
    total = np.zeros(len(alive), np.int64)
    for w in uneven:
        codes = np.unravel_index(np.arange(len(alive)), cards)
        own = [codes[union.index(v)] for v in w.by]
        total += w.exact[np.ravel_multi_index(own, [cards[union.index(v)] for v in w.by])]
    keep = _keep(alive, total)
    return Weights(union, np.where(keep, 0.0, -np.inf), np.zeros(len(keep), np.int64)) if keep.any() else None


def _keep(alive: Bools, total: Ints) -> Bools:
    return np.asarray(alive & (total == total[alive].max(initial=-1)))


def _varies(weights: Weights) -> bool:
    exact = weights.exact[weights.logs > -np.inf]
    return bool(len(exact)) and bool((exact != exact[0]).any())


def _cards(found: WeightedContexts, positions: Sequence[int]) -> list[int]:
    assert found.prepared is not None
    cards = found.prepared.problem.variables.cards
    return [int(cards[found.place[v]]) for v in positions]
