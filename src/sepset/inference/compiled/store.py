"""The values of a discrete problem, laid out once: all factors' entries in one flat store."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.cache import Slot
from sepset.base.frozen import fill
from sepset.base.lazy import lazy
from sepset.base.threads import require_time
from sepset.factors.algebra import MAX_ENTRIES, Factor
from sepset.factors.block import FactorBlock, Single
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.kernels.compiled import stores
from sepset.problem import Problem, places_of_rows

SAFE_BITS = 400
"""The widest range of a factor's entries, in powers of two, for linear arithmetic; beyond it, log space."""

NEAR_BITS = 60
"""The largest distance of a factor's largest entry from one, in powers of two: no product of the kernels underflows."""


class Layout:
    """The layout of a store: the place of every factor's entries.

    Attributes:
        numbers: all of it in one array, as kernels take it (`kernels.compiled.stores`).
    """

    def __init__(self, numbers: Ints) -> None:
        self.numbers = numbers

    @classmethod
    def of(cls, rows: tuple[Ints, Ints, Ints], offsets: Ints, cards: Ints) -> Layout:
        """The layout with these parts."""
        sizes = np.array([len(offsets) - 1, len(rows[1]), len(cards)], np.int64)
        return cls(np.concatenate([sizes, *rows, offsets, cards]))

    @classmethod
    def of_problem(cls, problem: Problem) -> Layout:
        """The layout of the factors of an all-discrete problem, as their scopes tell."""
        (start, members), cards = problem.scopes, problem.variables.cards
        strides, sizes, num = np.ones(len(members), np.int64), np.ones(len(start) - 1, np.int64), np.diff(start)
        for k in range(1, int(num.max(initial=0)) + 1):  # from the last axis of every factor to the first
            own = np.flatnonzero(num >= k)
            place = start[own + 1] - k
            strides[place] = sizes[own]
            sizes[own] *= cards[members[place]]
        return cls.of((start, members, strides), np.append(0, sizes.cumsum()), cards)

    @lazy
    def rows(self) -> tuple[Ints, Ints, Ints]:
        """The scopes of all factors as compressed rows: starts, variable positions, and their strides."""
        num_factors, num, _ = self.numbers[:3].tolist()
        first = 3 + num_factors + 1
        return self.numbers[3:first], self.numbers[first : first + num], self.numbers[first + num : first + 2 * num]

    @lazy
    def offsets(self) -> Ints:
        """The start of each factor, and the end of the last."""
        num_factors, num, num_variables = self.numbers[:3].tolist()
        return self.numbers[3 + num_factors + 1 + 2 * num : len(self.numbers) - num_variables]


@dataclass(frozen=True, eq=False)
class FactorStore:
    """Dense tables of all factors, concatenated.

    Attributes:
        values: all entries, each factor in C order of its scope.
        layout: the place of each entry.
        exponents: the power of two by which each factor's entries are multiplied.
        is_safe: whether every factor's range leaves room for linear products.
        has_zeros: whether some entries are zero, in a part of a store perhaps those that were left out.
    """

    values: Floats = field(repr=False)
    layout: Layout = field(repr=False)
    exponents: Ints
    is_safe: bool
    has_zeros: bool

    @property
    def rows(self) -> tuple[Ints, Ints, Ints]:
        """The scopes of all factors as compressed rows: starts, variable positions, and their strides."""
        return self.layout.rows

    @classmethod
    def of(cls, problem: Problem) -> FactorStore:
        """The store of an all-discrete problem: made once, and shared by all engines of the problem."""
        is_late = problem.is_built and problem.num_visible > costs.VARIABLES_ALWAYS_PLANNED
        return problem.kept.get(STORE, lambda: LateStore.waiting(problem) if is_late else cls._made(problem))

    @classmethod
    def _made(cls, problem: Problem) -> FactorStore:
        whole = _joined(_parts(problem))
        made = cls.settled(problem, whole.values, whole.exponents)
        return made if whole.is_linear else replace(made, is_safe=False)

    @classmethod
    def settled(cls, problem: Problem, values: Floats, exponents: Ints, known: Layout | None = None) -> FactorStore:
        """The store of these entries times two to these powers, each factor rescaled to a largest entry near one; in a
        layout that is known, or a new one."""
        scopes, cards = problem.scopes, problem.variables.cards
        numbers, shifts, is_safe, has_zeros = stores.settle(values, *scopes, cards, NEAR_BITS, SAFE_BITS)
        layout = Layout(numbers) if known is None else known
        if len(shifts):
            values = np.ldexp(values, -np.repeat(shifts, np.diff(layout.offsets)))
            exponents = exponents + shifts
        return cls(values, layout, exponents, is_safe, has_zeros)

    def with_values(self, problem: Problem, arrays: Mapping[int, Floats]) -> tuple[Problem, FactorStore]:
        """The problem and its store with new values for some factors, as `checked_values` returns them."""
        from sepset.inference.values import replaced

        flat, exponents, offsets = self.values.copy(), self.exponents.copy(), self.layout.offsets
        for number, array in arrays.items():
            flat[int(offsets[number]) : int(offsets[number + 1])] = array.reshape(-1)
            exponents[number] = 0
        parts = self.split(problem, flat)
        made = replaced(problem, {number: parts[number] for number in arrays})
        settled = FactorStore.settled(problem, flat, exponents, self.layout)
        if not self.is_safe and len(arrays) < self.num_factors:
            kept = (problem.factor(number) for number in range(self.num_factors) if number not in arrays)
            # Factors in log space have values that the store does not hold and cannot check.
            settled = replace(settled, is_safe=settled.is_safe and all(_is_linear(factor) for factor in kept))
        return made, settled

    def split(self, problem: Problem, flat: Floats) -> tuple[Floats, ...]:
        """Entries in the layout of the store, as one array per factor with an axis per variable of its scope."""
        places = zip(itertools.pairwise(self.layout.offsets.tolist()), problem.shapes, strict=True)
        return tuple([flat[start:end].reshape(shape) for (start, end), shape in places])

    @lazy
    def strides(self) -> tuple[dict[int, int], ...]:
        """For each factor, from variable position to stride."""
        start, members, strides = (part.tolist() for part in self.rows)
        return tuple(dict(zip(members[i:j], strides[i:j], strict=True)) for i, j in itertools.pairwise(start))

    @property
    def num_factors(self) -> int:
        """The number of factors."""
        return len(self.exponents)

    def holding(self, numbers: Ints) -> FactorStore:
        """A store with the values of at least these factors."""
        return self


