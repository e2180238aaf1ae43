r"""Partitions of the parents' joint states into contexts, as decision trees: the structure of tree and rule CPDs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.cpds.counts import column
from sepset.factors.algebra import Columns
from sepset.factors.table import Table
from sepset.variables.matching import Match
from sepset.variables.variable import Discrete


@dataclass(frozen=True, slots=True)
class Node:
    """A test of one variable: `route` is the branch of each state (-1 if it cannot occur); leaves are integers."""

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
    masks: tuple[Bools, ...]
    tested: tuple[tuple[int, ...], ...]

    def __init__(self, variables: tuple[Discrete, ...], root: Node | int) -> None:
        self.variables, self.root = variables, root
        found: dict[int, tuple[tuple[Bools, ...], tuple[int, ...]]] = {}
        _walk(root, tuple(np.ones(v.num_states, np.bool_) for v in variables), (), found)
        leaves = [found[leaf] for leaf in range(len(found))]
        self.masks = tuple(np.array([masks[axis] for masks, _ in leaves]) for axis in range(len(variables)))
        for mask in self.masks:
            mask.setflags(write=False)
        self.tested = tuple(tuple(sorted(set(path))) for _, path in leaves)

    @property
    def num_leaves(self) -> int:
        """The number of contexts."""
        return len(self.tested)

    def tests(self, variable: Discrete) -> bool:
        """Whether a variable is tested on the path to some leaf."""
        axis = self.variables.index(variable)
        return any(axis in path for path in self.tested)

    def locate(self, rows: Columns, num_rows: int, owner: object) -> Ints:
        """The leaf of each row of codes."""
        used = {axis for path in self.tested for axis in path}
        codes = {axis: column(rows, self.variables[axis], num_rows, owner) for axis in used}
        leaves = np.zeros(num_rows, np.int64)
        _route(self.root, np.arange(num_rows), codes, leaves)
        return leaves

    def size(self, leaf: int) -> int:
        """The number of joint states in a leaf."""
        return math.prod(int(mask[leaf].sum()) for mask in self.masks)

    def indicator(self, leaf: int) -> Floats:
        """One where the tested variables of a leaf are in its context, zero elsewhere; one axis per tested variable."""
        box: Floats = np.ones(())
        for axis in self.tested[leaf]:
            box = np.multiply.outer(box, self.masks[axis][leaf].astype(np.float64))
        return box

    def scope(self, leaf: int) -> tuple[Discrete, ...]:
        """The variables tested on the path to a leaf."""
        return tuple(self.variables[axis] for axis in self.tested[leaf])

    def describe(self, leaf: int) -> str:
        """The context of a leaf, for messages."""
        return f"({', '.join(self._clause(axis, leaf) for axis in self.tested[leaf])})"

    def context(self, leaf: int) -> dict[str, Any]:
        """The states of the tested variables in a leaf: one, or a tuple of several.

        >>> a, b = Discrete("a", 2), Discrete("b", 3)
        >>> Partition((a, b), Node(0, (0, 1), (0, Node(1, (0, 1, 1), (1, 2))))).context(2)
        {'a': 1, 'b': (1, 2)}
        """
        found: dict[str, Any] = {}
        for axis in self.tested[leaf]:
            states = tuple(self.variables[axis].states[code] for code in np.flatnonzero(self.masks[axis][leaf]))
            found[self.variables[axis].name] = states[0] if len(states) == 1 else states
        return found

    def _clause(self, axis: int, leaf: int) -> str:
        variable = self.variables[axis]
        states = [repr(variable.states[code]) for code in np.flatnonzero(self.masks[axis][leaf])]
        return f"{variable.name}={states[0]}" if len(states) == 1 else f"{variable.name} in {{{', '.join(states)}}}"

    def irrelevant(self, distributions: Floats, fixed: Mapping[Discrete, int]) -> tuple[Discrete, ...]:
        r"""The variables outside `fixed` on which the leaf's distribution does not depend once those are fixed.

        A variable matters iff it alone distinguishes two leaves with different distributions: then two joint states
        differ in that variable only.

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


