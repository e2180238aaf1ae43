r"""The choice of a search where clique trees are too wide: the strongest method that the model's factors allow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sepset.errors import TooLarge
from sepset.inference.assignment import AssignmentTask, Found, assign
from sepset.inference.iterate import Until, as_until
from sepset.inference.map.branching import BranchAndBound
from sepset.inference.map.coordinates import ICM
from sepset.inference.map.mincut import MinCut, has_cut
from sepset.inference.map.moves import AlphaExpansion, fused
from sepset.inference.map.mplp import MPLP
from sepset.inference.map.trws import TRWS

SECONDS = 30.0
"""The time that bounds and moves take together if no budget is given."""

SMALL, WIDEST, NEAR, TINY = 2000, 12, 0.05, 300
"""Branch and bound follows for models of so many states, factors of so many variables, and gaps of this part of the
bound, or this many nats if the bound is small; and for models of the last number of states whatever the gap."""


@dataclass(frozen=True)
class AutomaticSearch:
    """One cut if the model is in pairs and submodular; else bounds and moves for pairs; else bounds and search.

    For pairs, tree-reweighted message passing gives the bound and a start, expansions improve it, and the better
    states of both are fused. For larger factors, `MPLP` gives bound and start, and local search improves it. The result
    says what was used. Branch and bound follows in small models, if little is left to prove or they are tiny.

    Cost: at most the seconds of `until`, 30 by default.
    Reference: Koller & Friedman, chapter 13, for the choice.
    Guarantee: exact for a cut, or if the bound is reached; a gap otherwise.
    Tested by: inference/map/test_automatic.py::test_the_choice_follows_the_factors

    >>> import sepset as ss
    >>> pixel = ss.Discrete.array("pixel", (3, 3))
    >>> net = ss.MarkovNet.potts(pixel, 0.5)
    >>> ss.map_assignment(net, method=ss.inference.AutomaticSearch()).info["search"]
    'MinCut'
    """

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignment found."""
        task.require_all(self)
        wiring = task.wiring
        if not wiring.is_pairwise:
            return self._in_any(task)
        if has_cut(wiring):
            return _said("MinCut", assign(MinCut(), task.again(until=None, checkpoint=None)))
        return self._in_pairs(task)

    def _in_any(self, task: AssignmentTask) -> Found:
        """Bounds by messages of any factors, then local search, then branch and bound if little is left to prove."""
        rule = as_until(task.until, Until(steps=1000, tolerance=1e-7, seconds=SECONDS))
        half = None if rule.seconds is None else rule.seconds / 2.0
        bounded = assign(MPLP(), task.again(until=replace(rule, seconds=half)))
        if bounded.is_proved:
            return _said("MPLP", bounded)
        rest = Until(steps=None, tolerance=0.0, seconds=(half or SECONDS) / 2.0)
        moved = ICM(restarts=10).assign(task.again(start=bounded.codes[0], until=rest, checkpoint=None))
        better = replace(bounded, codes=moved.codes, log_values=moved.log_values)
        return _closed(task, _said("MPLP, then ICM", better), rest)

    def _in_pairs(self, task: AssignmentTask) -> Found:
        """Bounds by messages, then moves."""
        wiring, rule = task.wiring, as_until(task.until, Until(steps=1000, tolerance=1e-7, seconds=SECONDS))
        half = None if rule.seconds is None else rule.seconds / 2.0
        bounded = assign(TRWS(), task.again(until=replace(rule, seconds=half)))
        if bounded.is_proved:
            return _said("TRWS", bounded)
        rest = Until(steps=None, tolerance=0.0, seconds=(half or SECONDS) / 2.0)
        moves = task.again(start=bounded.codes[0], until=replace(rest, tolerance=None), checkpoint=None)
        moved = AlphaExpansion().assign(moves)
        codes = fused(wiring, moved.codes[0], bounded.codes[0])
        better = replace(bounded, codes=codes[None], log_values=(wiring.log_value(codes),))
        return _closed(task, _said("TRWS, then AlphaExpansion", better), rest)


def _closed(task: AssignmentTask, found: Found, rest: Until) -> Found:
    """The same, or what branch and bound makes of it: a proof, or a better assignment or bound."""
    wiring, gap = task.wiring, found.bound - found.log_values[0]
    most = SMALL if gap <= NEAR * max(1.0, abs(found.bound)) else TINY
    is_small = wiring.plugs.states[-1] <= most and np.diff(wiring.plugs.starts).max(initial=1) <= WIDEST
    if found.is_proved or not is_small:
        return found
    try:
        again = BranchAndBound().assign(task.again(start=found.codes[0], until=rest, checkpoint=None))
    except TooLarge:
        return found
    name = f"{found.info['search']}, then BranchAndBound"
    if again.bound < found.bound:
        return _said(name, again)
    return _said(name, replace(found, codes=again.codes, log_values=again.log_values))


def _said(name: str, found: Found) -> Found:
    """The same, with the name of the method that found it."""
    return replace(found, info={**found.info, "search": name})
