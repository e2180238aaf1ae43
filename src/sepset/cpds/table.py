r"""Table CPDs: one row of probabilities for each joint state of the parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.foreign import often
from sepset.base.frozen import changed, fill, made, read_only, setters
from sepset.cpds.counts import decode, joint_codes
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.discrete import TOLERANCE, DiscreteCPD, check_rows, discrete_scope
from sepset.cpds.jointstates import LARGEST
from sepset.cpds.multinomials import Rows
from sepset.cpds.parameters import ROUNDING, PriorTerm
from sepset.cpds.registry import Fields, registered
from sepset.errors import ModelError
from sepset.factors.algebra import AnyVariable, Columns, Factor, Scope, check_size, num_entries
from sepset.factors.decomposition import Decomposition
from sepset.factors.entries import entries, named_scope, row_place
from sepset.factors.labels import FEW, in_rows, with_numbers
from sepset.factors.table import Table
from sepset.variables.matching import Match
from sepset.variables.variable import Discrete


@registered("table")
class TableCPD(DiscreteCPD):
    r"""A dense table of $P(X \mid \mathbf U)$ with axes `(*given, child)`; the last axis sums to one.

    Args:
        child: the variable $X$; or its name, if the rows are labeled by its states.
        table: numbers of shape `(*given, child)` (or a row per joint state of the parents, or flat, in C order); a
            `Table` over these variables; a mapping from the parents' states to rows, each a sequence or a mapping from
            the child's states; or a frame of pandas, polars or Arrow with a row per joint state of the parents and a
            column per state of the child, or with a row per joint state of all, matched by their labels.
        given: the parents $\mathbf U$, a variable or name, or a sequence of them, in axis order.
        block: the parameters it uses; by default its own, named after the child.
        tolerance: the largest difference between one and the sum of a row; only rows read from files need more.

    Every row must sum to one within 1e-9, and is not rescaled; `TableCPD.normalized` divides rows by their sums.

    Reference: Koller & Friedman, section 5.1.
    Guarantee: exact.
    Tested by: cpds/test_table.py::test_contract

    >>> rain, wet = Discrete("rain", (False, True)), Discrete("wet", ("no", "yes"))
    >>> cpd = TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], given=rain)
    >>> cpd, cpd.num_parameters, cpd[True]
    (TableCPD(wet[2] | rain[2]; 0.9 0.1, 0.2 0.8), 2, array([0.2, 0.8]))
    >>> TableCPD("wet", {False: {"no": 0.9, "yes": 0.1}, True: {"yes": 0.8, "no": 0.2}}, given="rain")
    TableCPD(wet[2] | rain[2]; 0.9 0.1, 0.2 0.8)
    """

    __slots__ = ("table",)
    table: Table

    def __init__(
        self,
        child: Discrete | str,
        table: ArrayLike | Table | Mapping[Any, Any],
        *,
        given: Discrete | str | Iterable[Discrete | str] = (),
        block: ParameterBlock | str | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        variable, parents = named_scope(child, table, given=given)
        self._init(variable, parents, block)
        flat = entries(self, table)
        check_rows(flat.reshape(-1, variable.num_states), self, self.describe, tolerance)
        fill(self, table=Table._make(self.scope, np.abs(flat)))

    @classmethod
    def normalized(
        cls,
        child: Discrete | str,
        weights: ArrayLike | Table | Mapping[Any, Any],
        *,
        given: Discrete | str | Iterable[Discrete | str] = (),
        block: ParameterBlock | str | None = None,
    ) -> Self:
        """The CPD whose rows are `weights` divided by their sums; a row of zeros raises an error.

        >>> TableCPD.normalized(Discrete("coin"), [3, 1]).values
        array([0.75, 0.25])
        """
        bare = made(cls)
        variable, parents = named_scope(child, weights, given=given)
        bare._init(variable, parents, block)
        rows = entries(bare, weights).reshape(-1, variable.num_states)
        bad = np.flatnonzero(~(np.isfinite(rows).all(axis=1) & (rows >= 0).all(axis=1) & (rows > 0).any(axis=1)))
        if bad.size:
            first = int(bad[0])
            raise ModelError(
                f"{bare.label}: the row {bare.describe(first)} has the weights {rows[first].tolist()}. "
                "A row needs finite weights >= 0, not all zero."
            )
        scaled = np.ldexp(rows, -np.frexp(rows.max(axis=1, keepdims=True))[1])  # exact, and no sum overflows
        return cls(variable, (scaled / scaled.sum(axis=1, keepdims=True)).reshape(-1), given=bare.parents, block=block)

    @classmethod
    def uniform(cls, child: Discrete, *, given: Discrete | Iterable[Discrete] = ()) -> Self:
        """The CPD whose rows are all uniform.

        >>> TableCPD.uniform(Discrete("coin")).values
        array([0.5, 0.5])
        """
        bare = made(cls)
        bare._init(child, given, None)
        values = np.full(check_size(bare.scope), 1.0 / child.num_states)
        return fill(bare, table=Table._make(bare.scope, values))

    @classmethod
    def _uniform_over(cls, scopes: Iterable[tuple[Discrete, ...]]) -> list[Self]:
        """The CPDs of these scopes, parents and then child, whose rows are all uniform; equal shapes share the entries.

        Each scope is known to have different discrete variables.

        >>> a, b = Discrete("a"), Discrete("b", 4)
        >>> [cpd.values.tolist() for cpd in TableCPD._uniform_over([(a,), (a, b)])]
        [[0.5, 0.5], [[0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]]]
        """
        shared: dict[tuple[int, int], Floats] = {}
        found: list[Self] = []
        known = list(scopes)
        sizes = list(map(check_size, known))  # of all before one is allocated
        for scope, size in zip(known, sizes, strict=True):
            child = scope[-1]
            key = size, child.num_states
            if key not in shared:
                shared[key] = read_only(np.full(size, 1.0 / child.num_states))
            cpd = cls.__new__(cls)
            _SET_CHILD(cpd, child)
            _SET_PARENTS(cpd, scope[:-1])
            _SET_SCOPE(cpd, scope)
            _SET_BLOCK(cpd, made(ParameterBlock, name=child.name))
            _SET_TABLE(cpd, Table._make(scope, shared[key]))
            found.append(cpd)
        return found

    @classmethod
    def _unchecked(
        cls, child: Discrete, values: Floats, *, given: Iterable[Discrete], block: ParameterBlock | None = None
    ) -> Self:
        """The CPD with these entries in C order, which were computed and are known to be distributions."""
        bare = made(cls)
        bare._init(child, given, block)
        return fill(bare, table=Table._make(bare.scope, values))

    @property
    def values(self) -> Floats:
        """The probabilities, with axes `(*parents, child)`; read-only."""
        return self.table.values

    @property
    def num_parameters(self) -> int:
        """One less than the child's states, for each joint state of the parents."""
        return num_entries(self.parents) * (self.child.num_states - 1)

    __iter__ = None  # type: ignore[assignment, unused-ignore]  # its rows are read by states, not in turn

    def __getitem__(self, states: object) -> Floats:
        """The row at the parents' states (a tuple, or one bare state for one parent)."""
        place = row_place(self.parents, states, self.label)
        return np.asarray(self._matrix()[place])

    def __repr__(self) -> str:
        numbers = in_rows(self.table.flat[:FEW].tolist(), self.table.size, self.child.num_states)
        return with_numbers(self.label, numbers)

    def _matrix(self) -> Floats:
        return self.table.flat.reshape(-1, self.child.num_states)

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        return self._matrix(), joint_codes(rows, self.parents, num_rows, self)

    @often
    def factors(self) -> tuple[Factor, ...]:
        """The table itself."""
        return (self.table,)

    @property
    def is_tabled(self) -> bool:
        """Always."""
        return True

    @often
    def decomposition(self) -> Decomposition:
        """The table itself, whatever its size."""
        return Decomposition((self.table,))

    def to_table(self) -> TableCPD:
        """The CPD itself."""
        return self

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        r"""The parents outside `context` on which the child does not depend in that context.

        Exact: the rows are equal, entry by entry, across all states of such a parent.

        >>> a, b, x = Discrete("a"), Discrete("b"), Discrete("x")
        >>> cpd = TableCPD(x, [[[0.5, 0.5], [0.5, 0.5]], [[0.1, 0.9], [0.2, 0.8]]], given=(a, b))
        >>> cpd.irrelevant({"a": 0}), cpd.irrelevant({"a": 1})
        ((Discrete('b', (0, 1)),), ())
        """
        codes = self.fixed(context)
        part = self.table.condition({v: v.states[c] for v, c in codes.items()})
        return tuple(p for p in self.parents if p not in codes and _constant(part, p))

    @classmethod
    def from_form(cls, child: Discrete, fields: Fields, *, parents: tuple[Discrete, ...], block: str | None) -> Self:
        """The CPD described by a file."""
        rows = fields["rows"].array((num_entries(parents), child.num_states))
        return cls(child, rows.reshape(-1), given=parents, block=block, tolerance=ROUNDING)

    @property
    def parameters(self) -> TableRows:
        """The entries, with all operations that learning needs."""
        return TableRows(self)


