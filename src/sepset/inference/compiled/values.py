"""New numbers for the same factors: the store and the problem of a structure whose values change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.errors import ModelError, StateError
from sepset.factors.algebra import Factor
from sepset.factors.block import Single
from sepset.factors.table import Table
from sepset.inference.compiled.store import FactorStore
from sepset.problem import Block, Problem
from sepset.variables.universe import Variables

Values = Mapping[int, ArrayLike] | Sequence[ArrayLike]
"""Arrays by factor number, each over the factor's scope; factors that a mapping leaves out keep theirs."""

TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Valued:
    """One factor of a problem with numbers from a store, made into a table when it is looked at."""

    scopes: Ints
    values: Floats

    def __len__(self) -> int:
        return 1

    def factor(self, i: int, variables: Variables) -> Factor:
        """The table; there is only one."""
        scope = [variables[v] for v in self.scopes[0].tolist()]
        return Table(scope, self.values)


def split(problem: Problem, store: FactorStore, flat: Floats) -> tuple[Floats, ...]:
    """Numbers laid out as the store is, as one array a factor with an axis a variable of its scope."""
    cards = problem.variables.cards
    parts = np.split(flat, store.offsets[1:-1]) if store.num_factors else []
    shapes = [[int(cards[v]) for v in strides] for strides in store.strides]
    return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))


def with_values(problem: Problem, store: FactorStore, values: Values) -> tuple[Problem, FactorStore]:
    """The problem and its store with new numbers; conditionals must stay conditionals."""
    named = _named(store, values)
    flat, exponents = store.values.copy(), store.exponents.copy()
    for number, array in named.items():
        start, stop = int(store.offsets[number]), int(store.offsets[number + 1])
        flat[start:stop] = _checked(problem, store, number, array)
        exponents[number] = 0
    parts = split(problem, store, flat)
    _check_conditionals(problem, named, parts)
    made = Problem(problem.variables, _blocks(problem, named, parts), problem.conditionals, problem.num_visible)
    settled = FactorStore.settled(problem, flat, store.offsets, exponents)
    if store.is_safe or len(named) == store.num_factors:
        return made, settled
    kept = (problem.factor(number) for number in range(store.num_factors) if number not in named)
    # Factors in log space have numbers that the store does not hold, and cannot judge.
    return made, replace(settled, is_safe=settled.is_safe and all(_is_linear(factor) for factor in kept))


def _is_linear(factor: Factor) -> bool:
    return not isinstance(factor, Table) or factor.space == "linear"


def _named(store: FactorStore, values: Values) -> Mapping[int, ArrayLike]:
    """The arrays by factor number."""
    if not isinstance(values, Mapping):
        if len(values) != store.num_factors:
            raise ModelError(f"One array a factor was expected: {store.num_factors}; found {len(values)}.")
        return dict(enumerate(values))
    for number in values:
        is_number = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not is_number or not 0 <= number < store.num_factors:
            raise ModelError(f"There are {store.num_factors} factors, counted from 0; no factor {number!r}.")
    return values


def _blocks(problem: Problem, named: Mapping[int, ArrayLike], parts: Sequence[Floats]) -> tuple[Block, ...]:
    """Every factor by itself: those named with their new numbers, the others as they were."""
    blocks: list[Block] = []
    for block in problem.blocks:
        for i, scope in enumerate(np.asarray(block.scopes, dtype=np.int64)):
            number = len(blocks)
            if number in named:
                blocks.append(Valued(scope.reshape(1, -1), parts[number]))
            else:
                blocks.append(block if len(block) == 1 else Single(block.factor(i, problem.variables), scope))
    return tuple(blocks)


def _checked(problem: Problem, store: FactorStore, number: int, array: ArrayLike) -> Floats:
    given = np.asarray(array, dtype=np.float64)
    shape = tuple(int(problem.variables.cards[v]) for v in store.strides[number])
    if given.shape != shape:
        raise ModelError(f"Factor {number} has shape {shape}; found {given.shape}.")
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise StateError(f"Factor {number} takes finite numbers of at least zero.")
    return given.reshape(-1)


def _check_conditionals(problem: Problem, named: Mapping[int, ArrayLike], values: Sequence[Floats]) -> None:
    """Pruning counts on conditionals that sum to one; new ones of a single factor are checked."""
    for group in problem.conditionals:
        if len(group.factors) != 1 or group.auxiliaries or group.factors[0] not in named:
            continue
        table = values[group.factors[0]]
        sums = table.sum(axis=problem.scope(group.factors[0]).index(group.child))
        if table.size and abs(sums - 1.0).max() > TOLERANCE:
            name = problem.variables[group.child].name
            worst = float(sums.reshape(-1)[abs(sums - 1.0).argmax()])
            raise ModelError(
                f"Factor {group.factors[0]} is the CPD of {name} and must sum to one over it; found {worst:.9g}. "
                "Prepare a MarkovNet for numbers that are not conditional."
            )
