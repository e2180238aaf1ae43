"""Belief-update calibration: message passing on clique trees with division."""

from __future__ import annotations

from dataclasses import dataclass, field

from sepset.graphs.ordering import OrderingMethod, Portfolio
from sepset.inference.exact.messages import calibrate
from sepset.inference.exact.tree import PreparedTree, tree_promises
from sepset.inference.method import check_settings
from sepset.inference.result import Guarantees
from sepset.problem import Problem


@dataclass(frozen=True, slots=True)
class BeliefUpdate:
    """Exact answers from beliefs updated by quotients of messages, for every family of factors.

    Args:
        order: how the elimination order behind the tree is chosen.
        memory: the largest number of bytes held at once; a larger plan raises `TooLarge` before anything is allocated.

    Reference: Koller & Friedman, section 10.3, algorithm 10.3; Lauritzen and Spiegelhalter (1988).
    Guarantee: exact; first two moments of mixtures.
    Tested by: inference/test_method.py::test_every_answer_is_what_was_promised

    >>> import sepset as ss
    >>> student = ss.datasets.load("student")
    >>> round(ss.query(student, "intelligence", given={"grade": "C", "sat": "high"}, method=BeliefUpdate())["high"], 4)
    0.5783
    """

    order: OrderingMethod = field(default_factory=Portfolio)
    memory: int = 8 * 2**30

    def __post_init__(self) -> None:
        check_settings(self.order, self.memory)

    def prepare(self, problem: Problem) -> PreparedTree:
        """The method bound to a problem."""
        return PreparedTree(problem, self, calibrate)

    def promises(self, problem: Problem) -> Guarantees:
        """Everything exact for discrete and for Gaussian models; in hybrid ones, the moments of real variables."""
        return tree_promises(problem)