_SET_CHILD, _SET_PARENTS, _SET_SCOPE, _SET_BLOCK, _SET_TABLE = setters(
    TableCPD, "child", "parents", "scope", "block", "table"
)


def is_table(cpd: object) -> bool:
    """Whether a CPD is one table over its scope, which is at hand."""
    return type(cpd) is TableCPD


@dataclass(frozen=True, eq=False, repr=False)
class TableRows(Rows[TableCPD]):
    r"""The rows of a table, one per joint state of the parents: $\theta_{x \mid \mathbf u}$."""

    @property
    def rows(self) -> Floats:
        """The entries, `[joint states of the parents, states of the child]`."""
        return self.cpd.table.flat.reshape(-1, self.cpd.child.num_states)

    @property
    def probabilities(self) -> Floats:
        """The entries, flat."""
        return self.cpd.table.flat

    @property
    def context_sizes(self) -> Floats:
        """Ones: each context is one joint state of the parents."""
        return np.ones(num_entries(self.cpd.parents))

    @property
    def is_table(self) -> bool:
        """True: the parameters are the entries of the table."""
        return True

    @property
    def engine_form(self) -> TableCPD:
        """The CPD itself."""
        return self.cpd

    def for_rows(self, columns: Columns) -> Self:
        """The entries themselves; too many of them raise an error."""
        return self if self.cpd.table.flat.size <= LARGEST else super().for_rows(columns)

    def tells(self, parent: Discrete) -> bool:
        """Whether the child's distribution differs between the states of a parent."""
        values = np.moveaxis(self.cpd.values, self.cpd.scope.index(parent), 0)
        return bool((values != values[:1]).any())

    def from_rows(self, rows: Floats) -> TableCPD:
        """The table with these rows."""
        return self.from_probabilities(rows.reshape(-1))

    def from_probabilities(self, probabilities: Floats) -> TableCPD:
        """The table with these entries, flat."""
        return changed(self.cpd, table=Table._make(self.cpd.scope, np.abs(probabilities)))

    def start(
        self, columns: Columns, weights: Floats | None, rng: np.random.Generator, prior: PriorTerm | None = None
    ) -> TableCPD:
        """The estimate from complete rows, with a random pseudo-count in every cell."""
        noise = rng.uniform(0.5, 1.5, self.cpd.table.flat.size)
        return self.from_probabilities(self.ratios(_complete_counts(columns, weights, self.cpd.scope) + noise))

    @property
    def engine_values(self) -> Sequence[Floats]:
        """The table."""
        return (self.cpd.table.values,)

    def expected(self, marginals: Sequence[Floats]) -> Floats:
        """The expected counts themselves."""
        return marginals[0].reshape(-1)

    def from_counts(self, table: Floats) -> Floats:
        """The counts themselves."""
        return table.reshape(-1)

    def varied_slopes(self, slopes: Sequence[Floats]) -> Floats:
        """The derivatives themselves."""
        return slopes[0].reshape(self.rows.shape)

    def varied_context(self, row: int) -> dict[str, Any]:
        """The parents' states."""
        codes = decode(np.array([row]), self.cpd.parents)
        return {p.name: p.states[int(codes[p][0])] for p in self.cpd.parents}

    def describe_context(self, context: int) -> str:
        """The parents' states."""
        return self.cpd.describe(context)

    @property
    def written(self) -> Floats:
        """The table."""
        return self.cpd.values

    def reordered(self, scope: Scope) -> TableCPD:
        """The table with axes and states in another order."""
        values = self.cpd.table.flat[Match.of(self.cpd.scope, scope).entries]
        own = discrete_scope(scope)
        return self.cpd._named(own, table=Table(own, values))

    def relabels(self, variable: AnyVariable) -> bool:
        """True: the states of the child and of every parent may be in any order."""
        return True

    def relabeled(self, variable: Discrete, order: Ints) -> TableCPD:
        """The table with the states of one axis in another order."""
        values = np.take(self.cpd.values, order, self.cpd.scope.index(variable))
        return self.from_rows(values.reshape(self.rows.shape))


def _complete_counts(columns: Columns, weights: Floats | None, scope: Sequence[Discrete]) -> Floats:
    """The count of each joint state, in C order, of the rows in which no variable of the scope is missing.

    Args:
        columns: codes within the states, -1 where missing.
    """
    num_rows = len(columns[scope[0]])
    place, size, whole = np.zeros(num_rows, np.int64), 1, np.ones(num_rows, np.bool_)
    for variable in scope:
        codes = columns[variable]
        place, size = place * variable.num_states + codes, size * variable.num_states
        whole &= codes >= 0
    return np.bincount(place[whole], None if weights is None else weights[whole], size).astype(np.float64, copy=False)


def _constant(table: Table, variable: Discrete) -> bool:
    """Whether the table does not depend on a variable of its scope."""
    rest = tuple(v for v in table.scope if v != variable)
    rows = table.align((variable, *rest)).flat.reshape(variable.num_states, -1)
    return bool((rows == rows[0]).all())
