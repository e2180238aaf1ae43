r"""The best DAG among the edges of a sparse graph, by dynamic programming over its tree decomposition.

A state of a bag has the parent sets of its columns and which of them reach which through what was decided already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sepset.base.threads import require_time
from sepset.errors import ArgumentError, NotApplicable, ScopeError, TooLarge
from sepset.graphs.clusters import tree_decomposition
from sepset.graphs.graph import DAG, UndirectedGraph
from sepset.learning.structure.ending import ended
from sepset.learning.structure.exact.cutshort import cut_short
from sepset.learning.structure.exact.families import score_table
from sepset.learning.structure.exact.scoretable import ScoreTable, bits
from sepset.learning.structure.learned import Learned, StructureTask, dag_of, proved

MOST_STATES = 200_000
"""The largest number of states of a bag."""

Chosen = tuple[tuple[int, int], ...]
"""Columns with their parent sets."""


class _State(NamedTuple):
    """The parent sets of a bag's columns, and for each column the mask of those it reaches; both in column order."""

    chosen: Chosen
    reach: Chosen


class _Value(NamedTuple):
    """The best score of all families decided below, and the decisions, nested as they were joined."""

    score: float
    trail: tuple[object, ...]


_States = dict[_State, _Value]


@dataclass(frozen=True, slots=True)
class CandidateGraph:
    """The best DAG all of whose edges are, in one direction or the other, in a given undirected graph.

    Args:
        graph: the pairs that may be adjacent, over the names of the columns.

    Cost: exponential in the tree-width of the graph and the degrees of its nodes only.
    Reference: Koller & Friedman, exercise 18.14; Korhonen & Parviainen (2013).
    Guarantee: the best DAG inside the graph.
    Tested by: learning/structure/exact/test_candidategraph.py::test_against_enumeration

    >>> from sepset.learning.structure.columns import Columns
    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> rows = {"a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "c": [0, 1, 1, 0] * 9}
    >>> method = CandidateGraph(UndirectedGraph.parse("a - c - b"))
    >>> method.learn(StructureTask(Columns.of(rows), BIC())).graph
    DAG(a -> c; b -> c)
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    graph: UndirectedGraph

    def __post_init__(self) -> None:
        if not isinstance(self.graph, UndirectedGraph):
            raise ArgumentError(
                f"CandidateGraph takes an undirected graph: UndirectedGraph.parse('a - b'); found {self.graph!r}."
            )

    def learn(self, task: StructureTask) -> Learned[DAG]:
        """The best DAG inside the graph."""
        names = task.columns.names
        if set(self.graph.nodes) - set(names):
            raise ScopeError(f"The candidate graph has nodes that are not columns; the columns are {', '.join(names)}.")
        place = {name: i for i, name in enumerate(names)}
        apart = np.ones((len(names), len(names)), np.bool_)
        for a, b in self.graph.edges:
            apart[place[a], place[b]] = apart[place[b], place[a]] = False
        outside = task.allowed.required & apart
        if outside.any():
            a, b = np.argwhere(outside)[0]
            raise NotApplicable(f"The edge {names[a]} -> {names[b]} is required and not in the candidate graph.")
        allowed = task.allowed._replace(forbidden=task.allowed.forbidden | apart)
        found: list[tuple[list[int], float]] = []
        status = ended(
            task, lambda: found.append(best_inside(score_table(task.scorer, allowed, pruned=True), self.graph))
        )
        if not found:
            return cut_short(task, self, status, allowed)
        parents, score = [list(bits(mask)) for mask in found[0][0]], found[0][1]
        return proved(task, self, dag_of(task.columns, parents), score=score, over="DAGs inside the candidate graph")


def best_inside(table: ScoreTable, graph: UndirectedGraph) -> tuple[list[int], float]:
    """The best DAG of a score table all of whose edges are in a graph: a mask of parents per column, and the score."""
    place = {name: i for i, name in enumerate(table.names)}
    missing = [name for name in table.names if name not in graph.nodes]
    whole = UndirectedGraph([*graph.nodes, *missing], graph.edges)
    tree = tree_decomposition(whole, joined=True)
    bags = [frozenset(place[str(name)] for name in cluster) for cluster in tree.clusters]
    neighbors: list[list[int]] = [[] for _ in bags]
    for i, j in tree.edges:
        neighbors[i].append(j)
        neighbors[j].append(i)
    states = _solve(table, bags, neighbors)
    done = _reduced(states, frozenset())
    if not done:
        raise NotApplicable("The allowed parent sets have a cycle in every graph: no DAG is allowed.")
    best = done[_State((), ())]
    parents = [0] * table.num_columns
    for column, mask in _decided(best.trail):
        parents[column] = mask
    return parents, table.score_of(parents)


def _solve(table: ScoreTable, bags: list[frozenset[int]], neighbors: list[list[int]]) -> _States:
    """The states of the last bag, with the best scores of everything else."""
    root = len(bags) - 1
    order, before = [root], {root: -1}
    for i in order:
        for j in neighbors[i]:
            if j != before[i]:
                before[j] = i
                order.append(j)
    found: dict[int, _States] = {}
    for i in reversed(order):
        states: _States = {_State((), ()): _Value(0.0, ())}
        for j in neighbors[i]:
            if j != before[i]:
                states = _joined(states, _reduced(found.pop(j), bags[i]), table)
        for column in sorted(bags[i]):
            states = _introduced(states, column, table)
        found[i] = states
    return found[root]


def _introduced(states: _States, column: int, table: ScoreTable) -> _States:
    """The states with a column's parent set chosen, where it is not yet."""
    masks, scores = (a.tolist() for a in table.of(column))
    made: _States = {}
    for state, value in states.items():
        require_time()
        if any(c == column for c, _ in state.chosen):
            _keep(made, state, value)
            continue
        for mask, score in zip(masks, scores, strict=True):
            reach = _linked(dict(state.reach), dict(state.chosen), column, mask)
            if reach is not None:
                chosen = tuple(sorted((*state.chosen, (column, mask))))
                _keep(made, _State(chosen, reach), _Value(value.score + score, (value.trail, (column, mask))))
        _check(made)
    return made


