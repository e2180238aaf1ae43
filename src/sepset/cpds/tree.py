r"""Tree CPDs: a decision tree over the parents with a distribution at each leaf."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.display import Shown
from sepset.base.frozen import fill
from sepset.base.text import listing
from sepset.cpds.contexts import Choice, Gates, Node, Partition, reordered, shown_tree
from sepset.cpds.cpd import ContextIndependence, ParameterBlock
from sepset.cpds.discrete import MOST_ENTRIES, DiscreteCPD, check_rows, discrete_scope
from sepset.cpds.multinomials import Rows
from sepset.cpds.registry import Fields, registered
from sepset.errors import ModelError, NotApplicable, ScopeError
from sepset.factors.algebra import Columns, Factor, Scope, num_entries
from sepset.factors.chains import Line
from sepset.factors.decomposition import DecompositionShape, Places
from sepset.factors.entries import row_of
from sepset.factors.labels import name_of
from sepset.factors.table import Table
from sepset.variables.matching import Match, state_order
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, State

Subtree: TypeAlias = "Split | Sequence[float] | Mapping[State, float] | Floats"
"""A split, or a leaf: the child's probabilities as a sequence or by state."""

GATE_PRICE = 4
"""The factor by which gates must be smaller than other forms to be chosen."""

WIDE = 2**12
"""The entries of a table from which on a network may prefer the choice among the contexts."""

MOST_CHOICE = 2**22
"""The most entries of the factors of a choice."""

FormOfContexts: TypeAlias = Literal["table", "leaves", "gates", "choice"]
"""The ways to write a CPD with contexts as factors."""

MAX_DEPTH = 300
"""The largest depth of a tree in a file."""

MAX_LISTED = 64
"""The largest number of contexts listed for one leaf."""


@dataclass(frozen=True, slots=True)
class Split:
    """A test of one parent: a subtree for each state, for each tuple of states, and for all `otherwise`.

    >>> Split(Discrete("apply"), {0: [0.9, 0.1], 1: [0.2, 0.8]}).variable
    Discrete('apply', (0, 1))
    """

    variable: Discrete
    branches: Mapping[Any, Subtree]
    _: KW_ONLY
    otherwise: Subtree | None = None


