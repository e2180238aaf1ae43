r"""The choice of a search where clique trees are too wide: the strongest method that the model's factors allow."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from sepset.base.threads import OutOfTime, ending_at
from sepset.inference.assignment import AssignmentTask, Found, best_of
from sepset.inference.iterate import Until, as_until
from sepset.inference.map.consistency.bestfirst import HybridBestFirst
from sepset.inference.map.dual import assigned
from sepset.inference.map.fusion import fused
from sepset.inference.map.marginal.marginalmap import MarginalMAP
from sepset.inference.map.mincut import MinCut, has_cut
from sepset.inference.map.moves import AlphaExpansion
from sepset.inference.map.mplp import MPLP
from sepset.inference.map.relaxation.pursuit import FINAL, ClusterPursuit
from sepset.inference.map.search.localsearch import single_changes
from sepset.inference.map.search.neighborhoods import LargeNeighborhood
from sepset.inference.map.trws import TRWS
from sepset.inference.result import Guarantee, Status, Told
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import QUADRATIC

SECONDS = 30.0
"""The time that bounds and moves take together if no budget is given."""

RESTARTS, TIMED_RESTARTS = 1, 1000
"""The further starts of large neighborhoods, if there is time; many if the time was given."""

PURSUED = 100_000
"""The most states of a model whose bound triplets improve: grids of 64 x 64 with 16 states are proved in seconds."""

SMALL, WIDEST, NEAR, TINY = 20000, 12, 0.05, 2000
"""A search for a proof follows for models of so many states, factors of so many variables, and gaps of this part of the
bound, or this many nats if the bound is small; and for models of the last number of states whatever the gap. It comes
first if factors have zeros."""


@dataclass(frozen=True)
class AutomaticSearch:
    """One cut if the model is submodular; else bounds by messages, then moves, then a proof if it is near.

    For pairs, tree-reweighted message passing gives the bound and a start; expansions improve it if there are more than
    two states, the better states of both are fused, and triplets of frustrated cycles improve the bound. For larger
    factors, `MPLP` gives bound and start. Then large neighborhoods improve the assignment. Hybrid best-first search for
    a proof follows in small models, if little is left to prove or they are tiny; where factors have zeros, or several
    assignments are asked for, it comes first, with half of the time. Large groups are left to expansions, and questions
    for some variables to `MarginalMAP`. The result says what was used.

    Cost: at most the seconds of `until`, 30 by default.
    Reference: Koller & Friedman, chapter 13, for the choice.
    Guarantee: exact for a cut, or if the bound is reached; a gap otherwise.
    Tested by: inference/map/choice/test_automatic.py::test_the_choice_follows_the_factors

    >>> import sepset as ss
    >>> pixel = ss.Discrete.array("pixel", (3, 3))
    >>> net = ss.MarkovNet.potts(pixel, 0.5)
    >>> ss.map_assignment(net, method=ss.inference.AutomaticSearch()).info["search"]
    'MinCut'
    """

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignment found."""
        if task.over is not None:
            return MarginalMAP().assign(task)
        return self._one(task) if task.k == 1 else self._several(task)

    def _several(self, task: AssignmentTask) -> Found:
        """A search for the k best; if that does not end in half of the time, also the best one and changes of it."""
        budget, found = Budget.of(task), None
        if _fits(task.wiring):
            half = task.again(until=budget.left(1 / 2), checkpoint=None)
            found = _said("HybridBestFirst", assigned(HybridBestFirst(), half))
            if found.guarantee is Guarantee.EXACT or found.status is Status.INTERRUPTED:
                return found
        one = self._one(task.again(k=1, until=budget.rounds(1.0), checkpoint=None))
        more = single_changes(task.wiring, one.codes[0], task.k - 1)
        return _joined(task, replace(one, codes=np.stack([one.codes[0], *more]), others=one.bound), found)

    def _one(self, task: AssignmentTask) -> Found:
        """The best assignment found, by what the factors allow."""
        wiring = task.wiring
        if has_cut(wiring):
            return _said("MinCut", assigned(MinCut(), task.again(checkpoint=None)))
        if not wiring.has_tables:
            return _said("AlphaExpansion", assigned(AlphaExpansion(), task))
        return self._bounded(task) if not _has_zeros(wiring) else self._proved(task)

    def _bounded(self, task: AssignmentTask) -> Found:
        """Bounds by messages, then moves or local search."""
        return self._in_pairs(task) if task.wiring.is_pairwise else self._in_any(task)

    def _proved(self, task: AssignmentTask) -> Found:
        """A search for a proof; if it does not end in half of the time, the better of it and of what else there is."""
        budget = Budget.of(task)
        first = assigned(HybridBestFirst(), task.again(until=budget.left(1 / 2), checkpoint=None))
        if first.is_proved or first.status is Status.INTERRUPTED:
            return _said("HybridBestFirst", first)
        start = first.codes[0] if first.log_values[0] > -np.inf else task.start
        then = self._bounded(task.again(start=start, until=budget.rounds(1.0)))
        return _better(_said(f"HybridBestFirst, then {then.info['search']}", then), first)

    def _in_any(self, task: AssignmentTask) -> Found:
        """Bounds by messages of any factors, then large neighborhoods, then a proof if little is left to prove."""
        budget = Budget.of(task)
        part = 1 / 10 if task.wiring.plugs.states[-1] <= TINY else 1 / 3  # a search for a proof has the better bound
        found = _said("MPLP", assigned(MPLP(), task.again(until=budget.rounds(part))))
        for stage in (_moved, _closed):
            found = stage(task, found, budget) if _goes_on(found) else found
        return found

    def _in_pairs(self, task: AssignmentTask) -> Found:
        """Bounds by messages, then expansions if there are more than two states, then large neighborhoods."""
        budget, is_binary = Budget.of(task), bool((task.wiring.plugs.cards <= 2).all())
        found = _said("TRWS", assigned(TRWS(), task.again(until=budget.rounds(1 / 3 if is_binary else 1 / 2))))
        for stage in (_pursued, _moved, _closed) if is_binary else (_expanded, _pursued, _moved, _closed):
            found = stage(task, found, budget) if _goes_on(found) else found
        return found


