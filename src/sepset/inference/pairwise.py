r"""The joint of every pair of variables from one calibrated tree, in one sweep of matrix products.

Below each sepset $\mathbf S$ collect the rows $D = P(x, \mathbf S)$, one for each state of each variable below it.
Given the sepset, those variables are independent of the rest, so rows travel by the transition of the clique they meet,

$$D_{c \to k} = D_c \, P(\mathbf S_k \mid \mathbf S_c), \qquad P(x, y) = D_c \, P(y \mid \mathbf S_c), \qquad
  P(x, x') = D_c \, \frac{P(\mathbf S_c, \mathbf S_{c'})}{P(\mathbf S_c) P(\mathbf S_{c'})} \, D_{c'}^\top$$

for $y$ in the clique and $x, x'$ below different children c, c'. Each pair meets exactly once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepset.errors import ScopeError, TooLarge, nearest
from sepset.factors.table import Table
from sepset.graphs.clusters import CliqueTree
from sepset.inference.method import dense
from sepset.inference.plan import BYTES, readable
from sepset.variables import Discrete, VariableLike

__all__ = ["PairSweep", "PairwiseMarginals"]

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


class PairwiseMarginals(Mapping[tuple[str, str], Table]):
    """The joint of every pair of variables, each made a table when it is read.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> pairs = PairSweep(CliqueTree(["a", "b"]), [a, b]).run([Table(a, [1, 3]), Table(b, [1, 1])])
    >>> pairs["a", "b"].values.tolist()
    [[0.125, 0.125], [0.375, 0.375]]
    """

    def __init__(self, variables: Sequence[Discrete], matrix: Array) -> None:
        matrix.setflags(write=False)
        self.variables = tuple(variables)
        self.matrix = matrix
        self._place = _offsets(self.variables)

    def __getitem__(self, pair: tuple[VariableLike, VariableLike]) -> Table:
        (first, left), (second, right) = map(self._find, pair)
        if first == second:
            raise ScopeError(f"{first.name} is asked for twice. A pair has two variables.")
        return Table((first, second), self.matrix[left, right])

    def _find(self, asked: VariableLike) -> tuple[Discrete, slice]:
        name = asked if isinstance(asked, str) else asked.name
        if name not in self._place:
            raise ScopeError(f"There is no pair with {name!r}.{nearest(name, self._place)}")
        return self._place[name]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        names = [v.name for v in self.variables]
        return ((a, b) for i, a in enumerate(names) for b in names[i + 1 :])

    def __len__(self) -> int:
        return math.comb(len(self.variables), 2)

    def __repr__(self) -> str:
        return f"PairwiseMarginals({len(self.variables)} variables)"


def _offsets(variables: Sequence[Discrete]) -> dict[str, tuple[Discrete, slice]]:
    """Where the states of each variable lie among those of all."""
    found, start = {}, 0
    for v in variables:
        found[v.name] = (v, slice(start, start + v.num_states))
        start += v.num_states
    return found


@dataclass(frozen=True, eq=False)
class _Node:
    """A clique in the sweep: the code of each table entry in every scope that is asked of it.

    Attributes:
        clique: its number.
        scope: its variables with several states, in the order of the table's axes.
        own: the variables met here for the first time from the root.
        sepset: the code of each entry in the sepset towards the root, and the sepset's size.
        children: the positions of its children in the sweep.
    """

    clique: int
    scope: tuple[Discrete, ...]
    own: tuple[tuple[slice, Codes, int], ...]
    sepset: tuple[Codes, int]
    children: tuple[tuple[int, Codes, int], ...]

    @cached_property
    def rows(self) -> Codes:
        """The states of its own variables among those of all."""
        ranges = [np.arange(place.start, place.stop) for place, _, _ in self.own]
        return np.concatenate([np.zeros(0, np.intp), *ranges])


class PairSweep:
    """The sweep over one tree, planned once: `run` takes beliefs and returns every pair.

    Args:
        tree: a clique tree or forest.
        variables: its variables, in the order of the answer.
        memory: the most bytes it may need.

    Cost: $O(V^2 \\max|\\mathbf S|)$ multiplications for V states in all, as matrix products, and for each clique one
    pass over its table for every two of its own variables, children and parent.
    """

    def __init__(self, tree: CliqueTree, variables: Sequence[Discrete], *, memory: int = 8 * 2**30) -> None:
        self.tree = tree
        self.variables = tuple(variables)
        self._known = _offsets(self.variables)
        self._check(memory)
        self._roots = frozenset(tree.roots())
        self._upward = {m.source: m for m in tree.schedule()}
        self._nodes = self._plan()

    def _check(self, limit: int) -> None:
        states = sum(v.num_states for v in self.variables)
        sepset = max((self._size(s) for s in self.tree.sepsets), default=1)
        clique = max((self._size(c) for c in self.tree.clusters), default=1)
        need = BYTES * (states * states + 4 * states * sepset + 8 * clique)
        if need > limit:
            raise TooLarge(
                f"All pairs of {len(self.variables)} variables need about {readable(need)} at once: {states:,} states "
                f"beside a sepset of {sepset:,}; the limit is {readable(limit)}. Query the pairs that matter alone."
            )

    def _size(self, scope: Sequence[str]) -> int:
        return math.prod(self._known[name][0].num_states for name in scope)

    def _plan(self) -> list[_Node]:
        """The cliques, children before parents."""
        order = [*self._upward, *self.tree.roots()]
        below: dict[int, list[int]] = {}
        nodes: list[_Node] = []
        for position, clique in enumerate(order):
            nodes.append(self._node(clique, [(p, order[p]) for p in below.get(clique, ())]))
            if clique in self._upward:
                below.setdefault(self._upward[clique].target, []).append(position)
        return nodes

    def _node(self, clique: int, children: Sequence[tuple[int, int]]) -> _Node:
        sepsets = {i: self._upward[i].sepset if i in self._upward else () for i in (clique, *(c for _, c in children))}
        sepset = sepsets[clique]
        names = self.tree.clusters[clique]
        scope = tuple(self._known[name][0] for name in names if self._known[name][0].num_states > 1)
        own = [self._known[name] for name in names if name not in set(sepset)]
        return _Node(
            clique,
            scope,
            tuple((place, self._codes(scope, [v.name]), v.num_states) for v, place in own),
            (self._codes(scope, sepset), self._size(sepset)),
            tuple((p, self._codes(scope, sepsets[c]), self._size(sepsets[c])) for p, c in children),
        )

    def _codes(self, scope: Sequence[Discrete], names: Sequence[str]) -> Codes:
        """For each entry of a table over `scope` its code in the table over `names`."""
        codes = np.zeros([v.num_states for v in scope], np.intp)
        for name in names:
            axis = next((i for i, v in enumerate(scope) if v.name == name), None)
            if axis is not None:
                ends = [1] * len(scope)
                ends[axis] = scope[axis].num_states
                codes = codes * scope[axis].num_states + np.arange(scope[axis].num_states).reshape(ends)
        return codes.reshape(-1)

    def run(self, beliefs: Sequence[Any]) -> PairwiseMarginals:
        """Every pair, from the beliefs of the calibrated cliques."""
        scopes = {node.clique: node.scope for node in self._nodes}
        return self.sweep([_flat(belief, scopes[i]) for i, belief in enumerate(beliefs)])

    def sweep(self, beliefs: Sequence[Array]) -> PairwiseMarginals:
        """Every pair, from normalized beliefs as flat arrays, axes in the order of each clique."""
        states = sum(v.num_states for v in self.variables)
        answer = np.zeros((states, states))
        stacks: list[tuple[Codes, Array]] = []
        single = np.zeros(states)
        parts: list[Codes] = []
        for node in self._nodes:
            stacks.append(_visit(node, beliefs[node.clique], stacks, answer, single))
            if node.clique in self._roots:
                parts.append(stacks[-1][0])
        for i, rows in enumerate(parts):
            for others in parts[i + 1 :]:
                answer[np.ix_(rows, others)] = np.outer(single[rows], single[others])
        answer += answer.T
        return PairwiseMarginals(self.variables, answer)


def _flat(belief: Any, scope: Sequence[Discrete]) -> Array:
    """The normalized belief over a scope without one-state variables, flat."""
    table = dense(belief)
    names = {v.name for v in scope}
    table = table.marginalize([v for v in table.scope if v.name not in names])
    mentioned = {v.name for v in table.scope}
    for v in scope:
        table = table if v.name in mentioned else table * Table.ones(v)
    return np.asarray(table.normalize().align(scope).values, dtype=np.float64).reshape(-1)


def _visit(
    node: _Node, weights: Array, stacks: list[tuple[Codes, Array]], answer: Array, single: Array
) -> tuple[Codes, Array]:
    """Write the pairs that meet in a clique, and return the rows of everything below its sepset."""

    def block(left: Codes, num_left: int, right: Codes, num_right: int) -> Array:
        return _sums(left * num_right + right, weights, num_left * num_right).reshape(num_left, num_right)

    _own_pairs(node, block, answer, single)
    up, num_up = node.sepset
    rows = [node.rows]
    stack = [np.zeros((0, num_up)), *(block(codes, size, up, num_up) for _, codes, size in node.own)]
    for i, (position, codes, size) in enumerate(node.children):
        below, joint = stacks[position]
        given = _over(joint, _sums(codes, weights, size))
        for place, own, num_own in node.own:
            answer[below, place] = given @ block(codes, size, own, num_own)
        for later, other, num_other in node.children[i + 1 :]:
            beside, its = stacks[later]
            across = _over(its, _sums(other, weights, num_other))
            answer[np.ix_(below, beside)] = given @ block(codes, size, other, num_other) @ across.T
        rows.append(below)
        stack.append(given @ block(codes, size, up, num_up))
    return np.concatenate(rows), np.vstack(stack)


def _own_pairs(node: _Node, block: Callable[[Codes, int, Codes, int], Array], answer: Array, single: Array) -> None:
    """The pairs of variables met first in this clique, and the marginal of each."""
    nothing = np.zeros(len(node.sepset[0]), np.intp)
    for i, (place, codes, size) in enumerate(node.own):
        single[place] = block(codes, size, nothing, 1)[:, 0]
        for other_place, other, other_size in node.own[i + 1 :]:
            answer[place, other_place] = block(codes, size, other, other_size)


def _sums(codes: Codes, weights: Array, size: int) -> Array:
    """The total weight of each code."""
    return np.bincount(codes, weights, size).astype(np.float64, copy=False)


def _over(joint: Array, total: Array) -> Array:
    """The rows divided by a sepset's marginal, zero where it is zero."""
    return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
