"""The numbers of a discrete problem, laid out once: every factor's entries in one flat store."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sepset.factors.algebra import Factor
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.problem import Problem

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SAFE_BITS = 400.0
"""Factors whose range is wider than this are left to the executor that can work with logarithms."""

NEAR_BITS = 60
"""How far from one the largest entry of a factor may lie; with the kernels' limits, no product then underflows."""


@dataclass(frozen=True, eq=False)
class FactorStore:
    """Dense tables of every factor, end to end.

    Attributes:
        values: all entries, each factor in C order of its scope.
        offsets: where each factor starts.
        exponents: the power of two that each factor's entries are to be multiplied by.
        strides: for each factor, from variable position to stride.
        is_safe: whether every factor's range leaves room for linear products.
    """

    values: Floats = field(repr=False)
    offsets: Ints
    exponents: Ints
    strides: tuple[dict[int, int], ...] = field(repr=False)
    is_safe: bool

    @classmethod
    def of(cls, problem: Problem) -> FactorStore:
        """The store of an all-discrete problem: made once, and shared by every engine that asks about it."""
        store: FactorStore | None = problem.kept.get(cls)
        if store is None:
            store = problem.kept[cls] = cls._made(problem)
        return store

    @classmethod
    def _made(cls, problem: Problem) -> FactorStore:
        tables = [_dense(factor) for factor in problem.factors()]
        sizes = [table.size for table in tables]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        safe = all(t.space == "linear" and t.bits()[1] - t.bits()[0] <= SAFE_BITS for t in tables)
        flat = [near_one(t.flat if t.space == "linear" else t.values.reshape(-1)) for t in tables]
        values = np.concatenate([entries for entries, _ in flat]) if flat else np.zeros(0)
        exponents = np.array([t.exponent + shift for t, (_, shift) in zip(tables, flat, strict=True)], dtype=np.int64)
        ids = [dict(zip(problem.scope(i), _strides(t), strict=True)) for i, t in enumerate(tables)]
        return cls(values, offsets, exponents, tuple(ids), safe)

    @cached_property
    def rows(self) -> tuple[Ints, Ints, Ints]:
        """The scopes of all factors as compressed rows: where each starts, variable positions, and their strides."""
        start = np.concatenate([[0], np.cumsum([len(s) for s in self.strides])]).astype(np.int64)
        members = np.array([v for strides in self.strides for v in strides], dtype=np.int64)
        return start, members, np.array([s for strides in self.strides for s in strides.values()], dtype=np.int64)

    @cached_property
    def num_factors(self) -> int:
        """How many factors there are."""
        return len(self.strides)


def near_one(entries: Floats) -> tuple[Floats, int]:
    """The entries with their largest near one, and the power of two taken out; near enough already, they stay.

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


def _strides(table: Table) -> list[int]:
    strides, step = [], 1
    for variable in reversed(table.scope):
        strides.append(step)
        step *= variable.num_states
    return strides[::-1]
