"""New values for the factors of a problem with the same structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.text import listing
from sepset.errors import ModelError, NotApplicable, StateError
from sepset.factors.algebra import Factor
from sepset.factors.block import Single
from sepset.factors.regression import Regression
from sepset.factors.table import Table
from sepset.problem import Block, Problem
from sepset.variables.universe import Universe

Value = ArrayLike | Table | Regression
"""The value of a factor: an array over its scope, a table if that leaves the range of floats, or a regression."""

Values = Mapping[int, Value] | Sequence[Value]
"""Values by factor number; factors that a mapping leaves out keep theirs."""

TOLERANCE = 1e-6
"""The largest deviation of the sums of a new conditional from one."""


@dataclass(frozen=True, slots=True, eq=False)
class Valued:
    """One factor of a problem with new values, made into a table when it is read."""

    scopes: Ints
    values: Floats

    def __len__(self) -> int:
        return 1

    def factor(self, i: int, variables: Universe) -> Factor:
        """The table; there is only one."""
        scope = [variables[v] for v in self.scopes[0].tolist()]
        return Table(scope, self.values)


def checked_values(problem: Problem, values: Values) -> dict[int, Floats]:
    """The arrays by factor number, each of the shape of its factor.

    Raises for arrays of another shape, for negative or infinite values, and for conditionals of a single factor that do
    not sum to one, which pruning relies on.
    """
    named = {number: _checked(problem, number, value) for number, value in named_values(problem, values).items()}
    _check_conditionals(problem, named)
    return named


def checked_regressions(problem: Problem, values: Values) -> dict[int, Regression]:
    """The regressions by factor number, each over the variables of its factor, without the arrays."""
    named = {n: value for n, value in named_values(problem, values).items() if isinstance(value, Regression)}
    for number, value in named.items():
        scope = tuple(problem.variables[v] for v in problem.scope(number))
        if value.scope != scope:
            raise ModelError(f"Factor {number} is over {listing(v.name for v in scope)}; found {value!r}.")
    return named


def tables(problem: Problem, values: Values) -> dict[int, Table]:
    """The tables among values, by factor number, each over the variables of its factor."""
    named = {n: value for n, value in named_values(problem, values).items() if isinstance(value, Table)}
    for number, value in named.items():
        if value.shape != problem.shapes[number]:
            raise ModelError(f"Factor {number} has shape {problem.shapes[number]}; found {value.shape}.")
    return named


def replaced(problem: Problem, values: Mapping[int, Floats | Table | Regression]) -> Problem:
    """The problem with these values, already checked, in place of the factors with these numbers."""
    blocks: list[Block] = []
    for block in problem.blocks:
        for i, scope in enumerate(np.asarray(block.scopes, dtype=np.int64)):
            value = values.get(len(blocks))
            if isinstance(value, Regression | Table):
                blocks.append(Single(value, scope))
            elif value is not None:
                blocks.append(Valued(scope.reshape(1, -1), value))
            else:
                blocks.append(block if len(block) == 1 else Single(block.factor(i, problem.variables), scope))
    return problem.with_blocks(blocks)


def named_values(problem: Problem, values: Values) -> Mapping[int, Value]:
    """The values by factor number."""
    if not isinstance(values, Mapping):
        if len(values) != len(problem.shapes):
            raise ModelError(f"One array per factor was expected: {len(problem.shapes)}; found {len(values)}.")
        return dict(enumerate(values))
    for number in values:
        is_number = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not is_number or not 0 <= number < problem.num_factors:
            raise ModelError(f"There are {problem.num_factors} factors, counted from 0; no factor {number!r}.")
    return values


def _checked(problem: Problem, number: int, value: Value) -> Floats:
    shape = problem.shapes[number]
    if 0 in shape or isinstance(value, Regression | Table):
        raise NotApplicable(f"Factor {number} is over continuous variables; only tables take new values here.")
    given = np.asarray(value, dtype=np.float64)
    if given.shape != shape:
        raise ModelError(f"Factor {number} has shape {shape}; found {given.shape}.")
    if given.size and not (given.min() >= 0.0 and given.max() < np.inf):  # a NaN is not in this range either
        raise StateError(f"Factor {number} takes finite numbers of at least zero.")
    return given


def _check_conditionals(problem: Problem, named: Mapping[int, Floats]) -> None:
    """Raise unless new conditionals of a single factor sum to one, which pruning relies on."""
    for number, child, axis in problem.single_conditionals:
        if number not in named:
            continue
        table = named[number]
        sums = table.sum(axis=axis)
        if table.size and abs(sums - 1.0).max() > TOLERANCE:
            name = problem.variables[child].name
            worst = float(sums.reshape(-1)[abs(sums - 1.0).argmax()])
            raise ModelError(
                f"Factor {number} is the CPD of {name} and must sum to one over it; found {worst:.9g}. "
                "Prepare a MarkovNet for values that are not conditional."
            )