class ContextCPD(DiscreteCPD):
    """A CPD with one distribution for each context of a partition of the joint states of its parents.

    Its factors are the table, or one per piece (a leaf of a tree, a rule), or gates over contexts: the smallest form.
    A network in which the tests would join too many parents has it as the choice among the contexts.
    """

    __slots__ = ("is_choice",)
    partition: Partition
    is_choice: bool

    def _init(self, child: Discrete, given: object, block: ParameterBlock | str | None) -> None:
        super()._init(child, given, block)
        fill(self, is_choice=False)

    def along(self, line: Line) -> Self:
        """The same CPD, as a choice if the line says so."""
        return self._with(is_choice=True) if self.child.name in line.choices and not self.is_choice else self

    @property
    def can_choose(self) -> bool:
        """Whether it is large enough that a network compares its form with the choice among the contexts."""
        return num_entries(self.scope) > WIDE and self._sizes()["choice"] <= MOST_CHOICE

    @abstractmethod
    def _distributions(self) -> Floats:
        """The distribution of the child in each context."""

    @abstractmethod
    def _pieces(self) -> Iterable[Table]:
        """Factors whose product is the CPD, each one outside of its context."""

    @abstractmethod
    def _piece_entries(self) -> int:
        """The entries of all pieces."""

    @property
    @abstractmethod
    def _num_pieces(self) -> int:
        """The number of pieces."""

    @abstractmethod
    def _piece_places(self) -> list[Places]:
        """The scopes of all pieces."""

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        return self._distributions(), self.partition.locate(rows, num_rows, self)

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """The gates of the contexts, or which of them it is, if these are too deep for one factor per piece."""
        form = self._form()
        if form == "choice":
            return (self._choice().leaf,)
        return self._gates().auxiliaries if form == "gates" else ()

    @property
    def factor_scopes(self) -> tuple[tuple[Discrete, ...], ...]:
        """The scopes of its factors, without these; of a table or one factor per piece that of the CPD."""
        form = self._form()
        if form == "choice":
            return self._choice().scopes(self.child)
        return self._gates().scopes if form == "gates" else (self.scope,)

    @property
    def shape(self) -> DecompositionShape | None:
        """The scopes of its factors, unless they are one table or too many for every question."""
        sizes = self._sizes()
        form = self._form_of(sizes)
        if form == "table" or sizes[form] > MOST_ENTRIES:
            return None
        num, cards, scopes = self._shapes[form]
        is_star = form != "leaves" and len(self.partition.axes) == len(self.parents)
        return DecompositionShape.functional(num, cards, scopes, num_members=len(self.scope), is_star=is_star)

    @property
    def _shapes(self) -> dict[FormOfContexts, tuple[int, tuple[int, ...], Callable[[], list[Places]]]]:
        """For each form the number of its factors, the states of its auxiliaries, and who finds the scopes."""
        partition, tests = self.partition, self.partition.branching
        num_gates = max(tests.num - 1, 0)
        return {
            "leaves": (self._num_pieces, (), self._piece_places),
            "gates": (num_gates + tests.ending, (2,) * num_gates, partial(Gates.places, partition)),
            "choice": (len(partition.axes) + 1, (partition.num_leaves,), partial(Choice.places, partition)),
        }

    def factors(self) -> tuple[Factor, ...]:
        """The table; or one factor per piece; or gates over contexts; or the choice among these."""
        form = self._form()
        if form == "table":
            return super().factors()
        if form == "choice":
            return self._choice().factors(self.child, self._distributions())
        return self._gates().factors(self._distributions()) if form == "gates" else tuple(self._pieces())

    def _gates(self) -> Gates:
        return Gates.of(self.child, self.partition)

    def _choice(self) -> Choice:
        return Choice.of(self.child, self.partition)

    def _form(self) -> FormOfContexts:
        return self._form_of(self._sizes())

    def _form_of(self, sizes: Mapping[FormOfContexts, int]) -> FormOfContexts:
        form = smallest_form(table=sizes["table"], leaves=sizes["leaves"], gates=sizes["gates"])
        return "choice" if self.is_choice and sizes["choice"] <= MOST_CHOICE and form != "table" else form

    def _sizes(self) -> dict[FormOfContexts, int]:
        gates, choice = (form.entries(self.partition, self.child.num_states) for form in (Gates, Choice))
        return {"table": num_entries(self.scope), "leaves": self._piece_entries(), "gates": gates, "choice": choice}

    @property
    def is_tabled(self) -> bool:
        """Whether the smallest form is the table, and that is made whatever is observed."""
        table = num_entries(self.scope)
        return table <= MOST_ENTRIES and (self._is_no_smaller(table) or self._form() == "table")

    def _is_no_smaller(self, table: int) -> bool:
        r"""Whether the other forms are known to be no smaller without a visit of all contexts.

        Disjoint contexts with $p_i$ joint states of what they test have $\sum_i 1 / p_i \le 1$, so that their factors
        have $\sum_i p_i \ge n^2$ entries. Gates have two or more for each branch.
        """
        gates = min(2, self.child.num_states) * (self.partition.num_leaves - 1)
        return table <= GATE_PRICE * gates and table <= self._least_piece_entries

    @property
    @abstractmethod
    def _least_piece_entries(self) -> int:
        """A lower bound of the entries of one factor per piece."""

    @property
    def size(self) -> int:
        """The entries of the smallest form."""
        return self._sizes()[self._form()]

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` that drop out in it: exact, by comparing contexts.

        Reference: Koller & Friedman 5.3; Boutilier et al. (1996).
        Guarantee: exact.
        Tested by: cpds/test_contexts.py::test_irrelevance_agrees_with_enumeration
        """
        return self.partition.irrelevant(self._distributions(), self.fixed(context))


@registered("tree")
class TreeCPD(ContextCPD):
    r"""A CPD whose rows are shared by all joint states of the parents that reach one leaf of a decision tree.

    Args:
        child: the variable $X$.
        tree: nested `Split`s; leaves are rows of probabilities.
        given: the parents in order; by default those of the tree, as they first appear.
        block: the parameters it uses; by default its own, named after the child.

    Reference: Koller & Friedman, section 5.3.1.
    Guarantee: exact.
    Tested by: cpds/test_tree.py::test_deep_trees_become_gates

    >>> apply, sat, job = Discrete("apply", ("no", "yes")), Discrete("sat"), Discrete("job")
    >>> tree = Split(apply, {"no": [0.8, 0.2], "yes": Split(sat, {0: [0.9, 0.1], 1: [0.4, 0.6]})})
    >>> cpd = TreeCPD(job, tree)
    >>> cpd, cpd.num_parameters, cpd.irrelevant({"apply": "no"})
    (TreeCPD(job[2] | apply[2], sat[2]), 3, (Discrete('sat', (0, 1)),))
    """

    __slots__ = ("distributions", "partition")
    partition: Partition
    distributions: Floats

    def __init__(
        self,
        child: Discrete,
        tree: Subtree,
        *,
        given: Discrete | Iterable[Discrete] | None = None,
        block: ParameterBlock | str | None = None,
    ) -> None:
        found = tuple(dict.fromkeys(_variables(tree)))
        self._init(child, found if given is None else given, block)
        for variable in found:
            if variable not in self.parents:
                raise ScopeError(f"{self!r} tests {variable.name}, which is not among its parents.")
        rows: list[Floats] = []
        root = _grow(self, tree, {}, rows)
        fill(self, partition=Partition(self.parents, root), distributions=np.array(rows))
        check_rows(self.distributions, self, self.partition.describe)

    @property
    def tree(self) -> Subtree:
        """The tree as nested `Split`s, such as the constructor takes."""
        return _written(self, self.partition.root)

    @property
    def num_parameters(self) -> int:
        """One less than the child's states, for each leaf."""
        return self.partition.num_leaves * (self.child.num_states - 1)

    def _shown(self) -> Shown:
        """The tests, indented, with the distributions at the leaves; a table if there are none."""
        root = self.partition.root
        if isinstance(root, int):
            return super()._shown()
        return shown_tree(self.label, self.child, self.parents, root, self.distributions)

    def _distributions(self) -> Floats:
        return self.distributions

    def _pieces(self) -> Iterator[Table]:
        """For each leaf its row in its context, and one elsewhere."""
        return map(self._leaf_factor, range(self.partition.num_leaves))

    @property
    def _least_piece_entries(self) -> int:
        return self.child.num_states * self.partition.num_leaves**2

    def _piece_entries(self) -> int:
        return self.child.num_states * self.partition.path_entries

    @property
    def _num_pieces(self) -> int:
        return self.partition.num_leaves

    def _piece_places(self) -> list[Places]:
        return [(*path, len(self.parents)) for path in self.partition.tested]

    def _leaf_factor(self, leaf: int) -> Table:
        inside = self.partition.indicator(leaf)[..., None]
        values = inside * self.distributions[leaf] + (1.0 - inside)
        return Table((*self.partition.scope(leaf), self.child), values)

    def contexts(self) -> tuple[ContextIndependence, ...]:
        """The independences at each leaf, for leaves of few joint states of the tested parents."""
        contexts = (c for leaf in range(self.partition.num_leaves) for c in _leaf_contexts(self.partition, leaf))
        found = (ContextIndependence(context, self.irrelevant(context)) for context in contexts)
        return tuple(c for c in found if c.irrelevant)

    @classmethod
    def from_form(cls, child: Discrete, fields: Fields, *, parents: tuple[Discrete, ...], block: str | None) -> Self:
        """The CPD described by a file."""
        rows = iter(fields["rows"].array((-1, child.num_states)))
        tree = _read(fields["tree"], Universe(parents), rows) if "tree" in fields else _next(fields, rows)
        if next(rows, None) is not None:
            raise fields["rows"].error("there are more rows than leaves")
        return cls(child, tree, given=parents, block=block)

    @property
    def parameters(self) -> TreeLeaves:
        """The rows at the leaves, with all operations that learning needs."""
        return TreeLeaves(self)


@dataclass(frozen=True, eq=False, repr=False)
class TreeLeaves(Rows[TreeCPD]):
    r"""The rows at the leaves of a tree: $\theta_{x \mid \ell}$, with counts $M[\ell, x]$."""

    @property
    def form(self) -> dict[str, Any]:
        """The tests of the tree; its leaves are in depth-first order."""
        root = self.cpd.partition.root
        return {} if isinstance(root, int) else {"tree": _document(self.cpd, root)}

    @property
    def rows(self) -> Floats:
        """The probabilities, `[leaves, states]`."""
        return self.cpd.distributions

    @property
    def context_sizes(self) -> Floats:
        """The number of joint states of the parents that reach each leaf."""
        partition = self.cpd.partition
        return np.array([float(partition.size(leaf)) for leaf in range(partition.num_leaves)])

    def tells(self, parent: Discrete) -> bool:
        """Whether a parent is tested anywhere."""
        return self.cpd.partition.tests(parent)

    def from_rows(self, rows: Floats) -> TreeCPD:
        """The same tree with these rows at its leaves."""
        return self.cpd._with(distributions=rows)

    def reordered(self, scope: Scope) -> TreeCPD:
        """The same tests and leaves, with parents and states in another order."""
        *parents, child = discrete_scope(scope)
        root = reordered(self.cpd.partition.root, Match.of(self.cpd.parents, parents))
        return self.cpd._named(
            (*parents, child),
            partition=Partition(tuple(parents), root),
            distributions=self.cpd.distributions[:, state_order(self.cpd.child, child)],
        )

    def varied_context(self, row: int) -> dict[str, Any]:
        """The states of the tested parents that reach a leaf."""
        return self.cpd.partition.context(row)

    def describe_context(self, context: int) -> str:
        """The context of a leaf."""
        return self.cpd.partition.describe(context)


def smallest_form(*, table: int, leaves: int, gates: int) -> Literal["table", "leaves", "gates"]:
    """The form with the fewest values; gates add hidden variables, so they must be `GATE_PRICE` times smaller.

    >>> smallest_form(table=16, leaves=12, gates=10), smallest_form(table=10**9, leaves=10**9, gates=100)
    ('leaves', 'gates')
    """
    if 0 < GATE_PRICE * gates < min(table, leaves):
        return "gates"
    return "leaves" if leaves < table else "table"


def _written(cpd: TreeCPD, node: Node | int) -> Subtree:
    if isinstance(node, int):
        return tuple(cpd.distributions[node].tolist())
    variable = cpd.parents[node.axis]
    branches: dict[Any, Subtree] = {}
    for place, branch in enumerate(node.branches):
        states = tuple(state for state, route in zip(variable.states, node.route, strict=True) if route == place)
        branches[states[0] if len(states) == 1 else states] = _written(cpd, branch)
    return Split(variable, branches)


def _document(cpd: TreeCPD, node: Node, depth: int = 0) -> dict[str, Any]:
    """A test as plain values: the variable, and for each branch its codes and the test that follows, if any."""
    if depth > MAX_DEPTH:
        raise NotApplicable(f"Files hold trees up to {MAX_DEPTH} tests deep; {name_of(cpd)} is deeper.")
    branches: list[dict[str, Any]] = []
    for place, branch in enumerate(node.branches):
        codes = [code for code, route in enumerate(node.route) if route == place]
        then = {"then": _document(cpd, branch, depth + 1)} if isinstance(branch, Node) else {}
        branches.append({"codes": codes, **then})
    return {"test": cpd.parents[node.axis].name, "branches": branches}


def _read(fields: Fields, known: Universe, rows: Iterator[Floats], depth: int = 0) -> Subtree:
    """The test in a file, with the next rows at its leaves."""
    if depth > MAX_DEPTH:
        raise fields.error(f"trees are read up to {MAX_DEPTH} tests deep")
    fields.keys("test", "branches")
    variable = known[fields["test"].text()]
    if not isinstance(variable, Discrete):
        raise fields["test"].error("expected a discrete variable")
    branches: dict[Any, Subtree] = {}
    for branch in fields["branches"]:
        branch.keys("codes", "then")
        codes = branch["codes"].wholes(0, variable.num_states - 1).tolist()
        states = tuple(variable.states[code] for code in codes)
        if states in branches:
            raise branch["codes"].error("these codes have a branch already")
        then = _read(branch["then"], known, rows, depth + 1) if "then" in branch else _next(branch, rows)
        branches[states] = then
    return Split(variable, branches)


def _next(fields: Fields, rows: Iterator[Floats]) -> Floats:
    row = next(rows, None)
    if row is None:
        raise fields.error("there is no row for this leaf")
    return row


def _variables(tree: Subtree) -> Iterator[Discrete]:
    if isinstance(tree, Split):
        yield tree.variable
        for subtree in (*tree.branches.values(), *(() if tree.otherwise is None else (tree.otherwise,))):
            yield from _variables(subtree)


def _grow(cpd: TreeCPD, tree: Subtree, possible: Mapping[Discrete, frozenset[int]], rows: list[Floats]) -> Node | int:
    """The node of a subtree; leaves are appended to `rows`. `possible` are the codes that the tests above leave."""
    if not isinstance(tree, Split):
        rows.append(row_of(cpd.child, tree, cpd))
        return len(rows) - 1
    variable = tree.variable
    open_codes = possible.get(variable, frozenset(range(variable.num_states)))
    route = [-1] * variable.num_states
    branches: list[Node | int] = []
    for codes, subtree in _branches(cpd, tree, open_codes):
        for code in codes:
            route[code] = len(branches)
        branches.append(_grow(cpd, subtree, {**possible, variable: frozenset(codes)}, rows))
    return Node(cpd.parents.index(variable), tuple(route), tuple(branches))


def _branches(cpd: TreeCPD, split: Split, possible: frozenset[int]) -> list[tuple[list[int], Subtree]]:
    variable, left = split.variable, set(possible)
    found: list[tuple[list[int], Subtree]] = []
    for key, subtree in split.branches.items():
        codes = [variable.code(state) for state in (key if isinstance(key, tuple) else (key,))]
        if not codes or not left.issuperset(codes) or len(set(codes)) != len(codes):
            raise ModelError(
                f"{name_of(cpd)}: the branch {variable.name}={key!r} repeats a state or can never be reached."
            )
        left.difference_update(codes)
        found.append((codes, subtree))
    if left and split.otherwise is None:
        states = listing(variable.states[code] for code in sorted(left))
        raise ModelError(
            f"{name_of(cpd)}: the split on {variable.name} has no branch for {states}. Add it, or otherwise=."
        )
    if split.otherwise is not None:
        if not left:
            raise ModelError(
                f"{name_of(cpd)}: every state of {variable.name} has a branch; otherwise= is never reached."
            )
        found.append((sorted(left), split.otherwise))
    return found


def _leaf_contexts(partition: Partition, leaf: int) -> Iterator[dict[str, State]]:
    axes = partition.tested[leaf]
    codes = [np.flatnonzero(partition.masks[axis][leaf]).tolist() for axis in axes]
    if math.prod(map(len, codes)) <= MAX_LISTED:
        variables = [partition.variables[axis] for axis in axes]
        for joint in itertools.product(*codes):
            yield {v.name: v.states[code] for v, code in zip(variables, joint, strict=True)}
