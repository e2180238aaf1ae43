"""What an observed set asks for: which states tables range over, an order with its cost, and groups of targets."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.graphs.ordering import MinFill, OrderingMethod
from sepset.inference import costs
from sepset.inference.compiled.domains import Domains, States, Zeros
from sepset.inference.compiled.store import FactorStore, Layout
from sepset.inference.compiled.targetgroups import Ancestry, target_groups
from sepset.inference.plan import Plan, make_plan
from sepset.problem import Problem, Relevant
from sepset.variables.evidence import Evidence

Positions = tuple[int, ...]

Kind = Literal["joint", "marginals", "group", "mode", "draws", "factors"]
"""What a question reads: the joint of its targets with the total; all single marginals, or those of a group of targets
without the total; the most probable assignment; draws; or the marginal over every factor's scope."""


class Pattern(NamedTuple):
    """What of the evidence belongs to a plan: the values found are input to runs.

    Attributes:
        observed: the positions with one known value, in order.
        touched: the positions with likelihoods, in order.
        states: what tables range over; None means every state.
    """

    observed: Positions
    touched: Positions
    states: States | None


class Settings(NamedTuple):
    """How plans are made.

    Attributes:
        order: how elimination orders are chosen.
        memory: the most bytes of a workspace.
        zeros: what is made of the factors' zeros.
    """

    order: OrderingMethod
    memory: int
    zeros: Zeros


class Planner:
    """Plans for one structure: they hold for all numbers that are zero where those of its problem are.

    Args:
        problem: every variable discrete.
        settings: how orders are chosen, and within which limits.
    """

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem = problem
        self.settings = settings
        self._plans: Cache[Plan] = Cache(128)

    @lazy
    def store(self) -> FactorStore:
        """The numbers of the problem; a plan that is refused never needs them."""
        return FactorStore.of(self.problem)

    @lazy
    def domains(self) -> Domains | None:
        """What tables range over; None where that is every state whatever the zeros."""
        zeros = self.settings.zeros
        if zeros == "dense" or self.problem.num_visible > costs.VARIABLES_ALWAYS_PLANNED:
            return None
        if zeros == "auto" and len(self.store.values) <= costs.ENTRIES_FOR_SMALLER_DOMAINS:
            return None
        return Domains(self.store, np.array(self.problem.variables.cards))

    def pattern(self, evidence: Evidence) -> Pattern:
        """What of the evidence belongs to a plan."""
        states = None if self.domains is None else self.domains.of(evidence)
        return Pattern(evidence.observed, evidence.weighted, states)

    def cards(self, states: States | None) -> Ints:
        """How many states of each variable tables range over."""
        return self.problem.variables.cards if states is None else states.cards

    def layout(self, states: States | None) -> Layout:
        """Where the factors lie in a store over these states."""
        return self.store.layout if states is None else states.layout

    def plan(self, kind: Kind, targets: Positions, pattern: Pattern) -> Plan:
        """The plan of a question; all that asks about everything shares one."""
        if kind not in ("joint", "group"):
            kind, targets = "marginals", ()
        return self._plans.get((kind, targets, pattern), lambda: self._made(kind, targets, pattern))

    def _made(self, kind: Kind, targets: Positions, pattern: Pattern) -> Plan:
        limit = self.settings.memory if self.problem.num_visible > costs.VARIABLES_ALWAYS_PLANNED else None
        asked = targets if kind == "joint" else ()
        return make_plan(
            self.problem,
            self._relevant(kind, targets, pattern),
            method=self.settings.order,
            targets=asked,
            observed=pattern.observed,
            last=asked,
            limit=limit,
            cards=self.cards(pattern.states),
        )

    def _relevant(self, kind: Kind, targets: Positions, pattern: Pattern) -> Relevant:
        if kind == "marginals":
            return Relevant(np.arange(self.problem.num_factors), self.hidden(pattern))
        observed, touched, _ = pattern
        return self.problem.relevant(targets, observed, touched=touched, constants=kind == "joint")

    def hidden(self, pattern: Pattern) -> Positions:
        """The positions that are not observed."""
        hidden = list(range(len(self.problem.variables)))
        for v in reversed(pattern.observed):
            del hidden[v]
        return tuple(hidden)

    def groups(self, pattern: Pattern, entries_per_sink: int) -> tuple[Positions, ...]:
        """The unobserved positions in groups whose marginals are cheapest asked together; one where that is best.

        Args:
            entries_per_sink: the size of the one tree, for each variable without children, from which groups are
                looked for.
        """
        if self.problem.is_normalized:
            whole = self._size_of_one_tree(pattern)
            if whole > entries_per_sink and whole > entries_per_sink * self._ancestry.num_sinks:
                cards = None if pattern.states is None else pattern.states.cards
                observed, touched, _ = pattern
                return target_groups(self.problem, self._ancestry, observed, touched, whole=whole, cards=cards)
        return (self.hidden(pattern),)

    def _size_of_one_tree(self, pattern: Pattern) -> int:
        """Entries of the one tree: of its plan, or where there is none yet and may never be, of one greedy order."""
        if len(self.store.values) <= costs.ENTRIES_PLANNED_OUTRIGHT:
            return self.plan("marginals", (), pattern).total_size
        relevant = self._relevant("marginals", (), pattern)
        return make_plan(self.problem, relevant, method=MinFill(), cards=self.cards(pattern.states)).total_size

    @lazy
    def _ancestry(self) -> Ancestry:
        return Ancestry.of(self.problem)