@dataclass(frozen=True)
class Budget:
    """The time of a search, of which its stages take parts.

    Attributes:
        rule: when the whole search stops.
        end: when its time is over, on the clock of `time.monotonic`.
        steps: the number of steps of each stage that was asked for.
    """

    rule: Until
    end: float
    steps: int | None = None

    @classmethod
    def of(cls, task: AssignmentTask) -> Budget:
        """The budget of a task, which begins now."""
        rule = as_until(task.until, Until(steps=1000, tolerance=1e-7, seconds=SECONDS))
        end = min(task.end, time.monotonic() + (SECONDS if rule.seconds is None else rule.seconds))
        return cls(rule, end, None if task.until is None else rule.steps)

    def rounds(self, part: float) -> Until:
        """The rule itself, with a part of the seconds that are left."""
        return replace(self.rule, seconds=None if self.rule.seconds is None else self.left(part).seconds)

    def left(self, part: float = 1.0) -> Until:
        """A part of the seconds that are left, and at most the number of steps that was given."""
        return Until(steps=self.steps, tolerance=0.0, seconds=part * max(0.0, self.end - time.monotonic()))


def _goes_on(found: Found) -> bool:
    """Whether there is something left to search for."""
    return not found.is_proved and found.status is not Status.INTERRUPTED


def _after(found: Found, moved: Found) -> Status:
    """The status of what was found before, unless moves were interrupted, or ended with the time."""
    return moved.status if moved.status in (Status.INTERRUPTED, Status.TIME_LIMIT) else found.status


def _expanded(task: AssignmentTask, found: Found, budget: Budget) -> Found:
    """The same, with an assignment that expansions made better."""
    rest = replace(budget.left(1 / 2), tolerance=None)
    moved = assigned(AlphaExpansion(), task.again(start=found.codes[0], until=rest, checkpoint=None))
    try:
        with ending_at(budget.end):
            codes = fused(task.wiring, moved.codes[0], found.codes[0], AlphaExpansion())
    except OutOfTime:
        codes = best_of([moved.codes[0], found.codes[0]], task.wiring)[0]
    better = replace(found, codes=codes[None], log_values=(task.wiring.log_value(codes),), status=_after(found, moved))
    return _said(f"{found.info['search']}, then AlphaExpansion", better)


