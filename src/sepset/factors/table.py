r"""Dense tables over discrete variables that never under- or overflow.

A table stores flat values in C order (last variable fastest) with an integer base-2 `exponent`, so that rescaling is
exact; a table whose smallest positive value over its largest would leave the range of float64 stores logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyInts, Floats, Ints
from sepset.base.checks import generator
from sepset.base.foreign import often
from sepset.base.frames import without_labels
from sepset.base.frozen import fill, setters, unfrozen
from sepset.base.logarithms import LN2, log_sum
from sepset.base.text import brief, joined
from sepset.errors import ModelError, NotClosed
from sepset.factors import information
from sepset.factors.algebra import Assignment, Columns, arrange, check_size, discrete_scope, num_entries, split, union
from sepset.factors.bits import RANGE_BITS, Bits, is_safe, linear_ends, log_ends, sum_bits, widened
from sepset.factors.discrete import DiscreteFactor
from sepset.factors.framerows import cells_in_order
from sepset.factors.labels import FEW, conditional, in_rows, short, with_numbers
from sepset.factors.rows import checked_codes
from sepset.semiring import MAX, SUM, Semiring
from sepset.variables.variable import Discrete, State, VariableLike

Space: TypeAlias = Literal["linear", "log"]

MAX_AXES = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
"""The most axes a NumPy array may have; tables with more keep their values flat."""

NUMBER = (int, float, np.floating, np.integer)


class Table(DiscreteFactor):
    r"""A factor $\phi(\mathbf x) \ge 0$ over discrete variables.

    Args:
        scope: the variables, one axis each.
        values: non-negative numbers, of the scope's shape or flat in C order.

    Reference: Koller & Friedman 4.2.1, 9.3.
    Guarantee: exact rescaling; log space when needed.
    Tested by: factors/test_table.py::test_any_chain_of_operations_equals_exact_rational_arithmetic

    >>> a, b = Discrete("a", 2), Discrete("b", ("x", "y"))
    >>> t = Table((a, b), [[1, 2], [3, 4]])
    >>> t, t[{"a": 1, "b": "y"}], t.marginalize("a").values
    (Table(a[2], b[2]; 1 2, 3 4), 4.0, array([4., 6.]))
    """

    __slots__ = ("__weakref__", "_bits", "_bounds", "exponent", "flat", "scope", "space")
    scope: tuple[Discrete, ...]
    flat: Floats
    exponent: int
    space: Space
    _bits: Bits | None
    _bounds: Bits | None

    def __init__(self, scope: Iterable[Discrete] | Discrete, values: ArrayLike) -> None:
        variables = discrete_scope(scope)
        flat = _flatten(variables, values, "values")
        if not np.isfinite(flat).all() or (flat < 0).any():
            raise ModelError(f"A table needs finite values >= 0; {_first_bad(variables, flat)}.")
        # Minus zero would turn into +inf under division.
        self._set(variables, np.abs(flat), 0, "linear", None)

    def _set(self, scope: tuple[Discrete, ...], flat: Floats, exponent: int, space: Space, bounds: Bits | None) -> None:
        flat.setflags(write=False)
        _SET_SCOPE(self, scope)
        _SET_FLAT(self, flat)
        _SET_EXPONENT(self, exponent)
        _SET_SPACE(self, space)
        _SET_BITS(self, None)
        _SET_BOUNDS(self, bounds)

    @classmethod
    def _make(
        cls,
        scope: tuple[Discrete, ...],
        flat: Floats,
        exponent: int = 0,
        space: Space = "linear",
        bounds: Bits | None = None,
    ) -> Table:
        """A table from parts that are known to fit; `bounds` may be any bits that enclose its own."""
        table = cls.__new__(cls)
        table._set(scope, flat, exponent, space, bounds)
        return table

    @staticmethod
    def _reader(
        scopes: Sequence[tuple[Discrete, ...]], flat: Floats, places: Mapping[int, slice] | Sequence[slice]
    ) -> Callable[[int], Table]:
        """From a position to the linear table of its place in plain numbers that are read-only already."""

        def read(position: int) -> Table:
            table: Table = _UNFROZEN()
            table.scope = scopes[position]
            table.flat = flat[places[position]]
            table.exponent = 0
            table.space = "linear"
            table._bits = table._bounds = None
            table.__class__ = Table
            return table

        return read

    @classmethod
    def from_log(cls, scope: Iterable[Discrete] | Discrete, logs: ArrayLike) -> Table:
        r"""The table $\phi = e^{\ell}$; $-\infty$ is an exact zero.

        >>> Table.from_log(Discrete("a", 2), [0.0, -1e5]).log_value({"a": 1})
        -100000.0
        """
        variables = discrete_scope(scope)
        flat = _flatten(variables, logs, "logarithms")
        if np.isnan(flat).any() or (flat == np.inf).any():
            raise ModelError("Logarithms of a table are finite or -inf; found NaN or +inf.")
        return cls._settled(variables, flat)

    @classmethod
    def from_energy(cls, scope: Iterable[Discrete] | Discrete, energies: ArrayLike) -> Table:
        r"""The table $\phi = e^{-\epsilon}$; an energy of $+\infty$ is an exact zero.

        >>> Table.from_energy(Discrete("a", 2), [0.0, float("inf")]).values
        array([1., 0.])
        """
        return cls.from_log(scope, -np.asarray(energies, dtype=np.float64))

    @classmethod
    def ones(cls, scope: Iterable[Discrete] | Discrete = ()) -> Table:
        """The neutral table over `scope`."""
        variables = discrete_scope(scope)
        check_size(variables)
        return cls._make(variables, np.ones(num_entries(variables)), bounds=(0.0, 0.0))

    @classmethod
    def indicator(cls, variable: Discrete, state: State) -> Table:
        """The point mass on one state."""
        flat = np.zeros(variable.num_states)
        flat[variable.code(state)] = 1.0
        return cls._make((variable,), flat, bounds=(0.0, 0.0))

    @classmethod
    def random(
        cls, scope: Iterable[Discrete] | Discrete, seed: int | np.random.Generator = 0, *, zeros: float = 0.0
    ) -> Table:
        """A table of exponential values, a fraction `zeros` of them exactly zero."""
        rng = generator(seed)
        variables = discrete_scope(scope)
        check_size(variables)
        flat = rng.exponential(size=num_entries(variables))
        flat[rng.random(flat.size) < zeros] = 0.0
        return cls._make(variables, flat)

    @classmethod
    def _settled(cls, scope: tuple[Discrete, ...], logs: Floats) -> Table:
        """The table with these logarithms, linear where its range allows."""
        ends = log_ends(logs)
        if ends is None:
            return cls._make(scope, np.zeros(logs.size), bounds=(0.0, 0.0))
        low, high = ends
        if high - low > RANGE_BITS:
            return cls._make(scope, logs, 0, "log", ends)
        exponent = 0 if low > -RANGE_BITS / 2 and high < RANGE_BITS / 2 else round(high)
        flat = logs - exponent * LN2
        np.exp(flat, out=flat)
        return cls._make(scope, flat, exponent, bounds=widened(ends))

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.flat.size

    @property
    def values(self) -> Floats:
        """The values, shaped like the scope (flat beyond NumPy's axes); entries outside float64 become 0 or inf."""
        flat, exponent, is_log = self.flat, self.exponent, self.space == "log"
        if not (exponent or is_log) and len(self.scope) == 1:
            return flat
        if exponent or is_log:
            with np.errstate(over="ignore", under="ignore"):
                flat = np.exp(flat) if is_log else np.ldexp(flat, exponent)
        return flat.reshape([v.num_states for v in self.scope]) if len(self.scope) <= MAX_AXES else flat

    @property
    def in_range(self) -> Floats | Table:
        """The values, or the table itself where some of them may be outside float64."""
        return self if self.exponent or self.space == "log" else self.values

    @property
    def log_values(self) -> Floats:
        """The logarithms of the values, shaped like the scope; zeros are -inf."""
        logs = self._logs()
        return logs.reshape(self.shape) if len(self.scope) <= MAX_AXES else logs

    def _logs(self) -> Floats:
        if self.space == "log":
            return self.flat
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.flat) + self.exponent * LN2)

    def cells(self, limit: int | None = None) -> tuple[Ints, Floats]:
        """The first `limit` entries in C order, zeros too, as codes `[m, arity]` and values `[m]`."""
        num = self.size if limit is None else min(limit, self.size)
        place, columns = np.arange(num), []
        for size in reversed(self.shape):
            place, code = np.divmod(place, size)
            columns.append(code)
        codes = np.stack(columns[::-1], axis=1) if columns else np.zeros((num, 0), np.int64)
        return codes, self._first(num)

    def _first(self, num: int) -> Floats:
        """The first values in C order."""
        with np.errstate(over="ignore"):
            return np.exp(self.flat[:num]) if self.space == "log" else np.ldexp(self.flat[:num], self.exponent)

    def __repr__(self) -> str:
        width = self.shape[-1] if self.shape else 1
        return with_numbers(short(self), in_rows(self._first(FEW).tolist(), self.size, width))

    def log_at(self, codes: AnyInts) -> Floats:
        """The logarithm of the value at each row of codes, one column per variable of the scope."""
        picked = self.flat[_places(checked_codes(codes, self.shape), self.shape)]
        if self.space == "log":
            return picked
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(picked) + self.exponent * LN2)

    def _entry(self, assignment: Assignment) -> float:
        """The stored number at an assignment of the whole scope."""
        place = 0
        for variable, code in zip(self.scope, self._point(assignment), strict=True):
            place = place * variable.num_states + code
        return float(self.flat[place])

    def log_value(self, assignment: Assignment) -> float:
        """The logarithm of the value at an assignment of the whole scope; -inf for a zero."""
        entry = self._entry(assignment)
        if self.space == "log":
            return entry
        return math.log(entry) + self.exponent * LN2 if entry else -math.inf

    def value(self, assignment: Assignment) -> float:
        """The value at an assignment of the whole scope; 0 or inf outside float64."""
        entry = self._entry(assignment)
        with np.errstate(over="ignore", under="ignore"):
            return float(np.exp(entry) if self.space == "log" else np.ldexp(entry, self.exponent))

    @often
    def bits(self) -> tuple[float, float]:
        """The base-2 logarithms of the smallest positive and the largest value; (0, 0) for a zero table."""
        if self._bits is None:
            ends = log_ends(self.flat) if self.space == "log" else linear_ends(self.flat, self.exponent)
            fill(self, _bits=ends or (0.0, 0.0), _bounds=ends or (0.0, 0.0))
        return self._bits  # type: ignore[return-value]  # set just above

    def _enclosing(self) -> Bits:
        """Bits that enclose every positive value: inherited through operations, measured only when unknown."""
        return self._bounds or self.bits()

    def _is_wide(self) -> bool:
        """Whether the values span more than a linear table may."""
        low, high = self._enclosing()
        if high - low > RANGE_BITS:
            low, high = self.bits()
        return high - low > RANGE_BITS

    def _aligned(self, scope: tuple[Discrete, ...], logs: bool = False) -> Floats:
        """The entries with one axis per variable of `scope` with several states, size one where absent.

        Variables with one state have no axis, so a scope may be longer than NumPy allows.
        """
        flat = self._logs() if logs else self.flat
        sizes = {v.name: v.num_states for v in self.scope if v.num_states > 1}
        places = {name: axis for axis, name in enumerate(sizes)}
        order = [places[v.name] for v in scope if v.name in places]
        shape = [sizes.get(v.name, 1) for v in scope if v.num_states > 1]
        return flat.reshape(list(sizes.values())).transpose(order).reshape(shape)

    def _rows(self, kept: tuple[Discrete, ...], removed: tuple[Discrete, ...], logs: bool = False) -> Floats:
        """The entries as a matrix: one row a joint state of `kept`, one column a joint state of `removed`."""
        return self._aligned(kept + removed, logs).reshape(num_entries(kept), num_entries(removed))

    def _slabs(self, kept: tuple[Discrete, ...], removed: tuple[Discrete, ...], logs: bool = False) -> Floats:
        """The entries as `[before, removed, after]` without a copy where `removed` are adjacent, or as rows."""
        start = self.scope.index(removed[0])
        if self.scope[start : start + len(removed)] != removed:
            return self._rows(kept, removed, logs)
        flat = self._logs() if logs else self.flat
        return flat.reshape(num_entries(self.scope[:start]), num_entries(removed), -1)

    def _rescaled(self) -> Table:
        """The same linear table stored with its largest entry near one."""
        shift = round(self.bits()[1]) - self.exponent
        if shift == 0:
            return self
        return Table._make(self.scope, np.ldexp(self.flat, -shift), self.exponent + shift, bounds=self._bounds)

    def __mul__(self, other: Any) -> Table:
        """The product over the union of scopes; a number scales."""
        if isinstance(other, NUMBER):
            other = Table((), [float(other)])
        if not isinstance(other, Table):
            return NotImplemented
        scope = union(self.scope, other.scope)
        check_size(scope)
        bounds = _add_bits(self, other)
        if bounds is None:
            logs = self._aligned(scope, True) + other._aligned(scope, True)
            return Table._settled(scope, logs.reshape(-1))
        left, right = self, other
        if not is_safe(bounds, self.exponent + other.exponent):
            left, right = self._rescaled(), other._rescaled()
        product = np.multiply(left._aligned(scope), right._aligned(scope)).reshape(-1)
        return Table._make(scope, product, left.exponent + right.exponent, bounds=bounds)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Table:
        """The quotient with $0/0 = 0$; a positive value over zero raises."""
        if isinstance(other, NUMBER):
            other = Table((), [float(other)])
        if not isinstance(other, Table):
            return NotImplemented
        scope = union(self.scope, other.scope)
        check_size(scope)
        bounds = _add_bits(self, other, -1)
        if bounds is None:
            flat = self._divided(other, scope, True)
            return Table._settled(scope, flat)
        left, right = self, other
        if not is_safe(bounds, self.exponent - other.exponent):
            left, right = self._rescaled(), other._rescaled()
        flat = left._divided(right, scope, False)
        return Table._make(scope, flat, left.exponent - right.exponent, bounds=bounds)

    def _divided(self, other: Table, scope: tuple[Discrete, ...], logs: bool) -> Floats:
        """Flat quotients (or differences of logarithms) over `scope`, zero where both are zero."""
        zero, divide = (-np.inf, np.subtract) if logs else (0.0, np.divide)
        above, below = self._aligned(scope, logs), other._aligned(scope, logs)
        positive = below > zero
        if positive.all():
            return np.asarray(divide(above, below)).reshape(-1)
        if ((above > zero) & ~positive).any():
            raise NotClosed(f"{self!r} / {other!r} divides a positive value by zero; only 0/0 is defined (as 0).")
        empty = np.full(np.broadcast_shapes(above.shape, below.shape), zero)
        return np.asarray(divide(above, below, out=empty, where=positive)).reshape(-1)

    def __pow__(self, power: float) -> Table:
        """Each value to a real power; $0^0 = 1$, and zero to a negative power raises."""
        if power == 0:
            return Table.ones(self.scope)
        if power == 1:
            return self
        if not math.isfinite(power):
            raise NotClosed(f"{self!r} ** {power}: the power must be finite.")
        if power < 0 and (self.flat == (-np.inf if self.space == "log" else 0.0)).any():
            raise NotClosed(f"{self!r} ** {power:g} raises a zero to a negative power.")
        low, high = sorted(power * end for end in self._enclosing())
        if self.space == "linear" and self.exponent == 0 and is_safe((low, high), 0) and high - low <= RANGE_BITS:
            return Table._make(self.scope, self.flat**power, bounds=widened((low, high)))
        return Table._settled(self.scope, self._logs() * power)

    def align(self, scope: Iterable[VariableLike]) -> Table:
        """The same table with its axes in another order, which must name every variable of the scope."""
        order = arrange(self.scope, scope)
        if order == self.scope:
            return self
        flat = np.ascontiguousarray(self._aligned(order)).reshape(-1)
        return Table._make(order, flat, self.exponent, self.space, self._bounds)

    def marginalize(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> Table:
        r"""The factor with `out` summed (or maximized) away.

        $$\tau(\mathbf x) = \bigoplus_{\mathbf y} \phi(\mathbf x, \mathbf y)$$

        Variables outside the scope are ignored: the empty sum is over one point.

        Args:
            out: the variables $\mathbf Y$ to remove.
            semiring: supplies $\bigoplus$; `SUM` for marginals, `MAX` for max-marginals.

        Cost: one pass over the table.
        Reference: Koller & Friedman, section 9.3.
        Guarantee: exact.
        Tested by: factors/test_table.py::test_marginals_are_the_oracles
        """
        kept, removed = split(self.scope, out)
        if not removed:
            return self
        low, high = self._enclosing()
        high += num_entries(removed).bit_length()
        if self.space == "linear" and (semiring is MAX or (semiring is SUM and is_safe((low, high), self.exponent))):
            reduced = semiring.reduce(self._slabs(kept, removed), 1).reshape(-1)
            return Table._make(kept, reduced, self.exponent, bounds=(low, high))
        if self.space == "log" or not semiring.scales or self._is_wide():
            return Table._settled(kept, semiring.log_reduce(self._slabs(kept, removed, True), 1).reshape(-1))
        scaled = self._rescaled()
        return Table._make(kept, semiring.reduce(scaled._slabs(kept, removed), 1).reshape(-1), scaled.exponent)

    def maximize(self, out: Iterable[VariableLike]) -> tuple[Table, Ints]:
        """The max-marginal, and for each of its entries the flat joint code of `out` attaining it (lowest on ties)."""
        kept, removed = split(self.scope, out)
        return self.marginalize(removed, MAX), self._rows(kept, removed).argmax(axis=1)

    def eliminate(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> tuple[TableConditional, Table]:
        """The conditional of `out` given the rest, and the rest."""
        kept, removed = split(self.scope, out)
        return TableConditional(removed, kept, self), self.marginalize(removed, semiring)

    def condition(self, assignment: Assignment) -> Table:
        """The table at these states; variables outside the scope are ignored."""
        codes = self._codes(assignment)
        if not codes:
            return self
        kept = tuple(v for v in self.scope if v.name not in codes)
        wide = [v for v in self.scope if v.num_states > 1]
        array = self.flat.reshape([v.num_states for v in wide])
        part = array[tuple([codes.get(v.name, slice(None)) for v in wide])]
        return Table._make(kept, np.array(part).reshape(-1), self.exponent, self.space, self._bounds)

    @property
    def log_total(self) -> float:
        """The logarithm of the sum of all values."""
        if self.space == "log" or not is_safe(self._enclosing(), self.exponent):
            return float(log_sum(self._logs(), 0))
        total = float(self.flat.sum())
        return math.log(total) + self.exponent * LN2 if total > 0 else -math.inf

    def normalize(self, over: Iterable[VariableLike] | None = None) -> Table:
        """The table divided by its sum, or by its sums over `over` given the rest (all-zero rows stay zero)."""
        if over is not None:
            return (self / self.marginalize(over)).align(self.scope)
        log_total = self.log_total
        if log_total == -math.inf:
            raise NotClosed(f"{self!r} is zero everywhere and cannot be normalized. Check the evidence or the factors.")
        if self.space == "log" or self._is_wide():
            return Table._settled(self.scope, self._logs() - log_total)
        table = self if is_safe(self._enclosing(), self.exponent) else self._rescaled()
        low, high = table._enclosing()
        bounds = (low - high - self.size.bit_length(), 1.0)
        return Table._make(self.scope, table.flat / table.flat.sum(), bounds=bounds)

    def kl(self, other: DiscreteFactor) -> float:
        r"""$KL(p \| q) = \sum p \log (p / q)$ of the normalized tables over one scope; inf where $q = 0 < p$.

        Reference: Koller & Friedman A.1.3.
        Guarantee: exact.
        Tested by: factors/test_information.py::test_kl_is_the_oracles
        """
        p, q = self.normalize(), other.normalize().align(self.scope)
        log_q = q._logs() if isinstance(q, Table) else q.log_at(p.cells()[0])
        if p.space == "log" or not isinstance(q, Table) or q.space == "log":
            return information.kl(*information.from_logs(p._logs(), log_q))
        return information.kl(p._probabilities(), q._probabilities())

    def __reduce__(self) -> tuple[object, ...]:
        return Table._make, (self.scope, self.flat, self.exponent, self.space)


_UNFROZEN = unfrozen(Table)
_SET_SCOPE, _SET_FLAT, _SET_EXPONENT, _SET_SPACE, _SET_BITS, _SET_BOUNDS = setters(
    Table, "scope", "flat", "exponent", "space", "_bits", "_bounds"
)


def _add_bits(left: Table, right: Table, sign: int = 1) -> Bits | None:
    """Bits that enclose the product (or quotient, with `sign=-1`); None where it needs logarithms."""
    if left.space == "log" or right.space == "log":
        return None
    bounds = sum_bits(left._enclosing(), right._enclosing(), sign)
    if bounds[1] - bounds[0] > RANGE_BITS:
        bounds = sum_bits(left.bits(), right.bits(), sign)
    return bounds if bounds[1] - bounds[0] <= RANGE_BITS else None


def _places(codes: AnyInts, shape: tuple[int, ...]) -> Ints:
    """The flat C-order position of each row of codes."""
    place = np.zeros(len(codes), np.int64)
    for axis, size in enumerate(shape):
        place *= size
        place += codes[:, axis]
    return place


def _flatten(scope: tuple[Discrete, ...], values: ArrayLike, what: str) -> Floats:
    check_size(scope)
    numbers = without_labels(cells_in_order(scope, values, what), what)
    try:
        array = np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"The {what} of a table are real numbers; found {brief(values)}.") from error
    shape = tuple(v.num_states for v in scope)
    if array.shape != shape and array.shape != (num_entries(scope),):
        names = joined(f"{v.name}[{v.num_states}]" for v in scope)
        wanted = f"({joined(map(str, shape))})" if len(shape) > 8 else shape
        raise ModelError(f"{what.capitalize()} of shape {array.shape} do not fit ({names}); expected {wanted}.")
    return np.ascontiguousarray(array).reshape(-1)


def _first_bad(scope: tuple[Discrete, ...], flat: Floats) -> str:
    place = int(np.flatnonzero(~(np.isfinite(flat) & (flat >= 0)))[0])
    value, states = float(flat[place]), []
    for variable in reversed(scope):
        place, code = divmod(place, variable.num_states)
        states.append(f"{variable.name}={variable.states[code]!r}")
    return f"found {value} at ({joined(reversed(states))})"


class TableConditional:
    r"""The conditional that eliminating variables from a table produces: $\phi(\mathbf y \mid \mathbf x)$.

    Args:
        frontal: the eliminated variables $\mathbf Y$.
        parents: the others, $\mathbf X$.
        table: the factor before elimination, unnormalized.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> conditional, rest = Table((a, b), [[1, 3], [5, 2]]).eliminate("b")
    >>> conditional, conditional.mode({a: np.array([0, 1])}, 2)[b].tolist()
    (Conditional(b[2] | a[2]), [1, 0])
    """

    __slots__ = ("frontal", "parents", "table")

    def __init__(self, frontal: tuple[Discrete, ...], parents: tuple[Discrete, ...], table: Table) -> None:
        self.frontal, self.parents, self.table = frontal, parents, table

    def _rows(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        """The distinct parent rows as the table stores them, and which of them each row has."""
        place = np.zeros(num_rows, np.int64)
        for variable in self.parents:
            place = place * variable.num_states + rows[variable]
        used, which = np.unique(place, return_inverse=True)
        return self.table._rows(self.parents, self.frontal)[used], which

    def _weights(self, matrix: Floats) -> Floats:
        """Each stored row as linear weights whose largest is one."""
        top = matrix.max(axis=1, keepdims=True)
        zero = -np.inf if self.table.space == "log" else 0.0
        if (top == zero).any():
            raise NotClosed(f"{self!r} has no positive value for some parent states; nothing can be drawn.")
        return np.asarray(np.exp(matrix - top) if self.table.space == "log" else matrix / top)

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Columns:
        """A draw of the frontal variables for each row of parent codes."""
        if not num_rows:
            return self._decode(np.zeros(0, np.int64))
        matrix, which = self._rows(rows, num_rows)
        weights = self._weights(matrix)
        cumulative = np.cumsum(weights, axis=1)
        cumulative /= cumulative[:, -1:]
        # Row i of the cumulative table lies in [i, i + 1], so one sorted search serves every row.
        cumulative += np.arange(len(weights))[:, None]
        flat = np.searchsorted(cumulative.reshape(-1), rng.random(num_rows) + which, side="right")
        joint = np.clip(flat - which * weights.shape[1], 0, weights.shape[1] - 1)
        return self._decode(_skip_zeros(joint, weights, which))

    def mode(self, rows: Columns, num_rows: int) -> Columns:
        """The most probable frontal codes for each row of parent codes; the lowest on ties."""
        if not num_rows:
            return self._decode(np.zeros(0, np.int64))
        matrix, which = self._rows(rows, num_rows)
        return self._decode(matrix.argmax(axis=1)[which])

    def _decode(self, joint: Ints) -> Columns:
        columns: Columns = {}
        for variable in reversed(self.frontal):
            joint, columns[variable] = np.divmod(joint, variable.num_states)
        return columns

    def __repr__(self) -> str:
        return conditional(self.frontal, self.parents)


def _skip_zeros(joint: Ints, weights: Floats, which: Ints) -> Ints:
    """Move the rare draw that rounding put on a zero cell to the nearest positive one before it."""
    bad = np.flatnonzero(weights[which, joint] == 0.0)
    for i in bad:
        positive = np.flatnonzero(weights[which[i]])
        joint[i] = positive[max(int(np.searchsorted(positive, joint[i])) - 1, 0)]
    return joint
