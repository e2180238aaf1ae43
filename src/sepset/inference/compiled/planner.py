"""Plans for an observed set: the domains of tables, an elimination order with its cost, and groups of targets."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.errors import TooLarge
from sepset.graphs.ordering import DEFAULT_ORDER, MinFill, OrderingMethod, SideToSide
from sepset.inference import costs
from sepset.inference.compiled.domains import Domains, States, Zeros
from sepset.inference.compiled.store import FactorStore, Layout
from sepset.inference.compiled.targetgroups import Ancestry, target_groups
from sepset.inference.plan import EliminationPlan, make_plan
from sepset.problem import Problem, Relevant
from sepset.variables.evidence import Evidence

Positions = tuple[int, ...]

Kind = Literal["joint", "marginals", "group", "mode", "draws", "factors"]
"""The answer of a question: the joint of its targets with the total; all single marginals, or those of a group of
targets without the total; the most probable assignment; draws; or the marginal over every factor's scope."""


class Pattern(NamedTuple):
    """The part of the evidence that a plan depends on; observed values are inputs of runs.

    Attributes:
        observed: the positions with one known value, in order.
        touched: the positions with likelihoods, in order.
        states: the domains of tables; None means every state.
    """

    observed: Positions
    touched: Positions
    states: States | None


class Settings(NamedTuple):
    """The settings of plans.

    Attributes:
        order: how elimination orders are chosen.
        memory: the largest number of bytes of a workspace.
        zeros: the treatment of zeros in the factors.
        threads: the number of threads of a large step; None for one per processor.
    """

    order: OrderingMethod
    memory: int
    zeros: Zeros
    threads: int | None = None