def _pursued(task: AssignmentTask, found: Found, budget: Budget) -> Found:
    """The same, with a bound that triplets of frustrated cycles made better, where they are not too many."""
    size = task.wiring.plugs.states[-1]
    if size > PURSUED:
        return found
    rest = replace(budget.left(1 / 3 if size <= SMALL else 2 / 3), tolerance=FINAL)  # no search for a proof follows
    again = assigned(ClusterPursuit(), task.again(start=found.codes[0], until=rest, checkpoint=None))
    return _better(_said(f"{found.info['search']}, then ClusterPursuit", again), found)


def _moved(task: AssignmentTask, found: Found, budget: Budget) -> Found:
    """The same, with an assignment that large neighborhoods made better."""
    restarts = RESTARTS if task.until is None or budget.rule.seconds is None else TIMED_RESTARTS
    method, rest = LargeNeighborhood(restarts=restarts), budget.left(2 / 3 if _is_near(task, found) else 1.0)
    rest = replace(rest, tolerance=None)
    moved = assigned(method, task.again(start=found.codes[0], until=rest, checkpoint=None))
    better = replace(found, codes=moved.codes, log_values=moved.log_values, status=_after(found, moved))
    if moved.bound <= found.bound:
        better = replace(better, bound=moved.bound, certificate=moved.certificate)
    return _said(f"{found.info['search']}, then LargeNeighborhood", better)


def _closed(task: AssignmentTask, found: Found, budget: Budget) -> Found:
    """The same, or what a search for a proof makes of it: a proof, or a better assignment or bound."""
    if not _is_near(task, found):
        return found
    again = assigned(HybridBestFirst(), task.again(start=found.codes[0], until=budget.left(), checkpoint=None))
    return _better(_said(f"{found.info['search']}, then HybridBestFirst", again), found)


def _is_near(task: AssignmentTask, found: Found) -> bool:
    """Whether a proof is worth a search: the model is tiny, or it is small and so is the gap."""
    gap = found.bound - found.log_values[0]
    most = SMALL if gap <= NEAR * max(1.0, abs(found.bound)) else TINY
    return bool(task.wiring.plugs.states[-1] <= most) and _fits(task.wiring)


def _better(one: Found, other: Found) -> Found:
    """The first one's account, with the better assignment and the better bound of both."""
    best = max(one, other, key=lambda found: found.log_values[0])
    bound = min(one, other, key=lambda found: found.bound)
    return replace(one, codes=best.codes, log_values=best.log_values, bound=bound.bound, certificate=bound.certificate)


def _joined(task: AssignmentTask, one: Found, other: Found | None) -> Found:
    """The k best of the assignments of both, the other's being all but those below its own bound."""
    rows = np.concatenate([one.codes, *([] if other is None else [other.codes])])
    rows = rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    values = np.array([task.wiring.log_value(codes) for codes in rows])
    order = np.argsort(-values, kind="stable")[: task.k]
    left_out = np.delete(values, order).max(initial=-np.inf)
    others = one.bound if other is None else min(one.bound, max(other.others, float(left_out)))
    joined = one if other is None else _better(one, other)
    name = one.info["search"] if other is None else f"HybridBestFirst, then {one.info['search']}"
    listed = tuple(values[order].tolist())
    return _said(str(name), replace(joined, codes=rows[order], log_values=listed, others=others))


def _fits(wiring: Wiring) -> bool:
    """Whether the tables of a model are few and small enough for a search."""
    return wiring.plugs.states[-1] <= SMALL and bool(np.diff(wiring.plugs.starts).max(initial=1) <= WIDEST)


def _has_zeros(wiring: Wiring) -> bool:
    """Whether a model that fits forbids some joint states."""
    has = np.isneginf(wiring.plugs.tables).any() or (wiring.plugs.kinds > QUADRATIC).any()
    return bool(has) and _fits(wiring)


def _said(name: str, found: Found) -> Found:
    """The same, with the name of the method that found it."""
    info, more = found.info, {"search": name}
    return replace(found, info=info.including(more) if isinstance(info, Told) else {**info, **more})
