r"""Scores of families whose CPD is a decision tree: the encapsulated search for local structure."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from sepset.base.checks import one_of
from sepset.cpds.tree import TreeCPD
from sepset.errors import ArgumentError
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import FamilyScore
from sepset.learning.structure.local.leaves import LeafScore
from sepset.learning.structure.local.localscore import LocalScore, check_local
from sepset.learning.structure.local.trees import (
    MOST_CONTEXTS,
    ScoredTree,
    best_tree,
    grown_tree,
    num_leaf_cells,
    tree_cpd,
)
from sepset.learning.structure.scores.likelihood import BIC


@dataclass(frozen=True, slots=True)
class TreeScore(LocalScore):
    r"""The score of a family at the best decision tree over its parents, for any search over structures.

    $$\text{FamScore}(X \mid \mathbf U) = \max_T \sum_{\ell \in T} \text{leaf}(\ell) + |T| \log c$$

    A leaf has the score of one context: under `BIC()` its likelihood less the penalty of $|X| - 1$ parameters, under
    `BDeu`, `K2` and `BDe` its evidence, with $\alpha_{x \mid \ell} = \alpha P'(x, \mathbf c_\ell)$. The tree that
    tests every parent in every context is the table, and has the table's score. `Learned.fit` gives a network of
    `TreeCPD`s.

    Args:
        score: of leaves: `BIC()`, `AIC()`, `LogLikelihood()`, `BDeu(10)`, `K2()` or `BDe(network, 10)`.
        search: "greedy" grows a tree by the best single splits, and prunes it; "exact" finds the best tree, for few
            parents: searches add no parent beyond four million leaves times states of the child.
        splits: "complete" tests have a branch for each state; "value" also tests one value against the rest.
        per_leaf: $c$ of the prior $P(T) \propto c^{|T|}$, where $|T|$ is the number of leaves; 1 is the uniform prior.

    Cost: greedy: a pass over the distinct rows of the family for each parent and level. Exact:
        $\prod_i (|Y_i| + 1)$ partial assignments.
    Reference: Koller & Friedman, section 18.6.1; Friedman & Goldszmidt (1996); Chickering, Heckerman & Meek (1997).
    Guarantee: the score of a tree over the parents; exact where `search` is; not equal on I-equivalent structures.
    Tested by: learning/structure/local/test_treescore.py::test_the_best_tree_by_enumeration

    >>> from sepset.cpds.priors.dirichlet import BDeu
    >>> columns = Columns.of({"a": [0, 0, 1, 1] * 8, "b": [0, 1, 0, 1] * 8, "x": [0, 1, 1, 0] * 8})
    >>> score = TreeScore(BDeu(4))
    >>> round(score.family(2, (0,), columns), 3), round(score.family(2, (0, 1), columns), 3)
    (-23.334, -6.511)
    """

    score: FamilyScore = field(default_factory=BIC)
    _: KW_ONLY
    search: str = "greedy"
    splits: str = "complete"
    per_leaf: float = 1.0

    def __post_init__(self) -> None:
        one_of("TreeScore(search=)", self.search, ("greedy", "exact"))
        one_of("TreeScore(splits=)", self.splits, ("complete", "value"))
        check_local("TreeScore", self.score, self.per_leaf)
        if self.search == "exact" and self.splits == "value":
            raise ArgumentError('TreeScore(search="exact") has complete splits. Use splits="complete", or "greedy".')

    def fits(self, child: int, parents: tuple[int, ...], columns: Columns) -> bool:
        """Whether the parents have few enough partial assignments, where all of those are listed."""
        is_listed = self.search == "exact" or self.leaf(child, columns).prior is not None
        return not is_listed or num_leaf_cells(child, parents, columns) <= MOST_CONTEXTS

    def leaf(self, child: int, columns: Columns) -> LeafScore:
        """The score of leaves for one child."""
        return LeafScore.of(self.score, child, columns, self.per_leaf)

    def tree(self, child: int, parents: tuple[int, ...], columns: Columns) -> ScoredTree:
        """The tree over the parents, and its score."""
        leaf = self.leaf(child, columns)
        if self.search == "exact":
            return best_tree(child, parents, columns, leaf)
        return grown_tree(child, parents, columns, leaf, by_value=self.splits == "value")

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""
        return self.tree(child, parents, columns).score

    def cpd(self, child: int, parents: tuple[int, ...], columns: Columns) -> TreeCPD:
        """The CPD of a family: its tree, with uniform distributions at the leaves."""
        return tree_cpd(self.tree(child, parents, columns).tree, child, parents, columns)
