"""The method used when none is named, for each kind of question."""

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
"""The method with default settings; its promises do not depend on them."""


@dataclass(frozen=True, slots=True)
class Auto:
    """Chooses a method for each kind of question; currently always a compiled clique tree.

    >>> Auto().select("marginals").__class__.__name__
    'CliqueTree'
    """

    order: OrderingMethod = DEFAULT_ORDER
    memory: int = 8 * 2**30

    def select(self, task: Task) -> Method:
        """The method that answers this kind of question."""
        if self.order is CLIQUE_TREE.order and self.memory == CLIQUE_TREE.memory:
            return CLIQUE_TREE
        return CliqueTree(order=self.order, memory=self.memory)

    def prepare(self, problem: Problem) -> Prepared:
        """The chosen method bound to a problem."""
        return self.select("query").prepare(problem)

    def promises(self, problem: Problem) -> Guarantees:
        """The guarantees of the chosen method: all exact, except the shape of continuous marginals in hybrid models."""
        return CLIQUE_TREE.promises(problem)
