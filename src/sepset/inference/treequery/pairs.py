r"""The joint of every pair of variables from one calibrated tree, in one sweep of matrix products.

Below each sepset $\mathbf S$ collect the rows $D = P(x, \mathbf S)$, one for each state of each variable below it.
Given the sepset, those variables are independent of the rest, so rows are multiplied by the transition of each clique,

$$D_{c \to k} = D_c \, P(\mathbf S_k \mid \mathbf S_c), \qquad P(x, y) = D_c \, P(y \mid \mathbf S_c), \qquad
  P(x, x') = D_c \, \frac{P(\mathbf S_c, \mathbf S_{c'})}{P(\mathbf S_c) P(\mathbf S_{c'})} \, D_{c'}^\top$$

for $y$ in the clique and $x, x'$ below different children c, c'. Each pair is computed exactly once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.display import Report, Shown
from sepset.base.entries import Answers
from sepset.base.membership import among, without
from sepset.base.text import counted, joined, nearest, readable
from sepset.errors import ScopeError, TooLarge
from sepset.factors.labels import MOST_SHOWN, cut, one_line
from sepset.factors.table import Table
from sepset.graphs.clusters import ClusterTree
from sepset.inference import costs
from sepset.inference.documents import distribution_document, findings_document
from sepset.inference.method import dense
from sepset.inference.plan import ENTRY_BYTES
from sepset.inference.result import MarginalsResult
from sepset.variables.variable import Discrete, VariableLike, Vector

__all__ = ["PairSweep", "Pairs", "PairwiseMarginals"]


SMALLEST = 1e-290
"""Probabilities of pairs below this may have lost digits."""


class PairwiseMarginals(Answers[tuple[str, str], Table]):
    """The joint of every pair of variables; tables are made when read.

    Args:
        matrix: the joints of all pairs, a row and a column per state.
        ask: answers about one pair with a zero in it, if that may be a probability below the range of floats.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> pairs = PairSweep(ClusterTree(["a", "b"]), [a, b]).run([Table(a, [1, 3]), Table(b, [1, 1])])
    >>> pairs["a", "b"].values.tolist()
    [[0.125, 0.125], [0.375, 0.375]]
    """

    def __init__(
        self, variables: Sequence[Discrete], matrix: Floats, ask: Callable[[str, str], Table] | None = None
    ) -> None:
        matrix.setflags(write=False)
        self._ask = ask
        self.variables = tuple(variables)
        self.matrix = matrix
        self._place = _offsets(self.variables)

    def __getitem__(self, pair: tuple[VariableLike, VariableLike]) -> Table:
        (first, left), (second, right) = map(self._find, _two_names(pair))
        if first == second:
            raise ScopeError(f"{first.name} is asked for twice. Name two different variables.")
        values = self.matrix[left, right]
        if self._ask is not None and not (values > SMALLEST).all():
            return self._ask(first.name, second.name)
        return Table((first, second), values)

    def with_zeros(self, ask: Callable[[str, str], Table]) -> PairwiseMarginals:
        """The same pairs, those with zeros or tiny probabilities answered on their own."""
        return PairwiseMarginals(self.variables, self.matrix, ask)

    def _find(self, name: str) -> tuple[Discrete, slice]:
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


class AskedPairs(Answers[tuple[str, str], Any]):
    """The joint of every pair of variables, each asked when it is read.

    Args:
        names: the unobserved variables.
        ask: answers about two of them.

    >>> AskedPairs(("a", "b"), lambda first, second: first + second)["b", "a"]
    'ba'
    """

    def __init__(self, names: Sequence[str], ask: Callable[[str, str], Any]) -> None:
        self._names = tuple(names)
        self._ask = ask

    def __getitem__(self, pair: tuple[VariableLike, VariableLike]) -> Any:
        first, second = _two_names(pair)
        for name in (first, second):
            if name not in self._names:
                raise ScopeError(f"There is no pair with {name!r}.{nearest(name, self._names)}")
        if first == second:
            raise ScopeError(f"{first} is asked for twice. Name two different variables.")
        return self._ask(first, second)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return itertools.combinations(self._names, 2)

    def __len__(self) -> int:
        return math.comb(len(self._names), 2)

    def __repr__(self) -> str:
        return f"AskedPairs({len(self._names)} variables)"


class Pairs(Answers[tuple[str, str], Table], Report):
    """The joint of every pair of a model's variables, observed ones included; tables are made when read.

    An observed variable has no joint with a real one: such pairs are left out.

    >>> import sepset as ss
    >>> pairs = ss.prepare(ss.datasets.load("student")).pairwise_marginals(given={"grade": "C"})
    >>> pairs["intelligence", "difficulty"].values.round(3).tolist()
    [[0.36, 0.561], [0.01, 0.069]]
    >>> pairs["grade", "sat"].values.round(3).tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.891, 0.109]]
    """

    def __init__(
        self,
        free: Answers[tuple[str, str], Table],
        singles: MarginalsResult,
        *,
        observed: frozenset[str],
        reals: frozenset[str] = frozenset(),
    ) -> None:
        self._free = free
        self._singles = singles
        self._observed = observed
        self._reals = reals

    def __getitem__(self, pair: tuple[VariableLike, VariableLike]) -> Table:
        first, second = _two_names(pair)
        if first not in self._observed and second not in self._observed:
            return self._free[first, second]
        if first == second:
            raise ScopeError(f"{first} is asked for twice. Name two different variables.")
        joint: Any = self._singles[first], self._singles[second]
        if not all(isinstance(one, Table) for one in joint):
            seen = first if first in self._observed else second
            raise ScopeError(
                f"The value of {seen} is known, and a pair with real variables has no table. Query the other."
            )
        return joint[0] * joint[1]  # type: ignore[no-any-return]  # tables

    def __iter__(self) -> Iterator[tuple[str, str]]:
        pairs = itertools.combinations(self._singles, 2)
        return (pair for pair in pairs if self._observed.isdisjoint(pair) or self._reals.isdisjoint(pair))

    def __len__(self) -> int:
        return sum(1 for _ in self) if self._reals and self._observed else math.comb(len(self._singles), 2)

    def _shown(self) -> Shown:
        """The joint of each pair, the most probable states first."""
        rows = [(a, b, _joint_states(self[a, b])) for a, b in itertools.islice(self, MOST_SHOWN)]
        return Shown(("variable", "with", "joint"), rows, repr(self), cut(len(self), "pairs"), words=3)

    def to_dict(self) -> dict[str, Any]:
        """The entries of each joint in plain values, as `to_json` writes them."""
        pairs = [{"variables": list(pair), **distribution_document(self[pair])} for pair in self]
        return {"given": findings_document(self._singles.findings), "pairs": pairs}

    def __repr__(self) -> str:
        return f"Pairs({counted(len(self._singles), 'variable')}, {counted(len(self), 'pair')})"


def _joint_states(joint: Any) -> str:
    """The joint states in one line, the most probable first; the moments where a variable is real."""
    if not isinstance(joint, Table):
        return str(joint.in_words())
    order = np.argsort(-joint.values, axis=None, kind="stable")
    cells = zip(*np.unravel_index(order, joint.values.shape), strict=True)
    names = (", ".join(one_line(v.states[c]) for v, c in zip(joint.scope, cell, strict=True)) for cell in cells)
    return joined([f"({name}) {p:.4g}" for name, p in zip(names, joint.values.ravel()[order], strict=True)], limit=4)


def _two_names(pair: object) -> tuple[str, str]:
    """The names of two variables, each given as a variable or by name.

    >>> _two_names((Discrete("a"), "b"))
    ('a', 'b')
    """
    if isinstance(pair, tuple) and len(pair) == 2:
        first, second = (v.name if isinstance(v, Discrete | Vector) else v for v in pair)
        if isinstance(first, str) and isinstance(second, str):
            return first, second
    raise ScopeError(f"A pair of variables was expected, as in pairs['a', 'b']; found {pair!r}.")


def _offsets(variables: Sequence[Discrete]) -> dict[str, tuple[Discrete, slice]]:
    """The slice of each variable's states among those of all."""
    found, start = {}, 0
    for v in variables:
        found[v.name] = (v, slice(start, start + v.num_states))
        start += v.num_states
    return found