def reordered(root: Node | int, match: Match) -> Node | int:
    """The same tests over variables, and states, in another order.

    >>> found = Match.of((Discrete("a"), Discrete("b")), (Discrete("b"), Discrete("a", (1, 0))))
    >>> reordered(Node(0, (0, 1), (0, 1)), found)
    Node(axis=1, route=(1, 0), branches=(0, 1))
    """
    if isinstance(root, int):
        return root
    axis = match.axes.index(root.axis)
    route = tuple(root.route[code] for code in match.orders[axis].tolist())
    return Node(axis, route, tuple(reordered(branch, match) for branch in root.branches))


@dataclass(frozen=True, slots=True)
class Gates:
    r"""A tree as small factors over hidden gates, one per split below the root: whether the split is reached.

    $$g_{\text{child}} = g \wedge [u \text{ takes that branch}], \qquad
    \phi(g, u, x) = P(x \mid \ell) \text{ where } g \wedge [u \text{ takes the branch to leaf } \ell], \text{ else } 1$$

    Their size grows with the number of splits, while one factor per leaf grows exponentially with the depth.

    >>> a, b, x = Discrete("a"), Discrete("b"), Discrete("x")
    >>> Gates.of(x, (a, b), Node(0, (0, 1), (0, Node(1, (0, 1), (1, 2))))).auxiliaries
    (Discrete('x(gate 1)', (0, 1)),)
    """

    auxiliaries: tuple[Discrete, ...]
    scopes: tuple[tuple[Discrete, ...], ...]
    nodes: tuple[tuple[Node, int], ...]

    @classmethod
    def of(cls, child: Discrete, variables: tuple[Discrete, ...], root: Node | int) -> Gates:
        """The gates of a tree; `nodes` pairs each scope with its split and a branch, or -1 for the split's leaves."""
        hidden: list[Discrete] = []
        scopes: list[tuple[Discrete, ...]] = []
        nodes: list[tuple[Node, int]] = []

        def visit(node: Node, gate: tuple[Discrete, ...]) -> None:
            tested = variables[node.axis]
            if any(isinstance(branch, int) for branch in node.branches):
                scopes.append((*gate, tested, child))
                nodes.append((node, -1))
            for place, branch in enumerate(node.branches):
                if isinstance(branch, Node):
                    hidden.append(child.hidden(f"gate {len(hidden) + 1}", 2))
                    scopes.append((*gate, tested, hidden[-1]))
                    nodes.append((node, place))
                    visit(branch, (hidden[-1],))

        if isinstance(root, Node):
            visit(root, ())
        return cls(tuple(hidden), tuple(scopes), tuple(nodes))

    def factors(self, distributions: Floats) -> tuple[Table, ...]:
        """The factors for these distributions at the leaves."""
        pairs = zip(self.scopes, self.nodes, strict=True)
        return tuple(_gate_factor(scope, node, place, distributions) for scope, (node, place) in pairs)


def _gate_factor(scope: tuple[Discrete, ...], node: Node, place: int, distributions: Floats) -> Table:
    route = np.array(node.route)
    if place >= 0:
        opened = np.stack([route != place, route == place], axis=1).astype(np.float64)
        closed = np.broadcast_to([1.0, 0.0], opened.shape)
    else:
        leaves = np.array([branch if isinstance(branch, int) else -1 for branch in node.branches])[route]
        opened = np.where(((leaves >= 0) & (route >= 0))[:, None], distributions[leaves], 1.0)
        closed = np.ones_like(opened)
    return Table(scope, opened if len(scope) == 2 else np.stack([closed, opened]))


def _walk(
    node: Node | int,
    masks: tuple[Bools, ...],
    path: tuple[int, ...],
    found: dict[int, tuple[tuple[Bools, ...], tuple[int, ...]]],
) -> None:
    if isinstance(node, int):
        found[node] = (masks, path)
        return
    route = np.array(node.route)
    for branch, subtree in enumerate(node.branches):
        narrowed = masks[node.axis] & (route == branch)
        _walk(subtree, (*masks[: node.axis], narrowed, *masks[node.axis + 1 :]), (*path, node.axis), found)


def _route(node: Node | int, rows: Ints, codes: Mapping[int, Ints], leaves: Ints) -> None:
    if isinstance(node, int):
        leaves[rows] = node
        return
    branch = np.array(node.route)[codes[node.axis][rows]]
    for place, subtree in enumerate(node.branches):
        _route(subtree, rows[branch == place], codes, leaves)


def _overlap(masks: Bools) -> Bools:
    """Which pairs of leaves share a state of one variable."""
    weights = masks.astype(np.float32)
    return np.asarray(weights @ weights.T > 0)
