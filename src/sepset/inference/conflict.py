"""Conflicts in impossible evidence: minimal sets of findings that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.text import listing
from sepset.errors import ImpossibleEvidence, TooLarge
from sepset.graphs.ordering import DEFAULT_ORDER
from sepset.inference.method import AnswersQueries
from sepset.inference.plan import make_plan
from sepset.problem import Problem
from sepset.variables.evidence import KINDS, Evidence
from sepset.variables.variable import Discrete

MOST_FACTORS, MOST_ENTRIES = 2000, 10**6
"""The most factors among which the one that excludes everything is looked for, and the largest table for that."""


def minimal_conflict(prepared: AnswersQueries, evidence: Evidence) -> tuple[int, ...]:
    r"""Positions whose findings are jointly impossible, and possible when any one of them is dropped.

    The first finding that is impossible with those before it belongs to the conflict; then the same among those before
    it, given the conflict so far. If a log partition is too large to compute, the set may not be minimal.

    Args:
        evidence: findings that are jointly impossible.

    Cost: about $k \log_2 n$ log partitions for k of n findings.

    Guarantee: minimal: no finding can be dropped.
    Tested by: inference/test_conflict.py::test_no_proper_subset_is_impossible
    """
    needed: list[int] = []
    rest = list(evidence.touched)
    while rest and not _is_impossible(prepared, evidence, needed):
        possible, enough = 0, len(rest)
        while enough - possible > 1:
            middle = (possible + enough) // 2
            if _is_impossible(prepared, evidence, [*needed, *rest[:middle]]):
                enough = middle
            else:
                possible = middle
        needed.append(rest[enough - 1])
        rest = rest[: enough - 1]
    return tuple(sorted(needed))


def _is_impossible(prepared: AnswersQueries, evidence: Evidence, positions: Iterable[int]) -> bool:
    """Whether these findings alone are impossible; False if that takes too much memory."""
    try:
        return prepared.log_partition(restrict(evidence, positions)) == -np.inf
    except TooLarge:
        return False


def restrict(evidence: Evidence, positions: Iterable[int]) -> Evidence:
    """The evidence on these positions only."""
    kept = set(positions)
    return Evidence(**{kind: {v: x for v, x in getattr(evidence, kind).items() if v in kept} for kind in KINDS})


def impossible(prepared: AnswersQueries, evidence: Evidence) -> ImpossibleEvidence:
    """The error that names the conflicting findings, or the model if its total is zero."""
    conflict = minimal_conflict(prepared, evidence)
    if not conflict:
        return ImpossibleEvidence(
            f"The model gives every assignment probability zero: its factors contradict each other."
            f"{_excluding(prepared.problem)}"
        )
    findings = ", ".join(_describe(prepared, evidence, v) for v in conflict)
    if len(conflict) == 1:
        why = "is impossible under the model. Drop or change it."
    else:
        why = "contradict each other. Drop or change one of them."
    return ImpossibleEvidence(
        f"The evidence has probability zero: {findings} {why}{_relations(prepared.problem, conflict)}"
    )


def _excluding(problem: Problem) -> str:
    """The first factor that allows nothing of what those before it allow; empty if that is not easily found."""
    order = _easy_order(problem)
    if order is None or not _is_zero(problem, range(problem.num_factors), order):
        return ""  # the zero may also be that of numbers that are too small
    possible, enough = 0, problem.num_factors
    while enough - possible > 1:
        middle = (possible + enough) // 2
        possible, enough = (possible, middle) if _is_zero(problem, range(middle), order) else (middle, enough)
    is_alone = _is_zero(problem, range(enough - 1, enough), order)
    names = listing(problem.variables[v].name for v in problem.scope(enough - 1))
    why = "is zero everywhere" if is_alone else "allows no joint state that those before it allow"
    return f" Factor {enough - 1} over {names} {why}. Correct it, or put a small number in place of zeros."


def _easy_order(problem: Problem) -> list[Any] | None:
    """The variables in the order of an elimination of all factors; None if that is not a matter of moments."""
    if problem.forms or problem.num_factors > MOST_FACTORS or not problem.variables.all_discrete:
        return None
    everything = problem.relevant((), constants=True, prune=False)
    plan = make_plan(problem, everything, method=DEFAULT_ORDER)
    return None if plan.largest > MOST_ENTRIES else [problem.variables[name] for name in plan.order]


def _is_zero(problem: Problem, numbers: range, order: Iterable[Any]) -> bool:
    """Whether the product of these factors is zero everywhere: each waits for the first of its variables."""
    order = list(order)
    rank = {v: i for i, v in enumerate(order)}
    waiting: list[list[Any]] = [[] for _ in range(len(order) + 1)]
    for factor in problem.factors(numbers):
        waiting[min((rank[v] for v in factor.scope), default=len(order))].append(factor)
    for variable, near in zip(order, waiting, strict=False):
        if near:
            message = reduce(mul, near).marginalize([variable])
            waiting[min((rank[v] for v in message.scope), default=len(order))].append(message)
    return any(factor.log_total == -np.inf for factor in waiting[-1])


def _relations(problem: Problem, conflict: Iterable[int]) -> str:
    """The regressions without noise behind findings about real variables; empty if there are none."""
    real = [v for v in conflict if not problem.variables[v].is_discrete]
    waiting, above = list(real), set[int]()
    while waiting:
        v = waiting.pop()
        if v in problem.regressions and v not in above:
            above.add(v)
            waiting += problem.variables.ids(problem.regressions[v].given).tolist()
    flat = [problem.regressions[v] for v in sorted(above) if not problem.regressions[v].is_definite.all()]
    named = [" given ".join((r.child.name, ", ".join(v.name for v in r.given))) for r in flat if r.given]
    named += [r.child.name for r in flat if not r.given]
    return f" Without noise: {'; '.join(named)}." if named else ""


def _describe(prepared: AnswersQueries, evidence: Evidence, position: int) -> str:
    variable = prepared.problem.variables[position]
    if isinstance(variable, Discrete) and position in evidence.codes:
        return f"{variable.name}={variable.states[evidence.codes[position]]!r}"
    if isinstance(variable, Discrete) and position in evidence.weights:
        left = [state for state, weight in zip(variable.states, evidence.weights[position], strict=True) if weight > 0]
        return f"{variable.name} in {{{listing(left)}}}"
    value = evidence.reals[position].tolist()
    return f"{variable.name}={value[0] if len(value) == 1 else value}"


def refuse_impossible(log_partition: Floats, places: Ints | None = None) -> None:
    """Raise if rows have probability zero, with their numbers.

    Args:
        places: the number of each row in the data, if equal rows were merged.
    """
    rows = np.flatnonzero(log_partition == -np.inf)
    if len(rows):
        rows = rows if places is None else np.unique(places[rows])
        raise ImpossibleEvidence(
            f"{len(rows)} of {len(log_partition)} {'' if places is None else 'different '}rows have probability zero: "
            f"rows {listing(rows.tolist())}, counted "
            "from 0. Ask about one of them alone to see which findings contradict each other, or correct them."
        )