class _Counts:
    """The marginal of a clique's table over some of its variables, in the given order."""

    def __init__(self, scope: Sequence[Discrete], names: Sequence[str]) -> None:
        self._scope, self._names = scope, names
        size = {v.name: v.num_states for v in scope}
        self.size = math.prod(size.get(name, 1) for name in names)
        self._kept = self._codes() if math.prod(size.values()) <= costs.ENTRIES_OF_CACHED_CODES else None

    def _codes(self) -> Ints:
        """For each entry of the clique's table its place in the marginal."""
        codes = np.zeros([v.num_states for v in self._scope], np.intp)
        axis = {v.name: i for i, v in enumerate(self._scope)}
        for name in self._names:
            if name in axis:
                states = np.arange(self._scope[axis[name]].num_states)
                ends = [-1 if i == axis[name] else 1 for i in range(len(self._scope))]
                codes = codes * len(states) + states.reshape(ends)
        return codes.reshape(-1)

    def of(self, weights: Floats) -> Floats:
        """The marginal, flat."""
        codes = self._codes() if self._kept is None else self._kept
        return np.bincount(codes, weights, self.size).astype(np.float64, copy=False)


class _Transition:
    r"""Maps rows $P(x \mid \mathbf S)$ to $P(x, \mathbf T)$ in a clique: one matrix per state of shared variables."""

    def __init__(self, scope: Sequence[Discrete], source: Sequence[str], target: Sequence[str]) -> None:
        shared = among(source, target)
        left = without(source, shared)
        right = without(target, shared)
        self._counts = _Counts(scope, [*shared, *left, *right])
        self._shape = tuple(_entries(scope, names) for names in (shared, left, right))
        self._source = _columns(scope, source, [*shared, *left])
        self._target = _columns(scope, target, [*shared, *right])

    def send(self, given: Floats, weights: Floats) -> Floats:
        """The rows over the target, summed over the variables that only the source has."""
        both, left, right = self._shape
        table = self._counts.of(weights).reshape(both, left, right)
        moved = given[:, self._source].reshape(len(given), both, left)
        if left == 1:
            sent = moved * table[:, 0]
        else:
            sent = np.matmul(moved.transpose(1, 0, 2), table).transpose(1, 0, 2)
        answer = np.empty((len(given), both * right))
        answer[:, self._target] = sent.reshape(len(given), both * right)
        return answer


