"""Fewer states for expensive sums: tables over the states that zeros and findings leave, if that is counted cheaper.

A look at the zeros of all factors takes as long as a small program runs. So it is taken after one greedy order has
shown that the tables are large; then the entries of all tables are counted again over the states that are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import ClassVar, NamedTuple

from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.inference import costs
from sepset.inference.compiled.domains import States
from sepset.inference.compiled.planner import Pattern, Planner
from sepset.inference.compiled.store import FactorStore
from sepset.variables.evidence import Evidence


class Chosen(NamedTuple):
    """The states chosen for one observed set.

    Attributes:
        codes: the values that have their own; None before any were looked at.
        own: the states that these values leave, if they are chosen.
        shared: the states that all other values use, if any were chosen.
    """

    codes: Mapping[int, int] | None = None
    own: States | None = None
    shared: States | None = None


UNSEEN = Chosen()


class Narrowing:
    """The states of tables for expensive joints and marginals, by observed set.

    The first values of an observed set get the states that they leave, all others those that are possible without
    findings: a program for each would be made as often as it runs.
    """

    _lock: ClassVar = Lock()  # of all: it is held for a moment only

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._is_off, self._is_used = planner.settings.zeros != "auto", False

    @lazy
    def _chosen(self) -> Cache[Chosen]:
        return Cache(128)

    def pattern(self, evidence: Evidence) -> Pattern:
        """The pattern of these findings, over the states chosen for them."""
        states = self._states(evidence) if self._is_used else None
        if states is None:
            return self._planner.pattern(evidence)
        return Pattern(evidence.observed, evidence.weighted, states)

    def _states(self, evidence: Evidence) -> States | None:
        chosen = self._chosen.get(evidence.observed, lambda: UNSEEN)
        if chosen.codes == evidence.codes:
            return chosen.own
        return chosen.shared if chosen.shared is not None and chosen.shared.allow(evidence.codes) else None

    def candidate(self, pattern: Pattern, evidence: Evidence) -> Pattern | None:
        """The pattern over fewer states; None if there are none, or zeros are not used."""
        if self._is_off or (domains := self._planner.zeros) is None:
            return None
        is_first = self._chosen.get(evidence.observed, lambda: UNSEEN).codes is None
        states = domains.left_by(evidence.codes) if is_first else domains.known
        return self._over(states, pattern.states, evidence)

    def own(self, evidence: Evidence) -> Pattern | None:
        """The pattern over the states that these very findings leave; None if that excludes none, or takes too long.

        For tables that are too large over all states.
        """
        planner = self._planner
        if self._is_off or planner.num_entries > costs.ENTRIES_FOR_OWN_STATES or planner.zeros is None:
            return None
        found = self._over(planner.zeros.left_by(evidence.codes), None, evidence)
        return found if found is not None and self.claim() else None

    def _over(self, states: States | None, others: States | None, evidence: Evidence) -> Pattern | None:
        """The pattern over some states; None if the findings are not among them, or they are no fewer than others."""
        if states is None or not states.allow(evidence.codes):
            return None
        before, after = self._planner.cards(others).copy(), states.cards.copy()
        before[list(evidence.codes)] = after[list(evidence.codes)] = 1
        is_fewer = after.sum() < before.sum()
        return Pattern(evidence.observed, evidence.weighted, states) if is_fewer else None

    def decide(self, evidence: Evidence, states: States, ratio: float) -> bool:
        """Whether these states are used with these findings from now on: if programs over them are cheaper by enough.

        Args:
            ratio: the estimated cost over these states, relative to that over all.
        """
        is_used = ratio <= costs.SHARE_OF_FEWER_STATES and self.claim()
        chosen = self._chosen.get(evidence.observed, lambda: UNSEEN)
        if chosen.codes is None:
            chosen = Chosen(evidence.codes, states if is_used else None)
        elif chosen.codes != evidence.codes:
            chosen = chosen._replace(shared=states if is_used else None)
        self._chosen.put(evidence.observed, chosen)
        return is_used

    def claim(self) -> bool:
        """Whether programs may be made that other values can share only if they have all zeros of these."""
        with self._lock:
            self._is_used = self._is_used or not self._is_off
            return not self._is_off

    def allows(self, store: FactorStore) -> bool:
        """Whether programs are valid for other values: these have all zeros, or zeros are not used from now on."""
        if self._is_off or (domains := self._planner.zeros) is None or domains.hold(store):
            return True
        with self._lock:
            self._is_off = not self._is_used
            return self._is_off


def is_worth_a_look(entries: float, store: FactorStore) -> bool:
    """Whether tables with this many entries justify a look at all zeros of the factors."""
    return entries >= max(costs.ENTRIES_BEFORE_NARROWING, costs.TABLES_PER_LOOK_AT_ZEROS * len(store.values))
