"""New numbers for the same factors: the store and the problem of a structure whose values change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepset.errors import ModelError, StateError
from sepset.factors.algebra import Factor
from sepset.factors.table import Table
from sepset.inference.tables import FactorStore
from sepset.problem import Problem
from sepset.universe import Variables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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
    current = np.ldexp(store.values, np.repeat(store.exponents, np.diff(store.offsets)))
    named = values if isinstance(values, Mapping) else dict(enumerate(values))
    if not isinstance(values, Mapping) and len(named) != store.num_factors:
        raise ModelError(f"One array a factor was expected: {store.num_factors}; found {len(named)}.")
    for number, array in named.items():
        if not 0 <= number < store.num_factors:
            raise ModelError(f"There are {store.num_factors} factors, counted from 0; no factor {number}.")
        start, stop = int(store.offsets[number]), int(store.offsets[number + 1])
        current[start:stop] = _checked(problem, store, number, array)
    _check_conditionals(problem, split(problem, store, current))
    blocks = [
        Valued(np.array([list(strides)], dtype=np.int64).reshape(1, -1), part)
        for strides, part in zip(store.strides, split(problem, store, current), strict=True)
    ]
    made = Problem(problem.variables, tuple(blocks), problem.conditionals, problem.num_visible)
    return made, FactorStore.settled(problem, current, store.offsets, np.zeros_like(store.exponents))


def _checked(problem: Problem, store: FactorStore, number: int, array: ArrayLike) -> Floats:
    given = np.asarray(array, dtype=np.float64)
    shape = tuple(int(problem.variables.cards[v]) for v in store.strides[number])
    if given.shape != shape:
        raise ModelError(f"Factor {number} has shape {shape}; found {given.shape}.")
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise StateError(f"Factor {number} takes finite numbers of at least zero.")
    return given.reshape(-1)


def _check_conditionals(problem: Problem, values: Sequence[Floats]) -> None:
    """Pruning counts on conditionals that sum to one; those of a single factor are checked."""
    for group in problem.conditionals:
        if len(group.factors) != 1 or group.auxiliaries:
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
