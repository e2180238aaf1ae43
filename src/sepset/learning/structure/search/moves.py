r"""A DAG under search: its edges, the gain of every single change, and the changes themselves.

The scores of families with one parent added or removed are kept in one matrix; a move changes one or two families, and
only their columns are computed again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.numerics.matrices import full
from sepset.kernels.structure.climbing import (
    ADD,
    REVERSE,
    add_ancestors,
    ancestors,
    best_move,
    has_other_path,
    is_ancestor,
)
from sepset.learning.structure.constraints import Allowed
from sepset.learning.structure.familyscores import TOLERANCE, Scorer


class Move(NamedTuple):
    """A change of one edge.

    Attributes:
        kind: 0 adds, 1 deletes, 2 reverses.
        source: the edge's present (or future) source.
        target: its target.
        gain: of the score.
    """

    kind: int
    source: int
    target: int
    gain: float


class SearchedGraph:
    """A DAG with the gains of all its moves; it changes in place.

    Args:
        scorer: of families.
        allowed: the constraints.
        parents_of: the parents of each column at the start.

    >>> from sepset.learning.structure.columns import Columns
    >>> from sepset.learning.structure.constraints import Constraints
    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> columns = Columns.of({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 1] * 5})
    >>> graph = SearchedGraph(Scorer(columns, BIC()), Constraints().bind(columns.names), [[], []])
    >>> graph.best().source, graph.best().target
    (0, 1)
    """

    def __init__(self, scorer: Scorer, allowed: Allowed, parents_of: Sequence[Sequence[int]]) -> None:
        n = scorer.n
        self.scorer, self.allowed, self.n = scorer, allowed, n
        self.edges = edges_of(parents_of)
        self.indegree: Ints = self.edges.sum(0)
        self.above = np.zeros((n, (n + 63) // 64), np.uint64)
        assert ancestors(self.edges, self.above), "a search starts from a DAG"
        self.families = np.array([scorer.family(child, parents) for child, parents in enumerate(parents_of)])
        self.toggled = full((n, n), np.nan)
        self.gains = full((n, n), -np.inf)
        self._barred = np.zeros((n, n), np.int64)
        self._start()

    def _start(self) -> None:
        """Compute all gains; with an equivalent score, an edge gains the same in both directions of an empty graph."""
        is_first = self.scorer.is_equivalent and not self.edges.any() and self.allowed.max_parents > 0
        for child in range(self.n):
            if not is_first:
                self._refresh(child)
                continue
            toggled = np.full(self.n, np.nan)
            toggled[:child] = self.toggled[child, :child] - self.families[:child] + self.families[child]
            later = np.arange(child + 1, self.n)
            toggled[later] = self.scorer.additions_of(child, (), later)
            self._fill(child, toggled)

    @property
    def score(self) -> float:
        """The score of the graph."""
        return math.fsum(self.families)

    def parents(self, child: int) -> list[int]:
        """The parents of a column."""
        return np.flatnonzero(self.edges[:, child]).tolist()

    def parents_of(self) -> list[list[int]]:
        """The parents of each column."""
        return parents_in(self.edges)

    def best(
        self, recent: Iterable[tuple[int, int, int]] = (), step: int = 0, aspiration: float = math.inf
    ) -> Move | None:
        """The legal move with the largest gain, or None if there is none; ties go to the first in column order.

        Args:
            recent: pairs that are barred until a step.
            step: the present one.
            aspiration: a gain above it lifts the bar.
        """
        out, limits, barred = np.zeros(3, np.int64), self._barred, list(recent)
        for x, y, until in barred:
            limits[x, y] = limits[y, x] = until
        gain = best_move(
            self.gains,
            self.edges,
            self.above,
            self.indegree,
            self.allowed.max_parents,
            limits,
            step,
            aspiration,
            TOLERANCE,
            out,
        )
        for x, y, _ in barred:
            limits[x, y] = limits[y, x] = 0
        return None if gain == -np.inf else Move(int(out[0]), int(out[1]), int(out[2]), float(gain))

    def is_legal(self, move: Move) -> bool:
        """Whether a move keeps the graph acyclic and respects the constraints."""
        kind, x, y, _ = move
        if self.edges[x, y] != (kind != ADD) or self.gains[x, y] == -np.inf:
            return False
        is_full = self.indegree >= self.allowed.max_parents
        if kind == ADD:
            return not (self.edges[y, x] or is_full[y] or is_ancestor(self.above, y, x))
        if kind == REVERSE:
            return not (self.gains[y, x] == -np.inf or is_full[x] or has_other_path(self.edges, self.above, x, y))
        return True

    def make(self, move: Move) -> None:
        """Change the graph."""
        x, y = move.source, move.target
        if move.kind == ADD:
            add_ancestors(self.above, x, y)
        self._toggle(x, y)
        if move.kind == REVERSE:
            self._toggle(y, x)
        if move.kind != ADD:
            ancestors(self.edges, self.above)
        self._refresh(y)
        if move.kind == REVERSE:
            self._refresh(x)

    def _toggle(self, x: int, y: int) -> None:
        self.edges[x, y] = not self.edges[x, y]
        self.indegree[y] += 1 if self.edges[x, y] else -1
        is_direct = self.indegree[y] != 1  # with one parent it may come from the other direction, up to rounding
        self.families[y] = self.toggled[x, y] if is_direct else self.scorer.family(y, self.parents(y))

    def _refresh(self, child: int) -> None:
        """Compute the gains of adding and removing single parents of a column."""
        parents = self.parents(child)
        if len(parents) < self.allowed.max_parents:
            toggled = self.scorer.toggles(child, parents)
        else:
            toggled = np.full(self.n, np.nan)
            toggled[parents] = self.scorer.removals(child, parents)
        self._fill(child, toggled)

    def _fill(self, child: int, toggled: Floats) -> None:
        self.toggled[:, child] = toggled
        with np.errstate(invalid="ignore"):
            gains = toggled - self.families[child]
        fixed = np.where(self.edges[:, child], self.allowed.required[:, child], self.allowed.forbidden[:, child])
        self.gains[:, child] = np.where(fixed | np.isnan(gains), -np.inf, gains)


def edges_of(parents_of: Sequence[Sequence[int]]) -> Bools:
    """From row to column, whether there is an edge.

    >>> edges_of([[], [0]]).tolist()
    [[False, True], [False, False]]
    """
    edges = np.zeros((len(parents_of), len(parents_of)), np.bool_)
    for child, parents in enumerate(parents_of):
        edges[list(parents), child] = True
    return edges


def parents_in(edges: Bools) -> list[list[int]]:
    """The parents of each column.

    >>> parents_in(edges_of([[], [0]]))
    [[], [0]]
    """
    found: list[list[int]] = [[] for _ in range(len(edges))]
    for source, target in np.argwhere(edges).tolist():
        found[target].append(source)
    return found
