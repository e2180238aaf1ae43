r"""Partitions of the parents' joint states into contexts, as decision trees: the shape of tree and rule CPDs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.cpds.estimation import column
from sepset.factors.algebra import Columns
from sepset.variables import Discrete

Array: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Node:
    """A test of one variable: `route` gives the branch of each state (-1 where it cannot occur); leaves are numbers."""

    axis: int
    route: tuple[int, ...]
    branches: tuple[Node | int, ...]


class Partition:
    """The joint states of `variables`, split by a decision tree into numbered leaves.

    >>> a, b = Discrete("a", 2), Discrete("b", 3)
    >>> parts = Partition((a, b), Node(0, (0, 1), (0, Node(1, (0, 1, 1), (1, 2)))))
    >>> parts.num_leaves, [parts.size(leaf) for leaf in range(3)], parts.describe(2)
    (3, [3, 1, 2], '(a=1, b in {1, 2})')
    """

    __slots__ = ("masks", "root", "tested", "variables")
    variables: tuple[Discrete, ...]
    root: Node | int
    masks: tuple[Mask, ...]
    tested: tuple[tuple[int, ...], ...]

    def __init__(self, variables: tuple[Discrete, ...], root: Node | int) -> None:
        self.variables, self.root = variables, root
        found: dict[int, tuple[tuple[Mask, ...], tuple[int, ...]]] = {}
        _walk(root, tuple(np.ones(v.num_states, np.bool_) for v in variables), (), found)
        leaves = [found[leaf] for leaf in range(len(found))]
        self.masks = tuple(np.array([masks[axis] for masks, _ in leaves]) for axis in range(len(variables)))
        self.tested = tuple(tuple(sorted(set(path))) for _, path in leaves)

    @property
    def num_leaves(self) -> int:
        """The number of contexts."""
        return len(self.tested)

    def locate(self, rows: Columns, num_rows: int, owner: object) -> Codes:
        """The leaf of each row of codes."""
        used = {axis for path in self.tested for axis in path}
        codes = {axis: column(rows, self.variables[axis], num_rows, owner) for axis in used}
        leaves = np.zeros(num_rows, np.int64)
        _route(self.root, np.arange(num_rows), codes, leaves)
        return leaves

    def size(self, leaf: int) -> int:
        """How many joint states a leaf holds."""
        return math.prod(int(mask[leaf].sum()) for mask in self.masks)

    def indicator(self, leaf: int) -> Array:
        """One where the tested variables of a leaf lie in its context, zero elsewhere; an axis a tested variable."""
        box: Array = np.ones(())
        for axis in self.tested[leaf]:
            box = np.multiply.outer(box, self.masks[axis][leaf].astype(np.float64))
        return box

    def scope(self, leaf: int) -> tuple[Discrete, ...]:
        """The variables tested on the way to a leaf."""
        return tuple(self.variables[axis] for axis in self.tested[leaf])

    def describe(self, leaf: int) -> str:
        """The context of a leaf, for messages."""
        return f"({', '.join(self._clause(axis, leaf) for axis in self.tested[leaf])})"

    def _clause(self, axis: int, leaf: int) -> str:
        variable = self.variables[axis]
        states = [repr(variable.states[code]) for code in np.flatnonzero(self.masks[axis][leaf])]
        return f"{variable.name}={states[0]}" if len(states) == 1 else f"{variable.name} in {{{', '.join(states)}}}"

    def irrelevant(self, distributions: Array, fixed: Mapping[Discrete, int]) -> tuple[Discrete, ...]:
        r"""The variables outside `fixed` on which the leaf's distribution does not depend once those are fixed.

        A variable matters iff two leaves with different distributions are told apart by it alone: then some two joint
        states differ in that variable only.

        Cost: the square of the number of leaves that agree with `fixed`.
        """
        alive = np.ones(self.num_leaves, np.bool_)
        for variable, code in fixed.items():
            alive &= self.masks[self.variables.index(variable)][:, code]
        leaves = np.flatnonzero(alive)
        _, kind = np.unique(distributions[leaves], axis=0, return_inverse=True)
        unequal = kind.reshape(-1)[:, None] != kind.reshape(-1)[None, :]
        free = [axis for axis, v in enumerate(self.variables) if v not in fixed]
        apart = {axis: ~_overlap(self.masks[axis][leaves]) for axis in free}
        ways = np.sum([*apart.values()], axis=0) if apart else np.zeros(unequal.shape)
        return tuple(self.variables[axis] for axis in free if not (apart[axis] & unequal & (ways == 1)).any())


def _walk(
    node: Node | int,
    masks: tuple[Mask, ...],
    path: tuple[int, ...],
    found: dict[int, tuple[tuple[Mask, ...], tuple[int, ...]]],
) -> None:
    if isinstance(node, int):
        found[node] = (masks, path)
        return
    route = np.array(node.route)
    for branch, subtree in enumerate(node.branches):
        narrowed = masks[node.axis] & (route == branch)
        _walk(subtree, (*masks[: node.axis], narrowed, *masks[node.axis + 1 :]), (*path, node.axis), found)


def _route(node: Node | int, rows: Codes, codes: Mapping[int, Codes], leaves: Codes) -> None:
    if isinstance(node, int):
        leaves[rows] = node
        return
    branch = np.array(node.route)[codes[node.axis][rows]]
    for place, subtree in enumerate(node.branches):
        _route(subtree, rows[branch == place], codes, leaves)


def _overlap(masks: Mask) -> Mask:
    """Which pairs of leaves share a state of one variable."""
    weights = masks.astype(np.float32)
    return np.asarray(weights @ weights.T > 0)