def _entries(scope: Sequence[Discrete], names: Sequence[str]) -> int:
    known = frozenset(names)
    return math.prod(v.num_states for v in scope if v.name in known)


def _columns(scope: Sequence[Discrete], names: Sequence[str], order: Sequence[str]) -> Ints | slice:
    """The permutation of the columns of a table over `names` when its axes are reordered."""
    size = {v.name: v.num_states for v in scope}
    inside = [name for name in names if name in size]
    wanted = [inside.index(name) for name in order if name in size]
    if wanted == sorted(wanted):
        return slice(None)
    shape = [size[name] for name in inside]
    return np.arange(math.prod(shape)).reshape(shape).transpose(wanted).reshape(-1)


@dataclass(frozen=True, eq=False)
class _Child:
    """The transitions of the rows below a child: to the clique's own variables, to later children, and up."""

    position: int
    own: tuple[tuple[slice, _Transition], ...]
    later: tuple[tuple[int, _Transition, bool], ...]
    up: _Transition


@dataclass(frozen=True, eq=False)
class _Node:
    """A clique in the sweep, with the marginals it needs.

    Attributes:
        clique: its number.
        scope: its variables with several states, in the order of the table's axes.
        rows: the states of the variables that first occur here, among those of all.
        singles: the marginal of each of these.
        pairs: the marginal of every two of them.
        stack: the marginal of each with the sepset toward the root.
        sepset: the marginal of the sepset.
        children: the cliques below.
    """

    clique: int
    scope: tuple[Discrete, ...]
    rows: Ints
    singles: tuple[tuple[slice, _Counts], ...]
    pairs: tuple[tuple[slice, slice, _Counts], ...]
    stack: tuple[_Counts, ...]
    sepset: _Counts
    children: tuple[_Child, ...]

    def visit(self, weights: Floats, below: list[tuple[Ints, Floats]], answer: Floats, single: Floats) -> None:
        """Write the pairs of this clique, and append to `below` the rows of all variables below its sepset."""
        for place, counts in self.singles:
            single[place] = counts.of(weights)
        for first, second, counts in self.pairs:
            answer[first, second] = counts.of(weights).reshape(first.stop - first.start, -1)
        total = self.sepset.of(weights)
        rows = [self.rows]
        stack = [np.zeros((0, len(total))), *(c.of(weights).reshape(-1, len(total)) for c in self.stack)]
        for child in self.children:
            under, given = below[child.position]
            for place, transition in child.own:
                answer[under, place] = transition.send(given, weights)
            for later, transition, is_back in child.later:
                others, its = below[later]
                if is_back:
                    answer[np.ix_(others, under)] = transition.send(its, weights) @ given.T
                else:
                    answer[np.ix_(under, others)] = transition.send(given, weights) @ its.T
            rows.append(under)
            stack.append(child.up.send(given, weights))
        for child in self.children:
            below[child.position] = _NOTHING
        joint = np.vstack(stack)
        below.append((np.concatenate(rows), np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)))


