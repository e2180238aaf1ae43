"""Compiles plans into questions, with a bounded cache (least recently used)."""

from __future__ import annotations

from collections.abc import Sequence

from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.inference import costs
from sepset.inference.compiled.planner import Kind, Pattern, Planner, Positions
from sepset.inference.compiled.question import Question, compile_question
from sepset.inference.compiled.sharedprogram import bundle
from sepset.inference.compiled.supports import Supports


class AllMarginals:
    """The way to all marginals for one pattern, and the number of requests.

    Attributes:
        uses: the number of requests.
        groups: the targets in groups; None before the search for groups.
        question: a single question that answers for all of them, or None.
    """

    def __init__(self) -> None:
        self.uses = 0
        self.found: tuple[tuple[Positions, ...], Question | None] | None = None


class Compiler:
    """Compiled questions about one structure, valid for all values that are zero where those of its problem are."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self._questions: Cache[Question] = Cache(128)
        self._marginals: Cache[AllMarginals] = Cache(128)

    @lazy
    def supports(self) -> Supports | None:
        """The programs over supports; None if zeros are treated like other values."""
        domains = self.planner.domains
        return None if domains is None else Supports(domains, at_once=self.planner.settings.zeros == "sparse")

    def question(self, kind: Kind, targets: Positions, pattern: Pattern) -> Question:
        """The compiled question, made on first use."""
        named = () if kind == "marginals" else targets  # for these kinds, targets are all unobserved variables
        return self._questions.get((kind, named, pattern), lambda: self._compiled(kind, targets, pattern))

    def all_marginals(self, pattern: Pattern) -> tuple[tuple[Positions, ...], Question | None]:
        """The unobserved positions in groups, and the question that answers for all, or None.

        An observed set with repeated questions gets a longer search, and one program for all groups.
        """
        asked = self._marginals.get(pattern, AllMarginals)
        uses = asked.uses = asked.uses + 1  # threads may lose a count, but the threshold is reached all the same
        found = asked.found
        if found is None:
            found = asked.found = self._grouped(pattern, costs.ENTRIES_PER_SINK_FOR_GROUPS)
        elif uses == costs.USES_BEFORE_SEARCH + 1:
            groups, question = self._grouped(pattern, costs.ENTRIES_PER_SINK_FOR_GROUPS_LATER)
            found = asked.found = groups, self._bundled(pattern, groups) if question is None else question
        return found

    def _grouped(self, pattern: Pattern, entries_per_sink: int) -> tuple[tuple[Positions, ...], Question | None]:
        groups = self.planner.groups(pattern, entries_per_sink)
        return groups, self.question("marginals", groups[0], pattern) if len(groups) == 1 else None

    def _bundled(self, pattern: Pattern, groups: Sequence[Positions]) -> Question | None:
        """The groups as one program that shares intermediate results; None if it is too large."""
        total = self.question("joint", (), pattern)
        parts = [self.question("group", group, pattern) for group in groups]
        return bundle(total, parts, self.planner.layout(pattern.states))

    def _compiled(self, kind: Kind, targets: Positions, pattern: Pattern) -> Question:
        plan = self.planner.plan(kind, targets, pattern)
        inside = set(plan.relevant.variables) if pattern.touched else ()
        return compile_question(
            self.planner.layout(pattern.states),
            plan,
            cards=self.planner.cards(pattern.states),
            observed=pattern.observed,
            touched=[v for v in pattern.touched if v in inside],
            kept=targets if kind == "joint" else (),
            marginals=targets if kind in ("marginals", "group") else None,
            factors=kind == "factors",
            maximize=kind == "mode",
            memory=self.planner.settings.memory,
            states=pattern.states,
        )
