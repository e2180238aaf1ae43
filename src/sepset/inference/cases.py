r"""Best assignments with a few variables summed out, by branch and bound over the cases of these.

$$\max_{\mathbf m} \sum_{\mathbf s} f(\mathbf m, \mathbf s) \;\le\;
\sum_{\mathbf s} \max_{\mathbf m} f(\mathbf m, \mathbf s)$$

In each case $\mathbf s$ the maximum is an ordinary one, in which functions of many variables have no sum inside. If all
cases have the same best assignment, the bound is reached; otherwise the states of a variable on which they differ are
divided, best bound first.

Reference: Park & Darwiche (2003), Solving MAP exactly using systematic search; Land & Doig (1960).
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.text import listing
from sepset.base.threads import OutOfWork, has_end, work_left, working
from sepset.errors import TooLarge
from sepset.inference import costs
from sepset.inference.buckets.bounded import SLACK
from sepset.inference.buckets.tangents import branches, masked
from sepset.inference.method import Best, Prepared
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

MOST_MAXIMA = 64
"""The largest number of maxima: one for each case of each part of the assignments."""

Masks = dict[int, Floats]
"""The allowed states of some variables."""


@dataclass(order=True)
class Part:
    """A part of the assignments, ordered by its bound.

    Attributes:
        rank: minus the bound, then the number of the part.
        masks: the allowed states of some variables.
        shares: the share of the bound of each case.
        assignments: the best assignment of each case.
    """

    rank: tuple[float, int]
    masks: Masks = field(compare=False)
    shares: Floats = field(compare=False)
    assignments: list[Mapping[int, int]] = field(compare=False)


class CaseSearch:
    """The search for the best assignment with some variables summed out, one case of their states at a time.

    Args:
        summed: the variables whose joint states are the cases.
        evidence: the findings.
        best: the best assignment given evidence; further variables may be summed out there.
        log_value: the logarithm of the weight of an assignment, everything else summed out.
        cards: the number of states of each variable of the assignment.

    Guarantee: exact, or refused after `MOST_MAXIMA` maxima or the work that is allowed.
    Tested by: inference/test_cases.py::test_few_summed_parents_are_enumeration
    """

    def __init__(
        self,
        summed: Mapping[int, Discrete],
        evidence: Evidence,
        best: Callable[[Evidence], Best],
        log_value: Callable[[Mapping[int, int]], float],
        cards: Mapping[int, int],
    ) -> None:
        self._cases = list(branches(evidence, summed))
        self._names = listing(v.name for v in summed.values())
        self._best, self._log_value, self._cards = best, log_value, cards
        self._numbers = itertools.count()
        self._tried: set[tuple[tuple[int, int], ...]] = set()
        self.found, self._bound = Best({}, -math.inf), math.inf

    def run(self) -> Best:
        """The best assignment; of value minus infinity if all are impossible."""
        with working(costs.NANOSECONDS_OF_A_SEARCH):
            try:
                return self._run()
            except (OutOfWork, TooLarge) as error:
                if isinstance(error, TooLarge) and work_left() > 0.0:
                    raise
                raise self._refusal() from None

    def _run(self) -> Best:
        heap = list(self._part({}))
        while heap and not self._is_reached(-heap[0].rank[0]):
            part = heapq.heappop(heap)
            self._bound = -part.rank[0]
            for masks in self._divided(part):
                for made in self._part(masks):
                    heapq.heappush(heap, made)
        return self.found

    def _is_reached(self, bound: float) -> bool:
        return bound <= self.found.log_value + SLACK * max(1.0, abs(bound))

    def _part(self, masks: Masks) -> Iterator[Part]:
        """The part with its bound; nothing if it holds nothing better than the best assignment found."""
        number = next(self._numbers)
        if number * len(self._cases) > MOST_MAXIMA and not has_end():
            raise self._refusal()
        logs, assignments = [], []
        for told, _, log_weight in self._cases:
            best = self._best(masked(told, masks))
            if best.log_value > -math.inf:
                logs.append(best.log_value + log_weight)
                assignments.append(best.values)
        if not logs:
            return
        for values in assignments:
            self._try(values)
        bound = float(np.logaddexp.reduce(logs))
        if not self._is_reached(bound):
            yield Part((-bound, number), masks, np.exp(np.array(logs) - bound), assignments)

    def _refusal(self) -> TooLarge:
        more = f", and none has more than {self._bound:.6g}" if self._bound < math.inf else ""
        return TooLarge(
            f"The best assignment with {self._names} summed out is not certain after a search: the best found has the "
            f"log value {self.found.log_value:.6g}{more}. Observe more variables, ask for fewer, or give it more time, "
            "as in map_assignment(..., until=Until(seconds=60))."
        )

    def _try(self, values: Mapping[int, int]) -> None:
        key = tuple(sorted((v, int(code)) for v, code in values.items()))
        if key not in self._tried:
            self._tried.add(key)
            log_value = self._log_value(values)
            if log_value > self.found.log_value:
                self.found = Best(dict(values), log_value)

    def _divided(self, part: Part) -> Iterator[Masks]:
        """The part divided by the states of the variable on which its cases are least agreed."""
        shares = {v: self._shares(part, v) for v in self._cards}
        chosen = min(shares, key=lambda v: float(shares[v].max()))
        allowed = part.masks.get(chosen, np.ones(self._cards[chosen]))
        here = np.arange(len(allowed)) == shares[chosen].argmax()
        for mask in (allowed * here, allowed * ~here):
            if mask.any():
                yield {**part.masks, chosen: mask}

    def _shares(self, part: Part, place: int) -> Floats:
        codes = [int(values[place]) for values in part.assignments]
        return np.asarray(np.bincount(codes, part.shares, self._cards[place]), np.float64)


def best_by_cases(prepared: Prepared, summed: Mapping[int, Discrete], evidence: Evidence, over: Sequence[int]) -> Best:
    """The best values of `over`, from the best ones in each case of some of the variables that are summed out."""

    def log_value(values: Mapping[int, int]) -> float:
        told, log_weight = evidence.with_codes(values)
        return log_weight + prepared.log_partition(told)

    def best(told: Evidence) -> Best:  # its values may include auxiliaries of another problem
        found = prepared.best(told, over)
        return Best({v: found.values[v] for v in over if v in found.values}, found.log_value)

    cards = {v: int(prepared.problem.variables.cards[v]) for v in over}
    return CaseSearch(summed, evidence, best, log_value, cards).run()
