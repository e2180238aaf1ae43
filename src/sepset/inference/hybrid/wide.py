"""Questions about more numbers than a sweep takes, if no state that they depend on is hidden.

All hidden numbers of the question are eliminated (`reversals`), those asked for last: then what is left of these is
their joint distribution. The states of the network are independent of the numbers, and a question to its discrete part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.factors.moments import Gaussian
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.inference.gaussian.conditioning import FOUND, MISSING, require_range
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.gaussian.narroworders import NarrowOrder
from sepset.inference.gaussian.precision import DOUBT
from sepset.inference.gaussian.reversals import Reversals, ReversedRows
from sepset.inference.hybrid.weightedcontexts import WeightedContexts, Weights
from sepset.inference.method import Answer, Best
from sepset.inference.result import Guarantee
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Vector

RANGE = 1e-100
"""Slopes, variances and findings below this or above its inverse are left to other ways."""

Contexts = Callable[[Evidence, Sequence[Weights]], WeightedContexts]


@dataclass(frozen=True, eq=False)
class WideAnswer:
    """The numbers of a question given the evidence.

    Attributes:
        problem: the problem.
        targets: the positions asked for.
        cliques: the order of the elimination.
        reversals: its steps.
        row: the evidence after it.
        evidence: as it was given.
        contexts: makes the discrete part, with weights.
    """

    problem: Problem
    targets: tuple[int, ...] = field(repr=False)
    cliques: NarrowOrder = field(repr=False)
    reversals: Reversals = field(repr=False)
    row: ReversedRows = field(repr=False)
    evidence: Evidence = field(repr=False)
    contexts: Contexts = field(repr=False)

    @property
    def _coordinates(self) -> Coordinates:
        return self.reversals.coordinates

    @property
    def residual(self) -> float:
        """How far rounding may have moved the answer, about, relative to its numbers."""
        is_joint = self.reversals.last <= costs.TARGETS_TOGETHER
        spread = self.reversals.covariance_error if is_joint else self.reversals.spread_error
        return max(float(self.row.error[0]), spread)

    def _weighted(self, log_peak: float = 0.0, certain: int = 0) -> WeightedContexts:
        return self.contexts(self.evidence, [Weights((), self.row.log_density + log_peak, self.row.exact + certain)])

    @lazy
    def log_partition(self) -> float:
        """The log density of the evidence."""
        return self._weighted().log_partition

    @lazy
    def reals(self) -> tuple[int, ...]:
        """The real targets."""
        return tuple(v for v in self.targets if v in self._coordinates.families)

    def query(self) -> Answer | None:
        """The joint of the targets, in their order; None if some are discrete and some are not, or they are many."""
        if self.log_partition == -np.inf or not self.targets:
            return Answer(Table.ones(), self.log_partition)
        if len(self.reals) == len(self.targets):
            is_small = self.reversals.last**2 <= costs.MOST_CONTEXT_ENTRIES
            is_sure = is_small and self.reversals.covariance_error <= DOUBT
            return Answer(self.distribution, self.log_partition, Guarantee.EXACT) if is_sure else None
        contexts = self._weighted()
        if self.reals or contexts.prepared is None:
            return None
        found = contexts.prepared.query([contexts.place[v] for v in self.targets], contexts.evidence)
        return Answer(found.distribution, self.log_partition, Guarantee.EXACT)

    @lazy
    def distribution(self) -> Gaussian:
        """The joint distribution of real targets."""
        own = np.concatenate([self._coordinates.families[v].own for v in self.reals])
        covariance = self._covariance(own)
        require_range(covariance)
        scope = tuple(v for v in map(self.problem.variables.__getitem__, self.reals) if isinstance(v, Vector))
        return Gaussian._make(scope, self.row.values[0, own], covariance)

    def _covariance(self, own: Ints) -> Floats:
        """The covariance of coordinates that were eliminated last."""
        order, rank = self.reversals.order, np.zeros(len(self.reversals.kinds), np.int64)
        rank[order] = np.arange(len(order)) - (len(order) - self.reversals.last)
        return np.asarray(self.reversals.covariance[rank[own][:, None], rank[own]])

    def best(self) -> Best | None:
        """The most probable values of all targets.

        None if some follow from others without noise, and findings do as well, or not everyone is a target.
        """
        is_partial = self.reversals.last < len(self.reversals.order)
        if self.reversals.log_peak[1] and (is_partial or self.reversals.has_certain_findings):
            return None
        contexts = self._weighted(*self.reversals.log_peak)
        states = [v for v in self.targets if v not in self._coordinates.families]
        log_value, found = contexts.log_partition, {}
        if states and contexts.prepared is not None:
            best = contexts.prepared.best(contexts.evidence, [contexts.place[v] for v in states])
            log_value = best.log_value + contexts.constant
            found = {v: int(best.values[contexts.place[v]]) for v in states if best.log_value > -np.inf}
        if log_value == -np.inf:
            return Best({}, -np.inf)
        return Best(self._with_numbers(found, self.row.values[0]), log_value)

    def _with_numbers(self, found: dict[int, Any], values: Floats) -> dict[int, Any]:
        """The states and numbers of the targets, in their order."""
        places = self._coordinates.places
        return {v: found[v] if v in found else values[places[v]] for v in self.targets}

    def sample(self, num_rows: int, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of all targets."""
        contexts = self._weighted()
        inside = {} if contexts.prepared is None else contexts.prepared.sample(num_rows, contexts.evidence, rng)
        drawn: dict[int, AnyArray] = {v: inside[i] for v, i in contexts.place.items() if i in inside}
        hidden, numbers = self.reversals.hidden, self.reversals.draws(self.row.constants[:, 0], num_rows, rng)
        at = np.zeros(len(self.reversals.kinds), np.int64)
        at[hidden] = np.arange(len(hidden))
        for v in self.reals:
            own = at[self._coordinates.families[v].own]
            drawn[v] = numbers[:, own[0]] if len(own) == 1 else numbers[:, own]
        return drawn

    def marginals(self) -> tuple[Callable[[int], Any], float] | None:
        """A reader of the marginal of each target, and the log density of the evidence; None if digits are lost."""
        spread, error = variances(self.reversals, self.cliques)
        if not error <= DOUBT:
            return None
        contexts = self._weighted()
        if contexts.log_partition == -np.inf:
            return lambda v: None, -np.inf
        states = None if contexts.prepared is None else contexts.prepared.marginals(contexts.evidence)[0]

        def read(target: int) -> Any:
            if target not in self._coordinates.families:
                assert states is not None
                return states(contexts.place[target])
            own, variable = self._coordinates.families[target].own, self.problem.variables[target]
            assert isinstance(variable, Vector)
            covariance = self._covariance(own) if len(own) > 1 else spread[own][:, None]
            return Gaussian._make((variable,), self.row.values[0, own], covariance)

        return read, contexts.log_partition


