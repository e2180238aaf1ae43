"""Evidence in a problem: factors reduced to the observed states, and likelihoods as factors of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sepset.factors.algebra import Factor
from sepset.factors.table import Table
from sepset.problem import Problem
from sepset.variables.evidence import Evidence


def observed_states(problem: Problem, evidence: Evidence) -> dict[Any, Any]:
    """The hard findings as an assignment from variable to state or value."""
    states: dict[Any, Any] = {}
    for position, code in evidence.codes.items():
        variable = problem.variables[position]
        states[variable] = variable.states[code]  # type: ignore[union-attr]
    for position, value in evidence.reals.items():
        states[problem.variables[position]] = value
    return states


def reduced_factors(problem: Problem, evidence: Evidence, numbers: Iterable[int] | None = None) -> list[Factor]:
    """The factors with these numbers at the evidence, followed by the likelihood factors.

    Cost: linear in the sizes of the factors; each is reduced by the findings in its own scope.
    """
    states = observed_states(problem, evidence)
    chosen = range(problem.num_factors) if numbers is None else numbers
    return [_at(problem.factor(i), states) for i in chosen] + likelihoods(problem, evidence)


def _at(factor: Factor, states: dict[Any, Any]) -> Factor:
    known = {v: states[v] for v in factor.scope if v in states}
    return factor.condition(known) if known else factor


def likelihoods(problem: Problem, evidence: Evidence) -> list[Factor]:
    """One table per variable with subset or likelihood evidence."""
    return [Table(problem.variables[v], w) for v, w in sorted(evidence.weights.items())]  # type: ignore[arg-type]
