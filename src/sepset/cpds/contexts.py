r"""Partitions of the parents' joint states into contexts, as decision trees: the structure of tree and rule CPDs.

CPDs with local structure are shown by their contexts, effects or weights, not by the table that follows from them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.display import Shown
from sepset.base.text import joined
from sepset.cpds.counts import column, decode
from sepset.factors.algebra import Columns
from sepset.factors.labels import MOST_SHOWN, cut, one_line
from sepset.factors.table import Table
from sepset.variables.matching import Match
from sepset.variables.variable import Discrete, State

FORK, LAST, ALONG, BELOW = "├─ ", "└─ ", "│  ", "   "
"""The marks before a branch, before the last branch, and before what is below each of them."""

FEW_CONTEXTS = 3
"""The largest number of contexts that are listed for one part."""


@dataclass(frozen=True, slots=True)
class Node:
    """A test of one variable: `route` is the branch of each state (-1 if it cannot occur); leaves are integers."""

    axis: int
    route: tuple[int, ...]
    branches: tuple[Node | int, ...]


class Branching(NamedTuple):
    """How many tests a decision tree makes, and how many joint states they have with their gates.

    Attributes:
        num: of all tests.
        ending: of those that some branch leads from to a leaf.
        opened: the joint states of the variable, its gate and the next gate, of all branches to other tests.
        ended: the joint states of the variable and its gate, of all tests that end.

    >>> Branching.of((2, 2), Node(0, (0, 1), (0, Node(1, (0, 1), (1, 2)))))
    Branching(num=2, ending=2, opened=4, ended=6)
    """

    num: int
    ending: int
    opened: int
    ended: int

    @classmethod
    def of(cls, cards: Sequence[int], root: Node | int) -> Branching:
        """The numbers of a tree over variables with these numbers of states."""
        num, ending, opened, ended, gate = 0, 0, 0, 0, 1
        nodes = [root] if isinstance(root, Node) else []
        while nodes:
            node = nodes.pop()
            below = [branch for branch in node.branches if isinstance(branch, Node)]
            is_ending, each = len(below) < len(node.branches), cards[node.axis] * gate
            num, ending = num + 1, ending + is_ending
            opened, ended = opened + 2 * each * len(below), ended + each * is_ending
            nodes, gate = nodes + below, 2
        return cls(num, ending, opened, ended)


class Partition:
    """The joint states of `variables`, split by a decision tree into numbered leaves.

    >>> a, b = Discrete("a", 2), Discrete("b", 3)
    >>> parts = Partition((a, b), Node(0, (0, 1), (0, Node(1, (0, 1, 1), (1, 2)))))
    >>> parts.num_leaves, [parts.size(leaf) for leaf in range(3)], parts.describe(2)
    (3, [3, 1, 2], '(a=1, b in {1, 2})')
    """

    __slots__ = ("axes", "branching", "masks", "path_entries", "root", "tested", "variables")
    variables: tuple[Discrete, ...]
    root: Node | int
    masks: tuple[Bools, ...]
    tested: tuple[tuple[int, ...], ...]
    axes: tuple[int, ...]
    """The axes that are tested on the path to some leaf."""
    branching: Branching
    """How many tests there are."""
    path_entries: int
    """The joint states of what the path to each leaf tests, added up."""

    def __init__(self, variables: tuple[Discrete, ...], root: Node | int) -> None:
        self.variables, self.root = variables, root
        found: dict[int, tuple[tuple[Bools, ...], tuple[int, ...]]] = {}
        _walk(root, tuple(np.ones(v.num_states, np.bool_) for v in variables), (), found)
        leaves = [found[leaf] for leaf in range(len(found))]
        self.masks = tuple(np.array([masks[axis] for masks, _ in leaves]) for axis in range(len(variables)))
        for mask in self.masks:
            mask.setflags(write=False)
        self.tested = tuple(tuple(sorted(set(path))) for _, path in leaves)
        self.axes = tuple(sorted({axis for path in self.tested for axis in path}))
        cards = [v.num_states for v in variables]
        self.branching = Branching.of(cards, root)
        self.path_entries = sum(math.prod([cards[axis] for axis in path]) for path in self.tested)

    @property
    def num_leaves(self) -> int:
        """The number of contexts."""
        return len(self.tested)

    @property
    def is_read_once(self) -> bool:
        """Whether no variable is tested in two places, so that the tests and the variables form a tree."""
        found = Counter[int]()
        nodes = [self.root]
        while nodes:
            node = nodes.pop()
            if isinstance(node, Node):
                found[node.axis] += 1
                nodes += node.branches
        return max(found.values(), default=0) <= 1

    def tests(self, variable: Discrete) -> bool:
        """Whether a variable is tested on the path to some leaf."""
        return self.variables.index(variable) in self.axes

    def locate(self, rows: Columns, num_rows: int, owner: object) -> Ints:
        """The leaf of each row of codes."""
        codes = {axis: column(rows, self.variables[axis], num_rows, owner) for axis in self.axes}
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
    >>> Gates.of(x, Partition((a, b), Node(0, (0, 1), (0, Node(1, (0, 1), (1, 2)))))).auxiliaries
    (Discrete('x(gate 1)', (0, 1)),)
    """

    auxiliaries: tuple[Discrete, ...]
    scopes: tuple[tuple[Discrete, ...], ...]
    nodes: tuple[tuple[Node, int], ...]

    @classmethod
    def of(cls, child: Discrete, partition: Partition) -> Gates:
        """The gates of a tree; `nodes` pairs each scope with its split and a branch, or -1 for the split's leaves."""
        hidden = tuple([child.hidden(f"gate {i}", 2) for i in range(1, partition.branching.num)])
        members, listed = (*partition.variables, child, *hidden), _gate_places(partition)
        scopes = [tuple([members[place] for place in places]) for places, _, _ in listed]
        return cls(hidden, tuple(scopes), tuple([(node, branch) for _, node, branch in listed]))

    @staticmethod
    def places(partition: Partition) -> list[tuple[int, ...]]:
        """The scopes of the factors as places among the variables, the child and the gates, in this order.

        >>> a, b = Discrete("a"), Discrete("b")
        >>> Gates.places(Partition((a, b), Node(0, (0, 1), (0, Node(1, (0, 1), (1, 2))))))
        [(0, 2), (0, 3), (3, 1, 2)]
        """
        return [places for places, _, _ in _gate_places(partition)]

    @staticmethod
    def entries(partition: Partition, states: int) -> int:
        """The entries of the factors of a tree, counted without them.

        >>> a, b = Discrete("a"), Discrete("b")
        >>> Gates.entries(Partition((a, b), Node(0, (0, 1), (0, Node(1, (0, 1), (1, 2))))), 2)
        16
        """
        return partition.branching.opened + partition.branching.ended * states

    def factors(self, distributions: Floats) -> tuple[Table, ...]:
        """The factors for these distributions at the leaves."""
        pairs, rows = zip(self.scopes, self.nodes, strict=True), distributions.tolist()
        return tuple([_gate_factor(scope, node, place, rows) for scope, (node, place) in pairs])


