"""The k most probable assignments, ranked by one max-elimination."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.cache import Slot
from sepset.base.text import readable
from sepset.base.threads import OutOfWork, spend, work_left, working
from sepset.errors import NotApplicable, TooLarge
from sepset.inference import costs
from sepset.inference.buckets.evidencefactors import reduced_factors
from sepset.inference.buckets.pool import summed_out
from sepset.inference.map.buckets import log_factor, max_buckets
from sepset.inference.map.ranking import Ranking
from sepset.inference.method import AnswersByMoments, Best, BestStates, Prepared, Rewrites, can, elimination_settings
from sepset.inference.plan import ENTRY_BYTES, EliminationPlan, make_plan
from sepset.inference.refusals import limited_rows, refusing
from sepset.variables.evidence import Evidence

ASSIGNMENT_BYTES = 100
"""The memory of one variable in one assignment: its candidate, and its place in the answer."""

SMALL_ANSWER_BYTES = 2**16
"""Answers up to this size are given whatever `memory=` is, which some methods take for intermediate results alone."""


CELL_NANOSECONDS = 500_000.0
"""Time of one maximization, apart from long steps."""

PLANS: Slot[EliminationPlan] = Slot("plans of the k best assignments", size=32)
"""The eliminations of a problem that rank assignments, by variables, findings and ordering method."""


@refusing
def k_best(prepared: Prepared, evidence: Evidence, over: Sequence[int], k: int) -> list[Best]:
    """Up to k assignments of `over`, best first; fewer where fewer have positive value.

    One max-elimination, after the other variables are summed out, ranks them all. Where its tables do not fit, the
    assignments are partitioned after each solution, and the best of each part is found by the method itself. Real
    variables with regressions take their most probable values in each assignment of the discrete ones.

    Cost: one elimination, and for each further assignment at most one step per variable.
    Reference: Yanover & Weiss (2004); Nilsson (1998).
    Guarantee: exact.
    Tested by: inference/map/test_kbest.py::test_asking_for_all_ranks_the_whole_support
    """
    if k == 1 or not len(over):
        return [prepared.best(evidence, over)]
    cards = prepared.problem.variables.cards
    is_mixed = any(cards[v] > 0 for v in over)
    moments = prepared.by_moments(over, evidence) if is_mixed and can(prepared, AnswersByMoments) else None
    if moments is not None:
        return _with_numbers(moments.best_states(evidence, over), k)
    if any(cards[v] == 0 for v in over):
        raise NotApplicable("The k best need discrete variables; continuous ones have no second best. Use k=1.")
    _check_memory(prepared, [int(cards[v]) for v in over], k)
    own: Prepared = prepared
    if not can(prepared, Rewrites):
        return _listed(prepared, evidence, over, k)
    with working(costs.NANOSECONDS_OF_A_SEARCH):
        return prepared.k_best(evidence, over, k) or _listed(own, evidence, over, k)


def _listed(prepared: Prepared, evidence: Evidence, over: Sequence[int], k: int) -> list[Best]:
    """The assignments by one elimination or, if that is too large, by a limited number of maximizations."""
    try:
        ranking = ranked(prepared.for_best(evidence, over) if can(prepared, Rewrites) else prepared, evidence, over)
    except TooLarge:
        with working(costs.NANOSECONDS_OF_A_SEARCH):
            return partitioned(prepared, evidence, over, k)
    place = {prepared.problem.variables[v]: v for v in over}
    found = [
        Best({place[v]: code for v, code in codes.items() if v in place}, value) for value, codes in ranking.best(k)
    ]
    return found or [Best({}, -np.inf)]


def _with_numbers(states: BestStates, k: int) -> list[Best]:
    """Up to k assignments of discrete variables, each with the most probable values of the real ones."""
    if states.prepared is None:
        return [states.complete(Best({}, -np.inf))]
    return [states.complete(best) for best in k_best(states.prepared, states.evidence, states.over, k)]


def _check_memory(prepared: Prepared, cards: Sequence[int], k: int) -> None:
    """Raise if k assignments, or all there are, do not fit in memory."""
    limit = elimination_settings(prepared.method)[1]
    number = min(k, math.prod(cards))
    need = ASSIGNMENT_BYTES * len(cards) * number
    if need > max(limit, SMALL_ANSWER_BYTES):
        raise TooLarge(
            f"{number:,} assignments of {len(cards):,} variables need about {readable(need)}; the limit is "
            f"{readable(limit)}. Ask for fewer, or raise `memory=` on the method."
        )


def ranked(prepared: Prepared, evidence: Evidence, over: Sequence[int]) -> Ranking:
    """The assignments of discrete variables and their functions, best first, by one max-elimination of the problem."""
    problem, observed = prepared.problem, evidence.observed
    over = problem.with_determined(over, observed, touched=evidence.weights)
    order, memory = elimination_settings(prepared.method)
    touched = tuple(sorted(set(evidence.weights).difference(over)))

    def make() -> EliminationPlan:
        relevant = problem.relevant(over, observed, touched=touched, constants=True)
        return make_plan(
            problem, relevant, method=order, targets=over, observed=observed, last=over, joint=False, limit=memory
        )

    key = (tuple(over), observed, touched, memory, id(order) if type(order).__hash__ is None else order)
    plan = problem.kept.get(PLANS, make, key=key)
    plan.check(memory, ENTRY_BYTES * (2 * plan.total_size + 3 * plan.largest))
    chosen = {problem.variables[v] for v in over}
    eliminated: list[Any] = [problem.variables[name] for name in plan.order]
    factors = reduced_factors(problem, evidence, plan.relevant.factors)
    with limited_rows(problem):
        left = summed_out(factors, [v for v in eliminated if v not in chosen])
        return Ranking(max_buckets(map(log_factor, left), [v for v in eliminated if v in chosen]))


def partitioned(prepared: Prepared, evidence: Evidence, over: Sequence[int], k: int) -> list[Best]:
    """Up to k assignments of `over` by maximizations only.

    After each solution the rest of its cell is split by the first variable that differs, so that the best of each cell
    is found by one constrained maximization, and no assignment twice.

    Cost: at most k times the number of variables, in maximizations, which together are limited.
    Reference: Lawler (1972); Nilsson (1998).
    """
    first, found = prepared.best(evidence, over), list[Best]()
    if first.log_value == -np.inf:
        return [first]
    try:
        for best in itertools.islice(_in_cells(prepared, evidence, over, first), k):
            found.append(best)
    except (OutOfWork, TooLarge) as error:
        if isinstance(error, TooLarge) and work_left() > 0.0:
            raise
        raise TooLarge(
            f"Only the first {len(found)} of the {k:,} best assignments are certain after a search, the last with the "
            f"log value {found[-1].log_value:.6g}. Ask for fewer, give it more time, as in map_assignment(..., "
            "until=Until(seconds=60)), or observe more variables."
        ) from None
    return found


def _in_cells(prepared: Prepared, evidence: Evidence, over: Sequence[int], first: Best) -> Iterator[Best]:
    """The assignments, best first, from the cells in which each is the best."""
    cards = prepared.problem.variables.cards
    counter = itertools.count()
    heap: list[tuple[float, int, Best, dict[int, Floats]]] = [(-first.log_value, next(counter), first, {})]
    while heap:
        _, _, best, cell = heapq.heappop(heap)
        yield best
        for smaller in _split(best.values, cell, over, cards.tolist()):
            spend(CELL_NANOSECONDS)
            # Every variable has a mask, so that a method that compiles questions needs only one.
            masks = {v: smaller.get(v, np.ones(cards[v])) for v in over}
            candidate = prepared.best(_masked(evidence, masks), over)
            if candidate.log_value > -np.inf:
                heapq.heappush(heap, (-candidate.log_value, next(counter), candidate, smaller))


def _split(
    values: Mapping[int, Any], cell: dict[int, Floats], over: Sequence[int], cards: list[int]
) -> list[dict[int, Floats]]:
    """The cell without one assignment, as disjoint smaller cells."""
    cells = []
    prefix = dict(cell)
    for variable in over:
        here = np.zeros(cards[variable])
        here[values[variable]] = 1.0
        other = prefix.get(variable, np.ones(cards[variable])) * (1.0 - here)
        if other.any():
            cells.append({**prefix, variable: other})
        prefix[variable] = here
    return cells


def _masked(evidence: Evidence, cell: dict[int, Floats]) -> Evidence:
    weights = {v: np.asarray(evidence.weights.get(v, 1.0) * mask) for v, mask in cell.items()}
    return Evidence(evidence.codes, {**evidence.weights, **weights}, soft=evidence.soft, reals=evidence.reals)
