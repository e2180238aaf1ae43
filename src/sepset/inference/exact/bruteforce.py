"""Brute force: the whole joint as one factor, the reference for all other methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.base.membership import without
from sepset.errors import TooLarge
from sepset.factors.algebra import Factor, num_entries
from sepset.factors.table import Table
from sepset.inference.buckets.evidencefactors import reduced_factors
from sepset.inference.buckets.pool import product
from sepset.inference.exact.digits import canonical_loss
from sepset.inference.exact.elimination import VariableElimination
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.method import Answer, Best
from sepset.inference.plan import EliminationPlan
from sepset.inference.result import EVERYTHING_EXACT, Guarantee, Guarantees
from sepset.problem import Problem
from sepset.semiring import MAX
from sepset.variables.evidence import Evidence


@dataclass(frozen=True, slots=True)
class BruteForce:
    """Exact answers from the joint over all unobserved variables: for small models and for tests.

    Args:
        limit: the largest number of joint states; above it, `TooLarge` before anything is allocated.

    Reference: Koller & Friedman 2.1.5.
    Guarantee: exact.
    Tested by: inference/exact/test_bruteforce.py::test_large_models_are_refused_before_anything_is_allocated

    >>> import sepset as ss
    >>> asia = ss.datasets.load("asia")
    >>> round(ss.query(asia, "lung", given={"xray": "yes"}, method=BruteForce(limit=256))["yes"], 4)
    0.4887
    """

    limit: int = 2**24

    def prepare(self, problem: Problem) -> PreparedBruteForce | RegressionQuestions:
        """The method bound to a problem; regressions are in moment form, and only their contexts are enumerated."""
        return RegressionQuestions.of(problem, self) or PreparedBruteForce(problem, self)

    def promises(self, problem: Problem) -> Guarantees:
        """Everything exact."""
        return EVERYTHING_EXACT


class PreparedBruteForce:
    """Brute force bound to a problem."""

    def __init__(self, problem: Problem, method: BruteForce) -> None:
        self.problem = problem
        self.method = method

    def joint(self, evidence: Evidence) -> Factor:
        """The product of all factors at the evidence, over every unobserved variable."""
        hidden = [self.problem.variables[v] for v in self._hidden(evidence)]
        entries = num_entries(hidden)
        if entries > self.method.limit:
            raise TooLarge(
                f"Brute force over {len(hidden)} variables would list 10^{math.log10(entries):.1f} joint states; the "
                f"limit is {self.method.limit:,}. Use VariableElimination."
            )
        factors = reduced_factors(self.problem, evidence)
        mentioned = {v for f in factors for v in f.scope}
        return product([*factors, Table.ones([v for v in hidden if v not in mentioned and v.is_discrete])])  # type: ignore[misc]

    def _hidden(self, evidence: Evidence) -> list[int]:
        return without(range(len(self.problem.variables)), evidence.observed)

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence, in the order asked."""
        joint: Any = self.joint(evidence)
        log_partition = joint.log_total
        keep = [self.problem.variables[v] for v in targets]
        if log_partition == -np.inf:
            return Answer(joint, log_partition)
        if any(not v.is_discrete for v in keep):
            return Answer(joint.to_distribution(keep), log_partition, Guarantee.EXACT)
        rest = without(joint.scope, keep)
        continuous = [v for v in rest if not v.is_discrete]
        marginal = joint.marginalize(continuous).marginalize(rest) if continuous else joint.marginalize(rest)
        return Answer(marginal.normalize().align(keep), log_partition)

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """Single marginals read from the joint."""
        return lambda target: self.query([target], evidence).distribution, self.log_partition(evidence)

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total of the joint."""
        return self.joint(evidence).log_total

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out first."""
        joint: Any = self.joint(evidence)
        keep = [self.problem.variables[v] for v in over]
        rest = without(joint.scope, keep)
        conditional, value = joint.marginalize(rest).eliminate(keep, MAX)
        if value.log_total == -np.inf:
            return Best({}, -np.inf)
        columns = conditional.mode({}, 1)
        return Best({v: columns[self.problem.variables[v]][0] for v in over}, value.log_total)

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable from the joint."""
        joint = self.joint(evidence)
        conditional, _ = joint.eliminate(joint.scope)
        columns = conditional.sample({}, num_rows, rng)
        return {v: columns[self.problem.variables[v]] for v in self._hidden(evidence)}

    def residual(self, targets: Sequence[int], evidence: Evidence) -> float | None:
        """The loss of digits of real variables in canonical form; None if it was not measured."""
        discrete = self.problem.variables.all_discrete
        return None if discrete else canonical_loss(reduced_factors(self.problem, evidence))

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of variable elimination for the same query."""
        return VariableElimination().prepare(self.problem).plan(targets, observed)

    def best_plan(self, over: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of variable elimination for the same maximum."""
        return VariableElimination().prepare(self.problem).best_plan(over, observed)