@dataclass(frozen=True, slots=True)
class Choice:
    r"""A tree as small factors over one hidden variable, the leaf that is reached.

    $$P(x \mid \mathbf u) = \sum_\ell P(x \mid \ell) \prod_i 1[u_i \in \ell]$$

    The sum over the leaves of any product of functions of single parents has no larger factor, whatever the order of
    the tests, while gates may join all parents that several branches test.

    >>> a, b, x = Discrete("a"), Discrete("b"), Discrete("x")
    >>> Choice.of(x, Partition((a, b), Node(0, (0, 1), (0, Node(1, (0, 1), (1, 2)))))).leaf
    Discrete('x(leaf)', (0, 1, 2))
    """

    leaf: Discrete
    partition: Partition

    @classmethod
    def of(cls, child: Discrete, partition: Partition) -> Choice:
        """The choice among the leaves of a tree."""
        return cls(child.hidden("leaf", partition.num_leaves), partition)

    @staticmethod
    def entries(partition: Partition, states: int) -> int:
        """The entries of all factors, counted without them.

        >>> a, b = Discrete("a"), Discrete("b")
        >>> Choice.entries(Partition((a, b), Node(0, (0, 1), (0, Node(1, (0, 1), (1, 2))))), 2)
        18
        """
        return partition.num_leaves * (states + sum(partition.variables[i].num_states for i in partition.axes))

    @staticmethod
    def places(partition: Partition) -> list[tuple[int, ...]]:
        """The scopes of the factors as places among the variables, the child and the leaf, in this order.

        >>> a, b = Discrete("a"), Discrete("b")
        >>> Choice.places(Partition((a, b), Node(0, (0, 1), (0, Node(1, (0, 1), (1, 2))))))
        [(0, 3), (1, 3), (3, 2)]
        """
        child = len(partition.variables)
        return [*((i, child + 1) for i in partition.axes), (child + 1, child)]

    def scopes(self, child: Discrete) -> tuple[tuple[Discrete, ...], ...]:
        """The scopes of its factors."""
        members = (*self.partition.variables, child, self.leaf)
        return tuple([tuple([members[i] for i in places]) for places in self.places(self.partition)])

    def factors(self, child: Discrete, distributions: Floats) -> tuple[Table, ...]:
        """The factors for these distributions at the leaves: where each parent reaches a leaf, and its distribution."""
        inside = (self.partition.masks[i].T.astype(np.float64) for i in self.partition.axes)
        return tuple(map(Table, self.scopes(child), (*inside, distributions)))


