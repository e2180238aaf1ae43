"""The variables of a model: ordered, found by position, name or value, with arrays kept lazy."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.foreign import TakesNames, often
from sepset.base.frozen import read_only
from sepset.base.lazy import lazy
from sepset.base.text import brief, listing, nearest
from sepset.errors import ScopeError
from sepset.variables.array import VariableArray
from sepset.variables.variable import Discrete, Real, VariableLike, Vector

T = TypeVar("T")

SINGLE = frozenset((Discrete, Real, Vector))
"""The kinds of parts that are one variable."""

MANY = 1000
"""The number of variables from which they are looked up together."""


class Universe(TakesNames, Sequence[Discrete | Vector]):
    """The variables of a model in order, looked up by position, name or value; arrays remain lazy.

    >>> from sepset.variables.variable import Real
    >>> vs = Universe([Discrete("a"), Discrete.array("x", (2, 2)), Real("r")])
    >>> len(vs), vs["x[1,0]"], vs.id("r"), vs.cards.tolist()
    (6, Discrete('x[1,0]', (0, 1)), 5, [2, 2, 2, 2, 2, 0])
    """

    def __init__(self, parts: Iterable[Discrete | Vector | VariableArray] = ()) -> None:
        if isinstance(parts, Discrete | Vector | str):
            raise ScopeError(f"Several variables were expected; found one. Use [{parts!r}].")
        try:
            self.parts: tuple[Discrete | Vector | VariableArray, ...] = tuple(parts)
        except TypeError:
            raise ScopeError(f"Several variables were expected; found {brief(parts)}.") from None
        self._single: dict[str, int] = {}
        self._arrays: dict[str, tuple[VariableArray, int]] = {}
        self._is_flat = SINGLE.issuperset(map(type, self.parts))
        if self._is_flat:
            self._offsets: Sequence[int] = range(len(self.parts) + 1)
            self._length = len(self.parts)
            self._single |= {part.name: i for i, part in enumerate(self.parts)}  # type: ignore[union-attr]  # no array
        if len(self._single) < len(self.parts):
            self._register_all()

    def _register_all(self) -> None:
        """The position of each name, where some parts are arrays or wrong."""
        self._single.clear()
        sizes = [len(p) if isinstance(p, VariableArray) else 1 for p in self.parts]
        self._offsets = [0, *itertools.accumulate(sizes)]
        self._length = self._offsets[-1]
        self._is_flat = not any(isinstance(p, VariableArray) for p in self.parts)
        for part, offset in zip(self.parts, self._offsets, strict=False):
            self._register(part, offset)
        self._refuse_shadowed()

    def _register(self, part: Discrete | Vector | VariableArray, offset: int) -> None:
        if isinstance(part, VariableArray):
            if part.base in self._arrays:
                raise ScopeError(f"Two arrays are named {part.base!r}. Names must differ within a model.")
            self._arrays[part.base] = (part, offset)
            return
        if not isinstance(part, Discrete | Vector):
            raise ScopeError(
                f"A variable was expected; found {brief(part)}. Use Discrete, Real, Vector or Discrete.array."
            )
        if part.name in self._single:
            other = self.parts[bisect_right(self._offsets, self._single[part.name]) - 1]
            raise ScopeError(_clash(part, other))
        self._single[part.name] = offset

    def _refuse_shadowed(self) -> None:
        if not self._arrays:
            return
        for name in self._single:
            if name in self._arrays or self._find_element(name) is not None:
                raise ScopeError(f"{name!r} names both a variable and an array or its element. Rename one of them.")

    @classmethod
    def union(cls, *groups: Iterable[Discrete | Vector | VariableArray]) -> Universe:
        """The variables of all groups in order of first appearance; raises if one name has two domains."""
        seen: dict[object, Discrete | Vector | VariableArray] = {}
        for part in (p for group in groups for p in group):
            key = (part.base, "array") if isinstance(part, VariableArray) else part.name
            known = seen.setdefault(key, part)
            if known != part:
                raise ScopeError(_clash(part, known))
        return cls(seen.values())

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, key: int | VariableLike) -> Discrete | Vector: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Discrete | Vector, ...]: ...
    def __getitem__(self, key: int | VariableLike | slice) -> Discrete | Vector | tuple[Discrete | Vector, ...]:
        if type(key) is int and self._is_flat and 0 <= key < self._length:
            return self.parts[key]  # type: ignore[return-value]  # no part is an array
        if isinstance(key, slice):
            return tuple(self[i] for i in range(*key.indices(len(self))))
        if not isinstance(key, int | np.integer) or isinstance(key, bool):
            return self[self.id(key)]  # type: ignore[arg-type]  # refused there
        position = int(key) + len(self) if key < 0 else int(key)
        if not 0 <= position < len(self):
            raise IndexError(f"There are {len(self)} variables; no position {key}.")
        which = bisect_right(self._offsets, position) - 1
        part = self.parts[which]
        return part.element(position - self._offsets[which]) if isinstance(part, VariableArray) else part

    def __iter__(self) -> Iterator[Discrete | Vector]:
        if self._is_flat:
            return iter(self.parts)  # type: ignore[arg-type]  # no part is an array
        return itertools.chain.from_iterable(p if isinstance(p, VariableArray) else (p,) for p in self.parts)

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str):
            return self._find(item) is not None
        if not isinstance(item, Discrete | Vector):
            return False
        found = self._find_structured(item)
        return found is not None and self._is_at(item, found)

    @often
    def named(self, variable: VariableLike) -> Discrete | Vector:
        """The variable, given as itself or by name: a position is neither.

        >>> Universe([Discrete("grade", "ABC")]).named("grade")
        Discrete('grade', ('A', 'B', 'C'))
        """
        return self[self.id(variable)]

    @often
    def id(self, variable: VariableLike) -> int:
        """The position of a variable or its name; an unknown name raises an error that names the nearest valid one."""
        if isinstance(variable, str):
            found = self._find(variable)
            if found is None:
                raise ScopeError(
                    f"Unknown variable {variable!r}.{nearest(variable, self._suggestions())}{self._hint()}"
                )
            return found
        if not isinstance(variable, Discrete | Vector):
            raise ScopeError(f"A variable or its name was expected; found {brief(variable)}.")
        found = self._find_structured(variable)
        if found is None:
            raise ScopeError(
                f"Unknown variable {variable.name!r}.{nearest(variable.name, self._suggestions())}{self._hint()}"
            )
        if not self._is_at(variable, found):
            raise ScopeError(_clash(variable, self[found]))
        return found

    def _is_at(self, variable: Discrete | Vector, place: int) -> bool:
        """Whether a variable is the one at the place that its name has; elements of arrays are not made for that."""
        if self._is_element(variable):
            return isinstance(variable, Discrete) and variable.domain == self._arrays[variable.base][0].domain
        own = self[place]
        return own is variable or own == variable

    def _find_state(self, name: str, state: str) -> tuple[int, int] | None:
        """Position and code if both arguments are strings and found directly, the usual case; else None.

        >>> Universe([Discrete("g", "ABC")])._find_state("g", "B")
        (0, 1)
        """
        position = self._single.get(name)
        part = self.parts[position] if position is not None and self._is_flat else None
        code = part.domain.codes.get((str, state)) if isinstance(part, Discrete) else None
        return None if position is None or code is None else (position, code)

    @often
    def places(self, variables: Iterable[Discrete | Vector]) -> list[int]:
        """The positions of several variables of the model, given as themselves."""
        asked = _several(variables)
        if not self._is_flat:
            return [self.id(v) for v in asked]
        known, own = self._single, self.parts
        found = [(known.get(getattr(v, "name", ""), -1), v) for v in asked]
        return [place if place >= 0 and own[place] is v else self.id(v) for place, v in found]

    @often
    def found_places(self, variables: Sequence[Discrete | Vector]) -> Ints:
        """The same for many: those that are the model's own objects are found without a look at their names.

        >>> a, b = Discrete("a"), Discrete("b")
        >>> Universe([a, b]).found_places([b, Discrete("a"), a]).tolist()
        [1, 0, 0]
        """
        if not self._is_flat or not isinstance(variables, Sequence) or len(variables) < MANY:
            return np.array(self.places(variables), np.int64)
        own = np.fromiter(map(id, self.parts), np.int64, self._length)
        asked = np.fromiter(map(id, variables), np.int64, len(variables))
        order = np.argsort(own, kind="stable")
        found: Ints = order[np.searchsorted(own[order], asked).clip(max=self._length - 1)]
        for place in np.flatnonzero(own[found] != asked).tolist():
            found[place] = self.id(variables[place])
        return found

    @often
    def ids(self, variables: Iterable[VariableLike]) -> Ints:
        """The positions of several variables."""
        return np.fromiter(map(self.id, _several(variables)), np.int64)

    def array_offset(self, array: VariableArray) -> int:
        """The position of the first element of `array`."""
        found = self._arrays.get(array.base)
        if found is None or found[0] != array:
            raise ScopeError(f"Unknown array {array!r}.{nearest(array.base, self._arrays)}")
        return found[1]

    def _find(self, name: str) -> int | None:
        found = self._single.get(name)
        return found if found is not None else self._find_element(name)

    def _find_element(self, name: str) -> int | None:
        """The position of the element that a user wrote as `base[i,j]`."""
        base, bracket, rest = name.rpartition("[")
        if not bracket or base not in self._arrays or not rest.endswith("]"):
            return None
        try:
            index = tuple(int(i) for i in rest[:-1].split(","))
        except ValueError:
            return None
        return self._position(base, index)

    def _find_structured(self, variable: Discrete | Vector) -> int | None:
        if self._is_element(variable):
            return self._position(variable.base, variable.index)
        return self._single.get(variable.name)

    def _is_element(self, variable: Discrete | Vector) -> bool:
        """Whether a variable has a name of an element of an array."""
        return bool(variable.index) and not (variable.lag or variable.part) and variable.base in self._arrays

    def _position(self, base: str, index: tuple[int, ...]) -> int | None:
        array, offset = self._arrays[base]
        position = array.position(index)
        return None if position is None else offset + position

    def _suggestions(self) -> list[str]:
        return [
            *self._single,
            *(array[(0,) * len(array.shape)].name for array, _ in self._arrays.values() if len(array)),
        ]

    def _hint(self) -> str:
        return f" The model has {listing(self._suggestions(), 6)}." if len(self) else " The model has no variables."

    @lazy
    def names(self) -> tuple[str, ...]:
        """The names in order."""
        return tuple(self._single) if self._is_flat else tuple(v.name for v in self)

    @lazy
    def positions(self) -> Mapping[str, int]:
        """The position of each name, in order; not to be changed.

        >>> Universe([Discrete("a"), Discrete("b")]).positions
        {'a': 0, 'b': 1}
        """
        return self._single if self._is_flat else {name: i for i, name in enumerate(self.names)}

    @property
    def visible(self) -> Universe:
        """The variables without hidden ones that are made late."""
        return self

    @lazy
    def cards(self) -> Ints:
        """The number of states of each variable; 0 for continuous ones."""
        if self._is_flat:
            return read_only(np.array([p.num_states if isinstance(p, Discrete) else 0 for p in self.parts], np.int64))
        return read_only(np.concatenate([_part_cards(part) for part in self.parts]))

    @lazy
    def all_discrete(self) -> bool:
        """Whether every variable has states."""
        return bool((self.cards > 0).all())

    @lazy
    def singles(self) -> Sequence[tuple[Discrete | Vector]]:
        """The scope of each variable alone."""
        return tuple((v,) for v in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Universe):
            return NotImplemented
        return self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"Universe({len(self)}: {listing(self._suggestions(), 6)})"


class ExtendedUniverse(Universe, inner=True):
    """The variables of a model, followed by hidden ones that are made when one of them is read.

    Args:
        own: the variables of the model.
        cards: the numbers of states of the hidden ones.
        make: makes them.
        make_one: makes the one with a number among them, as `make` does.

    >>> hidden = [Discrete("a").hidden("max 1", 3)]
    >>> more = ExtendedUniverse(Universe([Discrete("a")]), [3], lambda: hidden, hidden.__getitem__)
    >>> len(more), more.cards.tolist(), more[0], more[1]
    (2, [2, 3], Discrete('a', (0, 1)), Discrete('a(max 1)', (0, 1, 2)))
    """

    def __init__(
        self,
        own: Universe,
        cards: Sequence[int],
        make: Callable[[], Iterable[Discrete | Vector | VariableArray]],
        make_one: Callable[[int], Discrete],
    ) -> None:
        self._own = own if own._is_flat else Universe(own)
        self._make, self._make_one = make, make_one
        self._length = len(self._own) + len(cards)
        self.cards = read_only(np.concatenate([self._own.cards, np.array(cards, np.int64)]))

    @property
    def visible(self) -> Universe:
        """The variables of the model."""
        return self._own

    @lazy
    def singles(self) -> Sequence[tuple[Discrete | Vector]]:
        """The scope of each variable alone."""
        return tuple([(v,) for v in self._whole]) if self._may_share_names() else LateSingles(self)

    def _may_share_names(self) -> bool:
        """Whether a variable of the model is named as a part of another one, and so perhaps as a hidden one."""
        own = self._own.positions
        return any(name.endswith(")") and name.rpartition("(")[0] in own for name in own)

    @lazy
    def _whole(self) -> Universe:
        """All variables, made now."""
        return Universe([*self._own.parts, *self._make()])

    def __getattr__(self, name: str) -> Any:
        if name not in ("parts", "_single", "_arrays", "_is_flat", "_offsets"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}.")
        return getattr(self._whole, name)

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not int or not 0 <= key < self._length or "_whole" in self.__dict__:
            return self._whole[key]
        num = len(self._own.parts)
        return self._own.parts[key] if key < num else self._make_one(key - num)

    def _find(self, name: str) -> int | None:
        found = self._own._single.get(name)
        return found if found is not None else self._whole._find(name)

    def _find_structured(self, variable: Discrete | Vector) -> int | None:
        return self._find(variable.name)

    def _is_element(self, variable: Discrete | Vector) -> bool:
        """No: a network has no arrays."""
        return False

    def __reduce__(self) -> tuple[object, ...]:
        return Universe, (self.parts,)


class LateSingles(Sequence[tuple[Discrete | Vector]]):
    """The scope of each variable alone, made when it is read.

    Args:
        variables: of these scopes.

    >>> hidden = [Discrete("a").hidden("max 1", 3)]
    >>> more = ExtendedUniverse(Universe([Discrete("a")]), [3], lambda: hidden, hidden.__getitem__)
    >>> LateSingles(more)[0]
    (Discrete('a', (0, 1)),)
    """

    def __init__(self, variables: Universe) -> None:
        self._variables = variables

    def __len__(self) -> int:
        return len(self._variables)

    @overload
    def __getitem__(self, key: int) -> tuple[Discrete | Vector]: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[tuple[Discrete | Vector], ...]: ...
    def __getitem__(self, key: Any) -> Any:
        return tuple(self)[key] if isinstance(key, slice) else (self._variables[key],)


def _several(variables: Iterable[T]) -> Iterable[T]:
    """Several variables or names, after checking that it is not one of them."""
    if isinstance(variables, str | Discrete | Vector) or not isinstance(variables, Iterable):
        raise ScopeError(f"Several variables were expected; found {brief(variables)}. Put one in a list.")
    return variables


def _part_cards(part: Discrete | Vector | VariableArray) -> Ints:
    if isinstance(part, VariableArray):
        return np.full(len(part), part.num_states, np.int64)
    return np.array([part.num_states if isinstance(part, Discrete) else 0], np.int64)


def _clash(new: object, old: object) -> str:
    if new == old:
        return f"{new!r} appears twice. Each variable is listed once."
    return f"Two different variables share one name: {old!r} and {new!r}. Rename one, or give both the same states."
