r"""Decision trees over the parents of a column: the tree learner, the best tree, and their CPDs.

A tree is a `Node` whose axes are the numbers of columns; its leaves are numbered in depth-first order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Floats, Ints
from sepset.base.threads import NEVER, interruptible
from sepset.cpds.contexts import Node
from sepset.cpds.tree import Split, Subtree, TreeCPD
from sepset.errors import TooLarge
from sepset.kernels.structure.localtrees import AXIS, BEST, COUNT, END, FIRST, START, STATE, VALUE, grow, prune
from sepset.learning.structure import costs
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import TOLERANCE, small_logs
from sepset.learning.structure.local.leaves import LeafRows, LeafScore
from sepset.variables.variable import Discrete

Tree = Node | int

MOST_CONTEXTS = 1 << 22
"""Partial assignments of the parents, times the child's states, up to which the best tree is computed."""


class ScoredTree(NamedTuple):
    """A tree, and its score with the tree prior."""

    tree: Tree
    score: float


def grown_tree(
    child: int,
    candidates: Sequence[int],
    columns: Columns,
    leaf: LeafScore,
    *,
    by_value: bool = False,
    required: Sequence[int] = (),
    most: int | None = None,
) -> ScoredTree:
    r"""A tree by recursive partitioning: each leaf is split by the best column even if that lowers the score.

    On the way back a subtree is kept only where it beats the single leaf: so a parity of two columns is found, which
    no first split shows.

    Args:
        child: the column.
        candidates: the columns that may be tested.
        columns: the data.
        leaf: the score of its leaves.
        by_value: whether a value may also be tested against the rest.
        required: candidates that count as used whether they are or not.
        most: how many candidates may be used; any number by default.

    Leaves are at most 200 tests deep.
    Cost: each level of the tree is one pass over the rows for each candidate.
    """
    tested = tuple(candidates)
    if leaf.prior is not None:
        return best_tree(child, tested, columns, leaf, is_greedy=True)
    rows = LeafRows.of(child, tested, columns)
    if not tested or not len(rows.weights):
        counts: Floats = np.bincount(rows.child, rows.weights, leaf.r).astype(np.float64)
        return ScoredTree(0, float(leaf.values(counts, 1.0)))
    limit = len(tested) if most is None else most
    growth = Growth(rows, columns.cards[list(tested)], np.isin(tested, list(required)), leaf)

    def run(cancel: Bytes) -> None:
        growth.run(limit, by_value, cancel)

    interruptible(run) if rows.codes.size * len(tested) > costs.ROWS_UNINTERRUPTED else run(NEVER)
    tree = _read(growth.nodes, tested, columns.cards, itertools.count())
    return ScoredTree(tree, float(growth.values[0, BEST]))


class Growth:
    """The nodes of a tree while it grows.

    Args:
        rows: of the child and the candidates.
        cards: the number of states of each candidate.
        used: the candidates that count as used.
        leaf: the score of leaves.
    """

    def __init__(self, rows: LeafRows, cards: Ints, used: Bools, leaf: LeafScore) -> None:
        self.rows, self.cards, self.used, self.leaf = rows, cards, used.copy(), leaf
        self.widest = max(int(cards.max()), 2)
        self.nodes, self.values = np.full((64 + self.widest, 8), -1), np.ones((64 + self.widest, 3))
        self.nodes[0, [START, END, COUNT]] = 0, len(rows.weights), 0

    def run(self, most: int, by_value: bool, cancel: Bytes) -> None:
        """Grow the tree to its end, and prune it; nodes get more room where they need it."""
        rows, leaf, num = self.rows, self.leaf, len(self.rows.weights)
        order, spare, ends = np.arange(num), np.empty(num, np.int64), np.empty(2 + self.widest, np.int64)
        possible = np.zeros((len(self.cards), self.widest), np.bool_)
        usable, room = np.zeros(len(self.cards), np.bool_), np.empty((1 + self.widest) * (leaf.r + 1))
        done, size = 0, 1
        while done < size and not cancel[0]:
            if size + self.widest > len(self.nodes):
                self.nodes = np.concatenate([self.nodes, self.nodes])
                self.values = np.concatenate([self.values, self.values])
            done, size = grow(
                rows.codes, rows.child, rows.weights, self.cards, most, leaf.r, leaf.kind, leaf.terms, by_value,
                TOLERANCE, small_logs(), cancel, order, spare, possible, usable, self.used, room, ends, self.nodes,
                self.values, done, size,
            )  # fmt: skip
        prune(self.nodes, self.values, size, TOLERANCE)


def _read(nodes: Ints, candidates: tuple[int, ...], cards: Ints, leaves: Iterator[int], node: int = 0) -> Tree:
    """The tree that a kernel has grown."""
    if nodes[node, AXIS] < 0:
        return next(leaves)
    column = candidates[int(nodes[node, AXIS])]
    first, count, value = (int(nodes[node, k]) for k in (FIRST, COUNT, VALUE))
    if value >= 0:
        route = [1] * int(cards[column])
        route[value] = 0
    else:
        route = [-1] * int(cards[column])
        for place in range(count):
            route[int(nodes[first + place, STATE])] = place
    branches = tuple(_read(nodes, candidates, cards, leaves, first + place) for place in range(count))
    return Node(column, tuple(route), branches)


