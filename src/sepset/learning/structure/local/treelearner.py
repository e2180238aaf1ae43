r"""The tree CPD of one column, learned from rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field

from sepset.base.display import Report, Shown
from sepset.base.foreign import translated
from sepset.base.text import listing, nearest
from sepset.cpds.tree import TreeCPD
from sepset.data.sources import Weights
from sepset.errors import ScopeError
from sepset.factors.algebra import AnyVariable, Columns as CodedColumns
from sepset.inference.result import Guarantee, Result
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import FamilyScore, check_kinds
from sepset.learning.structure.local.leaves import counted_rows
from sepset.learning.structure.local.trees import Tree, columns_of, tree_cpd
from sepset.learning.structure.local.treescore import TreeScore
from sepset.learning.structure.scores.likelihood import PenalizedLikelihood


@dataclass(frozen=True, eq=False, repr=False)
class LearnedTree(Report, Result):
    """The decision tree of one column given others, with fitted parameters.

    Attributes:
        cpd: the tree CPD over the columns that it tests.
        score: of the tree, with the tree prior.
        leaf_score: of a single leaf: the column without parents.
        guarantees: what is known about the tree.
    """

    cpd: TreeCPD
    score: float = 0.0
    _: KW_ONLY
    leaf_score: float = 0.0
    guarantees: Mapping[str, Guarantee] = field(default_factory=lambda: {"tree": Guarantee.HEURISTIC}, kw_only=True)

    @property
    def gain(self) -> float:
        """By how much the tree is better than a single leaf."""
        return self.score - self.leaf_score

    def __repr__(self) -> str:
        count = self.cpd.partition.num_leaves
        leaves = "1 leaf" if count == 1 else f"{count} leaves"
        return f"LearnedTree({self.cpd!r}; {leaves}; score {self.score:.7g}; gain {self.gain:.4g})"

    def _shown(self) -> Shown:
        states = self.cpd.child.states
        parts = self.cpd.partition
        rows = [
            (parts.describe(leaf), *(f"{p:.4g}" for p in self.cpd.distributions[leaf]))
            for leaf in range(parts.num_leaves)
        ]
        return Shown(("context", *map(str, states)), rows, repr(self), words=1)


@translated
def learn_tree(
    data: object,
    child: str,
    *,
    candidates: Iterable[str] | None = None,
    score: FamilyScore | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    interventions: object = None,
) -> LearnedTree:
    r"""The decision tree of one column given others, and the distribution at each of its leaves.

    Each leaf is split by the best column even where that lowers the score; on the way back a subtree is kept only where
    it beats a single leaf. So a parity of two columns is found, which no first split shows.

    Args:
        data: a dataset, any frame, a mapping of columns, or the path of a file.
        child: the name of the column.
        candidates: the names of the columns that may be tested; all others by default.
        score: `BIC()` by default, of leaves; or a `TreeScore` with other settings of the search.
        weights: one per row, or the name of a column.
        variables: the meaning of some columns.
        interventions: the variables that were set; rows in which the child was do not count.

    Parameters are those of maximum likelihood, or the posterior means under `BDeu`, `K2` and `BDe`.
    Cost: each level of the tree is one pass over the rows for each candidate.
    Reference: Koller & Friedman, section 18.6.1.2.
    Guarantee: at least the score of a single leaf; the best tree with `TreeScore(search="exact")`.
    Tested by: learning/structure/local/test_treelearner.py::test_a_parity_is_found

    >>> from sepset.cpds.priors.dirichlet import BDeu
    >>> rows = {"a": [0, 0, 1, 1] * 8, "b": [0, 1, 0, 1] * 8, "x": [0, 1, 1, 0] * 8}
    >>> learn_tree(rows, "x", score=BDeu(4))
    LearnedTree(TreeCPD(x[2] | a[2], b[2]); 4 leaves; score -6.510802; gain 16.82)
    """
    known = None if candidates is None else [candidates] if isinstance(candidates, str) else list(candidates)
    only = None if known is None else {child, *known}
    columns = Columns.of(data, variables=variables, weights=weights, interventions=interventions, only=only)
    if child not in columns.names:
        raise ScopeError(f"The data has no column {child!r}.{nearest(child, columns.names)}")
    if known is not None and child in known:
        raise ScopeError(f"{child!r} cannot test itself; candidates= has {listing(known)}.")
    chosen = score if isinstance(score, TreeScore) else TreeScore() if score is None else TreeScore(score)
    check_kinds(chosen, columns)
    place = columns.names.index(child)
    found = chosen.tree(place, tuple(k for k in range(len(columns)) if k != place), columns)
    is_leaf = isinstance(found.tree, int)
    return LearnedTree(
        fitted_tree(found.tree, place, columns, chosen.score),
        found.score,
        leaf_score=found.score if is_leaf else chosen.tree(place, (), columns).score,
        method=chosen,
        guarantees={"tree": Guarantee.EXACT if chosen.search == "exact" else Guarantee.HEURISTIC},
    )


def fitted_tree(tree: Tree, child: int, columns: Columns, score: FamilyScore) -> TreeCPD:
    """The CPD of a tree over the columns that it tests, with the parameters that go with a score."""
    cpd = tree_cpd(tree, child, sorted(columns_of(tree)), columns)
    rows = counted_rows(child, columns)
    codes: CodedColumns = {v: columns.codes[columns.names.index(v.name)][rows] for v in cpd.scope}
    stats = cpd.statistics(codes, columns.weights[rows].astype(float))
    return cpd.from_statistics(stats, None if isinstance(score, PenalizedLikelihood) else score)
