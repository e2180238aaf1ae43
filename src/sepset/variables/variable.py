"""Variables: a name and a domain, compared by value and by the types of their states.

Names of array elements, time slices and hidden parts are structured (`base`, `index`, `lag`, `part`); `name` is only
how they print.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from sepset.base.checks import whole
from sepset.base.foreign import often
from sepset.base.frozen import Frozen, fill, setters, unfrozen
from sepset.base.text import brief, listing, nearest
from sepset.errors import ModelError, ScopeError, StateError, TooLarge

if TYPE_CHECKING:
    from sepset.variables.array import VariableArray

State: TypeAlias = str | int | bool | float
"""The types a state may have."""

MAX_STATES = 10_000_000
"""The largest number of states of one variable; each is an object."""


def _kind(state: object) -> type:
    """The type that distinguishes states: bool, str, or a number (1 and 1.0 are one state, True is another)."""
    if isinstance(state, bool):
        return bool
    return str if isinstance(state, str) else float


PLAIN = frozenset((str, int, bool, float))
"""The types of plain states."""


def plain(value: object) -> object:
    """`value` as a plain Python scalar, if it is one of NumPy, or a member of an enum that is a text or a number.

    >>> from enum import StrEnum
    >>> plain(StrEnum("Color", ["RED"]).RED), plain(np.int64(3))
    ('red', 3)
    """
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The states of a discrete variable and their codes $0, \\dots, k-1$; shared by every element of an array."""

    states: tuple[State, ...]
    codes: Mapping[tuple[type, State], int] = field(repr=False)
    types: tuple[type, ...] = field(repr=False)
    key: int = field(repr=False)

    @classmethod
    def of(cls, states: int | Iterable[State], owner: str) -> Domain:
        """The domain of `owner` with these states; an integer $k$ means the states $0, \\dots, k-1$."""
        if type(states) is int and 0 < states <= MOST_SHARED:
            return _numbered(states)
        given = _counted(states, owner) if isinstance(states, int | np.integer) else _plain_states(states)
        types = tuple(map(type, given))
        if not SIMPLE.issuperset(types):
            _check_states(given, owner)
        if len(set(given)) < len(given):
            twice = next(state for i, state in enumerate(given) if state in given[:i])
            raise ModelError(f"{owner} has the state {twice!r} twice among {listing(given)}. States must differ.")
        if not given:
            raise ModelError(f"{owner} has no states. A discrete variable needs at least one.")
        kinds = [str] * len(given) if types == (str,) * len(given) else map(_kind, given)
        codes = dict(zip(zip(kinds, given, strict=True), range(len(given)), strict=True))
        return cls(given, MappingProxyType(codes), types, hash((given, types)))

    def find(self, state: object) -> int | None:
        """The code of `state`, or None if it is not a state."""
        value = plain(state)
        try:
            return self.codes.get((_kind(value), value))  # type: ignore[arg-type]  # other types are not found
        except TypeError:
            return None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Domain) and self.states == other.states and self.types == other.types

    def __hash__(self) -> int:
        return self.key

    def __reduce__(self) -> tuple[object, ...]:
        return Domain.of, (self.states, "domain")


MOST_SHARED = 64
"""The largest number of states whose domain is made once, and shared by all variables that number their states."""


@cache
def _numbered(num_states: int) -> Domain:
    states = tuple(range(num_states))
    codes: dict[tuple[type, State], int] = {(_kind(state), state): state for state in states}
    types = (int,) * num_states
    return Domain(states, MappingProxyType(codes), types, hash((states, types)))


def _counted(states: int | np.integer, owner: str) -> tuple[State, ...]:
    name = f"The number of states of {owner}"
    number = whole(name, states, least=1, otherwise="give the states themselves", error=ModelError)
    if number > MAX_STATES:
        raise TooLarge(
            f"{owner} would have {number:,} states; the limit is {MAX_STATES:,}. Group them, or use Real for a number."
        )
    return tuple(range(number))


SIMPLE = frozenset((str, int, bool))
"""The types of states that need no look at each of them."""


def _plain_states(states: Iterable[State]) -> tuple[State, ...]:
    try:
        given = tuple(states)
    except TypeError:
        raise ModelError(f"States are a number of them, or several names; found {brief(states)}.") from None
    return given if SIMPLE.issuperset(map(type, given)) else tuple(map(plain, given))  # type: ignore[arg-type]


def _check_states(states: Iterable[object], owner: str) -> None:
    for state in states:
        if not isinstance(state, str | int | float | bool):
            raise ModelError(
                f"{owner} has the state {state!r} ({type(state).__name__}). States are strings, ints, bools or floats."
            )
        if isinstance(state, float) and math.isnan(state):
            raise ModelError(f"{owner} has NaN among its states. NaN means unobserved; give that state a name.")


