"""Joints of any variables from a calibrated tree: within a clique, across cliques, or by elimination."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sepset.base.cache import Cache
from sepset.base.display import Worded
from sepset.base.lazy import lazy
from sepset.base.text import readable
from sepset.errors import NotApplicable, TooLarge
from sepset.factors.bits import RANGE_BITS
from sepset.factors.table import Table
from sepset.graphs.clusters import ClusterTree
from sepset.inference import costs
from sepset.inference.conflict import impossible
from sepset.inference.method import Answer, Calibrated, Calibrates, Prepared, dense
from sepset.inference.plan import ENTRY_BYTES, EliminationPlan
from sepset.inference.result import Guarantee
from sepset.inference.treequery.merge import merged
from sepset.inference.treequery.orders import MergeOrder
from sepset.inference.treequery.pairs import PairSweep, PairwiseMarginals
from sepset.inference.treequery.query import tree_query
from sepset.inference.treequery.search import choose_merge_order
from sepset.semiring import SUM
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

__all__ = ["ManyJoints", "MergePlan", "TreeJoints", "joint_plan"]


@dataclass(frozen=True)
class MergePlan(Worded):
    """The plan of a joint from a calibrated tree: by merging cliques, or by an elimination if that is cheaper.

    Attributes:
        targets: the query.
        merging: the merge order.
        reading: the entries of the cliques that are read and marginalized.
        elimination: the plan of an elimination without the tree.
    """

    targets: tuple[str, ...]
    merging: MergeOrder
    reading: int
    elimination: EliminationPlan

    @property
    def route(self) -> Literal["clique", "merging", "elimination"]:
        """The cheapest way: within one clique, by merging cliques, or by elimination."""
        if self.elimination.cost < self.reading + self.merging.cost:
            return "elimination"
        return "merging" if self.merging.query.edges else "clique"

    @property
    def cost(self) -> int:
        """The number of operations of the chosen way."""
        return self.elimination.cost if self.route == "elimination" else self.reading + self.merging.cost

    @property
    def memory(self) -> int:
        """Bytes of the largest table of the chosen way, while it is built."""
        largest = self.elimination.largest if self.route == "elimination" else self.merging.largest
        return 3 * ENTRY_BYTES * largest

    def check(self, limit: int) -> None:
        """Raise if the largest step needs more than `limit` bytes."""
        if self.memory > limit:
            raise TooLarge(
                f"The joint of {', '.join(self.targets)} needs about {readable(self.memory)} for its largest table; "
                f"the limit is {readable(limit)}. Ask for fewer targets, observe more, or raise `memory=`."
            )

    def __str__(self) -> str:
        return "\n".join(
            [
                f"Joint of {', '.join(self.targets) or 'nothing'}: by {self.route}",
                f"  merging       {len(self.merging.query.cliques)} cliques of {self.reading:,} entries, then",
                *(f"    {line}" for line in str(self.merging).splitlines()),
                f"  elimination   {self.elimination.cost:,} multiplications",
            ]
        )


def joint_plan(
    tree: ClusterTree, targets: Sequence[str], cards: Mapping[str, int], elimination: EliminationPlan
) -> MergePlan:
    """The plan for a joint of `targets` from a calibrated tree over discrete variables.

    Reference: El-Hay (2001) 4.
    Guarantee: the cheaper by count.
    Tested by: inference/treequery/test_joints.py::test_the_route_is_the_cheapest
    """
    query = tree_query(tree, targets, cards=cards)
    order = choose_merge_order(query)
    scopes = (tree.clusters[s] if s >= 0 else tree.sepsets[-1 - s] for s in order.query.sources)
    reading = sum(math.prod(cards[name] for name in scope) for scope in scopes)
    return MergePlan(tuple(targets), order, reading, elimination)


class ManyJoints:
    """Joints given one piece of evidence: by eliminations, until these have cost as much as calibrating a tree; after
    that from the tree where it is cheaper. So all questions together cost at most about twice the minimum.

    Args:
        prepared, trees: a prepared method, and the same method as one that calibrates.
    """

    def __init__(self, prepared: Prepared, trees: Calibrates, evidence: Evidence) -> None:
        self._prepared, self._trees = prepared, trees
        self._evidence = evidence
        self._spent = 0

    def query(self, targets: Sequence[int]) -> Answer:
        """The joint of `targets`, in the order asked."""
        if self._is_worth_a_tree(targets):
            return self._trees.joint(targets, self._evidence, self._calibration)
        return self._prepared.query(targets, self._evidence)

    def _is_worth_a_tree(self, targets: Sequence[int]) -> bool:
        if "_calibration" in self.__dict__:
            return True
        plan = self._prepared.plan(targets, self._evidence.observed)
        self._spent += plan.cost
        least = costs.TREE_WORK_PER_VARIABLE * plan.num_variables  # the cost of a tree, before it is planned
        return self._spent > least and self._spent > least + costs.TREE_PASSES * self._tree_size

    @lazy
    def _tree_size(self) -> int:
        return self._prepared.plan((), self._evidence.observed).total_size

    @lazy
    def _calibration(self) -> Calibrated:
        return self._trees.calibrate(self._evidence)


class TreeJoints:
    """Joints from calibrations of one problem; plans are made once per question and cached.

    Args:
        elimination: the elimination to compare with.
        memory: the largest number of bytes for a merge.
    """

    def __init__(self, elimination: Prepared, memory: int) -> None:
        self.problem = elimination.problem
        self._elimination = elimination
        self._memory = memory
        self._cards = {v.name: v.num_states for v in self.problem.variables if isinstance(v, Discrete)}
        self._plans: Cache[MergePlan] = Cache()

    @property
    def _is_discrete(self) -> bool:
        return len(self._cards) == len(self.problem.variables)

    def plan(self, targets: Sequence[int], observed: Sequence[int], tree: ClusterTree) -> MergePlan:
        """The plan of a joint of discrete variables from a tree calibrated for this observed set."""

        def make() -> MergePlan:
            names = [self.problem.variables[v].name for v in targets]
            return joint_plan(tree, names, self._cards, self._elimination.plan(targets, observed))

        return self._plans.get((tuple(targets), tuple(observed)), make)

    def answer(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> Answer:
        """The joint of `targets` by the cheapest way; by elimination if the model has continuous variables."""
        possible = calibration.log_partition > -np.inf
        if not possible or not targets or not self._is_discrete or calibration.semiring is not SUM:
            return self._elimination.query(targets, evidence)
        plan = self.plan(targets, evidence.observed, calibration.tree)
        plan.check(self._memory)
        if plan.route == "elimination":
            return self._elimination.query(targets, evidence)
        found: Any = merged(plan.merging, calibration.beliefs, calibration.sepset_beliefs)
        variables = [self.problem.variables[v] for v in targets]
        for v in variables:
            found = found if v in found.scope else found * Table.ones(v)  # type: ignore[arg-type]
        return Answer(found.normalize().align(variables), calibration.log_partition, Guarantee.EXACT)

    def pairs(self, evidence: Evidence, calibration: Calibrated) -> PairwiseMarginals:
        """The joint of every pair of unobserved variables."""
        if not self._is_discrete:
            raise NotApplicable("All pairs at once are for discrete variables. Query the pairs one by one.")
        if calibration.log_partition == -np.inf:
            raise impossible(self._elimination, evidence)
        observed = set(evidence.observed)
        hidden = [v for i, v in enumerate(self.problem.variables) if i not in observed and isinstance(v, Discrete)]
        found = PairSweep(calibration.tree, hidden, memory=self._memory).run(calibration.beliefs)
        if _is_narrow(calibration):
            return found
        names = self.problem.variables

        def ask(first: str, second: str) -> Table:
            answer = self._elimination.query([names.id(first), names.id(second)], evidence)
            return dense(answer.distribution)  # type: ignore[no-any-return]  # of discrete variables

        return found.with_zeros(ask)


def _is_narrow(calibration: Calibrated) -> bool:
    """Whether products of entries of all beliefs stay within the range of floats."""
    ends = (dense(belief).bits() for belief in calibration.beliefs)
    return len(calibration.beliefs) * max((high - low for low, high in ends), default=0.0) < RANGE_BITS
