r"""The most probable assignment of some variables, all others summed out, where that is hard.

$$\mathbf y^* = \arg\max_{\mathbf y} \sum_{\mathbf w} \tilde P(\mathbf y, \mathbf w)$$

Sums must come before maxima, so that clique trees may be far wider than for a query. Scores of given assignments do
not need that order, nor do upper bounds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.checks import one_of, whole
from sepset.base.text import listing
from sepset.base.threads import OutOfTime, ending_at
from sepset.errors import NotApplicable, TooLarge
from sepset.inference.assignment import AssignmentTask, Certificate, Found, is_proved
from sepset.inference.iterate import Run, Until, as_until
from sepset.inference.map.marginal.bounds import MixedElimination
from sepset.inference.map.marginal.branching import BranchedSums, Open, OpenCodec
from sepset.inference.map.marginal.localsearch import LocalSearch, Searched, SearchedCodec, first_codes
from sepset.inference.map.marginal.scores import Scores
from sepset.inference.refusals import limited_elimination
from sepset.inference.result import Guarantee, Status

Search = Literal["auto", "exact", "local", "branch"]

SECONDS = 30.0
"""The time of a search if no budget is given."""


@dataclass(frozen=True)
class MarginalMAP:
    """The best assignment of `over=` with all other variables summed out.

    Args:
        search: "exact" sums first, then maximizes; "local" goes from neighbor to neighbor, with all of their scores
            from one calibration; "branch" proves the best by bounds that exchange sums and maxima; "auto" is exact if
            its tables fit, else local search followed by branch and bound.
        entries: the most entries of the tables by which bounds sum before they maximize: more give better bounds.
        patience: the number of steps of local search without a better assignment after which it ends.

    Cost: a sum and a sweep back per step of local search; branch and bound is exponential at worst. Without `until=`,
    each takes at most 30 seconds.
    Reference: Park & Darwiche (2003, 2004); Koller & Friedman, section 13.7 and exercise 13.20.
    Guarantee: exact, or a local optimum with a bound.
    Tested by: inference/map/marginal/test_marginalmap.py::test_every_search_by_enumeration

    >>> import sepset as ss
    >>> net = ss.datasets.load("asia")
    >>> method = ss.inference.MarginalMAP(search="branch")
    >>> found = ss.map_assignment(net, over=["smoke", "bronc"], given={"dysp": "yes"}, method=method)
    >>> dict(found.assignment), found.guarantees["assignment"]
    ({'smoke': 'yes', 'bronc': 'yes'}, EXACT)
    """

    search: Search = "auto"
    entries: int = 2**16
    _: KW_ONLY
    patience: int = 20

    def __post_init__(self) -> None:
        one_of("MarginalMAP(search=)", self.search, ("auto", "exact", "local", "branch"))
        whole("MarginalMAP(entries=)", self.entries, least=1)
        whole("MarginalMAP(patience=)", self.patience, least=1)

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignment of the variables to maximize; the others have no state in it."""
        if task.k > 1:
            raise NotApplicable(f"MarginalMAP finds one assignment; found k={task.k}. Use CliqueTree().")
        from sepset.inference.cliquetree.method import CliqueTree

        over = tuple(range(task.problem.num_visible)) if task.over is None else task.over
        over = tuple(v for v in over if v not in task.evidence.codes)
        _check_discrete(task, over)
        scores = Scores(CliqueTree().prepare(task.problem), task.evidence, over)
        if self.search in ("auto", "exact"):
            try:
                if self.search == "exact":
                    with ending_at(task.end):
                        return self._exact(task, scores)
                with ending_at(_halfway(task)), limited_elimination(task.problem):
                    return self._exact(task, scores)
            except TooLarge:
                if self.search == "exact":
                    raise
            except OutOfTime:
                if self.search == "exact":
                    return _simple(task, scores)
        return self._searched(task, scores)

    def _exact(self, task: AssignmentTask, scores: Scores) -> Found:
        best = scores.prepared.best(task.evidence, scores.over)
        codes = np.array([int(best.values.get(v, 0)) for v in scores.over], np.int64)
        info = {"search": "exact", "decoder": "traceback"}
        value = best.log_value
        return Found(_row(task, scores, codes), (value,), bound=value, guarantee=Guarantee.EXACT, info=info)

    def _searched(self, task: AssignmentTask, scores: Scores) -> Found:
        """Local search, then branch and bound, as far as the settings ask for them."""
        try:
            with task.limited(), limited_elimination(task.problem):  # before the many queries
                scores.value(np.zeros(len(scores.over), np.int64))
            with ending_at(min(task.end, time.monotonic() + SECONDS)):
                start = _start(task, scores)
                value = scores.value(start)
        except OutOfTime:
            return _simple(task, scores)
        if value == -math.inf:
            return Found(_row(task, scores, start), (-math.inf,), bound=-math.inf)
        rule = as_until(task.until, Until(steps=None, tolerance=None, seconds=SECONDS))
        if rule.seconds is not None:
            rule = replace(rule, seconds=max(0.0, min(rule.seconds, task.end - time.monotonic())))
        share = replace(rule, seconds=None if rule.seconds is None else rule.seconds / 2.0)
        try:
            if self.search == "branch":
                return self._branched(task, scores, start, rule)
            found = self._local(task, scores, start, rule if self.search == "local" else share)
        except OutOfTime:
            return Found(_row(task, scores, start), (value,), status=Status.TIME_LIMIT)
        if self.search == "local" or found.status is Status.INTERRUPTED:
            return found
        codes = found.codes[0][np.searchsorted(task.wiring.free, scores.over)]
        try:
            proved = self._branched(task.again(checkpoint=None), scores, codes, share)
        except (TooLarge, OutOfTime):
            return found
        return replace(proved, info={**proved.info, "search": "local, then branch"})

    def _local(self, task: AssignmentTask, scores: Scores, start: Ints, rule: Until) -> Found:
        search = LocalSearch(scores, start, self.patience)
        done: Run[Searched] = task.again(until=rule).iterated(search, until=rule, codec=SearchedCodec())
        state = done.state
        is_settled = done.status is Status.CONVERGED
        return Found(
            _row(task, scores, state.best),
            (state.best_value,),
            guarantee=Guarantee.LOCAL_OPTIMUM if is_settled else Guarantee.HEURISTIC,
            status=done.status,
            trace=done.trace,
            info={"search": "local", "seconds": round(done.seconds, 3), "steps": done.num_steps},
        )

    def _branched(self, task: AssignmentTask, scores: Scores, start: Ints, rule: Until) -> Found:
        limited = task.again(until=rule)
        with limited.limited():
            elimination = MixedElimination.of(task.problem, task.evidence, scores.over, self.entries)
            search = BranchedSums(elimination, scores.over, (start, scores.value(start)))
        done: Run[Open] = limited.iterated(search, until=rule, codec=OpenCodec())
        state = done.state
        codes = search.codes(state)
        value = scores.value(codes)
        return Found(
            _row(task, scores, codes),
            (value,),
            bound=max(state.bound, value) if not is_proved(value, state.bound) else value,
            guarantee=Guarantee.HEURISTIC,
            certificate=Certificate(
                f"No assignment of the {len(scores.over)} variables has a log value above {state.bound:.10g}.",
                "Branch and bound with this assignment as the first finds nothing better.",
                verify=partial(_finds_nothing, search, codes, state.bound),
            ),
            status=done.status,
            trace=done.trace,
            info={"search": "branch", "seconds": round(done.seconds, 3), "nodes": state.nodes},
        )