_NOTHING: tuple[Ints, Floats] = (np.zeros(0, np.intp), np.zeros((0, 0)))


class PairSweep:
    r"""The sweep over one tree, planned once: `run` takes beliefs and returns every pair.

    Args:
        tree: a clique tree or forest.
        variables: its variables, in the order of the answer.
        memory: the largest number of bytes.

    Cost: for V states in all at most $V \sum_i |\mathrm{Val}(\mathbf C_i)|$ multiplications for transitions, and
    $V^2 \max |\mathrm{Val}(\mathbf S)|$ for pairs, both as matrix products.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> sweep = PairSweep(ClusterTree([("a", "b")]), [a, b])
    >>> sweep.run([Table((a, b), [[1, 1], [0, 2]])])["b", "a"].values.tolist()
    [[0.25, 0.0], [0.25, 0.5]]
    """

    def __init__(self, tree: ClusterTree, variables: Sequence[Discrete], *, memory: int = 8 * 2**30) -> None:
        self.tree = tree
        self.variables = tuple(variables)
        self._known = _offsets(self.variables)
        root = self._cheapest_root()
        self._roots = tree.roots(root)
        self._upward = {m.source: m for m in tree.schedule(root)}
        self._check(memory)
        self._nodes = self._plan()

    def _size(self, scope: Sequence[str]) -> int:
        return math.prod(self._known[name][0].num_states for name in scope)

    def _cheapest_root(self) -> int | None:
        """The root with the fewest multiplications for transitions, in the part of the forest where this saves most."""
        schedule = self.tree.schedule()
        sizes = [self._size(clique) for clique in self.tree.clusters]
        rows = [sum(self._known[name][0].num_states for name in clique) for clique in self.tree.clusters]
        for m in schedule:
            rows[m.target] += rows[m.source] - sum(self._known[name][0].num_states for name in m.sepset)
        whole, change = list(rows), [0] * len(sizes)
        for m in reversed(schedule):
            i, up = m.source, m.target
            whole[i] = whole[up]
            change[i] = change[up] - rows[i] * sizes[up] + (whole[i] - rows[i]) * sizes[i]
        return min(range(len(sizes)), key=change.__getitem__, default=None)

    def _check(self, limit: int) -> None:
        states = sum(v.num_states for v in self.variables)
        sepset = max((self._size(s) for s in self.tree.sepsets), default=1)
        clique = max((self._size(c) for c in self.tree.clusters), default=1)
        need = ENTRY_BYTES * (states * states + 4 * states * sepset + 8 * clique)
        if need > limit:
            raise TooLarge(
                f"All pairs of {len(self.variables)} variables need about {readable(need)} at once: {states:,} states "
                f"with a sepset of {sepset:,}; the limit is {readable(limit)}. Query the pairs that matter alone."
            )

    def _plan(self) -> list[_Node]:
        """The cliques, children before parents."""
        order = [*self._upward, *self._roots]
        below: dict[int, list[tuple[int, Sequence[str]]]] = {}
        nodes: list[_Node] = []
        for position, clique in enumerate(order):
            nodes.append(self._node(clique, below.get(clique, ())))
            if clique in self._upward:
                up = self._upward[clique]
                below.setdefault(up.target, []).append((position, up.sepset))
        return nodes

    def _node(self, clique: int, children: Sequence[tuple[int, Sequence[str]]]) -> _Node:
        names = self.tree.clusters[clique]
        sepset = self._upward[clique].sepset if clique in self._upward else ()
        scope = tuple(self._known[name][0] for name in names if self._known[name][0].num_states > 1)
        own = [(name, self._known[name][1]) for name in without(names, sepset)]
        pairs = ((a, b) for i, a in enumerate(own) for b in own[i + 1 :])
        return _Node(
            clique,
            scope,
            np.concatenate([np.zeros(0, np.intp), *(np.arange(place.start, place.stop) for _, place in own)]),
            tuple((place, _Counts(scope, [name])) for name, place in own),
            tuple((a[1], b[1], _Counts(scope, [a[0], b[0]])) for a, b in pairs),
            tuple(_Counts(scope, [name, *sepset]) for name, _ in own),
            _Counts(scope, sepset),
            tuple(self._child(scope, own, sepset, children[i:]) for i in range(len(children))),
        )

    def _child(
        self,
        scope: Sequence[Discrete],
        own: Sequence[tuple[str, slice]],
        sepset: Sequence[str],
        children: Sequence[tuple[int, Sequence[str]]],
    ) -> _Child:
        """The first of these children, combined with the later ones over the smaller of both sepsets."""
        (position, mine), *others = children
        later = []
        for other, its in others:
            is_back = self._size(mine) < self._size(its)
            later.append((other, _Transition(scope, its, mine) if is_back else _Transition(scope, mine, its), is_back))
        to_own = tuple((place, _Transition(scope, mine, [name])) for name, place in own)
        return _Child(position, to_own, tuple(later), _Transition(scope, mine, sepset))

    def run(self, beliefs: Sequence[Any]) -> PairwiseMarginals:
        """Every pair, from the beliefs of the calibrated cliques."""
        scopes = {node.clique: node.scope for node in self._nodes}
        return self.sweep([_flat(belief, scopes[i]) for i, belief in enumerate(beliefs)])

    def sweep(self, beliefs: Sequence[Floats]) -> PairwiseMarginals:
        """Every pair, from normalized beliefs as flat arrays, axes in the order of each clique."""
        states = sum(v.num_states for v in self.variables)
        answer, single = np.zeros((states, states)), np.zeros(states)
        below: list[tuple[Ints, Floats]] = []
        for node in self._nodes:
            node.visit(beliefs[node.clique], below, answer, single)
        parts = [below[len(self._upward) + i][0] for i in range(len(self._roots))]
        for i, rows in enumerate(parts):
            for others in parts[i + 1 :]:
                answer[np.ix_(rows, others)] = np.outer(single[rows], single[others])
        answer += answer.T
        return PairwiseMarginals(self.variables, answer)


def _flat(belief: Any, scope: Sequence[Discrete]) -> Floats:
    """The normalized belief over a scope without one-state variables, flat."""
    table = dense(belief)
    names = {v.name for v in scope}
    table = table.marginalize([v for v in table.scope if v.name not in names])
    mentioned = {v.name for v in table.scope}
    for v in scope:
        table = table if v.name in mentioned else table * Table.ones(v)
    return np.asarray(table.normalize().align(scope).values, dtype=np.float64).reshape(-1)
