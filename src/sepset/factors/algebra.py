r"""The factor protocol: what a method may ask of any factor.

A factor $\phi(\mathbf x)$ is immutable, has a `scope`, and supports products, division, elimination and conditioning.
Elimination returns the pair that back-substitution needs,

$$\phi(\mathbf x, \mathbf y) = \phi(\mathbf y \mid \mathbf x)\,\tau(\mathbf x),$$

so one routine answers marginals (keep $\tau$), MAP (take modes backwards) and posterior sampling (sample backwards).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.base.text import brief, listing, nearest, readable, rounded
from sepset.errors import ScopeError, TooLarge
from sepset.semiring import SUM, Semiring
from sepset.variables.variable import Discrete, VariableLike, Vector, listed

AnyVariable: TypeAlias = Discrete | Vector
"""A variable of any kind."""

Scope: TypeAlias = tuple[AnyVariable, ...]
"""The variables of a factor, in axis order."""

Assignment: TypeAlias = Mapping[Any, Any]
"""Variables or their names, each with a state (or a number)."""

Columns: TypeAlias = dict[AnyVariable, AnyArray]
"""Many assignments at once: codes for discrete variables, floats `[n]` or `[n, size]` for continuous ones."""

V = TypeVar("V", bound=AnyVariable)

MAX_ENTRIES = 2**30
"""The most entries a single dense table may have: 8 GiB."""


@runtime_checkable
class Conditional(Protocol):
    r"""The conditional that elimination produces: $\phi(\mathbf y \mid \mathbf x)$ over `frontal` given `parents`."""

    @property
    def frontal(self) -> Scope:
        """The eliminated variables."""

    @property
    def parents(self) -> Scope:
        """The variables it is conditioned on."""

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Columns:
        """A draw of the frontal variables for each row of parents."""

    def mode(self, rows: Columns, num_rows: int) -> Columns:
        """The most probable frontal values for each row of parents."""


@runtime_checkable
class Factor(Protocol):
    """A non-negative function of its scope."""

    @property
    def scope(self) -> Scope:
        """The variables, in axis order."""

    @property
    def size(self) -> int:
        """How many numbers it stores."""

    def __mul__(self, other: Any) -> Factor: ...

    def __truediv__(self, other: Any) -> Factor: ...

    def __pow__(self, power: float) -> Factor: ...

    def marginalize(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> Factor:
        """The factor with `out` summed away exactly, or `NotClosed`."""

    def eliminate(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> tuple[Conditional, Factor]:
        """The conditional of `out` given the rest, and the rest."""

    def collapse(self, out: Iterable[VariableLike]) -> Factor:
        """Moment projection onto the rest: exact for tables, the first two moments for mixtures of Gaussians."""

    def condition(self, assignment: Assignment) -> Factor:
        """The factor at these values; variables outside the scope are ignored."""

    def log_value(self, assignment: Assignment) -> float:
        """The logarithm of the value at a full assignment."""

    @property
    def log_total(self) -> float:
        """The logarithm of the sum (or integral) over the whole scope."""

    def normalize(self) -> Factor:
        """The factor divided by its total."""


@runtime_checkable
class Distribution(Protocol):
    """The operations of every answer over variables."""

    @property
    def scope(self) -> Scope:
        """The variables it is about."""

    def mean(self) -> Any:
        """The expectation, where states are numbers."""

    def mode(self) -> Any:
        """The most probable value."""

    def entropy(self) -> float:
        """The entropy in nats."""

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0) -> Any:
        """Independent draws."""

    def interval(self, level: float = 0.95) -> Any:
        """A central interval of this probability."""

    def plot(self, ax: Any = None) -> Any:
        """A picture."""


def _variable_name(variable: object) -> str:
    try:
        return variable.name  # type: ignore[attr-defined,no-any-return]  # refused otherwise
    except AttributeError:
        raise ScopeError(f"A scope has variables, such as Discrete('x'); found {brief(variable)}.") from None


def find(scope: Sequence[AnyVariable], variable: VariableLike) -> int:
    """The axis of a variable (or its name) in a scope, -1 when absent; another variable under its name is refused.

    >>> find((Discrete("a"), Discrete("b")), "b")
    1
    """
    name = variable if isinstance(variable, str) else _variable_name(variable)
    for axis, mine in enumerate(scope):
        if mine.name == name:
            if not isinstance(variable, str) and mine != variable:
                raise ScopeError(f"Two different variables share one name: {mine!r} and {variable!r}.")
            return axis
    return -1


def axis_of(scope: Sequence[AnyVariable], variable: VariableLike) -> int:
    """The axis of a variable that must be in the scope; an unknown one raises with the nearest name."""
    axis = find(scope, variable)
    if axis < 0:
        name = variable if isinstance(variable, str) else variable.name
        names = [v.name for v in scope]
        raise ScopeError(f"{name!r} is not in the scope ({listing(names)}).{nearest(name, names)}")
    return axis


def _finder(scope: Sequence[AnyVariable]) -> Callable[[VariableLike], int]:
    """`find` on one scope, through a dictionary where the scope is long enough to repay it."""
    if len(scope) <= 8:
        return lambda variable: find(scope, variable)
    places = {v.name: axis for axis, v in enumerate(scope)}

    def place(variable: VariableLike) -> int:
        axis = places.get(variable if isinstance(variable, str) else variable.name, -1)
        return axis if axis < 0 else axis + find(scope[axis : axis + 1], variable)

    return place


def split(scope: tuple[V, ...], out: Iterable[VariableLike]) -> tuple[tuple[V, ...], tuple[V, ...]]:
    """The scope as (kept, removed), both in axis order; variables outside the scope are ignored.

    >>> split((Discrete("a"), Discrete("b")), ["b", "elsewhere"])
    ((Discrete('a', (0, 1)),), (Discrete('b', (0, 1)),))
    """
    place = _finder(scope)
    removed = {place(v) for v in listed(out)}
    kept = tuple(v for axis, v in enumerate(scope) if axis not in removed)
    return kept, tuple(v for axis, v in enumerate(scope) if axis in removed)


def union(first: tuple[V, ...], second: tuple[V, ...]) -> tuple[V, ...]:
    """The variables of both scopes in order of first appearance; a name with two domains is refused.

    >>> [v.name for v in union((Discrete("b"), Discrete("a")), (Discrete("c"), Discrete("b")))]
    ['b', 'a', 'c']
    """
    place = _finder(first)
    return first + tuple(v for v in second if place(v) < 0)


def union_of(scopes: Iterable[Iterable[V]]) -> tuple[V, ...]:
    """The variables of all scopes in order of first appearance; a name with two domains is refused.

    Cost: linear in their lengths.

    >>> [v.name for v in union_of([[Discrete("b")], [Discrete("a"), Discrete("b")], []])]
    ['b', 'a']
    """
    found: dict[str, V] = {}
    for variable in itertools.chain.from_iterable(scopes):
        known = found.setdefault(variable.name, variable)
        if known is not variable and known != variable:
            raise ScopeError(f"Two different variables share one name: {known!r} and {variable!r}.")
    return tuple(found.values())


def arrange(scope: tuple[V, ...], order: Iterable[VariableLike]) -> tuple[V, ...]:
    """The scope in another order, which must name every variable once."""
    chosen = check_scope(scope[axis_of(scope, v)] for v in listed(order))
    if len(chosen) != len(scope):
        missing = [v.name for v in scope if v not in chosen]
        raise ScopeError(f"The order must name every variable of the scope; missing {listing(missing)}.")
    return chosen


def check_scope(scope: Iterable[V]) -> tuple[V, ...]:
    """The scope as a tuple, with repeated variables refused."""
    result = tuple(scope)
    names = list(map(_variable_name, result))
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise ScopeError(f"{twice!r} appears twice in the scope ({listing(names)}). Each variable has one axis.")
    return result


def discrete_scope(scope: Iterable[Discrete] | Discrete) -> tuple[Discrete, ...]:
    """The scope of a table as a tuple; repeated and continuous variables are refused."""
    variables = check_scope(listed(scope))
    for variable in variables:
        if not isinstance(variable, Discrete):
            raise ScopeError(f"A table is over discrete variables; {variable!r} is not. Use CanonicalTable.")
    return variables


def num_entries(scope: Iterable[AnyVariable]) -> int:
    """The number of joint states of the discrete variables of a scope."""
    entries = 1
    for variable in scope:
        if isinstance(variable, Discrete):
            entries *= variable.num_states
    return entries


def check_size(scope: Sequence[AnyVariable]) -> int:
    """The number of entries of a dense table over `scope`; raises if it would not fit, before it is allocated."""
    entries = num_entries(scope)
    if entries > MAX_ENTRIES:
        raise TooLarge(
            f"A table over {len(scope)} variables would have {rounded(entries)} entries "
            f"({readable(8 * entries)}); "
            f"the limit is {MAX_ENTRIES:.3g}. Use SparseTable, a structured CPD, or an approximate method."
        )
    return entries


def check_sizes(scopes: Iterable[Sequence[AnyVariable]]) -> list[int]:
    """The number of entries of a dense table over each scope; raises if one, or all together, would not fit.

    >>> check_sizes([[Discrete("a")], [Discrete("a"), Discrete("b")]])
    [2, 4]
    """
    sizes = list(map(check_size, scopes))
    total = sum(sizes)
    if total > MAX_ENTRIES:
        raise TooLarge(
            f"The {len(sizes)} tables would have {rounded(total)} entries together ({readable(8 * total)}); the limit "
            f"is {MAX_ENTRIES:.3g}. Use structured CPDs, or fewer parents."
        )
    return sizes
