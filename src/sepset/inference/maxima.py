"""Best assignments of a problem and of concave functions of its variables, from the frontier of partial ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sepset.base.text import listing
from sepset.errors import TooLarge
from sepset.factors.algebra import AnyVariable
from sepset.factors.table import Table
from sepset.inference.buckets.bounded import Bounded
from sepset.inference.buckets.evidencefactors import reduced_factors
from sepset.inference.buckets.frontier import MOST_ENTRIES, FrontierSearch
from sepset.inference.buckets.pool import summed_out
from sepset.inference.buckets.relaxed import Ranked
from sepset.inference.method import Best, Method, dense, elimination_settings
from sepset.inference.plan import make_plan
from sepset.inference.rewriting import codes_of
from sepset.problem import Form, Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

MOST_IN_BRANCHES = 2**26
"""The most entries of the tables that are filled for all branches of one search."""


class Found(NamedTuple):
    """Assignments, best first, and whether they are proved to be the best.

    Attributes:
        bound: without a proof, a log value that none exceeds, if no other search is worth while; infinite otherwise.
    """

    best: list[Best]
    is_proved: bool
    bound: float = math.inf


class Frontiers:
    """The best assignments of some variables, others summed out.

    Args:
        problem: all factors but those of the functions.
        method: how elimination orders are chosen.
        bounded: the functions, all of whose variables are in the assignment or observed.
        evidence: the findings.
        over: the variables of the assignment.
    """

    def __init__(
        self, problem: Problem, method: Method, bounded: Sequence[Bounded], evidence: Evidence, over: Sequence[int]
    ) -> None:
        self._problem, self._method, self._bounded = problem, method, bounded
        self._evidence, self._over = evidence, over

    def best(self, k: int, above: float = -math.inf) -> Found:
        """Up to k assignments above a value, best first, and whether they are proved to be the best."""
        search = self._search()
        return Found([], False) if search is None else self._read(search.run(k, above))

    def relaxed(self, k: int, above: float = -math.inf) -> Found | None:
        """The same by relaxations; None if other factors couple too many of the variables."""
        search = self._search()
        found = None if search is None or search.relaxed is None else search.relaxed
        return None if found is None else self._read(found.run(k, above))

    def _read(self, found: Ranked) -> Found:
        """Assignments by position."""
        place = {self._problem.variables[v]: v for v in self._over}
        rows = [{place[v]: code for v, code in row.items() if v in place} for row in found.assignments]
        best = [Best(row, value) for row, value in zip(rows, found.log_values, strict=True)]
        return Found(best, found.is_proved, found.bound)

    def _search(self) -> FrontierSearch | None:
        """The search; None if its tables would be too large."""
        problem, observed = self._problem, self._evidence.observed
        over = problem.with_determined(self._over, observed, touched=self._evidence.weights)
        touched = tuple(sorted(set(self._evidence.weights).difference(over)))
        relevant = problem.relevant(over, observed, touched=touched, constants=True)
        if not (problem.variables.cards[list(relevant.variables)] > 0).all():
            return None
        order, memory = elimination_settings(self._method)
        try:
            plan = make_plan(
                problem, relevant, method=order, targets=over, observed=observed, last=over, joint=False, limit=memory
            )
        except TooLarge:
            return None
        if plan.total_size > MOST_ENTRIES:
            return None
        chosen = {problem.variables[v] for v in over}
        eliminated: list[Any] = [problem.variables[name] for name in plan.order]
        factors = reduced_factors(problem, self._evidence, plan.relevant.factors)
        left = summed_out(factors, [v for v in eliminated if v not in chosen])
        tables = [table for factor in left if isinstance(table := dense(factor), Table)]
        functions = [one.function for one in self._bounded]
        return FrontierSearch(tables, functions, [v for v in eliminated if v in chosen])


def bounded(problem: Problem, form: Form, given: Mapping[AnyVariable, Any]) -> Bounded:
    """A form whose child is observed, with tangents for bounds."""
    codes, child = codes_of(form, given), form.source.scope[-1]
    function = form.source.concave(codes)
    assert function is not None  # as checked before
    assert isinstance(child, Discrete)
    return Bounded(child, codes[child], function, tuple(problem.variables.id(v) for v in function.variables))


def check_branches(entries: int, num: int, names: Iterable[str]) -> None:
    """Raise if the tables for the maxima of all branches have too many entries.

    Args:
        entries: in all of them together.
        num: the number of branches.
        names: of the children whose states make the branches.
    """
    if entries > MOST_IN_BRANCHES:
        raise TooLarge(
            f"The best states of the parents of {listing(names)} need tables of {entries:.3g} entries in all for the "
            f"other conditionals, in {num} joint states of these children; at most {MOST_IN_BRANCHES:.3g} are filled. "
            "Observe some of them."
        )


def check_found(found: Found, forms: Iterable[Form]) -> None:
    """Raise if a search under some forms ended without a proof, and no other is worth while."""
    if not found.is_proved and found.bound < math.inf:
        best = found.best[0].log_value if found.best else -math.inf
        names = listing(form.source.scope[-1].name for form in forms)
        raise TooLarge(
            f"The best states of the parents of {names} are not certain after a search: the best found have the log "
            f"value {best:.6g}, and none have more than {found.bound:.6g}. A search takes about two seconds; give it "
            "more time, as in map_assignment(..., until=Until(seconds=60)), or observe more variables."
        )
