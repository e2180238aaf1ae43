r"""Retracted findings: each variable with a finding, given all the *other* findings, from one calibration.

Each finding is made on a copy of its variable, tied to it by an identity factor, so the variable itself stays in the
model. The derivative of $Z(\mathbf e)$ with respect to that identity is the weight $P(x, \mathbf e_{-X})$, for every
state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.lazy import lazy
from sepset.errors import TooLarge
from sepset.factors.block import Single
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.inference.compiled.gradients import Derivatives, Gradient
from sepset.inference.conflict import impossible, restrict
from sepset.inference.diagnosis.soft import resolve_soft
from sepset.inference.method import Prepared, dense, elimination_settings
from sepset.inference.refusals import refuse_minors
from sepset.problem import ConditionalGroup, Problem
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete


@dataclass(frozen=True, eq=False)
class Copies:
    """A problem in which each finding is made on a copy of its variable.

    Attributes:
        problem: the given one, with a copy of each variable in `originals` and an identity factor between the two.
        originals: the variables with findings, by position.
    """

    problem: Problem
    originals: tuple[int, ...]

    @classmethod
    def of(cls, problem: Problem, originals: Iterable[int]) -> Copies:
        """The problem with copies of these discrete variables."""
        originals = tuple(originals)
        variables = [problem.variables[v] for v in originals]
        copies = _fresh(problem, [v for v in variables if isinstance(v, Discrete)])
        size, count = len(problem.variables), problem.num_factors
        ties = [
            Single(Table((variable, copy), np.eye(copy.num_states)), [v, size + i])  # type: ignore[arg-type]
            for i, (v, variable, copy) in enumerate(zip(originals, variables, copies, strict=True))
        ]
        groups = [ConditionalGroup(size + i, (v,), (count + i,)) for i, v in enumerate(originals)]
        extended = Problem(
            Universe([*problem.variables.parts, *copies]),
            (*problem.blocks, *ties),
            conditionals=(*problem.conditionals, *groups),
            num_visible=problem.num_visible,
        )
        return cls(extended, originals)

    def evidence(self, evidence: Evidence) -> Evidence:
        """The same findings, made on the copies."""
        first = len(self.problem.variables) - len(self.originals)
        place = {v: i for i, v in enumerate(self.originals, start=first)}
        codes = {place[v]: code for v, code in evidence.codes.items()}
        return Evidence(codes, {place[v]: row for v, row in evidence.weights.items()})

    def retracted(self, gradient: Gradient) -> dict[int, Floats | None]:
        """For each original its distribution given the other findings; None if those are impossible."""
        first = self.problem.num_factors - len(self.originals)
        found: dict[int, Floats | None] = {}
        for number, v in enumerate(self.originals, start=first):
            weights = gradient.direction(number)
            found[v] = None if weights is None else np.asarray(weights.sum(axis=1))
        return found


def _fresh(problem: Problem, variables: Iterable[Discrete]) -> list[Discrete]:
    """Copies of variables under names that the problem does not use."""
    taken = set(problem.variables.names)
    copies = []
    for variable in variables:
        name = f"{variable.name} found"
        while name in taken:
            name += "'"
        taken.add(name)
        copies.append(Discrete(name, variable.states))
    return copies


Reader = Callable[[int], Table]
"""From a variable with a finding to its distribution given all other findings."""


def retracted(prepared: Prepared, evidence: Evidence, tree: Callable[[], RetractionTree]) -> Reader:
    """A reader of retracted marginals: by one calibration if that is cheaper, otherwise by one query per finding.

    Args:
        prepared: answers the queries.
        evidence: the findings. Soft ones are fitted again without each: their weights depend on the others.
        tree: makes the tree for findings on these variables, or finds it in a cache; called only if needed.

    Reference: Cowell & Dawid (1992), Fast retraction of evidence in a probabilistic expert system.
    """
    if evidence.soft or evidence.reals or not (prepared.problem.variables.cards > 0).all() or len(evidence.touched) < 2:
        return _one_by_one(prepared, evidence)
    try:
        made = tree()
        if not made.is_worthwhile:
            return _one_by_one(prepared, evidence)
        found = made.run(evidence)
    except TooLarge:
        return _one_by_one(prepared, evidence)

    def read(position: int) -> Table:
        values = found[position]
        if values is None:
            raise impossible(prepared, restrict(evidence, [v for v in evidence.touched if v != position]))
        return Table(prepared.problem.variables[position], values)  # type: ignore[arg-type]

    return read


def _one_by_one(prepared: Prepared, evidence: Evidence) -> Reader:
    def read(position: int) -> Table:
        others = resolve_soft(prepared, restrict(evidence, [v for v in evidence.touched if v != position]))
        answer = prepared.query([position], others)
        if answer.log_partition == -np.inf:
            raise impossible(prepared, others)
        return dense(answer.distribution)  # type: ignore[no-any-return]

    return read


class RetractionTree:
    """The calibration that retracts every finding on one set of variables.

    Args:
        prepared: its problem (every variable discrete), and the `order` and `memory` of its method.
        observed: variables with one known state.
        weighted: variables with likelihoods.
    """

    def __init__(self, prepared: Prepared, observed: tuple[int, ...], weighted: tuple[int, ...]) -> None:
        self._prepared, self._observed, self._weighted = prepared, observed, weighted
        originals, (order, memory) = sorted({*observed, *weighted}), elimination_settings(prepared.method)
        refuse_minors(prepared.problem, originals, (), max(memory, 1))  # in the tree they are hidden
        self._copies = Copies.of(prepared.problem, originals)
        self._derivatives = Derivatives(self._copies.problem, order, memory)

    @lazy
    def is_worthwhile(self) -> bool:
        """Whether the tree, whose tables include the observed variables, costs less than one query per finding."""
        empty = Evidence(dict.fromkeys(self._observed, 0), {v: np.ones(1) for v in self._weighted})
        found = self._copies.evidence(empty)
        whole = 2 * self._derivatives.plan(found.observed, sorted(found.weights)).cost
        if whole <= costs.WORK_RETRACTED_OUTRIGHT:
            return True
        target = self._copies.originals[0]
        apart = self._prepared.plan([target], [v for v in self._observed if v != target]).cost
        return whole <= len(self._copies.originals) * apart

    def run(self, evidence: Evidence) -> dict[int, Floats | None]:
        """For each variable with a finding its distribution given the others."""
        return self._copies.retracted(self._derivatives.gradient(self._copies.evidence(evidence)))