def _linked(reach: dict[int, int], chosen: dict[int, int], column: int, mask: int) -> Chosen | None:
    """Which columns reach which after a new one with its edges to the others; None if there is a cycle."""
    before = sum(1 << c for c in reach if mask >> c & 1)
    after = sum(1 << c for c in reach if chosen[c] >> column & 1)
    ahead = after
    for c in bits(after):
        ahead |= reach[c]
    if any(before >> c & 1 for c in bits(ahead)):
        return None
    sources = before | sum(1 << c for c in reach if reach[c] & before)
    if sources & ahead:
        return None
    linked = {c: r | (ahead | 1 << column if sources >> c & 1 else 0) for c, r in reach.items()}
    linked[column] = ahead
    return tuple(sorted(linked.items()))


def _joined(left: _States, right: _States, table: ScoreTable) -> _States:
    """The states of two branches that agree on the columns they share."""
    made: _States = {}
    for a, x in left.items():
        require_time()
        ours = dict(a.chosen)
        for b, y in right.items():
            shared = [(c, m) for c, m in b.chosen if c in ours]
            if any(ours[c] != m for c, m in shared):
                continue
            reach = _closed(dict(a.reach), dict(b.reach), {**ours, **dict(b.chosen)})
            if reach is None:
                continue
            chosen = tuple(sorted({*a.chosen, *b.chosen}))
            twice = sum(table.family(c, m) for c, m in shared)
            _keep(made, _State(chosen, reach), _Value(x.score + y.score - twice, (x.trail, y.trail)))
        _check(made)
    return made


def _closed(left: dict[int, int], right: dict[int, int], chosen: dict[int, int]) -> Chosen | None:
    """The transitive closure of both relations and the chosen edges; None if it has a cycle."""
    columns = sorted({*left, *right})
    reach = {c: left.get(c, 0) | right.get(c, 0) | sum(1 << d for d in columns if chosen[d] >> c & 1) for c in columns}
    for k in columns:
        for c in columns:
            if reach[c] >> k & 1:
                reach[c] |= reach[k]
    if any(reach[c] >> c & 1 for c in columns):
        return None
    return tuple(sorted(reach.items()))


def _reduced(states: _States, bag: Iterable[int]) -> _States:
    """The states with only these columns left: the others are decided, the best is kept."""
    kept = set(bag)
    inside = sum(1 << c for c in kept)
    made: _States = {}
    for state, value in states.items():
        chosen = tuple((c, m) for c, m in state.chosen if c in kept)
        reach = tuple((c, r & inside) for c, r in state.reach if c in kept)
        _keep(made, _State(chosen, reach), value)
    return made


def _keep(states: _States, state: _State, value: _Value) -> None:
    known = states.get(state)
    if known is None or value.score > known.score:
        states[state] = value


def _check(states: _States) -> None:
    if len(states) > MOST_STATES:
        raise TooLarge(
            f"A bag of the tree decomposition has more than {MOST_STATES:,} states. Use a sparser candidate graph, a "
            "smaller max_parents=, or ExactSearch()."
        )


def _decided(trail: tuple[object, ...]) -> Iterator[tuple[int, int]]:
    """All decisions of a nested trail."""
    waiting: list[object] = [trail]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], int):
            yield part
        elif isinstance(part, tuple):
            waiting.extend(part)