def _gate_places(partition: Partition) -> list[tuple[tuple[int, ...], Node, int]]:
    """The scope of each factor of gates as places, with the split and a branch, or -1 for the split's leaves."""
    child = last = len(partition.variables)
    found: list[tuple[tuple[int, ...], Node, int]] = []

    def visit(node: Node, gate: tuple[int, ...]) -> None:
        nonlocal last
        if int in map(type, node.branches):
            found.append(((*gate, node.axis, child), node, -1))
        for place, branch in enumerate(node.branches):
            if type(branch) is Node:
                last += 1
                found.append(((*gate, node.axis, last), node, place))
                visit(branch, (last,))

    if isinstance(partition.root, Node):
        visit(partition.root, ())
    return found


def _gate_factor(scope: tuple[Discrete, ...], node: Node, place: int, rows: Sequence[Sequence[float]]) -> Table:
    """Whether a gate opens the next one on a branch, or the distributions at the leaves; one where it is closed."""
    closed: Sequence[float] = CLOSED
    opened: list[Sequence[float]]
    if place >= 0:
        opened = [OPENED if branch == place else CLOSED for branch in node.route]
    else:
        closed = (1.0,) * scope[-1].num_states
        leaves = [node.branches[branch] if branch >= 0 else -1 for branch in node.route]
        opened = [rows[leaf] if isinstance(leaf, int) and leaf >= 0 else closed for leaf in leaves]
    each = opened if len(scope) == 2 else [*[closed] * len(opened), *opened]
    return Table._make(scope, np.array([*itertools.chain.from_iterable(each)]))


CLOSED, OPENED = (1.0, 0.0), (0.0, 1.0)
"""The entries of the two states of a gate that is closed, and of one that is open."""


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


def setting(variable: Discrete, states: Sequence[State]) -> str:
    """A variable at one of some states.

    >>> setting(Discrete("b", 3), (1,)), setting(Discrete("b", 3), (1, 2))
    ('b=1', 'b in {1, 2}')
    """
    shown = [one_line(state) for state in states]
    return f"{variable.name}={shown[0]}" if len(shown) == 1 else f"{variable.name} in {{{joined(shown)}}}"


def numbers(values: Iterable[float]) -> list[str]:
    """The cells of some numbers."""
    return [f"{value:.6g}" for value in values]


def titles(child: Discrete) -> list[str]:
    """The columns of a child's states."""
    return [f"{child.name}={one_line(state)}" for state in child.states]


def shown_tree(label: str, child: Discrete, parents: Sequence[Discrete], root: Node, rows: Floats) -> Shown:
    """The tests of a decision tree, indented, with the distributions at its leaves.

    >>> from sepset.base.display import text_table
    >>> a, b, x = Discrete("a"), Discrete("b", 3), Discrete("x")
    >>> root = Node(0, (0, 1), (0, Node(1, (0, 1, 1), (1, 2))))
    >>> print(text_table(shown_tree("tree", x, (a, b), root, np.array([[0.8, 0.2], [0.9, 0.1], [0.4, 0.6]]))))
    tree
      context            x=0  x=1
      ├─ a=0             0.8  0.2
      └─ a=1
         ├─ b=0          0.9  0.1
         └─ b in {1, 2}  0.4  0.6
    """
    lines = list(itertools.islice(_branches(root, parents, ""), MOST_SHOWN))
    blank = [""] * child.num_states
    cells = [(text, *(blank if leaf is None else numbers(rows[leaf]))) for text, leaf in lines]
    total = _num_lines(root)
    more = f"{cut(total, 'branches')}; {len(rows):,} leaves" if total > MOST_SHOWN else ""
    return Shown(("context", *titles(child)), cells, label, more)


def _branches(node: Node, parents: Sequence[Discrete], indent: str) -> Iterator[tuple[str, int | None]]:
    """Each branch as text, with the leaf that it ends in, depth first."""
    variable = parents[node.axis]
    for place, branch in enumerate(node.branches):
        is_last = place == len(node.branches) - 1
        states = [state for state, route in zip(variable.states, node.route, strict=True) if route == place]
        text = indent + (LAST if is_last else FORK) + setting(variable, states)
        if not isinstance(branch, Node):
            yield text, branch
        else:
            yield text, None
            yield from _branches(branch, parents, indent + (BELOW if is_last else ALONG))


def _num_lines(node: Node) -> int:
    return len(node.branches) + sum(_num_lines(branch) for branch in node.branches if isinstance(branch, Node))