def _check_discrete(task: AssignmentTask, over: Sequence[int]) -> None:
    variables = [task.problem.variables[v] for v in over if v not in task.evidence.reals]
    reals = [v.name for v in variables if not v.is_discrete]
    if reals:
        raise NotApplicable(
            f"MarginalMAP searches for states; found real variables: {listing(reals)}. Use CliqueTree()."
        )


def _halfway(task: AssignmentTask) -> float:
    """When half of the time is over."""
    now = time.monotonic()
    return now + (task.end - now) / 2.0


def _simple(task: AssignmentTask, scores: Scores) -> Found:
    """The answer without time for more: the start, or what is best for each variable alone, and the sum as a bound."""
    codes = task.first_codes()[np.searchsorted(task.wiring.free, scores.over)]
    value, bound = scores.value(codes), float(scores.prepared.log_partition(task.evidence))
    return Found(_row(task, scores, codes), (value,), bound=bound, status=Status.TIME_LIMIT, info={"search": "none"})


def _start(task: AssignmentTask, scores: Scores) -> Ints:
    """The codes to begin with: those given, if they are possible, else the better of two greedy ones."""
    if task.start is not None:
        codes = np.asarray(task.start, np.int64)[np.searchsorted(task.wiring.free, scores.over)]
        if scores.value(codes) > -math.inf:
            return codes
    starts = [first_codes(scores), *_whole_best(scores)]
    values = [scores.value(codes) for codes in starts]
    return starts[int(np.argmax(values))]


def _whole_best(scores: Scores) -> list[Ints]:
    """The part of the best assignment of all variables, if its tables fit."""
    problem, known = scores.prepared.problem, scores.evidence.observed
    try:
        best = scores.prepared.best(scores.evidence, [v for v in range(len(problem.variables)) if v not in known])
    except TooLarge:
        return []
    return [np.array([int(best.values[v]) for v in scores.over], np.int64)] if best.values else []


def _row(task: AssignmentTask, scores: Scores, codes: Ints) -> Ints:
    """The codes among those of all unobserved variables; zero for variables that are summed out."""
    row = np.zeros((1, task.wiring.num_variables), np.int64)
    row[0, np.searchsorted(task.wiring.free, scores.over)] = codes
    return row


def _finds_nothing(search: BranchedSums, codes: Ints, bound: float) -> bool:
    """Whether a search that begins with an assignment ends, or goes on, without a value above a bound."""
    known: dict[int, Any] = dict(zip(search.over, codes.tolist(), strict=True))
    state = Open((((), np.inf),) if search.over else (), tuple(known[v] for v in search.sequence), bound)
    while state.parts:
        state = search._expanded(state)
    return state.value <= bound + 1e-9 * max(1.0, abs(bound))
