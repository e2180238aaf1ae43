"""Compiled questions about one structure: made on first use, and again by a longer search if they are asked often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.errors import TooLarge
from sepset.graphs.costs import SMALL_GRAPH, SWEPT_NODES
from sepset.graphs.ordering import SideToSide
from sepset.inference import costs
from sepset.inference.compiled.narrowing import Narrowing, is_worth_a_look
from sepset.inference.compiled.planner import Kind, Pattern, Planner, Positions
from sepset.inference.compiled.question import (
    HASTY,
    Attempt,
    Question,
    answer_greedily,
    compile_greedily,
    compile_question,
    limits,
    narrowed,
    rearranged,
)
from sepset.inference.compiled.sharedprogram import bundle
from sepset.inference.compiled.store import FactorStore
from sepset.inference.compiled.supports import Supports
from sepset.problem import Relevant
from sepset.variables.evidence import Evidence

SUMS: frozenset[Kind] = frozenset({"joint", "marginals", "group"})
"""Questions about sums: the same whichever states their tables leave out, and read from one tensor for each answer."""

UNSEARCHED: frozenset[Kind] = frozenset({"group", "mode", "draws"})
"""Questions whose steps keep the order of elimination: it is shared, or decides between ties and draws."""

REPLANNED: frozenset[Kind] = frozenset({"joint", "marginals"})
"""Questions that get a longer search after repeated uses, if they are expensive, and so a shorter one at first."""


class AllMarginals:
    """The way to all marginals for one pattern, and the number of requests.

    Attributes:
        uses: the number of requests.
        attempt: one greedy order for a single tree, if it was tried, and the question along it.
        entries: the table entries of that tree, if they are known.
        first: the question along that order, if it is expensive, so that another way may be cheaper.
        found: the targets in groups, and the question that answers for all of them or None; None before any request.
    """

    def __init__(self) -> None:
        self.uses = 0
        self.attempt: Attempt | None = None
        self.entries: float | None = None
        self.first: Question | None = None
        self.found: tuple[tuple[Positions, ...], Question | None] | None = None

    @property
    def is_small(self) -> bool:
        """Whether the tables of a single tree are too few entries for any search."""
        return self.entries is not None and self.entries <= costs.ENTRIES_PER_SINK_FOR_GROUPS_LATER


class Uses:
    """The number of times that an expensive question was asked."""

    def __init__(self) -> None:
        self.num = 0


def _key(kind: Kind, targets: Positions, pattern: Pattern) -> tuple[Kind, Positions, Pattern]:
    """The key of a question; all marginals are always about every unobserved variable."""
    return kind, () if kind == "marginals" else targets, pattern


class Compiler:
    """Compiled questions about one structure, valid for all values that are zero where those of its problem are."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.narrowing = Narrowing(planner)
        self._marginals: Cache[AllMarginals] = Cache(128)

    @lazy
    def _questions(self) -> Cache[Question]:
        return Cache(128)

    @lazy
    def _uses(self) -> Cache[Uses]:
        return Cache(128)

    @lazy
    def _narrowed(self) -> Cache[Question]:
        return Cache(16)

    @lazy
    def _shared(self) -> Cache[Uses]:
        """Findings whose own states hardly make best values cheaper."""
        return Cache(128)

    @lazy
    def wide(self) -> Cache[bool]:
        """The observed sets that have been too large, or slow, without the auxiliaries that findings determine."""
        return Cache(128)

    @lazy
    def supports(self) -> Supports | None:
        """The programs over supports; None if there are no zeros, or they are treated like other values."""
        zeros = self.planner.settings.zeros
        domains = self.planner.zeros if zeros == "auto" else self.planner.domains
        return None if domains is None else Supports(domains, self.narrowing.claim, at_once=zeros == "sparse")

    def is_valid_for(self, store: FactorStore) -> bool:
        """Whether its questions can be asked of other factor values: these have all zeros that tables leave out."""
        domains = self.planner.domains
        return (domains is None or domains.hold(store)) and self.narrowing.allows(store)

    def question(self, kind: Kind, targets: Positions, pattern: Pattern) -> Question:
        """The compiled question, made on first use."""
        return self._questions.get(_key(kind, targets, pattern), lambda: self._compiled(kind, targets, pattern))

    def is_new(self, pattern: Pattern) -> bool:
        """Whether this is the first request for all marginals for an observed set, which one call may answer."""
        return self._marginals.find(pattern) is None and self._within is not None

    def answered(self, pattern: Pattern, store: FactorStore, evidence: Evidence) -> Attempt | None:
        """All marginals by the call that compiles the question; None if it does not run its program.

        Args:
            store, evidence: the factors and the findings, over the states of the pattern.
        """
        if self._within is None:
            return None
        asked = self._marginals.get(pattern, AllMarginals)
        observed, touched, states = pattern
        cards = self.planner.problem.variables.cards if states is None else states.cards
        about = {
            "cards": cards,
            "observed": observed,
            "touched": touched,
            "states": states,
            "reads_singles": True,
            "is_whole": True,
        }
        attempt = asked.attempt = answer_greedily(store, evidence, about, self._within, self.planner.settings.memory)
        asked.entries = attempt.entries
        if attempt.singles is None:
            return None
        asked.uses = 1
        return attempt

    @lazy
    def _within(self) -> Floats | None:
        """The limits within which a question about everything is compiled and run in one call; None if it never is."""
        planner, settings = self.planner, self.planner.settings
        if (
            planner.problem.num_factors > costs.FACTORS_AT_ONCE
            or settings.zeros == "sparse"
            or not planner.has_usual_order
        ):
            return None
        most, per_sink = planner.most_entries(costs.ENTRIES_PER_SINK_FOR_GROUPS)
        run = min(costs.WORK_OF_A_FIRST_RUN, costs.ENTRIES_BEFORE_TREE_SEARCH)
        return limits(
            settings.memory, most, costs.FIRST_ORDER_PASSES, HASTY, costs.ENTRIES_FOR_FREE_AXES, per_sink, run
        )

    def all_marginals(
        self, pattern: Pattern, evidence: Evidence | None = None
    ) -> tuple[tuple[Positions, ...], Question | None]:
        """The unobserved positions in groups, and the question that answers for all, or None.

        An observed set with repeated questions gets a longer search, and one program for all groups.

        Args:
            evidence: the findings, if tables may leave out the states that they exclude.
        """
        asked = self._marginals.get(pattern, AllMarginals)
        uses = asked.uses = asked.uses + 1  # threads may lose a count, but the threshold is reached all the same
        found = asked.found
        if found is None:
            if (made := self._tried(asked, pattern, costs.ENTRIES_PER_SINK_FOR_GROUPS)) is not None:
                found = asked.found = (), made
            elif evidence is not None and (fewer := self._narrower(asked, pattern, evidence)) is not None:
                return self.all_marginals(fewer)
            else:
                found = asked.found = self._grouped(asked, pattern, costs.ENTRIES_PER_SINK_FOR_GROUPS)
        elif uses == costs.USES_BEFORE_SEARCH + 1 and not asked.is_small:
            groups, question = self._grouped(asked, pattern, costs.ENTRIES_PER_SINK_FOR_GROUPS_LATER)
            if question is None:
                question = self._bundled(pattern, groups)
            elif question.is_expensive:
                question = self._improved("marginals", self.planner.hidden(pattern), pattern)
            found = asked.found = groups, question
        return found

    def _narrower(self, asked: AllMarginals, pattern: Pattern, evidence: Evidence) -> Pattern | None:
        """The pattern over fewer states, if a greedy order has sufficiently smaller tables over these."""
        if not self._is_quick("marginals", self.planner.relevant("marginals", (), pattern)):
            return None
        entries = self._entries(asked, pattern)
        if not is_worth_a_look(entries, self.planner.store):
            return None
        fewer = self.narrowing.candidate(pattern, evidence)
        if fewer is None or fewer.states is None:
            return None
        other = self._marginals.get(fewer, AllMarginals)
        made = self._tried(other, fewer, costs.ENTRIES_PER_SINK_FOR_GROUPS)
        if made is not None:
            other.found = (), made
        ratio = self._entries(other, fewer) / entries
        return fewer if self.narrowing.decide(evidence, fewer.states, ratio) else None

    def _entries(self, asked: AllMarginals, pattern: Pattern) -> float:
        """The table entries of a greedy order; the same if its kernel is not compiled yet."""
        if asked.entries is None:
            asked.entries = self.planner.size_of_one_tree(pattern)
        return asked.entries

    def asked(self, kind: Kind, targets: Positions, pattern: Pattern, evidence: Evidence | None = None) -> Question:
        """The compiled question, which is improved if it is expensive and asked repeatedly.

        Best values and draws are not: their order breaks ties and uses up random numbers, and stays what it was.

        Args:
            evidence: the findings, if tables may leave out the states that they exclude.
        """
        question = self.question(kind, targets, pattern)
        if not question.is_expensive or kind in UNSEARCHED:
            return question
        counted = self._uses.get((kind, targets, pattern), Uses)
        counted.num += 1
        if counted.num <= costs.USES_BEFORE_SEARCH and evidence is not None:
            return self._over_fewer_states(question, kind, targets, pattern, evidence)
        return self._improved(kind, targets, pattern) if counted.num == costs.USES_BEFORE_SEARCH + 1 else question

    def _over_fewer_states(
        self, question: Question, kind: Kind, targets: Positions, pattern: Pattern, evidence: Evidence
    ) -> Question:
        """The question over the states that the findings leave, if it is sufficiently cheaper."""
        if not is_worth_a_look(question.contraction.entries, self.planner.store):
            return question
        fewer = self.narrowing.candidate(pattern, evidence)
        if fewer is None or fewer.states is None:
            return question
        other = self.question(kind, targets, fewer)
        is_used = self.narrowing.decide(evidence, fewer.states, other.nanoseconds / question.nanoseconds)
        return other if is_used else question

    def over_own_states(self, kind: Kind, targets: Positions, evidence: Evidence) -> Question | None:
        """The question over the states that these very findings leave; None if they exclude none."""
        pattern = self.narrowing.own(evidence)
        if pattern is None:
            return None
        return self.question(kind, targets or self.planner.hidden(pattern) if kind == "marginals" else targets, pattern)

    def best(self, evidence: Evidence) -> Question:
        """The question of the best values; over the states that these findings leave, if it is expensive otherwise."""
        planner = self.planner
        if planner.domains is None:
            known = self._questions.find(("mode", (), (evidence.observed, evidence.weighted, None)))
            return self.question("mode", (), planner.pattern(evidence)) if known is None else known
        pattern = planner.pattern(evidence)
        question = self.question("mode", (), pattern)
        if question.nanoseconds < costs.NANOSECONDS_FOR_OWN_STATES or self._shared.get(pattern, Uses).num:
            return question
        states = planner.domains.own(evidence)
        if states is None or (question.states is not None and states.cards.sum() >= question.states.cards.sum()):
            return question
        found = self._narrowed.get((question, states), lambda: narrowed(question, states.layout, states))
        if found.nanoseconds <= costs.SHARE_OF_OWN_STATES * question.nanoseconds:
            return found
        self._shared.get(pattern, Uses).num += 1
        return question

    def _improved(self, kind: Kind, targets: Positions, pattern: Pattern) -> Question:
        """The question after a longer search, if its steps are cheaper then."""
        question = self.question(kind, targets, pattern)
        try:
            other = self._planned(kind, targets, pattern, costs.LATER_ORDER_PASSES)
        except TooLarge:
            return question
        if other.nanoseconds >= question.nanoseconds:
            return question
        question.pool.clear()
        self._questions.put(_key(kind, targets, pattern), other)
        return other

    def _grouped(
        self, asked: AllMarginals, pattern: Pattern, entries_per_sink: int
    ) -> tuple[tuple[Positions, ...], Question | None]:
        made = self._tried(asked, pattern, entries_per_sink)
        if made is not None:
            return (), made
        groups = self.planner.groups(pattern, entries_per_sink, whole=asked.entries)
        return groups, self.question("marginals", groups[0], pattern) if len(groups) == 1 else None

    def _tried(self, asked: AllMarginals, pattern: Pattern, entries_per_sink: int) -> Question | None:
        """All marginals from a single tree in one compiled call; None if that was tried, or if a search is worth it."""
        if asked.entries is None:
            relevant = self.planner.relevant("marginals", (), pattern)
            if not self._is_quick("marginals", relevant):
                return None
            most = self.planner.most_in_one_tree(entries_per_sink)
            asked.attempt = self._attempt("marginals", (), pattern, relevant, most=most)
            asked.entries = asked.attempt.entries
        elif asked.attempt is None or asked.found is not None or asked.first is not None:
            return None
        made = None if asked.attempt is None else asked.attempt.question
        if made is None or made.is_expensive:
            asked.first = made
            return None
        return self._questions.get(_key("marginals", (), pattern), lambda: made)

    def _is_quick(self, kind: Kind, relevant: Relevant) -> bool:
        """Whether a question is first compiled in one call; best values and draws, only with the order that the search
        on a small graph begins with: rows of findings have the same, which breaks ties. Factors that wait to be filled
        wait for a plan that fits."""
        if not self.planner.problem.is_built:
            return False
        most = costs.FACTORS_AT_ONCE if kind in SUMS else SMALL_GRAPH
        return len(relevant.numbers) <= most and self.planner.has_usual_order

    def _attempt(
        self, kind: Kind, targets: Positions, pattern: Pattern, relevant: Relevant, *, most: float = math.inf
    ) -> Attempt:
        """The question in one compiled call, if no search is worth its time."""
        planner = self.planner
        asked = relevant.places if kind == "marginals" else np.array(targets, dtype=np.int64)
        return compile_greedily(
            planner.layout(pattern.states),
            cards=planner.cards(pattern.states),
            numbers=relevant.numbers,
            hidden=relevant.places,
            observed=pattern.observed,
            touched=_inside(pattern.touched, relevant),
            kept=targets if kind == "joint" else (),
            marginals=asked if kind in ("marginals", "group") else None,
            factors=kind == "factors",
            maximize=kind == "mode",
            memory=planner.settings.memory,
            states=pattern.states,
            reads_tensors=kind not in SUMS,
            most=most,
            effort=costs.FIRST_ORDER_PASSES,
            haste=kind in REPLANNED,
        )

    def _bundled(self, pattern: Pattern, groups: Sequence[Positions]) -> Question | None:
        """The groups as one program that shares intermediate results; None if it is too large."""
        total = self.question("joint", (), pattern)
        parts = [self.question("group", group, pattern) for group in groups]
        return bundle(total, parts, self.planner.layout(pattern.states))

    def _compiled(self, kind: Kind, targets: Positions, pattern: Pattern) -> Question:
        relevant = self.planner.relevant(kind, targets, pattern)
        asked = self._marginals.get(pattern, AllMarginals) if kind == "marginals" else AllMarginals()
        first, entries = asked.first, asked.entries
        if entries is None and self._is_quick(kind, relevant):
            attempt = self._attempt(kind, targets, pattern, relevant)
            first, entries = attempt.question, attempt.entries
        if first is not None:
            return self._along_a_cheaper_tree(kind, first)
        is_hasty = kind in REPLANNED and (entries or 0.0) >= costs.ENTRIES_FOR_HASTE
        effort = costs.HASTY_ORDER_PASSES if is_hasty else costs.FIRST_ORDER_PASSES
        try:
            return self._planned(kind, targets, pattern, effort)
        except TooLarge:
            is_near = self._is_near(kind, targets, pattern, effort)
            is_swept = self._is_swept(kind, targets, pattern, relevant, effort)
            others = [(costs.LATER_ORDER_PASSES, None)] * is_near + [(effort, SideToSide())] * is_swept
            if not others:
                raise
        for other in others[:-1]:
            with suppress(TooLarge):
                return self._planned(kind, targets, pattern, *other)
        return self._planned(kind, targets, pattern, *others[-1])

    def _is_near(self, kind: Kind, targets: Positions, pattern: Pattern, effort: float) -> bool:
        """Whether the tables of a plan that is too large are so few times the memory that a longer search may help."""
        with suppress(TooLarge):
            plan = self.planner.plan(kind, targets, pattern, effort=effort)
            return plan.step_memory <= costs.PATIENT_FACTOR * self.planner.settings.memory
        return False

    def _is_swept(self, kind: Kind, targets: Positions, pattern: Pattern, relevant: Relevant, effort: float) -> bool:
        """Whether an order from side to side is tried: one whose tables are so large that it has no plan is not."""
        if self.planner.has_usual_order and len(relevant.places) >= SWEPT_NODES:
            with suppress(TooLarge):
                self.planner.plan(kind, targets, pattern, effort=effort, method=SideToSide())
                return True
        return False

    def _along_a_cheaper_tree(self, kind: Kind, question: Question) -> Question:
        """The question itself, if it is cheap or no cheaper tree is found."""
        if kind in UNSEARCHED or not question.is_expensive:
            return question
        planner = self.planner
        return rearranged(
            question,
            planner.layout(question.states),
            reads_tensors=kind not in SUMS,
            share=costs.SHARE_OF_TREE_SEARCH,
            memory=planner.settings.memory,
        )

    def _planned(
        self, kind: Kind, targets: Positions, pattern: Pattern, effort: float, method: SideToSide | None = None
    ) -> Question:
        """The question along a new plan.

        Args:
            effort: how long to search for the order, in passes; for the tree likewise.
            method: the order, if not as usual.
        """
        is_later = effort >= costs.LATER_ORDER_PASSES
        share = costs.LATER_SHARE_OF_TREE_SEARCH if is_later else costs.SHARE_OF_TREE_SEARCH
        plan = self.planner.plan(kind, targets, pattern, effort=effort, method=method)
        memory = self.planner.settings.memory
        if not self.planner.problem.is_built and plan.step_memory > costs.PATIENT_FACTOR * memory:
            plan.check(memory)  # before the layout fills the factors
        return compile_question(
            self.planner.layout(pattern.states),
            plan,
            cards=self.planner.cards(pattern.states),
            observed=pattern.observed,
            touched=_inside(pattern.touched, plan.relevant),
            kept=targets if kind == "joint" else (),
            marginals=targets if kind in ("marginals", "group") else None,
            factors=kind == "factors",
            maximize=kind == "mode",
            reads_tensors=kind not in SUMS,
            memory=memory,
            states=pattern.states,
            search=0.0 if kind in UNSEARCHED else share,
        )


def _inside(touched: Positions, relevant: Relevant) -> Positions:
    """The positions with likelihoods that are relevant."""
    if not touched:
        return touched
    inside = set(relevant.variables)
    return tuple([v for v in touched if v in inside])
