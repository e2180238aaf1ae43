"""Message passing on clique trees bound to a problem, for every family of factors and every form of messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.base.cache import Cache
from sepset.base.entries import Answers
from sepset.base.lazy import lazy
from sepset.base.membership import without
from sepset.factors.moments import GaussianMixture
from sepset.factors.table import Table
from sepset.inference.exact.elimination import VariableElimination
from sepset.inference.exact.messages import Calibration, Pass, is_hybrid, plan_tree, tree_factors
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.hybrid.wide import WideAnswer
from sepset.inference.method import Answer, Best, Calibrated, EliminationMethod
from sepset.inference.plan import ENTRY_BYTES, EliminationPlan, make_plan
from sepset.inference.result import EVERYTHING_EXACT, Guarantee, Guarantees
from sepset.inference.treequery.joints import MergePlan, TreeJoints
from sepset.inference.treequery.pairs import AskedPairs
from sepset.problem import Problem
from sepset.semiring import SUM, Semiring
from sepset.variables.evidence import Evidence


def tree_promises(problem: Problem) -> Guarantees:
    """Everything exact for discrete and for Gaussian models.

    In a hybrid model marginals of discrete variables are exact, and those of continuous ones are Gaussians with the
    exact mean and covariance of a mixture: the moments are exact, the shape is not.
    """
    return {**EVERYTHING_EXACT, "marginals": Guarantee.HEURISTIC} if is_hybrid(problem) else EVERYTHING_EXACT


def _need(plan: EliminationPlan, share: float) -> int:
    """Bytes of all tables that the tree keeps, a multiple of its cliques, and of its largest step."""
    total = share * plan.symbolic.rounded_total
    return plan.step_memory + ENTRY_BYTES * (int(total) if total < np.inf else plan.largest)


class PreparedTree:
    """One form of message passing bound to a problem: a tree over all variables, or over those relevant to one query.

    Queries with continuous variables, maxima and draws are eliminations: a tree collapses mixtures in its downward
    pass, and back-substitution needs orders with several semirings.

    Args:
        problem: of factors of any family.
        method: how the order behind a tree is chosen, and the largest number of bytes held at once.
        send: from a tree and its factors to a calibrated tree.
        share: the entries of all tables that it keeps, relative to those of the cliques. Beliefs of sepsets have half
            of these or less.
    """

    def __init__(self, problem: Problem, method: EliminationMethod, send: Pass, *, share: float = 1.5) -> None:
        self.problem = problem
        self.method = method
        self._send, self._share = send, share
        self._plans: Cache[EliminationPlan] = Cache()
        self._elimination = VariableElimination(method.order, method.memory).prepare(problem)

    @lazy
    def _regressions(self) -> RegressionQuestions | None:
        return RegressionQuestions.of(self.problem, self.method)

    def by_moments(self, targets: Sequence[int], evidence: Evidence) -> RegressionQuestions | None:
        """The questions in moment form, if all real variables have regressions and the question is not too wide."""
        widths = self._elimination.widths
        if widths is None or not widths.covers(targets, evidence):
            return None
        known = self._regressions
        return None if known is None else known.narrowed(targets, evidence)

    def wide(self, targets: Sequence[int], evidence: Evidence) -> WideAnswer | None:
        """The answer about more numbers than a sweep takes, by an elimination in moment form; None if that is long."""
        return None if self._regressions is None else self._elimination.wide(targets, evidence, self._regressions)

    def residual(self, targets: Sequence[int], evidence: Evidence) -> float | None:
        """The largest relative residual, or loss of digits in canonical form; None if it was not measured."""
        if (wide := self.wide(targets, evidence)) is not None:
            return wide.residual
        found = self.by_moments(targets, evidence)
        return self._elimination.residual(targets, evidence) if found is None else found.residual(targets, evidence)

    def calibrate(self, evidence: Evidence, semiring: Semiring = SUM) -> Calibrated:
        """The calibrated tree over every unobserved variable; `MAX` gives max-marginals."""
        plan = self._elimination.plan((), evidence.observed, to_run=True)
        return self._calibrated(plan, evidence, semiring)

    def _calibrated(
        self, plan: EliminationPlan, evidence: Evidence, semiring: Semiring = SUM, together: Sequence[int] = ()
    ) -> Calibrated:
        plan.check(self.method.memory, _need(plan, self._share))
        tree, root = plan_tree(self.problem, plan, together)
        factors = tree_factors(self.problem, plan, evidence)
        if not len(tree):
            return Calibration(tree, (), (), float(sum(f.log_total for f in factors)), semiring)
        return self._send(tree, factors, semiring, root)

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of single marginals from one tree; mixtures collapse to the Gaussian with their moments."""
        everyone = range(len(self.problem.variables))
        if (wide := self.wide(everyone, evidence)) is not None and (found := wide.marginals()) is not None:
            return found
        if (moments := self.by_moments(everyone, evidence)) is not None:
            each, log_partition = moments.marginals(evidence)
            return lambda target: _collapsed(each(target)), log_partition
        if (carried := self._elimination.carried_marginals(evidence)) is not None:
            return carried.read, carried.log_partition
        tree = self.calibrate(evidence)

        def read(target: int) -> Any:
            variable = self.problem.variables[target]
            found = tree.marginal([variable.name])
            return found if variable.is_discrete else found.to_distribution([variable])

        return read, tree.log_partition

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets`, from a tree over the relevant part in which one clique holds them all."""
        if (wide := self.wide(targets, evidence)) is not None and (found := wide.query()) is not None:
            return found
        if (moments := self.by_moments(targets, evidence)) is not None:
            return moments.query(targets, evidence)
        if not self.problem.variables.all_discrete:
            return self._elimination.query(targets, evidence)
        variables = [self.problem.variables[v] for v in targets]
        tree = self._calibrated(self._relevant_plan(targets, evidence), evidence, together=targets)
        if tree.log_partition == -np.inf or not targets:
            return Answer(Table.ones(), tree.log_partition)
        joint = tree.marginal([v.name for v in variables])
        return Answer(joint.align(variables), tree.log_partition, Guarantee.EXACT)

    def _relevant_plan(self, targets: Sequence[int], evidence: Evidence) -> EliminationPlan:
        observed, touched = evidence.observed, evidence.weighted

        def make() -> EliminationPlan:
            relevant = self.problem.relevant(targets, observed, touched=touched, constants=True)
            return make_plan(
                self.problem,
                relevant,
                method=self.method.order,
                targets=targets,
                observed=observed,
                last=targets,
                limit=max(self.method.memory, 1) * max(len(relevant.variables), 1),
            )

        return self._plans.get((tuple(targets), observed, touched), make)

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        if (wide := self.wide((), evidence)) is not None:
            return wide.log_partition
        if (moments := self.by_moments((), evidence)) is not None:
            return moments.log_partition(evidence)
        if not self.problem.variables.all_discrete:
            return self._elimination.log_partition(evidence)
        return self._calibrated(self._relevant_plan((), evidence), evidence).log_partition

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out first."""
        if (wide := self.wide(over, evidence)) is not None and (peak := wide.best()) is not None:
            return peak
        moments = self.by_moments(over, evidence)
        return self._elimination.best(evidence, over) if moments is None else moments.best(evidence, over)

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable from the posterior."""
        hidden = without(range(len(self.problem.variables)), evidence.observed)
        if (wide := self.wide(hidden, evidence)) is not None:
            return wide.sample(num_rows, rng)
        moments = self.by_moments(range(len(self.problem.variables)), evidence)
        drawer = self._elimination if moments is None else moments
        return drawer.sample(num_rows, evidence, rng)

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of a query; without targets, of the tree over all variables."""
        plan = self._elimination.plan(targets, observed)
        return replace(plan, need=_need(plan, self._share))

    def best_plan(self, over: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of `best`: maxima over `over`, after sums over the rest."""
        return self._elimination.best_plan(over, observed)

    @lazy
    def _joints(self) -> TreeJoints:
        return TreeJoints(self._elimination, self.method.memory)

    def joint(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> Answer:
        """The joint of `targets`, in one clique or across several, from the tree calibrated for this evidence."""
        return self._joints.answer(targets, evidence, calibration)

    def joint_plan(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> MergePlan:
        """The plan of `joint`, with its cost."""
        return self._joints.plan(targets, evidence.observed, calibration.tree)

    def pairwise_marginals(self, evidence: Evidence) -> Answers[tuple[str, str], Any]:
        """The joint of every pair of unobserved variables, in one sweep over the calibrated tree.

        Pairs of a network with regressions are asked in moment form, each when it is read.
        """
        everyone = range(len(self.problem.variables))
        moments = self.by_moments(everyone, evidence)
        if moments is not None:
            hidden = without(range(self.problem.num_visible), evidence.observed)
            place = {self.problem.variables[v].name: v for v in hidden}
            return AskedPairs(tuple(place), lambda a, b: moments.query([place[a], place[b]], evidence).distribution)
        return self._joints.pairs(evidence, self.calibrate(evidence))


def _collapsed(distribution: Any) -> Any:
    """The distribution, a mixture as the Gaussian with its mean and covariance."""
    return distribution.to_gaussian() if isinstance(distribution, GaussianMixture) else distribution
