"""Exact answers from one calibrated clique tree: every marginal for the price of two eliminations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.errors import NotApplicable, listing, nearest
from sepset.graphs.ordering import DEFAULT_ORDER, OrderingMethod
from sepset.inference.compiled.engine import PreparedTables, Zeros
from sepset.inference.exact.elimination import VariableElimination
from sepset.inference.exact.messages import Calibration, calibrate, is_hybrid, plan_tree, tree_factors
from sepset.inference.method import Answer, Best, Calibrated, check_settings
from sepset.inference.plan import Plan
from sepset.inference.result import Guarantee, Guarantees
from sepset.inference.treequery.joints import MergePlan, TreeJoints
from sepset.inference.treequery.pairs import PairwiseMarginals
from sepset.problem import Problem
from sepset.semiring import SUM, Semiring
from sepset.variables.evidence import Evidence

ZEROS = get_args(Zeros)


@dataclass(frozen=True, slots=True)
class CliqueTree:
    """Exact answers from one calibrated clique tree: every marginal for the price of two eliminations.

    Args:
        order: how the elimination order behind the tree is chosen.
        memory: the most bytes one step may need; larger plans are refused before anything is allocated.
        zeros: "auto" leaves out states that the factors' zeros rule out, alone or with the findings, and goes over to
            products that can be positive where that will be faster; "sparse" does so at once; "dense" does neither.

    Reference: Koller & Friedman, chapter 10 and section 14.3.
    """

    order: OrderingMethod = DEFAULT_ORDER
    memory: int = 8 * 2**30
    zeros: Zeros = field(default="auto", kw_only=True)

    def __post_init__(self) -> None:
        check_settings(self.order, self.memory)
        if self.zeros not in ZEROS:
            near = nearest(str(self.zeros), ZEROS)
            raise NotApplicable(f"zeros= is one of {listing(ZEROS)}; found {self.zeros!r}.{near}")

    def prepare(self, problem: Problem) -> PreparedTables | PreparedCliqueTree:
        """The method bound to a problem: compiled programs where every variable is discrete."""
        if problem.variables.all_discrete:
            return PreparedTables(problem, self, lambda p: PreparedCliqueTree(p, self))
        from sepset.inference.exact.hybridtree import prepared_tree

        return prepared_tree(problem, self)

    def promises(self, problem: Problem) -> Guarantees:
        """Everything exact for discrete and for Gaussian models.

        In a hybrid model marginals of discrete variables are exact, and those of continuous ones are Gaussians with
        the exact mean and covariance of a mixture: the moments are exact, the shape is not.
        """
        promised = dict.fromkeys(("log_partition", "marginals", "moments", "assignment"), Guarantee.EXACT)
        return {**promised, "marginals": Guarantee.HEURISTIC} if is_hybrid(problem) else promised


class PreparedCliqueTree:
    """Clique-tree inference bound to a problem."""

    def __init__(self, problem: Problem, method: CliqueTree) -> None:
        self.problem = problem
        self.method = method
        self._elimination = VariableElimination(method.order, method.memory).prepare(problem)
        self._joints = TreeJoints(self._elimination)

    def calibrate(self, evidence: Evidence, semiring: Semiring = SUM) -> Calibration:
        """The calibrated tree over every unobserved variable."""
        plan = self.plan((), evidence.observed)
        plan.check(self.method.memory)
        tree, root = plan_tree(self.problem, plan)
        factors = tree_factors(self.problem, plan, evidence)
        if not len(tree):
            return Calibration(tree, (), (), float(sum(f.log_total for f in factors)), semiring)
        return calibrate(tree, factors, semiring, root)

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of single marginals from one calibration."""
        calibration = self.calibrate(evidence)

        def read(target: int) -> Any:
            variable = self.problem.variables[target]
            found = calibration.marginal([variable.name])
            return found if variable.is_discrete else found.to_distribution([variable])

        return read, calibration.log_partition

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets`, by elimination over the part that is relevant to them."""
        return self._elimination.query(targets, evidence)

    def joint(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> Answer:
        """The joint of `targets`, in one clique or across several, from the tree calibrated for this evidence."""
        return self._joints.answer(targets, evidence, calibration)

    def joint_plan(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> MergePlan:
        """How `joint` answers, and at what cost."""
        return self._joints.plan(targets, evidence.observed, calibration.tree)

    def pairwise_marginals(self, evidence: Evidence) -> PairwiseMarginals:
        """The joint of every pair of unobserved variables, in one sweep over the calibrated tree."""
        return self._joints.pairs(evidence, self.calibrate(evidence))

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        return self._elimination.log_partition(evidence)

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out first."""
        return self._elimination.best(evidence, over)

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable from the posterior."""
        return self._elimination.sample(num_rows, evidence, rng)

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> Plan:
        """What a query would cost; without targets, what the tree over everything does."""
        return self._elimination.plan(targets, observed)
