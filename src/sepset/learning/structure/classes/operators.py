r"""Operators on essential graphs: insert, delete and turn an edge, with their gains.

Each operator has a clique $C$ of neighbors of the target $Y$: there is a member of the class in which $Y$ has the
parents $\text{Pa}_Y \cup C$, and the operator adds $X \to Y$ to that member, or deletes or reverses its edge. With
$N = \text{Ne}_Y \cap \text{Adj}_X$:

    insert   X, Y not adjacent; N within C; every semi-directed path from Y to X meets C
             F(Y | Pa_Y + C + X) - F(Y | Pa_Y + C)
    delete   C within N
             F(Y | Pa_Y + C - X) - F(Y | Pa_Y + C + X)
    turn     Y -> X; N within C; every semi-directed path from Y to X but the edge meets C or Ne_X
             F(Y | Pa_Y + C + X) - F(Y | Pa_Y + C) + F(X | Pa_X - Y) - F(X | Pa_X)
    turn     X - Y; C - N is not empty, and the intersection of C and N separates C - N from N - C among Ne_Y
             F(Y | Pa_Y + C + X) - F(Y | Pa_Y + C) + F(X | Pa_X + (C & N)) - F(X | Pa_X + (C & N) + Y)

Reference: Chickering (2002); Hauser & Buehlmann (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools
from sepset.learning.structure.classes.essential import EssentialGraph, cliques
from sepset.learning.structure.constraints import Allowed
from sepset.learning.structure.familyscores import Scorer

INSERT, DELETE, TURN = range(3)
"""The kinds of operators."""


class Operator(NamedTuple):
    """A change of one edge of some member of a class.

    Attributes:
        kind: insert, delete or turn.
        source: of the edge, after it is turned.
        target: of the edge.
        given: the neighbors of the target that are its parents in the member.
        gain: of the score.
    """

    kind: int
    source: int
    target: int
    given: tuple[int, ...]
    gain: float


class Possible(NamedTuple):
    """The changes that operators may make.

    Attributes:
        fixed: pairs whose adjacency is required, or neither direction of which is allowed.
        max_parents: the largest number of parents.
    """

    fixed: Bools
    max_parents: int

    @classmethod
    def of(cls, allowed: Allowed) -> Possible:
        """The possible changes under constraints."""
        required = allowed.required | allowed.required.T
        return cls(required | (allowed.forbidden & allowed.forbidden.T), allowed.max_parents)


def insertions(graph: EssentialGraph, scorer: Scorer, possible: Possible, y: int) -> Iterator[Operator]:
    """The operators that insert an edge into `y`, by sources for each clique; paths are not looked at."""
    parents, neighbors = graph.parents[y], graph.neighbors[y]
    most = possible.max_parents - len(parents) - 1
    far = ~(graph.arcs[y] | graph.arcs[:, y] | possible.fixed[y])
    far[y] = False
    near = {z: (graph.arcs[z] | graph.arcs[:, z]).astype(np.int64) for z in neighbors}
    around = sum(near.values(), np.zeros(graph.n, np.int64))
    for clique in cliques(neighbors, graph.adjacent, most):
        is_candidate = far & (around == sum((near[z] for z in clique), np.zeros(graph.n, np.int64)))
        if is_candidate.any():
            given = parents.union(clique)
            gains = scorer.additions(y, given) - scorer.family(y, given)
            for x in np.flatnonzero(is_candidate & (gains > 0.0)).tolist():
                yield Operator(INSERT, x, y, clique, float(gains[x]))


def deletions(graph: EssentialGraph, scorer: Scorer, possible: Possible, y: int) -> Iterator[Operator]:
    """The operators that delete an edge into `y`."""
    parents, neighbors = graph.parents[y], graph.neighbors[y]
    for x in sorted(parents | neighbors):
        if possible.fixed[x, y]:
            continue
        for clique in cliques(neighbors & graph.adjacent[x], graph.adjacent, graph.n):
            without = parents.union(clique) - {x}
            yield Operator(DELETE, x, y, clique, scorer.family(y, without) - scorer.family(y, without | {x}))


def turns(graph: EssentialGraph, scorer: Scorer, possible: Possible, y: int) -> Iterator[Operator]:
    """The operators that turn an edge from `y` or an undirected one into one into `y`; paths are not looked at."""
    parents, neighbors = graph.parents[y], graph.neighbors[y]
    most = possible.max_parents - len(parents) - 1
    children = graph.adjacent[y] - parents - neighbors
    for clique in cliques(neighbors, graph.adjacent, most):
        given = parents.union(clique)
        for x in sorted(children):
            if neighbors & graph.adjacent[x] <= set(clique):
                above = graph.parents[x]
                gain = scorer.family(y, given | {x}) - scorer.family(y, given)
                gain += scorer.family(x, above - {y}) - scorer.family(x, above)
                yield Operator(TURN, x, y, clique, gain)
        for x in sorted(neighbors.difference(clique)):
            common = graph.adjacent[x].intersection(clique)
            if _separates(graph, x, y, set(clique)):
                above = graph.parents[x] | common
                gain = scorer.family(y, given | {x}) - scorer.family(y, given)
                gain += scorer.family(x, above) - scorer.family(x, above | {y})
                yield Operator(TURN, x, y, clique, gain)


def _separates(graph: EssentialGraph, x: int, y: int, clique: set[int]) -> bool:
    """Whether an undirected edge can be turned: the clique reaches beyond the nodes that are adjacent to both."""
    neighbors = graph.neighbors[y] - {x}
    near = neighbors & graph.adjacent[x]
    reached, pending = clique - near, list(clique - near)
    if not pending:
        return False
    allowed = neighbors - (clique & near)
    while pending:
        for z in graph.adjacent[pending.pop()] & allowed - reached:
            reached.add(z)
            pending.append(z)
    return not reached & (near - clique)


Kind = Callable[[EssentialGraph, Scorer, Possible, int], Iterator[Operator]]
KINDS: tuple[Kind, Kind, Kind] = (insertions, deletions, turns)
"""The operators of each kind at a node."""


def obstacle(graph: EssentialGraph, operator: Operator) -> list[int]:
    """A path that makes the operator invalid; empty if it is valid."""
    kind, x, y, given, _ = operator
    if kind == INSERT:
        return graph.path(y, x, given)
    if kind == TURN and x not in graph.neighbors[y]:
        return graph.path(y, x, graph.neighbors[x].union(given), through_edge=False)
    return []


def applied(graph: EssentialGraph, operator: Operator) -> Bools:
    """The edges of a DAG in the class that the operator leads to."""
    kind, x, y, given, _ = operator
    if kind == DELETE:
        edges = graph.member((*given, x, y) if x in graph.neighbors[y] else (*given, y))
    elif kind == TURN and x in graph.neighbors[y]:
        edges = graph.member((*given, y, x))
    elif kind == TURN:
        edges = graph.member((*given, y), (x,))
    else:
        edges = graph.member((*given, y))
    edges[y, x] = False
    edges[x, y] = kind != DELETE
    return edges