class Planner:
    """Plans for one structure, valid for all values that are zero where those of its problem are.

    Args:
        problem: every variable discrete.
        settings: the choice of orders, and the limits.
    """

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem = problem
        self.settings = settings

    @lazy
    def _plans(self) -> Cache[EliminationPlan]:
        return Cache(128)

    @lazy
    def _refusals(self) -> Cache[str]:
        """Plans that are too large: no longer search makes hopeless tables fit."""
        return Cache(128)

    @lazy
    def store(self) -> FactorStore:
        """The values of all factors, laid out on first use: a plan that is too large never needs them."""
        return FactorStore.of(self.problem)

    @property
    def has_usual_order(self) -> bool:
        """Whether elimination orders are chosen as usual."""
        return self.settings.order is DEFAULT_ORDER or self.settings.order == DEFAULT_ORDER

    @lazy
    def domains(self) -> Domains | None:
        """The domains of tables; None if zeros are not used, or if small numbers may be stored as zeros."""
        zeros = self.settings.zeros
        if not self.problem.is_built:  # its plan is to be seen before its factors are filled
            return None
        if zeros == "dense" or self.problem.num_visible > costs.VARIABLES_ALWAYS_PLANNED or not self.store.is_safe:
            return None
        if zeros == "auto" and len(self.store.values) <= costs.ENTRIES_FOR_SMALLER_DOMAINS:
            return None
        return self._domains

    @lazy
    def _domains(self) -> Domains:
        return Domains(self.store, np.array(self.problem.variables.cards))

    @lazy
    def zeros(self) -> Domains | None:
        """The domains of tables of any size; None if there are no zeros, or small numbers may be stored as zeros."""
        is_looked_at = self.problem.num_visible <= costs.VARIABLES_ALWAYS_PLANNED and self.store.is_safe
        return self._domains if is_looked_at and self.store.has_zeros else None

    def pattern(self, evidence: Evidence) -> Pattern:
        """The part of the evidence that a plan depends on."""
        states = None if self.domains is None else self.domains.of(evidence)
        return Pattern(evidence.observed, evidence.weighted, states)

    @lazy
    def num_entries(self) -> float:
        """The number of entries of all factors, as their scopes tell."""
        start, members = self.problem.scopes
        sizes = np.concatenate([[0.0], np.cumsum(np.log2(np.maximum(self._cards, 1))[members])])
        return float(np.exp2(sizes[start[1:]] - sizes[start[:-1]]).sum())

    def cards(self, states: States | None) -> Ints:
        """The number of states of each variable in tables."""
        return self._cards if states is None else states.cards

    @lazy
    def _cards(self) -> Ints:
        return self.problem.variables.cards.copy()  # kernels are given writable arrays, so that each is compiled once

    def layout(self, states: States | None) -> Layout:
        """The layout of a store over these states."""
        return self.store.layout if states is None else states.layout

    def plan(
        self,
        kind: Kind,
        targets: Positions,
        pattern: Pattern,
        *,
        to_run: bool = True,
        effort: float = costs.FIRST_ORDER_PASSES,
        method: SideToSide | None = None,
    ) -> EliminationPlan:
        """The plan of a question; all kinds of questions about every variable share one.

        Args:
            to_run: whether a plan far beyond the memory is refused; otherwise it is made to be looked at.
            effort: how long to search for an order, in passes over the tables of the best one so far.
            method: the order of a question whose program is too large otherwise. From side to side, tables may be small
                and separators many.
        """
        if kind not in ("joint", "group"):
            kind, targets = "marginals", ()
        limit = self.settings.memory if to_run else None
        how: dict[str, Any] = {"limit": limit, "effort": effort, "method": method or self.settings.order}
        key = kind, targets, pattern, method
        refused = self._refusals.find(key) if to_run else None
        if refused is not None:
            raise TooLarge(refused)
        try:
            return self._plans.get((*key, effort), lambda: self._made(kind, targets, pattern, **how))
        except TooLarge as error:
            if to_run:
                self._refusals.get(key, partial(str, error))
            raise

    def _made(self, kind: Kind, targets: Positions, pattern: Pattern, **how: Any) -> EliminationPlan:
        asked = targets if kind == "joint" else ()
        return make_plan(
            self.problem,
            self.relevant(kind, targets, pattern),
            has_tables=False,
            targets=asked,
            observed=pattern.observed,
            last=asked,
            cards=self.cards(pattern.states),
            **how,
        )

    def relevant(self, kind: Kind, targets: Positions, pattern: Pattern) -> Relevant:
        """The factors and unobserved variables that a question needs."""
        if kind not in ("joint", "group"):
            return Relevant(self._numbers, self._hidden(pattern))
        observed, touched, _ = pattern
        return self.problem.relevant(targets, observed, touched=touched, constants=kind == "joint")

    @lazy
    def _numbers(self) -> Ints:
        return np.arange(self.problem.num_factors)

    @lazy
    def _places(self) -> Ints:
        return np.arange(len(self.problem.variables))

    def _hidden(self, pattern: Pattern) -> Ints:
        if not pattern.observed:
            return self._places
        is_hidden = self._all.copy()
        is_hidden[list(pattern.observed)] = False
        return is_hidden.nonzero()[0]

    @lazy
    def _all(self) -> Bools:
        return np.ones(len(self._places), bool)

    def hidden(self, pattern: Pattern) -> Positions:
        """The unobserved positions."""
        return tuple(self._hidden(pattern).tolist())

    def most_in_one_tree(self, entries_per_sink: int) -> float:
        """The entries of a single tree up to which no groups of targets are considered."""
        most, per_sink = self.most_entries(entries_per_sink)
        return max(most, per_sink * self._num_sinks) if per_sink else most

    def most_entries(self, entries_per_sink: int) -> tuple[float, float]:
        """The same as a number of entries, and one for each variable without children if these are to be counted: then
        they are the variables in one factor only."""
        if not (self.problem.is_normalized and self.problem.num_visible <= costs.VARIABLES_ALWAYS_PLANNED):
            return math.inf, 0.0
        if len(self.problem.conditionals) == len(self.problem.variables) == self.problem.num_factors:
            return float(entries_per_sink), float(entries_per_sink)
        return float(entries_per_sink * max(self._num_sinks, 1)), 0.0

    @lazy
    def _num_sinks(self) -> int:
        """The number of variables without children."""
        num, groups = len(self.problem.variables), self.problem.conditionals
        if len(groups) == num == self.problem.num_factors:  # a variable without children is in one factor only
            return int(np.count_nonzero(np.bincount(self.problem.scopes[1], minlength=num) == 1))
        return num - len({p for group in groups for p in group.parents})

    def groups(self, pattern: Pattern, entries_per_sink: int, *, whole: float | None = None) -> tuple[Positions, ...]:
        """The unobserved positions in groups of least total cost; one group if that is cheapest.

        Args:
            entries_per_sink: the size of the single tree, per variable without children, from which groups are
                considered.
            whole: the entries of the single tree, if they are known.
        """
        most = self.most_in_one_tree(entries_per_sink)
        if most < math.inf:
            whole = self.size_of_one_tree(pattern) if whole is None else whole
            if whole > most:
                cards = None if pattern.states is None else pattern.states.cards
                observed, touched, _ = pattern
                return target_groups(self.problem, self._ancestry, observed, touched, whole=whole, cards=cards)
        return (self.hidden(pattern),)

    def size_of_one_tree(self, pattern: Pattern) -> float:
        """Entries of the single tree: of its plan, or of one greedy order if it has not been planned."""
        try:
            if len(self.store.values) <= costs.ENTRIES_PLANNED_OUTRIGHT:
                return self.plan("marginals", (), pattern).total_size
            relevant, cards = self.relevant("marginals", (), pattern), self.cards(pattern.states)
            limit = self.settings.memory
            return make_plan(self.problem, relevant, method=MinFill(), cards=cards, limit=limit).total_size
        except TooLarge:
            return math.inf

    @lazy
    def _ancestry(self) -> Ancestry:
        return Ancestry.of(self.problem)