class LateStore(FactorStore):
    """The store of many factors, whose values are read when they are asked for; a plan needs its layout alone."""

    _problem: Problem

    @classmethod
    def waiting(cls, problem: Problem) -> LateStore:
        """The store of an all-discrete problem, of which nothing is read yet."""
        return fill(cls.__new__(cls), layout=Layout.of_problem(problem), _problem=problem)

    @lazy
    def _whole(self) -> FactorStore:
        return FactorStore._made(self._problem)

    @lazy
    def values(self) -> Floats:
        """All entries."""
        return self._whole.values

    @lazy
    def exponents(self) -> Ints:
        """The power of two of each factor."""
        return self._whole.exponents

    @lazy
    def is_safe(self) -> bool:
        """Whether linear products are in range."""
        return self._whole.is_safe

    @lazy
    def has_zeros(self) -> bool:
        """Whether some entries are zero."""
        return self._whole.has_zeros

    def holding(self, numbers: Ints) -> FactorStore:
        """This store, or one that holds the values of these factors if they are few and the others are not read yet."""
        if "_whole" in self.__dict__ or costs.SHARE_READ_ALONE * len(numbers) > len(self.layout.offsets):
            return self
        self._partial.read(numbers)
        return self._partial

    @lazy
    def _partial(self) -> PartialStore:
        return PartialStore.waiting(self._problem)


