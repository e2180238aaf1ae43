"""Max-marginals without a tree: the best assignment is asked for again with each state as evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.errors import TooLarge
from sepset.factors.table import Table
from sepset.inference.cliquetree.maxmarginals import MaxMarginalsResult, named_states
from sepset.inference.conflict import impossible
from sepset.inference.method import Best, Prepared
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
from sepset.variables.variable import State

MOST_STATES = 2**12
"""The most joint states of which the best assignment is asked for."""


class Asked(Protocol):
    """A model with a prepared method."""

    @property
    def prepared(self) -> Prepared:
        """The method bound to the model."""


@dataclass(frozen=True, eq=False, repr=False)
class AskedMaxMarginals(MaxMarginalsResult):
    """Exact max-marginals, one best assignment for each state that is looked at.

    Attributes:
        engine: answers for best assignments.
        evidence: what was found.
        known: the variables of the model.
        best: a best assignment.

    Guarantee: as the best assignments.
    Tested by: inference/cliquetree/test_askedmaxima.py::test_maxima_are_those_of_all_assignments
    """

    engine: Asked = field(repr=False)
    evidence: Evidence = field(repr=False)
    known: Universe = field(repr=False)
    best: Best = field(repr=False)
    _tables: Cache[Table] = field(default_factory=lambda: Cache(1024), repr=False)

    def _joint(self, names: list[str]) -> Table:
        return self._tables.get(tuple(names), lambda: self._asked(names))

    def _asked(self, names: list[str]) -> Table:
        scope, places = [self.variables[name] for name in names], [self.known.id(name) for name in names]
        shape = tuple(v.num_states for v in scope)
        if math.prod(shape) > MOST_STATES:
            raise TooLarge(
                f"The max-marginal over {len(names)} variables has {math.prod(shape):,} states, each of which takes a "
                f"search; the limit is {MOST_STATES:,}. Ask for fewer variables together."
            )
        logs = np.empty(shape)
        for codes in np.ndindex(*shape):
            logs[codes] = self._best_with(dict(zip(places, codes, strict=True)))
        return Table.from_log(scope, logs)

    def _best_with(self, codes: Mapping[int, int]) -> float:
        """The log value of the best assignment with these codes."""
        if all(self.best.values.get(v) == code for v, code in codes.items()):
            return self.log_value
        told, log_weight = self.evidence.with_codes(codes)
        if log_weight == -math.inf:
            return -math.inf
        over = [v for v in self.best.values if v not in codes]
        found = self.engine.prepared.best(told, over).log_value if over else self.engine.prepared.log_partition(told)
        return found + log_weight

    @lazy
    def assignment(self) -> Mapping[str, State]:
        """A best assignment."""
        return {self.known[v].name: self.known[v].states[int(code)] for v, code in self.best.values.items()}  # type: ignore[union-attr]

    def log_value_of(self, assignment: Mapping[Any, State]) -> float:
        """The log value of an assignment of all unobserved variables."""
        states = self._states(assignment)
        return self._best_with(
            {self.known.id(n): self.variables[n].code(s) for n, s in states.items() if n not in self.observed}
        )

    def conflicts(self, assignment: Mapping[Any, State]) -> list[tuple[str, ...]]:
        """The variables whose max-marginals are not largest at an assignment; none for a best one."""
        if self.is_best(assignment):
            return []
        states = self._states(assignment)
        free = tuple(name for name in states if name not in self.observed)
        worse: list[tuple[str, ...]] = [(name,) for name in free if states[name] not in self.best_states[name]]
        return worse or [free]


def asked_max_marginals(engine: Asked, evidence: Evidence, variables: Universe, **about: Any) -> AskedMaxMarginals:
    """The max-marginals of a model whose best assignment is found without a tree.

    Args:
        about: the method, guarantees and other information of the result.
    """
    observed, prepared = set(evidence.observed), engine.prepared
    best = prepared.best(evidence, [v for v in range(len(variables)) if v not in observed])
    if best.log_value == -np.inf:
        raise impossible(prepared, evidence)
    own, seen = named_states(variables, evidence)
    return AskedMaxMarginals(
        best.log_value, own, observed=seen, engine=engine, evidence=evidence, known=variables, best=best, **about
    )
