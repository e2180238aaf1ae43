r"""Greedy equivalence search: from class to class by the operator that gains most."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools
from sepset.base.checks import one_of
from sepset.base.frozen import fill
from sepset.errors import ArgumentError, NotApplicable
from sepset.graphs.graph import MixedGraph
from sepset.inference.iterate import Info
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.classes.essential import EssentialGraph
from sepset.learning.structure.classes.knowledge import constrained_graph, permitted_member
from sepset.learning.structure.classes.operators import DELETE, INSERT, TURN, Operator, Possible, applied
from sepset.learning.structure.classes.queue import OperatorQueue
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import Learned, StructureTask, iterated

PHASES = {"forward": INSERT, "backward": DELETE, "turning": TURN}


class ClassSearch:
    """A class under search with its operators; it changes in place.

    Args:
        task: the columns, the score and the constraints.
        parents_of: the parents of each column in a member of the class to begin with.
        cut: the pairs that interventions tell apart.
    """

    def __init__(self, task: StructureTask, parents_of: list[list[int]], cut: Bools | None) -> None:
        self.allowed = task.allowed
        self.graph = EssentialGraph(parents_of, cut)
        possible = Possible.of(task.allowed)
        self.queues = {name: OperatorQueue(self.graph, task.scorer, possible, kind) for name, kind in PHASES.items()}
        one_way = (self.allowed.forbidden ^ self.allowed.forbidden.T) | self.allowed.required
        self._accepts = self._is_permitted if one_way.any() else None

    def best(self, phase: str) -> Operator | None:
        """The best operator of a phase that leads to a class with a member within the constraints."""
        return self.queues[phase].best(self._accepts)

    def improving(self, phase: str) -> list[Operator]:
        """All operators of a phase that improve the score."""
        return list(self.queues[phase].valid(self._accepts))

    def make(self, operator: Operator) -> None:
        """Change the class."""
        edges = applied(self.graph, operator)
        member = edges if self._accepts is None else permitted_member(self.graph, edges, self.allowed)
        assert member is not None, "operators that are made lead to permitted classes"
        changed = self.graph.become(member)
        for queue in self.queues.values():
            queue.mark(changed)

    def _is_permitted(self, operator: Operator) -> bool:
        return permitted_member(self.graph, applied(self.graph, operator), self.allowed) is not None


def kept_search(search: ClassSearch | None, parents: list[list[int]]) -> ClassSearch | None:
    """The search, unless an interruption amid an operator left it at another class than the state's."""
    return search if search is not None and search.graph.parents_of is parents else None


@dataclass(frozen=True, slots=True)
class ClassState:
    """The state of a search over classes: plain values, and the class with its operators, rebuilt where it is absent.

    Attributes:
        parents: of each column in a member of the class.
        score: of the class.
        phase: which one is running.
        idle: how many phases in a row found no operator.
        step: the number of operators so far.
    """

    parents: list[list[int]]
    score: float
    phase: int = 0
    idle: int = 0
    step: int = 0
    search: ClassSearch | None = field(default=None, repr=False, compare=False)


class ClassStateCodec:
    """States as plain values; the operators are scored again."""

    def pack(self, state: ClassState) -> Any:
        """The plain values."""
        return {
            "parents": state.parents, "score": state.score, "counters": (state.phase, state.idle, state.step)
        }  # fmt: skip

    def unpack(self, packed: Any) -> ClassState:
        """The state from its plain values."""
        parents = [list(map(int, given)) for given in packed["parents"]]
        phase, idle, step = map(int, packed["counters"])
        return ClassState(parents, float(packed["score"]), phase, idle, step)


@dataclass(frozen=True, slots=True)
class GES:
    r"""Greedy search over equivalence classes of DAGs, by the operators of one edge in any member of a class.

    The forward phase inserts edges while that improves the score, the backward phase deletes them, the turning phase
    turns them; the phases repeat until none finds an operator that improves. With $C$ the neighbors of $Y$ that are its
    parents in a member, inserting $X \to Y$ gains

    $$F(Y \mid \text{Pa}_Y \cup C \cup X) - F(Y \mid \text{Pa}_Y \cup C)$$

    Only operators at nodes whose edges changed are scored again after a step. Needs a score that is equal on
    equivalent structures. Constraints hold for some member of the class; the result directs the edges that they direct.

    Args:
        phases: of "forward", "backward", "turning", in order.

    Reference: Chickering (2002), "Optimal structure identification with greedy search"; Hauser & Buehlmann (2012).
    Guarantee: a local optimum: no operator of its phases improves the class. In the limit of much data from a network,
        with a consistent score, the class of that network.
    Tested by: learning/structure/classes/test_ges.py::test_expected_counts_give_the_class_back

    >>> GES()
    GES(phases=('forward', 'backward', 'turning'))
    """

    phases: tuple[str, ...] = ("forward", "backward", "turning")

    def __post_init__(self) -> None:
        phases = (self.phases,) if isinstance(self.phases, str) else tuple(self.phases)
        if not phases:
            raise ArgumentError(f"{type(self).__name__}(phases=) needs at least one of {', '.join(PHASES)}.")
        for phase in phases:
            one_of("phase", phase, tuple(PHASES))
        fill(self, phases=phases)

    def learn(self, task: StructureTask) -> Learned[MixedGraph]:
        """The class that the search ends with."""
        self._cut(task.columns)
        task.require_equivalent(type(self).__name__, interventions=True)
        return iterated(self, task, ClassStateCodec()).result(self, task)

    def _cut(self, columns: Columns) -> Bools | None:
        """The pairs that interventions tell apart: none, since rows with interventions are refused."""
        if columns.intervened is not None:
            raise NotApplicable("GES learns from rows without interventions; found some. Use GIES().")
        return None

    def init(self, task: StructureTask, rng: np.random.Generator) -> ClassState:
        """The class to begin with."""
        parents = task.start_parents()
        return ClassState(parents, task.scorer.total(parents))

    def step(self, task: StructureTask, state: ClassState, rng: np.random.Generator) -> tuple[ClassState, Info]:
        """One operator, or the next phase."""
        search = kept_search(state.search, state.parents) or ClassSearch(task, state.parents, self._cut(task.columns))
        phase, idle, count = state.phase, state.idle, len(self.phases)
        operator = search.best(self.phases[phase])
        while operator is None and idle < count:
            phase, idle = (phase + 1) % count, idle + 1
            operator = search.best(self.phases[phase])
        if operator is None:
            return replace(state, phase=phase, idle=idle, search=search), Info(state.score, 0.0, is_done=True)
        search.make(operator)
        score = state.score + operator.gain
        return ClassState(search.graph.parents_of, score, phase, 0, state.step + 1, search), Info(score, math.inf)

    def read(self, task: StructureTask, state: ClassState) -> Learned[MixedGraph]:
        """The class so far."""
        graph = EssentialGraph(state.parents, self._cut(task.columns))
        return Learned(
            constrained_graph(graph.arcs, task.allowed, task.columns.names),
            columns=task.columns,
            score=task.scorer.total(state.parents),
            num_scores=task.scorer.num_scores,
            method=self,
            status=Status.CONVERGED,
            guarantees={"structure": Guarantee.LOCAL_OPTIMUM},
            info={"operators": state.step},
        )