@dataclass(frozen=True, eq=False)
class WideQuestions:
    """Questions about many numbers of a problem of discrete variables and regressions.

    Attributes:
        problem: the problem.
        coordinates: its regressions, or those that the questions need.
        contexts: makes the discrete part, with weights.
    """

    problem: Problem
    coordinates: Coordinates
    contexts: Contexts
    _eliminations: Cache[Reversals] = field(default_factory=lambda: Cache(4), repr=False)

    def answer(self, targets: Sequence[int], evidence: Evidence, order: NarrowOrder) -> WideAnswer | None:
        """The numbers of a question; None if it loses digits, or findings follow from others without noise."""
        values = self.values(evidence)
        if not self.is_in_range or not is_near(values):
            return None
        reversals = self.reversals(targets, evidence, order)
        row = reversals.rows(values[None])
        found = WideAnswer(self.problem, tuple(targets), order, reversals, row, evidence, self.contexts)
        return found if found.residual <= DOUBT and not reversals.is_singular(row)[0] else None

    def reversals(self, targets: Sequence[int], evidence: Evidence, order: NarrowOrder) -> Reversals:
        """The elimination of all hidden numbers that a question needs."""
        codes = {v: evidence.codes[v] for v in self.coordinates.contexts if v in evidence.codes}

        def make() -> Reversals:
            kinds = np.where(order.needed[self.coordinates.owner], MISSING, 0).astype(np.uint8)
            kinds[self._own(list(evidence.reals))] = FOUND
            last = len(self._own([v for v in targets if v in self.coordinates.families and v not in evidence.reals]))
            return Reversals(
                self.coordinates, self.coordinates.entries_given(codes), kinds, self._own(order.order.tolist()), last
            )

        return self._eliminations.get((order, tuple(codes.items())), make)

    def _own(self, reals: Sequence[int]) -> Ints:
        """The coordinates of real variables."""
        parts = [self.coordinates.families[v].own for v in reals]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def values(self, evidence: Evidence) -> Floats:
        """The observed number of each coordinate; zero for all others."""
        found = np.zeros(len(self.coordinates))
        if evidence.reals:
            found[self._own(list(evidence.reals))] = np.concatenate([np.ravel(x) for x in evidence.reals.values()])
        return found

    @lazy
    def is_in_range(self) -> bool:
        """Whether all parameters are far from the ends of the range of floats."""
        flat = self.coordinates.flat
        return all(map(is_near, (flat.slopes, flat.variance, flat.intercept)))


def is_near(numbers: Floats) -> bool:
    """Whether no number is near the ends of the range of floats."""
    size = np.abs(numbers)
    return bool(((size == 0.0) | ((size > RANGE) & (size < 1.0 / RANGE))).all())


def variances(reversals: Reversals, cliques: NarrowOrder) -> tuple[Floats, float]:
    """The variance of every coordinate, zero unless it is hidden, and how far rounding may have moved them.

    If the coordinates asked for are few, theirs alone; infinitely far if vectors are among many.
    """
    found, num = np.zeros(len(reversals.kinds)), reversals.last
    if num <= costs.TARGETS_TOGETHER:
        found[reversals.order[len(reversals.order) - num :]] = np.diagonal(reversals.covariance)
        error = reversals.covariance_error
    elif reversals.coordinates.has_vectors:
        return found, np.inf
    else:
        found[reversals.order], error = reversals.variances(cliques.start, cliques.scopes)
    require_range(found)
    return found, error
