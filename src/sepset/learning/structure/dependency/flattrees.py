"""CPDs as decision trees in flat arrays, which compiled loops walk through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.contexts import Node, Partition
from sepset.cpds.discrete import DiscreteCPD
from sepset.factors.algebra import num_entries
from sepset.variables.universe import Universe

MOST_ENTRIES = 1 << 18
"""The largest table that becomes a tree."""


@runtime_checkable
class OnLeaves(Protocol):
    """A CPD whose rows are at the leaves of a decision tree."""

    @property
    def partition(self) -> Partition:
        """The tree."""

    @property
    def distributions(self) -> Floats:
        """The child's probabilities at each leaf."""


class FlatTrees(NamedTuple):
    """One tree per variable; see `kernels.structure.pseudogibbs`.

    Attributes:
        cards: the number of states of each variable.
        roots: the first node of each variable's tree.
        tested: the variable that a node tests; -1 at leaves.
        starts: where a node's branches start, or a leaf's probabilities.
        branches: the next nodes, one per state.
        values: the probabilities.
    """

    cards: Ints
    roots: Ints
    tested: Ints
    starts: Ints
    branches: Ints
    values: Floats

    @classmethod
    def of(cls, cpds: Sequence[DiscreteCPD], variables: Universe) -> FlatTrees | None:
        """The CPDs as trees; None if one of them is neither a tree nor a small table."""
        if not all(isinstance(cpd, OnLeaves) or num_entries(cpd.scope) <= MOST_ENTRIES for cpd in cpds):
            return None
        room = _Room()
        roots = [room.add(cpd, variables) for cpd in cpds]
        return cls(
            np.asarray(variables.cards, np.int64),
            np.array(roots, np.int64),
            np.array(room.tested, np.int64),
            np.array(room.starts, np.int64),
            np.array(room.branches, np.int64),
            np.concatenate([*room.values, np.zeros(0)]),
        )


class _Room:
    """The arrays as they grow."""

    def __init__(self) -> None:
        self.tested: list[int] = []
        self.starts: list[int] = []
        self.branches: list[int] = []
        self.values: list[Floats] = []
        self.num_values = 0

    def add(self, cpd: Any, variables: Universe) -> int:
        places = [variables.id(parent) for parent in cpd.parents]
        if isinstance(cpd, OnLeaves):
            rows = cpd.distributions
            return self._node(cpd.partition.root, places, self._rows(rows), rows.shape[1])
        return self._table(cpd, places)

    def _rows(self, rows: Floats) -> int:
        first = self.num_values
        self.values.append(np.asarray(rows, np.float64).reshape(-1))
        self.num_values += rows.size
        return first

    def _leaf(self, start: int) -> int:
        self.tested.append(-1)
        self.starts.append(start)
        return len(self.tested) - 1

    def _node(self, node: Node | int, places: list[int], first: int, card: int) -> int:
        if isinstance(node, int):
            return self._leaf(first + node * card)
        own = len(self.tested)
        self.tested.append(places[node.axis])
        self.starts.append(len(self.branches))
        self.branches += [-1] * len(node.route)
        below = [self._node(branch, places, first, card) for branch in node.branches]
        for code, route in enumerate(node.route):
            self.branches[self.starts[own] + code] = below[route] if route >= 0 else -1
        return own

    def _table(self, cpd: DiscreteCPD, places: list[int]) -> int:
        """The tree that tests every parent in order."""
        card, first = cpd.child.num_states, self._rows(np.asarray(cpd.to_table().values))
        level, root = 1, len(self.tested)
        for place, parent in zip(places, cpd.parents, strict=True):
            after = len(self.tested) + level
            for k in range(level):
                self.tested.append(place)
                self.starts.append(len(self.branches))
                self.branches += range(after + k * parent.num_states, after + (k + 1) * parent.num_states)
            level *= parent.num_states
        for k in range(level):
            self._leaf(first + k * card)
        return root
