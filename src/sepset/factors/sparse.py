r"""Tables that store only their support: deterministic functions, relations, constraints.

Rows of codes are kept in lexicographic order with the natural logarithms of their values, so nothing under- or
overflows, and no flat index is ever formed: a hundred variables with a thousand rows cost a thousand rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyInts, Floats, Ints
from sepset.base.checks import check_takes
from sepset.base.frames import without_labels
from sepset.base.frozen import fill, made
from sepset.base.logarithms import log_sum
from sepset.base.threads import spend
from sepset.errors import ModelError, NotClosed, StateError
from sepset.factors import information
from sepset.factors.algebra import (
    Assignment,
    Columns,
    arrange,
    check_size,
    discrete_scope,
    num_entries,
    split,
    union,
)
from sepset.factors.discrete import DiscreteFactor
from sepset.factors.labels import conditional
from sepset.factors.rows import CELL_NANOSECONDS, checked_codes, in_order, join, ranks, reduce_groups, starts
from sepset.factors.table import NUMBER, Table
from sepset.semiring import MAX, SUM, Semiring
from sepset.variables.variable import Discrete, State, VariableLike

Rule: TypeAlias = Callable[..., State] | Mapping[Any, State]
"""A child's state as a function of its parents' states, or as a mapping from them."""


class SparseTable(DiscreteFactor):
    r"""A factor $\phi(\mathbf x) \ge 0$ that is zero outside the rows it stores.

    Args:
        scope: the variables, one column of codes each.
        codes: the support, one row per joint state; rows must differ.
        values: one non-negative number per row; rows with value zero are dropped.

    Reference: Koller & Friedman 5.2.
    Guarantee: exact.
    Tested by: factors/test_sparse.py::test_laws_together_with_dense_tables

    >>> a, b = Discrete("a", 3), Discrete("b", 3)
    >>> equal = SparseTable((a, b), [[0, 0], [1, 1], [2, 2]], values=[1, 1, 2])
    >>> equal, equal.size, equal[{"a": 2, "b": 2}], equal[{"a": 0, "b": 1}]
    (SparseTable(a[3], b[3]), 3, 2.0, 0.0)
    """

    __slots__ = ("__weakref__", "codes", "logs", "scope")
    scope: tuple[Discrete, ...]
    codes: Ints
    logs: Floats

    def __init__(self, scope: Iterable[Discrete] | Discrete, codes: ArrayLike, *, values: ArrayLike) -> None:
        numbers = np.asarray(without_labels(values, "values"), dtype=np.float64)
        bad = ~(np.isfinite(numbers) & (numbers >= 0))
        if bad.any():
            raise ModelError(f"A table needs finite values >= 0; found {numbers[bad].flat[0]}.")
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(numbers))
        self._fill(discrete_scope(scope), codes, logs)

    @classmethod
    def from_log(cls, scope: Iterable[Discrete] | Discrete, codes: ArrayLike, *, logs: ArrayLike) -> Self:
        r"""The factor $\phi = e^{\ell}$ on these rows; $-\infty$ drops the row.

        >>> SparseTable.from_log(Discrete("a", 2), [[1]], logs=[-1e5]).log_total
        -100000.0
        """
        numbers = np.array(logs, dtype=np.float64)
        if np.isnan(numbers).any() or (numbers == np.inf).any():
            raise ModelError("Logarithms of a table are finite or -inf; found NaN or +inf.")
        table = made(cls)
        table._fill(discrete_scope(scope), codes, numbers)
        return table

    def _fill(self, scope: tuple[Discrete, ...], codes: ArrayLike, logs: Floats) -> None:
        """Check rows that came from outside, and store them in order without their zeros."""
        matrix = _checked(scope, codes, logs)
        cards = [v.num_states for v in scope]
        order = in_order(matrix, cards)
        matrix, logs = matrix[order], logs[order]
        again = np.flatnonzero(np.diff(ranks(matrix, cards)) == 0)
        if len(again):
            raise ModelError(
                f"The row {_states(scope, matrix[again[0]])} appears twice. Each joint state has one value."
            )
        fill(self, scope=scope, codes=matrix[logs > -np.inf], logs=logs[logs > -np.inf])

    @classmethod
    def _make(cls, scope: tuple[Discrete, ...], codes: Ints, logs: Floats) -> Self:
        """A table from distinct rows in order."""
        return made(cls, scope=scope, codes=codes, logs=logs)

    @classmethod
    def _sorted(cls, scope: tuple[Discrete, ...], codes: Ints, logs: Floats) -> Self:
        order = in_order(codes, [v.num_states for v in scope])
        return cls._make(scope, np.ascontiguousarray(codes[order]), logs[order])

    @classmethod
    def from_table(cls, table: Table) -> Self:
        """The support of a dense table.

        >>> SparseTable.from_table(Table.indicator(Discrete("a", 4), 2)).codes.tolist()
        [[2]]
        """
        logs = table.log_values.reshape(-1)
        support = np.flatnonzero(logs > -np.inf)
        columns, place = [], support
        for size in reversed(table.shape):
            place, code = np.divmod(place, size)
            columns.append(code)
        codes = np.stack(columns[::-1], axis=1) if columns else np.zeros((len(support), 0), np.int64)
        return cls._make(table.scope, codes, logs[support])

    @classmethod
    def deterministic(cls, child: Discrete, parents: Iterable[Discrete], *, rule: Rule) -> Self:
        r"""The factor $\phi(\mathbf u, x) = 1[x = f(\mathbf u)]$, over `(*parents, child)`.

        Args:
            child: the variable $X$.
            parents: the variables $\mathbf U$; all their joint states are visited.
            rule: called with one state per parent, or a mapping from tuples of states (from states, for one parent).

        >>> a, b, both = Discrete("a", (False, True)), Discrete("b", (False, True)), Discrete("both", (False, True))
        >>> SparseTable.deterministic(both, (a, b), rule=lambda x, y: x and y).codes.tolist()
        [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
        """
        given = tuple(parents)
        scope = discrete_scope((*given, child))
        check_size(given)
        if not isinstance(rule, Mapping):
            check_takes(rule, len(given), "parents")
        results = [child.code(_applied(rule, states)) for states in itertools.product(*(v.states for v in given))]
        codes = np.empty((len(results), len(scope)), np.int64)
        codes[:, :-1] = Table.ones(given).cells()[0]
        codes[:, -1] = results
        return cls._make(scope, codes, np.zeros(len(results)))

    def to_table(self) -> Table:
        """The dense table, its size checked first."""
        check_size(self.scope)
        logs = np.full(num_entries(self.scope), -np.inf)
        logs[ranks(self.codes, self.shape)] = self.logs
        return Table.from_log(self.scope, logs)

    @property
    def size(self) -> int:
        """The number of rows in the support."""
        return len(self.logs)

    @property
    def values(self) -> Floats:
        """The value of each stored row; entries outside float64 become 0 or inf."""
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(self.logs)

    @property
    def log_values(self) -> Floats:
        """The logarithm of each stored row's value."""
        return self.logs

    def cells(self, limit: int | None = None) -> tuple[Ints, Floats]:
        """The first `limit` rows of the support as codes `[m, arity]` and values `[m]`."""
        return self.codes[:limit], self.values[:limit]

    def log_at(self, codes: AnyInts) -> Floats:
        """The logarithm of the value at each row of codes; -inf outside the support."""
        asked = checked_codes(codes, self.shape).astype(np.int64, copy=False)
        i, j, _ = join(asked, self.codes, self.shape)
        logs = np.full(len(asked), -np.inf)
        logs[i] = self.logs[j]
        return logs

    def value(self, assignment: Assignment) -> float:
        """The value at an assignment of the whole scope; zero outside the support."""
        return math.exp(self.log_value(assignment))

    def _columns(self, variables: Iterable[Discrete]) -> list[int]:
        places = {v.name: axis for axis, v in enumerate(self.scope)}
        return [places[v.name] for v in variables]

    def _joined(self, other: SparseTable) -> tuple[Ints, Floats, Floats, Ints]:
        """Rows over both scopes where both are positive, both logarithms, and how many matches each of my rows has."""
        extra, shared = split(other.scope, self.scope)
        left, right = self.codes[:, self._columns(shared)], other.codes[:, other._columns(shared)]
        width = len(self.scope) + len(extra)
        i, j, counts = join(left, right, [v.num_states for v in shared], width=width)
        codes = np.concatenate([self.codes[i], other.codes[j][:, other._columns(extra)]], axis=1)
        return codes, self.logs[i], other.logs[j], counts

    def _covers(self, table: Table) -> bool:
        """Whether a dense table is over some of my variables, so that my rows can be looked up in it."""
        return len(split(table.scope, self.scope)[0]) == 0

    def _scaled(self, table: Table, power: float) -> SparseTable:
        """My values times those of a covered table to the power 1 or -1, without a join."""
        logs = table.log_at(self.codes[:, self._columns(table.scope)])
        if power < 0 and (logs == -np.inf).any():
            raise NotClosed(f"{self!r} / {table!r} divides a positive value by zero; only 0/0 is defined (as 0).")
        keep = logs > -np.inf
        return SparseTable._make(self.scope, self.codes[keep], self.logs[keep] + power * logs[keep])

    def __mul__(self, other: Any) -> SparseTable:
        """The product over the union of scopes, by a join on the shared variables; a number scales."""
        if isinstance(other, Table) and self._covers(other):
            return self._scaled(other, 1.0)
        right = _as_sparse(other)
        if right is None:
            return NotImplemented
        scope = union(self.scope, right.scope)
        codes, mine, theirs, _ = self._joined(right)
        return SparseTable._sorted(scope, codes, mine + theirs)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTable:
        """The quotient with $0/0 = 0$; a positive value over zero raises."""
        if isinstance(other, Table) and self._covers(other):
            return self._scaled(other, -1.0)
        below = _as_sparse(other)
        if below is None:
            return NotImplemented
        scope = union(self.scope, below.scope)
        codes, mine, theirs, counts = self._joined(below)
        if (counts != num_entries(scope[len(self.scope) :])).any():
            raise NotClosed(f"{self!r} / {below!r} divides a positive value by zero; only 0/0 is defined (as 0).")
        return SparseTable._sorted(scope, codes, mine - theirs)

    def __rtruediv__(self, other: Any) -> SparseTable:
        above = _as_sparse(other)
        return NotImplemented if above is None else above / self

    def __pow__(self, power: float) -> SparseTable:
        """Each value to a real power; $0^0 = 1$, and zero to a negative power raises."""
        if power == 0:
            return SparseTable.from_table(Table.ones(self.scope))
        if not math.isfinite(power):
            raise NotClosed(f"{self!r} ** {power}: the power must be finite.")
        if power < 0 and self.size < num_entries(self.scope):
            raise NotClosed(f"{self!r} ** {power:g} raises a zero to a negative power.")
        return SparseTable._make(self.scope, self.codes, self.logs * power)

    def align(self, scope: Iterable[VariableLike]) -> SparseTable:
        """The same factor with its columns in another order, which must name every variable of the scope."""
        order = arrange(self.scope, scope)
        if order == self.scope:
            return self
        return SparseTable._sorted(order, self.codes[:, self._columns(order)], self.logs)

    def _grouped(self, kept: tuple[Discrete, ...]) -> tuple[Ints, Floats, Ints]:
        """My rows in order of their `kept` columns, their logarithms, and where each group begins."""
        spend(CELL_NANOSECONDS * self.codes.size)
        columns = self.codes[:, self._columns(kept)]
        rank = ranks(columns, [v.num_states for v in kept])
        order = np.argsort(rank, kind="stable")
        return self.codes[order], self.logs[order], starts(rank[order])

    def marginalize(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> SparseTable:
        r"""The factor with `out` summed (or maximized) away, by grouping rows.

        $$\tau(\mathbf x) = \bigoplus_{\mathbf y} \phi(\mathbf x, \mathbf y)$$

        Absent rows are zeros, which no semiring's sum notices. Variables outside the scope are ignored.

        Cost: one sort of the support.
        Reference: Koller & Friedman, section 9.3.
        """
        kept, removed = split(self.scope, out)
        if not removed:
            return self
        codes, logs, begins = self._grouped(kept)
        reduced = reduce_groups(logs, begins, semiring)
        positive = reduced > -np.inf
        rows = codes[np.ix_(begins[positive], np.array(self._columns(kept), np.int64))]
        return SparseTable._make(kept, rows, reduced[positive])

    def maximize(self, out: Iterable[VariableLike]) -> tuple[SparseTable, Ints]:
        """The max-marginal, and for each of its rows the codes of `out` attaining it (lowest on ties)."""
        kept, removed = split(self.scope, out)
        conditional = SparseConditional(removed, kept, self)
        best = self.marginalize(removed, MAX)
        modes = conditional.mode({v: best.codes[:, axis] for axis, v in enumerate(kept)}, best.size)
        columns = [np.asarray(modes[v], dtype=np.int64) for v in removed]
        return best, np.stack(columns, axis=1) if columns else np.zeros((best.size, 0), np.int64)

    def eliminate(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> tuple[SparseConditional, SparseTable]:
        """The conditional of `out` given the rest, and the rest."""
        kept, removed = split(self.scope, out)
        return SparseConditional(removed, kept, self), self.marginalize(removed, semiring)

    def condition(self, assignment: Assignment) -> SparseTable:
        """The factor at these states; variables outside the scope are ignored."""
        codes = self._codes(assignment)
        if not codes:
            return self
        keep = np.ones(self.size, bool)
        for axis, variable in enumerate(self.scope):
            if variable.name in codes:
                keep &= self.codes[:, axis] == codes[variable.name]
        kept = tuple(v for v in self.scope if v.name not in codes)
        return SparseTable._make(kept, self.codes[keep][:, self._columns(kept)], self.logs[keep])

    @property
    def log_total(self) -> float:
        """The logarithm of the sum of all values."""
        return float(log_sum(self.logs, 0))

    def normalize(self, over: Iterable[VariableLike] | None = None) -> SparseTable:
        """The factor divided by its sum, or by its sums over `over` given the rest."""
        if over is not None:
            return (self / self.marginalize(over)).align(self.scope)
        if not self.size:
            raise NotClosed(f"{self!r} is zero everywhere and cannot be normalized. Check the evidence or the factors.")
        return SparseTable._make(self.scope, self.codes, self.logs - self.log_total)

    def kl(self, other: DiscreteFactor) -> float:
        r"""$KL(p \| q) = \sum p \log (p / q)$ of the normalized factors over one scope; inf where $q = 0 < p$."""
        q = other.normalize().align(self.scope)
        codes, values = q.cells()
        beyond = float(values[self.log_at(codes) == -np.inf].sum())
        return information.kl(*information.from_logs(self.normalize().logs, q.log_at(self.codes)), beyond)

    def __reduce__(self) -> tuple[object, ...]:
        return SparseTable._make, (self.scope, self.codes, self.logs)


def _as_sparse(other: object) -> SparseTable | None:
    if isinstance(other, SparseTable):
        return other
    if isinstance(other, NUMBER):
        other = Table((), [float(other)])
    return SparseTable.from_table(other) if isinstance(other, Table) else None


def _checked(scope: tuple[Discrete, ...], codes: ArrayLike, logs: Floats) -> Ints:
    """The codes as int64 rows that fit the scope and the values."""
    matrix = np.array(codes)
    if matrix.size == 0 and len(logs.shape) == 1 and not len(logs) * len(scope):
        matrix = matrix.reshape(len(logs), len(scope)).astype(np.int64)
    if matrix.dtype.kind not in "iu" or logs.ndim != 1 or matrix.shape != (len(logs), len(scope)):
        raise ModelError(
            f"A sparse table over {len(scope)} variables needs whole codes of shape (rows, {len(scope)}) and as many "
            f"values; found codes of shape {matrix.shape} ({matrix.dtype}) and values of shape {logs.shape}."
        )
    for axis, variable in enumerate(scope):
        bad = np.flatnonzero((matrix[:, axis] < 0) | (matrix[:, axis] >= variable.num_states))
        if len(bad):
            code = matrix[bad[0], axis]
            raise StateError(f"{variable.name} has codes 0 to {variable.num_states - 1}; row {bad[0]} has {code}.")
    return matrix.astype(np.int64)


def _states(scope: tuple[Discrete, ...], row: Ints) -> str:
    return "(" + ", ".join(f"{v.name}={v.states[c]!r}" for v, c in zip(scope, row.tolist(), strict=True)) + ")"


def _applied(rule: Rule, states: tuple[State, ...]) -> State:
    if not isinstance(rule, Mapping):
        return rule(*states)
    key = states[0] if len(states) == 1 and states not in rule else states
    if key not in rule:
        raise ModelError(f"The deterministic rule has no entry for {key!r}. It needs one for every joint state.")
    return rule[key]


class SparseConditional:
    r"""The conditional that eliminating variables from a sparse table produces: $\phi(\mathbf y \mid \mathbf x)$.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> conditional, rest = SparseTable((a, b), [[0, 1], [1, 0], [1, 1]], values=[1, 5, 2]).eliminate("b")
    >>> conditional, conditional.mode({a: np.array([0, 1])}, 2)[b].tolist()
    (Conditional(b[2] | a[2]), [1, 0])
    """

    __slots__ = ("frontal", "parents", "table")

    def __init__(self, frontal: tuple[Discrete, ...], parents: tuple[Discrete, ...], table: SparseTable) -> None:
        self.frontal, self.parents, self.table = frontal, parents, table

    def _groups(self, rows: Columns, num_rows: int) -> tuple[Ints, Floats, Ints, Ints]:
        """The support in groups of equal parents: codes, logarithms, where groups begin, and the group of each row."""
        codes, logs, begins = self.table.align(self.parents + self.frontal)._grouped(self.parents)
        asked = np.zeros((num_rows, len(self.parents)), np.int64)
        for axis, variable in enumerate(self.parents):
            asked[:, axis] = rows[variable]
        known = codes[begins][:, : len(self.parents)]
        i, group, _ = join(asked, known, [v.num_states for v in self.parents])
        if len(i) != num_rows:
            raise NotClosed(f"{self!r} has no positive value for some parent states; nothing can be drawn.")
        return codes[:, len(self.parents) :], logs, begins, group

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Columns:
        """A draw of the frontal variables for each row of parent codes."""
        codes, logs, begins, group = self._groups(rows, num_rows)
        lengths = np.diff(np.append(begins, len(logs)))
        totals = reduce_groups(logs, begins, SUM)
        probabilities = np.exp(logs - np.repeat(totals, lengths))
        # Each group adds one to the running sum, up to rounding; exact ends keep draws inside their group.
        running = np.cumsum(probabilities)
        below = np.concatenate([[0.0], running])[begins]
        mass = np.append(below[1:], running[-1:]) - below
        place = np.searchsorted(running, below[group] + rng.random(num_rows) * mass[group], side="right")
        place = np.clip(place, begins[group], begins[group] + lengths[group] - 1)
        return {v: codes[place, axis] for axis, v in enumerate(self.frontal)}

    def mode(self, rows: Columns, num_rows: int) -> Columns:
        """The most probable frontal codes for each row of parent codes; the lowest on ties."""
        codes, logs, begins, group = self._groups(rows, num_rows)
        lengths = np.diff(np.append(begins, len(logs)))
        best = logs == np.repeat(reduce_groups(logs, begins, MAX), lengths)
        candidates = np.flatnonzero(best)
        first = candidates[np.searchsorted(candidates, begins)] if len(begins) else begins
        return {v: codes[first[group], axis] for axis, v in enumerate(self.frontal)}

    def __repr__(self) -> str:
        return conditional(self.frontal, self.parents)
