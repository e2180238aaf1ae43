r"""Dense tables over discrete variables that never under- or overflow.

A table stores flat values in C order (last variable fastest) with an integer base-2 `exponent`, so that rescaling is
exact; a table whose smallest positive value over its largest would leave the range of float64 stores logarithms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepset.errors import ModelError, NotClosed, ScopeError, StateError, listing
from sepset.factors import information, presentation
from sepset.factors.algebra import (
    Assignment,
    Scope,
    axis_of,
    check_scope,
    check_size,
    find,
    num_entries,
    split,
    union,
)
from sepset.factors.conditional import TableConditional
from sepset.semiring import MAX, SUM, Semiring, log_sum
from sepset.variables import Discrete, State, VariableLike

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Array = NDArray[np.float64]
Space = Literal["linear", "log"]

RANGE_BITS = 960.0
"""The widest ratio, in bits, of largest to smallest positive value that a linear table may reach."""

LN2 = float(np.log(2.0))


class Table:
    r"""A factor $\phi(\mathbf x) \ge 0$ over discrete variables.

    Args:
        scope: the variables, one axis each.
        values: non-negative numbers, of the scope's shape or flat in C order.

    >>> a, b = Discrete("a", 2), Discrete("b", ("x", "y"))
    >>> t = Table((a, b), [[1, 2], [3, 4]])
    >>> t, t[{"a": 1, "b": "y"}], t.marginalize("a").values
    (Table(a[2], b[2]), 4.0, array([4., 6.]))
    """

    __slots__ = ("__weakref__", "_bits", "exponent", "flat", "scope", "space")
    scope: tuple[Discrete, ...]
    flat: Array
    exponent: int
    space: Space
    _bits: tuple[float, float] | None

    def __init__(self, scope: Iterable[Discrete] | Discrete, values: ArrayLike) -> None:
        variables = _discrete_scope(scope)
        flat = _flatten(variables, values, "values")
        if not np.isfinite(flat).all() or (flat < 0).any():
            raise ModelError(f"A table needs finite values >= 0; {_first_bad(variables, flat)}.")
        self._set(variables, flat, 0, "linear")

    def _set(self, scope: tuple[Discrete, ...], flat: Array, exponent: int, space: Space) -> None:
        flat.setflags(write=False)
        self.scope, self.flat, self.exponent, self.space, self._bits = scope, flat, exponent, space, None

    @classmethod
    def _make(cls, scope: tuple[Discrete, ...], flat: Array, exponent: int = 0, space: Space = "linear") -> Table:
        table = cls.__new__(cls)
        table._set(scope, flat, exponent, space)
        return table

    @classmethod
    def from_log(cls, scope: Iterable[Discrete] | Discrete, logs: ArrayLike) -> Table:
        r"""The table $\phi = e^{\ell}$; $-\infty$ is an exact zero.

        >>> Table.from_log(Discrete("a", 2), [0.0, -1e5]).log_value({"a": 1})
        -100000.0
        """
        variables = _discrete_scope(scope)
        flat = _flatten(variables, logs, "logarithms")
        if np.isnan(flat).any() or (flat == np.inf).any():
            raise ModelError("Logarithms of a table are finite or -inf; found NaN or +inf.")
        return cls._settled(variables, flat)

    @classmethod
    def from_energy(cls, scope: Iterable[Discrete] | Discrete, energies: ArrayLike) -> Table:
        r"""The table $\phi = e^{-\epsilon}$; an energy of $+\infty$ is an exact zero."""
        return cls.from_log(scope, -np.asarray(energies, dtype=np.float64))

    @classmethod
    def ones(cls, scope: Iterable[Discrete] | Discrete = ()) -> Table:
        """The neutral table over `scope`."""
        variables = _discrete_scope(scope)
        check_size(variables)
        return cls._make(variables, np.ones(num_entries(variables)))

    @classmethod
    def indicator(cls, variable: Discrete, state: State) -> Table:
        """The point mass on one state."""
        flat = np.zeros(variable.num_states)
        flat[variable.code(state)] = 1.0
        return cls._make((variable,), flat)

    @classmethod
    def random(
        cls, scope: Iterable[Discrete] | Discrete, seed: int | np.random.Generator = 0, *, zeros: float = 0.0
    ) -> Table:
        """A table of exponential values, a fraction `zeros` of them exactly zero."""
        rng = np.random.default_rng(seed)
        variables = _discrete_scope(scope)
        check_size(variables)
        flat = rng.exponential(size=num_entries(variables))
        flat[rng.random(flat.size) < zeros] = 0.0
        return cls._make(variables, flat)

    @classmethod
    def _settled(cls, scope: tuple[Discrete, ...], logs: Array) -> Table:
        """The table with these logarithms, linear where its range allows."""
        finite = logs[logs > -np.inf]
        if not finite.size:
            return cls._make(scope, np.zeros(logs.size))
        low, high = float(finite.min()) / LN2, float(finite.max()) / LN2
        if high - low > RANGE_BITS:
            table = cls._make(scope, logs, 0, "log")
            table._bits = (low, high)
            return table
        exponent = 0 if low > -RANGE_BITS / 2 and high < RANGE_BITS / 2 else round(high)
        return cls._make(scope, np.exp(logs - exponent * LN2), exponent)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of states along each axis."""
        return tuple(v.num_states for v in self.scope)

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.flat.size

    @property
    def values(self) -> Array:
        """The values, shaped like the scope (flat beyond NumPy's 64 axes); entries outside float64 become 0 or inf."""
        if self.space == "log":
            flat = np.exp(self.flat)
        else:
            flat = np.ldexp(self.flat, self.exponent) if self.exponent else self.flat
        return flat.reshape(self.shape) if len(self.scope) <= 64 else flat

    @property
    def log_values(self) -> Array:
        """The logarithms of the values, shaped like the scope; zeros are -inf."""
        logs = self._logs()
        return logs.reshape(self.shape) if len(self.scope) <= 64 else logs

    def _logs(self) -> Array:
        if self.space == "log":
            return self.flat
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.flat) + self.exponent * LN2)

    def bits(self) -> tuple[float, float]:
        """The base-2 logarithms of the smallest positive and the largest value; (0, 0) for a zero table."""
        if self._bits is None:
            logs = self.flat / LN2 if self.space == "log" else None
            if logs is None:
                positive = self.flat[self.flat > 0]
                ends = np.log2([positive.min(), positive.max()]) + self.exponent if positive.size else np.zeros(2)
            else:
                finite = logs[logs > -np.inf]
                ends = np.array([finite.min(), finite.max()]) if finite.size else np.zeros(2)
            self._bits = (float(ends[0]), float(ends[1]))
        return self._bits

    def _array(self, axes: tuple[Discrete, ...], flat: Array | None = None) -> Array:
        """The entries with one axis per variable of `axes` (all with several states), size one where absent."""
        mine = [v for v in self.scope if v.num_states > 1]
        array = (self.flat if flat is None else flat).reshape([v.num_states for v in mine])
        places = {v: axis for axis, v in enumerate(mine)}
        order = [places[v] for v in axes if v in places]
        return array.transpose(order).reshape([v.num_states if v in places else 1 for v in axes])

    def _aligned(self, scope: tuple[Discrete, ...], logs: bool = False) -> Array:
        wide = tuple(v for v in scope if v.num_states > 1)
        return self._array(wide, self._logs() if logs else None)

    def _unit(self) -> tuple[Array, int]:
        """Linear entries scaled so that the largest is near one, and their exponent."""
        shift = round(self.bits()[1]) - self.exponent
        if abs(shift) < 32:
            return self.flat, self.exponent
        return np.ldexp(self.flat, -shift), self.exponent + shift

    def __mul__(self, other: Any) -> Table:
        """The product over the union of scopes; a number scales."""
        if isinstance(other, int | float | np.floating | np.integer):
            other = Table((), [float(other)])
        if not isinstance(other, Table):
            return NotImplemented
        scope = _joint(self, other)
        (low, high), (other_low, other_high) = self.bits(), other.bits()
        if "log" in (self.space, other.space) or high - low + other_high - other_low > RANGE_BITS:
            logs = self._aligned(scope, True) + other._aligned(scope, True)
            return Table._settled(scope, np.ascontiguousarray(logs).reshape(-1))
        left, right = self._rescaled(), other._rescaled()
        product = np.multiply(left._aligned(scope), right._aligned(scope))
        return Table._make(scope, product.reshape(-1), left.exponent + right.exponent)

    __rmul__ = __mul__

    def _rescaled(self) -> Table:
        flat, exponent = self._unit()
        return self if flat is self.flat else Table._make(self.scope, flat, exponent)

    def __truediv__(self, other: Any) -> Table:
        """The quotient with $0/0 = 0$; a positive value over zero raises."""
        if isinstance(other, int | float | np.floating | np.integer):
            other = Table((), [float(other)])
        if not isinstance(other, Table):
            return NotImplemented
        scope = _joint(self, other)
        above, below = self._aligned(scope, True), other._aligned(scope, True)
        if ((above > -np.inf) & (below == -np.inf)).any():
            raise NotClosed(f"{self!r} / {other!r} divides a positive value by zero; only 0/0 is defined (as 0).")
        (low, high), (other_low, other_high) = self.bits(), other.bits()
        if "log" in (self.space, other.space) or high - low + other_high - other_low > RANGE_BITS:
            shape = np.broadcast_shapes(above.shape, below.shape)
            logs = np.subtract(above, below, out=np.full(shape, -np.inf), where=below > -np.inf)
            return Table._settled(scope, logs.reshape(-1))
        left, right = self._rescaled(), other._rescaled()
        numerator, denominator = left._aligned(scope), right._aligned(scope)
        zeros = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
        quotient = np.divide(numerator, denominator, out=zeros, where=denominator > 0)
        return Table._make(scope, quotient.reshape(-1), left.exponent - right.exponent)

    def __pow__(self, power: float) -> Table:
        """Each value to a real power; $0^0 = 1$, and zero to a negative power raises."""
        if power == 0:
            return Table.ones(self.scope)
        if power == 1:
            return self
        logs = self._logs()
        if power < 0 and (logs == -np.inf).any():
            raise NotClosed(f"{self!r} ** {power:g} raises a zero to a negative power.")
        return Table._settled(self.scope, logs * power)

    def align(self, scope: Iterable[VariableLike]) -> Table:
        """The same table with its axes in another order, which must name every variable of the scope."""
        order = tuple(self.scope[axis_of(self.scope, v)] for v in scope)
        check_scope(order)
        if len(order) != len(self.scope):
            raise ScopeError(f"align needs all of {listing([v.name for v in self.scope])}; found {len(order)} of them.")
        flat = np.ascontiguousarray(self._aligned(order)).reshape(-1)
        return Table._make(order, flat, self.exponent, self.space)

    transpose = align

    def marginalize(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> Table:
        r"""The factor with `out` summed (or maximized) away.

        $$\tau(\mathbf x) = \bigoplus_{\mathbf y} \phi(\mathbf x, \mathbf y)$$

        Variables outside the scope are ignored: the empty sum is over one point.

        Args:
            out: the variables $\mathbf Y$ to remove.
            semiring: supplies $\bigoplus$; `SUM` for marginals, `MAX` for max-marginals.

        Cost: one pass over the table.
        Reference: Koller & Friedman, section 9.3.
        """
        kept, removed = split(self.scope, out)
        if not removed:
            return self
        rows = self._rows(kept, removed)  # type: ignore[arg-type]
        if self.space == "log":
            return Table._settled(kept, semiring.log_reduce(rows, 1))  # type: ignore[arg-type]
        if semiring is SUM or semiring is MAX:
            return Table._make(kept, semiring.reduce(rows, 1), self.exponent)  # type: ignore[arg-type]
        scaled = self._rescaled()
        reduced = semiring.reduce(scaled._rows(kept, removed), 1)  # type: ignore[arg-type]
        return Table._make(kept, reduced, scaled.exponent if semiring.scales else 0)  # type: ignore[arg-type]

    def _rows(self, kept: tuple[Discrete, ...], removed: tuple[Discrete, ...]) -> Array:
        """The entries as a matrix: one row a joint state of `kept`, one column a joint state of `removed`."""
        return self._aligned(kept + removed).reshape(num_entries(kept), num_entries(removed))

    def maximize(self, out: Iterable[VariableLike]) -> tuple[Table, NDArray[np.int64]]:
        """The max-marginal, and for each of its entries the flat joint code of `out` attaining it (lowest on ties)."""
        kept, removed = split(self.scope, out)
        rows = self._rows(kept, removed)  # type: ignore[arg-type]
        return self.marginalize(removed, MAX), rows.argmax(axis=1)

    def eliminate(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> tuple[TableConditional, Table]:
        """The conditional of `out` given the rest, and the rest."""
        kept, removed = split(self.scope, out)
        conditional = TableConditional(removed, kept, self)  # type: ignore[arg-type]
        return conditional, self.marginalize(removed, semiring)

    def collapse(self, out: Iterable[VariableLike]) -> Table:
        """The marginal: tables are closed under summation."""
        return self.marginalize(out)

    def condition(self, assignment: Assignment) -> Table:
        """The table at these states; variables outside the scope are ignored."""
        codes = self._codes(assignment)
        if not codes:
            return self
        kept = tuple(v for v in self.scope if v not in codes)
        wide = [v for v in self.scope if v.num_states > 1]
        array = self.flat.reshape([v.num_states for v in wide])
        part = array[tuple(codes.get(v, slice(None)) for v in wide)]
        return Table._make(kept, np.array(part, dtype=np.float64).reshape(-1), self.exponent, self.space)

    def _codes(self, assignment: Assignment) -> dict[Discrete, int]:
        codes: dict[Discrete, int] = {}
        for key, state in assignment.items():
            axis = find(self.scope, key)
            if axis >= 0:
                variable = self.scope[axis]
                codes[variable] = variable.code(state)
        return codes

    def log_value(self, assignment: Assignment) -> float:
        """The logarithm of the value at an assignment of the whole scope; -inf for a zero."""
        point = self.condition(assignment)
        if point.scope:
            missing = [v.name for v in point.scope]
            raise ScopeError(f"log_value needs every variable of the scope; missing {listing(missing)}.")
        return float(point._logs()[0])

    def value(self, assignment: Assignment) -> float:
        """The value at an assignment of the whole scope."""
        return float(np.exp(self.log_value(assignment))) if self.space == "log" else self._point(assignment)

    def _point(self, assignment: Assignment) -> float:
        self.log_value(assignment)
        return float(self.condition(assignment).values)

    @property
    def log_total(self) -> float:
        """The logarithm of the sum of all values."""
        if self.space == "log":
            return float(log_sum(self.flat, 0))
        total = self.flat.sum()
        return float(np.log(total) + self.exponent * LN2) if total > 0 else -np.inf

    def normalize(self, over: Iterable[VariableLike] | None = None) -> Table:
        """The table divided by its sum, or by its sums over `over` given the rest (all-zero rows stay zero)."""
        if over is not None:
            return (self / self.marginalize(over)).align(self.scope)
        if self.log_total == -np.inf:
            raise NotClosed(f"{self!r} is zero everywhere and cannot be normalized. Check the evidence or the factors.")
        if self.space == "log":
            return Table._settled(self.scope, self.flat - self.log_total)
        return Table._make(self.scope, self.flat / self.flat.sum())

    def __getitem__(self, key: State | Mapping[Any, Any]) -> Any:
        """The value at a state (one variable) or assignment; a partial assignment gives the table of the rest."""
        if isinstance(key, Mapping):
            for variable in key:
                axis_of(self.scope, variable)
            part = self.condition(key)
            return part if part.scope else float(part.values)
        if len(self.scope) != 1:
            names = ", ".join(v.name for v in self.scope)
            raise ScopeError(
                f"A bare state needs a table of one variable; this one has ({names}). Index with a mapping."
            )
        return self.value({self.scope[0]: key})

    def __float__(self) -> float:
        if self.size != 1:
            raise TypeError(f"Only a table with one entry is a number; {self!r} has {self.size}.")
        return float(self.values.reshape(-1)[0])

    def entropy(self) -> float:
        r"""$H = -\sum p \log p$ of the normalized table, in nats."""
        return information.entropy(self.normalize().flat)

    def kl(self, other: Table) -> float:
        r"""$KL(p \| q) = \sum p \log (p / q)$ of the normalized tables over one scope; inf where $q = 0 < p$."""
        aligned = other.align(self.scope)
        return information.kl(self.normalize()._logs(), aligned.normalize()._logs())

    def mutual_information(
        self, xs: Iterable[VariableLike], ys: Iterable[VariableLike], given: Iterable[VariableLike] = ()
    ) -> float:
        r"""$I(X; Y \mid Z) = H(X, Z) + H(Y, Z) - H(X, Y, Z) - H(Z)$ of the normalized table."""
        return information.mutual_information(self, xs, ys, given)

    def conditional_entropy(self, xs: Iterable[VariableLike], given: Iterable[VariableLike]) -> float:
        r"""$H(X \mid Z) = H(X, Z) - H(Z)$ of the normalized table."""
        return information.conditional_entropy(self, xs, given)

    def project(self, kept: Iterable[VariableLike], semiring: Semiring = SUM) -> Table:
        """The marginal over `kept`, in that order."""
        names = [kept] if isinstance(kept, str | Discrete) else list(kept)
        keep = tuple(self.scope[axis_of(self.scope, v)] for v in names)
        return self.marginalize([v for v in self.scope if v not in keep], semiring).align(keep)

    def mean(self) -> float:
        """The expectation of a table over one variable with numeric states."""
        states = _numeric(self)
        return float(self.normalize().flat @ states)

    def mode(self) -> State | dict[str, State]:
        """The most probable state (of one variable) or assignment; the first on ties."""
        best = _unravel(int(self.flat.argmax()), self.shape)
        states = {v.name: v.states[code] for v, code in zip(self.scope, best, strict=True)}
        return next(iter(states.values())) if len(states) == 1 else states

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0) -> dict[str, list[State]]:
        """Independent draws of the scope, as lists of states by name."""
        rng = np.random.default_rng(seed)
        drawn = TableConditional(self.scope, (), self).sample({}, num_rows, rng)
        return {v.name: [v.states[code] for code in drawn[v]] for v in self.scope}

    def interval(self, level: float = 0.95) -> tuple[State, State]:
        """The central interval of states of one numeric variable with at least this probability."""
        states = _numeric(self)
        order = np.argsort(states, kind="stable")
        cumulative = np.cumsum(self.normalize().flat[order])
        tail = (1.0 - level) / 2.0
        low = int(np.searchsorted(cumulative, tail + 1e-15))
        high = int(np.searchsorted(cumulative, 1.0 - tail - 1e-15))
        ends = self.scope[0].states
        return ends[order[low]], ends[order[min(high, len(order) - 1)]]

    def plot(self, ax: Any = None) -> Any:
        """A bar chart of a table over one variable, or a heat map over two, on matplotlib axes."""
        return presentation.plot(self, ax)

    def to_frame(self, kind: str = "pandas") -> Any:
        """One row an entry: a column a variable, and `value`."""
        return presentation.to_frame(self, kind)

    def __repr__(self) -> str:
        return presentation.short(self)

    def __rich__(self) -> RichTable:
        return presentation.rich_table(self)

    def _repr_html_(self) -> str:
        return presentation.html(self)


def _joint(first: Table, second: Table) -> tuple[Discrete, ...]:
    scope: Scope = union(first.scope, second.scope)
    check_size(scope)
    return scope  # type: ignore[return-value]


def _discrete_scope(scope: Iterable[Discrete] | Discrete) -> tuple[Discrete, ...]:
    variables = check_scope((scope,) if isinstance(scope, Discrete) else scope)
    for variable in variables:
        if not isinstance(variable, Discrete):
            raise ScopeError(f"A table is over discrete variables; {variable!r} is not. Use CanonicalTable.")
    return variables  # type: ignore[return-value]


def _flatten(scope: tuple[Discrete, ...], values: ArrayLike, what: str) -> Array:
    check_size(scope)
    array = np.array(values, dtype=np.float64)
    shape = tuple(v.num_states for v in scope)
    if array.shape != shape and array.shape != (num_entries(scope),):
        names = ", ".join(f"{v.name}[{v.num_states}]" for v in scope)
        raise ModelError(f"{what.capitalize()} of shape {array.shape} do not fit ({names}); expected {shape}.")
    return np.ascontiguousarray(array).reshape(-1)


def _first_bad(scope: tuple[Discrete, ...], flat: Array) -> str:
    place = int(np.flatnonzero(~(np.isfinite(flat) & (flat >= 0)))[0])
    codes = _unravel(place, tuple(v.num_states for v in scope))
    where = ", ".join(f"{v.name}={v.states[c]!r}" for v, c in zip(scope, codes, strict=True))
    return f"found {flat[place]} at ({where})"


def _unravel(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    codes: list[int] = []
    for size in reversed(shape):
        flat, code = divmod(flat, size)
        codes.append(code)
    return tuple(reversed(codes))


def _numeric(table: Table) -> Array:
    if len(table.scope) != 1:
        raise ScopeError(f"This needs a table of one variable; {table!r} has {len(table.scope)}. Use project first.")
    states = table.scope[0].states
    if any(isinstance(s, str) for s in states):
        raise StateError(f"{table.scope[0].name} has states {listing(states)}, which are not numbers.")
    return np.array(states, dtype=np.float64)