def check_name(name: object) -> None:
    """Raise unless `name` is a non-empty string."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"A variable's name is a non-empty string; found {name!r}.")


def display_name(base: str, index: tuple[int, ...] = (), lag: int = 0, part: str = "") -> str:
    """How a structured name prints.

    >>> display_name("pixel", (3, 4)), display_name("rain", (), 1), display_name("fever", part="max 2")
    ('pixel[3,4]', 'rain[t-1]', 'fever(max 2)')
    """
    element = f"[{','.join(map(str, index))}]" if index else ""
    moment = f"[t{-lag:+d}]" if lag else ""
    hidden = f"({part})" if part else ""
    return f"{base}{element}{hidden}{moment}"


class _Named(Frozen):
    """Structured names, equality, hashing and slices, shared by the three kinds of variable."""

    __slots__ = ("_hash", "base", "index", "lag", "name", "part")
    base: str
    index: tuple[int, ...]
    lag: int
    part: str
    name: str
    _hash: int

    def _init(self, base: str, index: tuple[int, ...], lag: int, domain: object, part: str = "") -> None:
        check_name(base)
        _SET_BASE(self, base)
        _SET_INDEX(self, index)
        _SET_LAG(self, lag)
        _SET_PART(self, part)
        _SET_NAME(self, display_name(base, index, lag, part))
        _SET_HASH(self, hash((type(self).__name__, base, index, lag, part, domain)))

    def _domain_key(self) -> object:
        raise NotImplementedError

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, _Named) or self._hash != other._hash:
            return False
        mine = (self.base, self.index, self.lag, self.part, self._domain_key())
        return mine == (other.base, other.index, other.lag, other.part, other._domain_key())


class Discrete(_Named):
    """A variable with finitely many named states.

    Args:
        name: unique within a model.
        states: the states (strings, ints, bools or floats), or their number.

    >>> grade = Discrete("grade", ("A", "B", "C"))
    >>> grade, grade.num_states, grade.code("B"), grade.prev
    (Discrete('grade', ('A', 'B', 'C')), 3, 1, Discrete('grade[t-1]', ('A', 'B', 'C')))
    """

    __slots__ = ("domain", "num_states")
    domain: Domain
    num_states: int
    """The number of states."""

    def __init__(
        self,
        name: str,
        states: int | Iterable[State] | Domain = 2,
        *,
        index: tuple[int, ...] = (),
        lag: int = 0,
        part: str = "",
    ) -> None:
        domain = states if isinstance(states, Domain) else Domain.of(states, str(name))
        _SET_DOMAIN(self, domain)
        _SET_NUM_STATES(self, len(domain.states))
        self._init(name, index, lag, domain, part)

    @staticmethod
    def array(name: str, shape: int | Sequence[int], *, states: int | Iterable[State] = 2) -> VariableArray:
        """A lazy array of variables with the same states: a million variables cost one object.

        >>> pixel = Discrete.array("pixel", (512, 512), states=("paper", "ink"))
        >>> pixel[3, 4]
        Discrete('pixel[3,4]', ('paper', 'ink'))
        """
        from sepset.variables.array import VariableArray

        return VariableArray(name, shape, states=states)

    @property
    def states(self) -> tuple[State, ...]:
        """The states in code order."""
        return self.domain.states

    @property
    def is_discrete(self) -> bool:
        """True: the domain is finite."""
        return True

    @property
    def prev(self) -> Discrete:
        """The same variable one time slice earlier."""
        return self.at_lag(self.lag + 1)

    def at_lag(self, lag: int) -> Discrete:
        """The same variable `lag` time slices before the current one."""
        return Discrete(self.base, self.domain, index=self.index, lag=lag, part=self.part)

    @often
    def hidden(self, part: str, states: int | Iterable[State] | Domain) -> Discrete:
        """A hidden variable that belongs to this one; no ordinary variable has the same structured name.

        >>> Discrete("fever").hidden("max 2", 2)
        Discrete('fever(max 2)', (0, 1))
        """
        return Discrete(self.base, states, index=self.index, lag=self.lag, part=part)

    def code(self, state: object) -> int:
        """The code of `state`; an unknown state raises an error that names the nearest valid one."""
        found = self.domain.find(state)
        if found is None:
            value = plain(state)
            hint = nearest(value, self.states)
            raise StateError(f"Unknown state {value!r} for {self.name}; states are {listing(self.states)}.{hint}")
        return found

    def state(self, code: int) -> State:
        """The state with this code."""
        if not 0 <= code < self.num_states:
            raise StateError(f"{self.name} has codes 0 to {self.num_states - 1}; found {code}.")
        return self.states[code]

    def _domain_key(self) -> object:
        return self.domain

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_discrete, (self.base, self.states, self.index, self.lag, self.part)

    def __repr__(self) -> str:
        return f"Discrete({self.name!r}, {short_states(self.states)})"


_UNFROZEN = unfrozen(Discrete)


def element_of(base: str, index: tuple[int, ...], domain: Domain) -> Discrete:
    """An element of an array, whose name and place are known to be right: made three times as fast.

    >>> element_of("pixel", (3, 4), Discrete("pixel").domain) == Discrete("pixel", index=(3, 4))
    True
    """
    made: Any = _UNFROZEN()
    made.domain, made.num_states = domain, len(domain.states)
    made.base, made.index, made.lag, made.part = base, index, 0, ""
    made.name = f"{base}[{','.join(map(str, index))}]"
    made._hash = hash(("Discrete", base, index, 0, "", domain))
    made.__class__ = Discrete
    return made  # type: ignore[no-any-return]  # it is one now


def short_states(states: tuple[State, ...], limit: int = 6) -> str:
    """The states printed as a tuple, shortened if there are more than `limit`."""
    if len(states) <= limit:
        return repr(states)
    return f"({', '.join(map(repr, states[:3]))}, ..., {states[-1]!r})"


def _rebuild_discrete(
    base: str, states: tuple[State, ...], index: tuple[int, ...], lag: int, part: str = ""
) -> Discrete:
    return Discrete(base, states, index=index, lag=lag, part=part)


class Vector(_Named):
    """A real vector of fixed dimension.

    >>> Vector("position", 2)
    Vector('position', 2)
    """

    __slots__ = ("size",)
    size: int

    def __init__(self, name: str, size: int, *, index: tuple[int, ...] = (), lag: int = 0) -> None:
        size = whole(f"The dimension of {name!r}", size, least=1, error=ModelError)
        fill(self, size=size)
        self._init(name, index, lag, size)

    @property
    def is_discrete(self) -> bool:
        """False: the domain is continuous."""
        return False

    @property
    def prev(self) -> Vector:
        """The same variable one time slice earlier."""
        return self.at_lag(self.lag + 1)

    def at_lag(self, lag: int) -> Vector:
        """The same variable `lag` time slices before the current one."""
        return Vector(self.base, self.size, index=self.index, lag=lag)

    def _domain_key(self) -> object:
        return self.size

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_vector, (type(self), self.base, self.size, self.index, self.lag)

    def __repr__(self) -> str:
        return f"Vector({self.name!r}, {self.size})"


class Real(Vector):
    """A real number: a vector of dimension one.

    >>> Real("temperature").prev
    Real('temperature[t-1]')
    """

    __slots__ = ()

    def __init__(self, name: str, *, index: tuple[int, ...] = (), lag: int = 0) -> None:
        super().__init__(name, 1, index=index, lag=lag)

    def at_lag(self, lag: int) -> Real:
        """The same variable `lag` time slices before the current one."""
        return Real(self.base, index=self.index, lag=lag)

    @property
    def prev(self) -> Real:
        """The same variable one time slice earlier."""
        return self.at_lag(self.lag + 1)

    def __repr__(self) -> str:
        return f"Real({self.name!r})"


def _rebuild_vector(kind: type[Vector], base: str, size: int, index: tuple[int, ...], lag: int) -> Vector:
    return Real(base, index=index, lag=lag) if kind is Real else Vector(base, size, index=index, lag=lag)


VariableLike: TypeAlias = str | Discrete | Vector
"""Wherever the API takes a variable it also takes its name."""

OneVariable = TypeVar("OneVariable", bound=VariableLike)


def listed(variables: OneVariable | Iterable[OneVariable]) -> list[OneVariable]:
    """The variables as a list, whether one was given or several.

    >>> listed("rain"), listed(("rain", Discrete("wet")))
    (['rain'], ['rain', Discrete('wet', (0, 1))])
    """
    if isinstance(variables, _ONE):
        return [variables]
    if not isinstance(variables, Iterable) or (isinstance(variables, np.ndarray) and not variables.ndim):
        raise ScopeError(f"Variables are named by one name, or by several in a list; found {brief(variables)}.")
    return list(variables)


_SET_BASE, _SET_INDEX, _SET_LAG, _SET_PART, _SET_NAME, _SET_HASH = setters(
    _Named, "base", "index", "lag", "part", "name", "_hash"
)
_SET_DOMAIN, _SET_NUM_STATES = setters(Discrete, "domain", "num_states")
_ONE = (str, Discrete, Vector)  # a tuple is tested twice as fast as a union
