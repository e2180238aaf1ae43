"""The values of a discrete problem, laid out once: all factors' entries in one flat store."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.cache import Slot
from sepset.base.lazy import lazy
from sepset.base.threads import require_time
from sepset.factors.algebra import MAX_ENTRIES, Factor
from sepset.factors.block import FactorBlock, Single
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.problem import Problem

SAFE_BITS = 400
"""The widest range of a factor's entries, in powers of two, for linear arithmetic; beyond it, log space."""

NEAR_BITS = 60
"""The largest distance of a factor's largest entry from one, in powers of two: no product of the kernels underflows."""


class Layout(NamedTuple):
    """The layout of a store: the place of every factor's entries.

    Attributes:
        rows: the scopes of all factors as compressed rows: starts, variable positions, and their strides.
        offsets: the start of each factor.
    """

    rows: tuple[Ints, Ints, Ints]
    offsets: Ints


@dataclass(frozen=True, eq=False)
class FactorStore:
    """Dense tables of all factors, concatenated.

    Attributes:
        values: all entries, each factor in C order of its scope.
        offsets: the start of each factor.
        exponents: the power of two by which each factor's entries are multiplied.
        rows: the scopes of all factors as compressed rows: starts, variable positions, and their strides.
        is_safe: whether every factor's range leaves room for linear products.
    """

    values: Floats = field(repr=False)
    offsets: Ints
    exponents: Ints
    rows: tuple[Ints, Ints, Ints] = field(repr=False)
    is_safe: bool

    @property
    def layout(self) -> Layout:
        """The layout of the entries."""
        return Layout(self.rows, self.offsets)

    @classmethod
    def of(cls, problem: Problem) -> FactorStore:
        """The store of an all-discrete problem: made once, and shared by all engines of the problem."""
        return problem.kept.get(STORE, lambda: cls._made(problem))

    @classmethod
    def _made(cls, problem: Problem) -> FactorStore:
        whole = _joined(_parts(problem))
        offsets = np.zeros(len(whole.sizes) + 1, np.int64)
        np.add.accumulate(whole.sizes, out=offsets[1:])
        made = cls.settled(problem, whole.values, offsets, whole.exponents)
        return made if whole.is_linear else replace(made, is_safe=False)

    @classmethod
    def settled(cls, problem: Problem, values: Floats, offsets: Ints, exponents: Ints) -> FactorStore:
        """The store of these entries times two to these powers, each factor rescaled to a largest entry near one."""
        from sepset.kernels.compiled.stores import settle

        start, members = problem.scopes
        cards = problem.variables.cards.copy()
        shifts, strides, is_safe = settle(values, offsets, start, members, cards, NEAR_BITS, SAFE_BITS)
        if shifts.any():
            values = np.ldexp(values, -np.repeat(shifts, np.diff(offsets)))
            exponents = exponents + shifts
        return cls(values, offsets, exponents, (start, members, strides), is_safe)

    def with_values(self, problem: Problem, arrays: Mapping[int, Floats]) -> tuple[Problem, FactorStore]:
        """The problem and its store with new values for some factors, as `checked_values` returns them."""
        from sepset.inference.values import replaced

        flat, exponents = self.values.copy(), self.exponents.copy()
        for number, array in arrays.items():
            flat[int(self.offsets[number]) : int(self.offsets[number + 1])] = array.reshape(-1)
            exponents[number] = 0
        parts = self.split(problem, flat)
        made = replaced(problem, {number: parts[number] for number in arrays})
        settled = FactorStore.settled(problem, flat, self.offsets, exponents)
        if not self.is_safe and len(arrays) < self.num_factors:
            kept = (problem.factor(number) for number in range(self.num_factors) if number not in arrays)
            # Factors in log space have values that the store does not hold and cannot check.
            settled = replace(settled, is_safe=settled.is_safe and all(_is_linear(factor) for factor in kept))
        return made, settled

    def split(self, problem: Problem, flat: Floats) -> tuple[Floats, ...]:
        """Entries in the layout of the store, as one array per factor with an axis per variable of its scope."""
        places = zip(itertools.pairwise(self.offsets.tolist()), problem.shapes, strict=True)
        return tuple([flat[start:end].reshape(shape) for (start, end), shape in places])

    @lazy
    def strides(self) -> tuple[dict[int, int], ...]:
        """For each factor, from variable position to stride."""
        start, members, strides = (part.tolist() for part in self.rows)
        return tuple(dict(zip(members[i:j], strides[i:j], strict=True)) for i, j in itertools.pairwise(start))

    @property
    def num_factors(self) -> int:
        """The number of factors."""
        return len(self.offsets) - 1


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
        sizes: the number of entries of each.
        exponents: the powers of two that the entries of each are multiplied by.
        is_linear: whether no factor is in log space, in which entries may be out of range.
    """

    values: Floats
    sizes: Ints
    exponents: Ints
    is_linear: bool


def _parts(problem: Problem) -> list[Part]:
    """The factors of all blocks; those of single ones together."""
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
    none = np.zeros(0, np.int64)
    values = np.concatenate([part.values for part in parts]) if parts else np.zeros(0)
    sizes, exponents = ([none, *(part[place] for part in parts)] for place in (1, 2))
    return Part(values, np.concatenate(sizes), np.concatenate(exponents), all(part.is_linear for part in parts))


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
    return Part(flat, np.full(num, size), np.array(np.broadcast_to(exponents, num)), True)


def _tables(factors: Sequence[Factor]) -> Part:
    tables = [factor if type(factor) is Table else _dense(factor) for factor in factors]
    is_linear = "log" not in {table.space for table in tables}
    if is_linear:
        flat = [table.flat for table in tables]
    else:
        flat = [table.flat if table.space == "linear" else table.values.reshape(-1) for table in tables]
    values = np.concatenate(flat) if flat else np.zeros(0)
    sizes, exponents = ([len(one) for one in flat], [table.exponent for table in tables])
    return Part(values, np.array(sizes, np.int64), np.array(exponents, np.int64), is_linear)


def _is_linear(factor: Factor) -> bool:
    return not isinstance(factor, Table) or factor.space == "linear"


def near_one(entries: Floats) -> tuple[Floats, int]:
    """The entries scaled so that the largest is near one, and the power of two divided out; unchanged if it is near.

    >>> near_one(np.array([0.0, 2.0**500]))[1]
    501
    """
    shift = math.frexp(float(entries.max(initial=0.0)))[1]
    return (entries, 0) if abs(shift) <= NEAR_BITS else (np.ldexp(entries, -shift), shift)


def _dense(factor: Factor) -> Table:
    if isinstance(factor, SparseTable):
        return factor.to_table()
    assert isinstance(factor, Table)
    return factor
