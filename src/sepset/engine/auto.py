"""Which method answers when none is named: a small table, open to reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sepset.graphs.ordering import DEFAULT_ORDER, OrderingMethod
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.method import Method, Prepared
from sepset.inference.result import Guarantees
from sepset.problem import Problem

Task = Literal["query", "marginals", "log_partition", "map", "sample", "plan"]


CLIQUE_TREE = CliqueTree()
"""What it promises does not depend on its settings."""


@dataclass(frozen=True, slots=True)
class Auto:
    """Chooses by the question: so far compiled clique trees answer everything.

    >>> Auto().select("marginals").__class__.__name__
    'CliqueTree'
    """

    order: OrderingMethod = DEFAULT_ORDER
    memory: int = 8 * 2**30

    def select(self, task: Task) -> Method:
        """The method that answers this kind of question."""
        return CliqueTree(order=self.order, memory=self.memory)

    def prepare(self, problem: Problem) -> Prepared:
        """The chosen method bound to a problem."""
        return self.select("query").prepare(problem)

    def promises(self, problem: Problem) -> Guarantees:
        """What the chosen methods promise: everything exact, but in hybrid models the shape of continuous marginals."""
        return CLIQUE_TREE.promises(problem)