def best_tree(
    child: int, parents: Sequence[int], columns: Columns, leaf: LeafScore, *, is_greedy: bool = False
) -> ScoredTree:
    r"""The tree of largest score over some parents, by dynamic programming over their partial assignments.

    $$V(\mathbf c) = \max\left(\text{leaf}(\mathbf c),\ \max_{Y \notin \mathbf c} \sum_y V(\mathbf c, y)\right)$$

    Args:
        child: the column.
        parents: the columns that may be tested.
        columns: the data.
        leaf: the score of its leaves.
        is_greedy: take the split with the best leaves instead of the best subtrees, as `grown_tree` does.

    Cost: $\prod_i (|Y_i| + 1)$ partial assignments times the parents and the child's states.
    """
    given = tuple(parents)
    cells = num_leaf_cells(child, given, columns)
    if cells > MOST_CONTEXTS:
        raise TooLarge(
            f"The best tree over {len(given)} parents has {cells // leaf.r:,} partial assignments of {leaf.r} states "
            f"each; the most is {MOST_CONTEXTS:,} numbers. Use Constraints(max_parents=...), or "
            'TreeScore(search="greedy") with BDeu.'
        )
    leaves = _leaf_table(child, given, columns, leaf)
    values, chosen = leaves.copy(), np.full(leaves.shape, -1)
    for size in range(len(given) - 1, -1, -1):
        for fixed in itertools.combinations(range(len(given)), size):
            _choose(leaves, values, chosen, fixed, is_greedy)
    whole = tuple(int(columns.cards[p]) for p in given)
    return ScoredTree(_chosen_tree(chosen, whole, given, itertools.count()), float(values[whole]))


def num_leaf_cells(child: int, parents: Sequence[int], columns: Columns) -> int:
    """The number of partial assignments of some parents, times the states of the child."""
    return int(columns.cards[child]) * math.prod(int(columns.cards[p]) + 1 for p in parents)


def _leaf_table(child: int, parents: tuple[int, ...], columns: Columns, leaf: LeafScore) -> Floats:
    """The leaf score of every partial assignment: along each axis the parent's states, then any of them."""
    counts = _with_sums(columns.family_table(child, parents))
    given = leaf.imaginary(child, parents, columns)
    shares: Floats = np.ones(())
    for parent in parents:
        card = int(columns.cards[parent])
        shares = np.multiply.outer(shares, np.append(np.full(card, 1.0 / card), 1.0))
    return leaf.values(counts, shares, None if given is None else _with_sums(given))


def _with_sums(table: Floats) -> Floats:
    """The table with the sum over each axis but the last as one more entry along it."""
    for axis in range(table.ndim - 1):
        table = np.concatenate([table, table.sum(axis, keepdims=True)], axis)
    return table


def _choose(leaves: Floats, values: Floats, chosen: Ints, fixed: tuple[int, ...], is_greedy: bool) -> None:
    """The values of the partial assignments of some parents: as a leaf, or by their best test of another."""
    here = tuple(slice(0, -1) if axis in fixed else -1 for axis in range(leaves.ndim))
    best, below = np.full(leaves[here].shape, -np.inf), np.full(leaves[here].shape, -np.inf)
    test = np.full(best.shape, -1)
    for axis in range(leaves.ndim):
        if axis in fixed or leaves.shape[axis] < 3:
            continue
        wider = (*here[:axis], slice(0, -1), *here[axis + 1 :])
        place = sum(1 for other in fixed if other < axis)
        subtrees = values[wider].sum(place)
        tried = leaves[wider].sum(place) if is_greedy else subtrees
        better = tried > best + TOLERANCE
        best, below = np.where(better, tried, best), np.where(better, subtrees, below)
        test = np.where(better, axis, test)
    kept = below > leaves[here] + TOLERANCE
    values[here] = np.where(kept, below, leaves[here])
    chosen[here] = np.where(kept, test, -1)


def _chosen_tree(chosen: Ints, place: tuple[int, ...], parents: tuple[int, ...], leaves: Iterator[int]) -> Tree:
    axis = int(chosen[place])
    if axis < 0:
        return next(leaves)
    card = chosen.shape[axis] - 1
    below = [(*place[:axis], state, *place[axis + 1 :]) for state in range(card)]
    return Node(parents[axis], tuple(range(card)), tuple(_chosen_tree(chosen, one, parents, leaves) for one in below))


def columns_of(tree: Tree) -> set[int]:
    """The columns that a tree tests.

    >>> columns_of(Node(3, (0, 1), (0, Node(1, (0, 1), (1, 2)))))
    {1, 3}
    """
    if isinstance(tree, int):
        return set()
    return {tree.axis}.union(*(columns_of(branch) for branch in tree.branches))


def num_leaves(tree: Tree) -> int:
    """The number of leaves of a tree.

    >>> num_leaves(Node(3, (0, 1), (0, Node(1, (0, 1), (1, 2)))))
    3
    """
    return 1 if isinstance(tree, int) else sum(map(num_leaves, tree.branches))


def tree_cpd(tree: Tree, child: int, parents: Sequence[int], columns: Columns) -> TreeCPD:
    """The CPD of a tree, with uniform distributions at its leaves."""
    variables = [columns.variables[name] for name in columns.names]
    own = variables[child]
    assert isinstance(own, Discrete)
    row = (1.0 / own.num_states,) * own.num_states

    def written(node: Tree, left: Mapping[int, tuple[object, ...]]) -> Subtree:
        """The subtree; `left` has the states of columns that the tests above leave."""
        if isinstance(node, int):
            return row
        variable = variables[node.axis]
        assert isinstance(variable, Discrete)
        possible, branches = left.get(node.axis, variable.states), dict[object, Subtree]()
        for place, branch in enumerate(node.branches):
            met = (s for s, to in zip(variable.states, node.route, strict=True) if to == place)
            states = tuple(s for s in met if s in possible)
            branches[states] = written(branch, {**left, node.axis: states})
        return Split(variable, branches)

    return TreeCPD(own, written(tree, {}), given=[variables[p] for p in parents])  # type: ignore[misc]
