"""Lazy arrays of discrete variables and the edges of their grids."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Int32s
from sepset.base.checks import whole
from sepset.base.frozen import Frozen, fill, read_only
from sepset.errors import ArgumentError, ModelError, ScopeError
from sepset.variables.variable import Discrete, Domain, State, check_name, element_of, short_states


class VariableArray(Frozen):
    """A lazy array of discrete variables with the same states; elements are created on access.

    >>> spin = Discrete.array("spin", (2, 2), states=(-1, 1))
    >>> len(spin), [v.name for v in spin]
    (4, ['spin[0,0]', 'spin[0,1]', 'spin[1,0]', 'spin[1,1]'])
    """

    __slots__ = ("base", "domain", "shape")
    base: str
    domain: Domain
    shape: tuple[int, ...]

    def __init__(self, name: str, shape: int | Sequence[int], *, states: int | Iterable[State] = 2) -> None:
        check_name(name)
        sizes = (shape,) if isinstance(shape, numbers.Integral) else tuple(shape)  # type: ignore[arg-type]
        if not sizes:
            raise ModelError(f"The array {name!r} needs a shape of at least one size; found {shape!r}.")
        extents = tuple(whole(f"A size of the array {name!r}", n, error=ModelError) for n in sizes)
        fill(self, base=name, domain=Domain.of(states, name), shape=extents)

    @property
    def states(self) -> tuple[State, ...]:
        """The states of every element."""
        return self.domain.states

    @property
    def num_states(self) -> int:
        """The number of states of every element."""
        return len(self.domain.states)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, place: int | tuple[int, ...]) -> Discrete:
        index = place if isinstance(place, tuple) else (place,)
        is_place = len(index) == len(self.shape) and all(isinstance(i, int | np.integer) for i in index)
        if not is_place or not all(-n <= i < n for i, n in zip(index, self.shape, strict=True)):
            raise ScopeError(f"{self.base} has shape {self.shape}; there is no element {list(index)}.")
        wrapped = tuple(int(i) % n for i, n in zip(index, self.shape, strict=True))
        return Discrete(self.base, self.domain, index=wrapped)

    def element(self, flat: int) -> Discrete:
        """The element at a flat position in C order."""
        if not 0 <= flat < len(self):
            raise ScopeError(f"{self.base} has {len(self)} elements; there is no element {flat}.")
        index, rest = list[int](), int(flat)
        for size in reversed(self.shape):
            rest, own = divmod(rest, size)
            index.append(own)
        return element_of(self.base, tuple(reversed(index)), self.domain)

    def __iter__(self) -> Iterator[Discrete]:
        return (element_of(self.base, index, self.domain) for index in itertools.product(*map(range, self.shape)))

    def position(self, index: tuple[int, ...]) -> int | None:
        """The flat position of an index, or None if it is outside the array."""
        if len(index) != len(self.shape) or not all(0 <= i < n for i, n in zip(index, self.shape, strict=True)):
            return None
        flat = 0
        for i, n in zip(index, self.shape, strict=True):
            flat = flat * n + int(i)
        return flat

    def grid_edges(self, connectivity: int = 1) -> Edges:
        """The pairs of neighboring elements: along each axis, or with `connectivity=2` also along plane diagonals.

        >>> len(Discrete.array("x", (3, 3)).grid_edges()), len(Discrete.array("x", (3, 3)).grid_edges(2))
        (12, 20)
        """
        return Edges(self, grid_pairs(self.shape, connectivity))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VariableArray):
            return NotImplemented
        return (self.base, self.shape, self.domain) == (other.base, other.shape, other.domain)

    def __hash__(self) -> int:
        return hash((self.base, self.shape, self.domain))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.base, self.shape, self.states)

    def __repr__(self) -> str:
        return f"Discrete.array({self.base!r}, {self.shape}, {short_states(self.states)})"


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Pairs of elements of one variable array, as flat positions."""

    array: VariableArray
    pairs: Int32s

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"Edges({len(self)} pairs of {self.array.base})"


def grid_pairs(shape: tuple[int, ...], connectivity: int = 1) -> Int32s:
    """Flat positions of neighboring cells of a grid, one row per pair, first axis first."""
    if connectivity not in (1, 2):
        raise ArgumentError(f"connectivity= is 1 (axes) or 2 (axes and plane diagonals); found {connectivity!r}.")
    cells = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    axes = range(len(shape))
    steps = [{axis: 1} for axis in axes]
    if connectivity == 2:
        steps += [{a: 1, b: sign} for a in axes for b in range(a + 1, len(shape)) for sign in (1, -1)]
    ends = [_shifted(cells, step) for step in steps]
    pairs = np.empty((sum(first.size for first, _ in ends), 2), np.int32)
    start = 0
    for first, second in ends:
        part = pairs[start : start + first.size].reshape(*first.shape, 2)
        part[..., 0], part[..., 1] = first, second
        start += first.size
    return read_only(pairs)


def _shifted(cells: Int32s, step: Mapping[int, int]) -> tuple[Int32s, Int32s]:
    """The cells that have a neighbor one step further, and these neighbors."""
    here, there = [slice(None)] * cells.ndim, [slice(None)] * cells.ndim
    for axis, sign in step.items():
        low, high = slice(None, -1), slice(1, None)
        here[axis], there[axis] = (low, high) if sign > 0 else (high, low)
    return cells[tuple(here)], cells[tuple(there)]


def _rebuild(base: str, shape: tuple[int, ...], states: tuple[State, ...]) -> VariableArray:
    return VariableArray(base, shape, states=states)