def shown_rules(label: str, contexts: Iterable[str], probabilities: Floats) -> Shown:
    """One rule per row: its context and its probability.

    >>> shown_rules("rules", ["a=0, x=1"], np.array([0.25])).rows
    [('a=0, x=1', '0.25')]
    """
    few = probabilities[:MOST_SHOWN].tolist()
    cells = list(zip(itertools.islice(contexts, MOST_SHOWN), numbers(few), strict=True))
    return Shown(("rule", "probability"), cells, label, cut(len(probabilities), "rules"), bars=few)


def shown_parts(label: str, child: Discrete, parents: tuple[Discrete, ...], part_of: Ints, rows: Floats) -> Shown:
    """One part per row: its first contexts and its distribution.

    >>> a, x = Discrete("a", 3), Discrete("x")
    >>> shown_parts("parts", x, (a,), np.array([0, 1, 0]), np.array([[0.5, 0.5], [0.9, 0.1]])).rows
    [('0', 'a=0; a=2', '0.5', '0.5'), ('1', 'a=1', '0.9', '0.1')]
    """
    shown = enumerate(rows[:MOST_SHOWN])
    cells = [(str(part), _contexts(parents, np.flatnonzero(part_of == part)), *numbers(row)) for part, row in shown]
    return Shown(("part", "contexts", *titles(child)), cells, label, cut(len(rows), "parts"), words=2)


def _contexts(parents: tuple[Discrete, ...], places: Ints) -> str:
    codes = decode(places[:FEW_CONTEXTS], parents)
    num = min(len(places), FEW_CONTEXTS)
    texts = (", ".join(setting(p, [p.states[int(codes[p][row])]]) for p in parents) for row in range(num))
    more = [f"... ({len(places):,} in all)"] if len(places) > FEW_CONTEXTS else []
    return "; ".join([*texts, *more])


def shown_function(label: str, child: Discrete, parents: tuple[Discrete, ...], codes: Ints) -> Shown:
    """One row per joint state of the parents, with the child's state.

    >>> a, x = Discrete("a"), Discrete("x", ("even", "odd"))
    >>> shown_function("function", x, (a,), np.array([0, 1])).rows
    [('0', 'even'), ('1', 'odd')]
    """
    num = min(len(codes), MOST_SHOWN)
    found = decode(np.arange(num), parents)
    pairs = [*((p, found[p]) for p in parents), (child, codes[:num])]
    columns = ([one_line(v.states[code]) for code in column.tolist()] for v, column in pairs)
    cells = list(zip(*columns, strict=True))
    head = tuple(v.name for v in (*parents, child))
    return Shown(head, cells, label, cut(len(codes), "rows"), words=len(head))


def shown_terms(label: str, head: Sequence[str], named: Sequence[tuple[str, Sequence[float]]], told: str) -> Shown:
    """One term per row, and below them how they are combined.

    >>> shown_terms("sum", ["log-odds"], [("bias", [-1.0]), ("a=1", [2.0])], "added").rows
    [('bias', '-1'), ('a=1', '2')]
    """
    cells = [(name, *numbers(values)) for name, values in named[:MOST_SHOWN]]
    return Shown(("term", *head), cells, label, "; ".join(filter(None, (cut(len(named), "terms"), told))))


def by_state(parents: Sequence[Discrete], effects: Sequence[Floats], none: Floats) -> list[tuple[str, list[float]]]:
    """The effects `[states, ...]` of each parent that are not none; of a parent without any, one without its state.

    >>> by_state([Discrete("a"), Discrete("b")], [np.array([[0.0], [2.0]]), np.zeros((2, 1))], np.zeros(1))
    [('a=1', [2.0]), ('b', [0.0])]
    """
    found: list[tuple[str, list[float]]] = []
    for parent, effect in zip(parents, effects, strict=True):
        codes = np.flatnonzero((effect != none).any(axis=1)).tolist()
        states = [(setting(parent, [parent.states[code]]), effect[code].tolist()) for code in codes]
        found += states or [(parent.name, np.broadcast_to(none, effect[0].shape).tolist())]
    return found


def shown_causes(label: str, on: str, parents: Sequence[Discrete], chances: Sequence[Floats], leak: float) -> Shown:
    """The probability that each cause alone turns a child on.

    >>> shown_causes("or", "x=1", [Discrete("a")], [np.array([0.0, 0.8])], 0.1).rows
    [('leak', '0.1'), ('a=1', '0.8')]
    """
    named = [("leak", [leak]), *by_state(parents, [chance[:, None] for chance in chances], np.zeros(1))]
    told = f"{on} unless each of them fails: 1 - P({on}) is the product of 1 - p"
    page = shown_terms(label, (f"P({on})",), named, told)
    return page._replace(bars=[values[0] for _, values in named[: len(page.rows)]])
