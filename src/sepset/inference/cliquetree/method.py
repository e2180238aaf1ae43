"""Exact answers from clique trees: compiled programs if every variable is discrete, messages over factors otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, get_args

from sepset.base.checks import one_of
from sepset.base.threads import num_threads
from sepset.graphs.ordering import DEFAULT_ORDER, OrderingMethod
from sepset.inference.compiled.domains import Zeros
from sepset.inference.method import check_settings
from sepset.inference.result import EVERYTHING_EXACT, Guarantees
from sepset.problem import Problem

if TYPE_CHECKING:
    from sepset.inference.cliquetree.tables import PreparedTables
    from sepset.inference.exact.tree import PreparedTree

ZEROS = get_args(Zeros)


@dataclass(frozen=True, slots=True)
class CliqueTree:
    """Exact answers from one calibrated clique tree: every marginal at the cost of two eliminations.

    Args:
        order: how the elimination order behind the tree is chosen.
        memory: the largest number of bytes held at once; a larger plan raises `TooLarge` before anything is allocated.
        zeros: "auto" leaves out states that the factors' zeros exclude, alone or with the findings, and restricts
            products to those that can be positive once that is faster; "sparse" does so at once; "dense" does neither.
        threads: the number of threads that share a large multiplication of tables, one per processor by default; fewer
            if other questions use them. Small ones are not shared, and answers do not depend on it.

    Reference: Koller & Friedman, chapter 10 and section 14.3.
    Guarantee: exact; first two moments of mixtures; exact discrete marginals and moments.
    Tested by: inference/test_method.py::test_every_answer_is_what_was_promised,
        inference/exact/test_tree.py::test_hybrid_networks_meet_the_enumerated_mixture

    >>> import sepset as ss
    >>> engine = ss.prepare(ss.datasets.load("asia"), method=ss.CliqueTree(memory=2**20))
    >>> round(engine.marginals(given={"xray": "yes"})["lung"]["yes"], 4)
    0.4887
    """

    order: OrderingMethod = DEFAULT_ORDER
    memory: int = 8 * 2**30
    zeros: Zeros = field(default="auto", kw_only=True)
    threads: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_settings(self.order, self.memory)
        one_of("zeros", self.zeros, ZEROS)
        num_threads(self.threads)

    def prepare(self, problem: Problem) -> PreparedTables | PreparedTree:
        """The method bound to a problem: compiled programs if every variable is discrete."""
        if problem.variables.all_discrete:
            return _tables().of(problem, self)
        from sepset.inference.cliquetree.hybrid import prepared_tree

        return prepared_tree(problem, self)

    def promises(self, problem: Problem) -> Guarantees:
        """Everything exact for discrete and for Gaussian models; in hybrid ones, the moments of real variables."""
        if problem.variables.all_discrete:
            return EVERYTHING_EXACT
        from sepset.inference.exact.tree import tree_promises

        return tree_promises(problem)


@cache
def _tables() -> type[PreparedTables]:
    """Imported when it is first needed, and looked up once."""
    from sepset.inference.cliquetree.tables import PreparedTables

    return PreparedTables
