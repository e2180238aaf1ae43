"""PC: the skeleton by small sets among neighbors, then directions."""

from __future__ import annotations

from dataclasses import dataclass

from sepset.learning.structure.independence.boundtest import Queries
from sepset.learning.structure.independence.corrections import Correction
from sepset.learning.structure.skeletons.method import ClassMethod
from sepset.learning.structure.skeletons.skeleton import Knowledge, Skeleton, remove_doubtful, separate_by_neighbors


@dataclass(frozen=True, kw_only=True)
class PC(ClassMethod):
    r"""The PC algorithm: an equivalence class from tests with small conditioning sets.

    All pairs are joined at first. For sizes $0, 1, 2, \dots$ the pairs are taken apart that a set of that size among
    the neighbors of one of them separates. Then $X - Z - Y$ becomes $X \to Z \leftarrow Y$ if $Z$ is not in the set
    that separates $X$ and $Y$, and Meek's rules direct what follows.

    Args:
        test: the test of independence; `G()` for states, `FisherZ()` for numbers.
        level: pairs with a p-value above it count as independent.
        max_condition: the largest conditioning set; any by default.
        conflicts: what becomes of an edge that immoralities direct both ways: "bidirected" gives it no direction,
            "first" the first one in column order; "majority" and "conservative" decide each triple by all separating
            sets among the neighbors. The result's `conflicts` names them in every case.
        stable: whether neighbors are those at the beginning of each size: the skeleton then does not depend on the
            order of columns.
        correction: for the number of pairs, such as `BenjaminiHochberg()`: an edge is kept if the largest p-value of
            its tests, so corrected, is at most the level.

    Cost: polynomial in the number of columns where neighbors are few. Constraints are respected: required edges are
    not tested, and tiers direct edges.
    Reference: Spirtes & Glymour (1991); Colombo & Maathuis (2014); Koller & Friedman, section 18.2.1.
    Guarantee: the exact class, if the tests are right and the distribution is faithful to a DAG.
    Tested by: learning/structure/skeletons/test_pc.py::test_an_oracle_gives_the_exact_class

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> found = PC(test=DSeparation(DAG.parse("A -> C <- B; C -> D"))).ask("ABCD")
    >>> found.graph, found.separating_sets[("A", "D")]
    (MixedGraph(A -> C; B -> C; C -> D), ('C',))
    """

    stable: bool = True
    correction: Correction | None = None

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_neighbors(queries, found, knowledge, max_condition=self.max_condition, stable=self.stable)
        remove_doubtful(found, knowledge, self.correction, self.level)