class PartialStore(FactorStore):
    """The values of those factors that were asked for, in the places where the store of all has them."""

    _problem: Problem
    _is_read: Bools
    _reading: Lock

    @classmethod
    def waiting(cls, problem: Problem) -> PartialStore:
        """The store of a problem, in which nothing is read yet."""
        layout = Layout.of_problem(problem)
        made = cls(np.zeros(layout.offsets[-1]), layout, np.zeros(len(layout.offsets) - 1, np.int64), True, False)
        return fill(made, _problem=problem, _reading=Lock(), _is_read=np.zeros(made.num_factors, np.bool_))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled empty: values are read again when they are needed."""
        return PartialStore.waiting, (self._problem,)

    def read(self, numbers: Ints) -> None:
        """Lay out the values of these factors."""
        with self._reading:
            new = numbers[~self._is_read[numbers]]
            if not len(new):
                return
            factors = list[Factor]()
            for number in new.tolist():
                require_time()
                factors.append(self._problem.factor(number))
            start, members = self._problem.scopes
            num, part = np.diff(start)[new], _tables(factors)
            scopes = np.append(0, num.cumsum()), members[places_of_rows(start[new], num)]
            cards = self._problem.variables.cards
            _, shifts, is_safe, has_zeros = stores.settle(part.values, *scopes, cards, NEAR_BITS, SAFE_BITS)
            sizes = np.diff(self.layout.offsets)[new]
            moved = shifts if len(shifts) else np.zeros_like(sizes)
            self.values[places_of_rows(self.layout.offsets[:-1][new], sizes)] = np.ldexp(
                part.values, -np.repeat(moved, sizes)
            )
            self.exponents[new] = part.exponents + moved
            is_read = self._is_read.copy()
            is_read[new] = True
            is_safe = self.is_safe and is_safe and part.is_linear
            fill(self, is_safe=is_safe, has_zeros=self.has_zeros or has_zeros, _is_read=is_read)


STORE: Slot[FactorStore] = Slot("the values of every factor")
LOGS: Slot[Floats] = Slot("the logarithms of the values of every factor")


@dataclass(frozen=True, eq=False)
class FactorValues:
    """The factor values of a problem as inputs of runs: linear, and logarithms on demand.

    Attributes:
        problem: every variable discrete.
        store: its entries, or those over possible states.
        cells: the places of these in the whole store; None for all.
    """

    problem: Problem
    store: FactorStore
    cells: Ints | None = None

    def holding(self, numbers: Ints) -> FactorValues:
        """The values of at least these factors."""
        store = self.store.holding(numbers)
        return self if store is self.store else replace(self, store=store)

    @lazy
    def logs(self) -> Floats:
        """The logarithms of the entries, in the layout of the store; zeros are minus infinity."""
        logs = self.problem.kept.get(LOGS, lambda: _logs(self.problem))
        return logs if self.cells is None else logs[self.cells]


def _logs(problem: Problem) -> Floats:
    parts = list[Floats]()
    for block in problem.blocks:
        if isinstance(block, FactorBlock) and block.shared and len(block) > 1:
            parts.append(np.tile(block.factor(0, problem.variables).log_values.reshape(-1), len(block)))
        else:
            each = (block.factor(i, problem.variables) for i in range(len(block)))
            parts += [_dense(factor).log_values.reshape(-1) for factor in each]
    return np.concatenate(parts) if parts else np.zeros(0)


class Part(NamedTuple):
    """Some factors, one after the other.

    Attributes:
        values: the entries of all of them.
        exponents: the powers of two that the entries of each are multiplied by.
        is_linear: whether no factor is in log space, in which entries may be out of range.
    """

    values: Floats
    exponents: Ints
    is_linear: bool


def _parts(problem: Problem) -> list[Part]:
    """The factors of all blocks; those of single ones together."""
    if SINGLE.issuperset(map(type, problem.blocks)):
        return [_tables([block.value for block in problem.blocks])]  # type: ignore[attr-defined]  # of single ones
    parts, waiting = list[Part](), list[Factor]()
    for block in problem.blocks:
        if isinstance(block, Single):
            waiting.append(block.value)
            continue
        whole = _block(block, problem) if isinstance(block, FactorBlock) and len(block) > 1 else None
        if whole is None:
            for i in range(len(block)):
                require_time()
                waiting.append(block.factor(i, problem.variables))
        else:
            parts += [_tables(waiting), whole]
            waiting = []
    return [*parts, _tables(waiting)] if waiting else parts


def _joined(parts: Sequence[Part]) -> Part:
    """The parts as one."""
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([part.values for part in parts]) if parts else np.zeros(0)
    exponents = np.concatenate([np.zeros(0, np.int64), *(part.exponents for part in parts)])
    return Part(values, exponents, all(part.is_linear for part in parts))


def _block(block: FactorBlock, problem: Problem) -> Part | None:
    """The factors of a block at once; None if they need log space, or do not fit the variables."""
    size, num = math.prod(block.cards), len(block)
    if size > MAX_ENTRIES or (problem.variables.cards[block.scopes] != np.array(block.cards)).any():
        return None
    found = block.linear()
    if found is None:
        return None
    values, exponents = found
    flat = np.broadcast_to(values, (num, size)).reshape(-1)
    return Part(flat, np.array(np.broadcast_to(exponents, num)), True)


def _tables(factors: Sequence[Factor]) -> Part:
    is_dense = TABLE.issuperset(map(type, factors))
    tables: Sequence[Any] = factors if is_dense else [_dense(factor) for factor in factors]
    exponents = np.array([table.exponent for table in tables], np.int64)
    if "log" not in {table.space for table in tables}:
        return Part(np.concatenate([table.flat for table in tables]) if tables else np.zeros(0), exponents, True)
    flat = [table.flat if table.space == "linear" else table.values.reshape(-1) for table in tables]
    return Part(np.concatenate(flat), exponents, False)


SINGLE, TABLE = frozenset({Single}), frozenset({Table})


def _is_linear(factor: Factor) -> bool:
    return not isinstance(factor, Table) or factor.space == "linear"


def near_one(entries: Floats) -> tuple[Floats, int]:
    """The entries scaled so that the largest is near one, and the power of two divided out; unchanged if it is near.

    >>> near_one(np.array([0.0, 2.0**500]))[1]
    501
    """
    shift = math.frexp(max(entries.tolist(), default=0.0))[1]
    return (entries, 0) if abs(shift) <= NEAR_BITS else (np.ldexp(entries, -shift), shift)


def _dense(factor: Factor) -> Table:
    if isinstance(factor, SparseTable):
        return factor.to_table()
    assert isinstance(factor, Table)
    return factor
