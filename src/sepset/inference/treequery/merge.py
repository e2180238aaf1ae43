r"""A merge order applied to the beliefs of a calibrated tree.

Merging neighbors multiplies their beliefs and divides by what they share, $\beta_i \beta_j / \mu_{ij}$, which is their
joint marginal; variables that neither the query nor a remaining sepset needs are summed out at once.

Reference: El-Hay (2001), section 4.1.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sepset.factors.algebra import Factor
from sepset.factors.table import Table
from sepset.inference.treequery.orders import MergeOrder
from sepset.semiring import SUM, Semiring

__all__ = ["merged"]


def merged(
    order: MergeOrder, beliefs: Sequence[Factor], sepset_beliefs: Sequence[Factor], semiring: Semiring = SUM
) -> Factor:
    r"""The belief over the query, $\bigoplus \prod_i \beta_i / \prod_{ij} \mu_{ij}$, by merging in the given order.

    Args:
        order: an order on the tree query of the calibrated tree.
        beliefs: one factor per clique of that tree.
        sepset_beliefs: one factor per edge.
        semiring: the one the tree was calibrated with.

    Cost: one pass over each clique of the subtree, and `order.cost` multiplications.
    Reference: El-Hay (2001), section 4.1.3.
    Guarantee: exact.
    Tested by: inference/treequery/test_merge.py::test_every_order_gives_the_joint_of_enumeration

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.exact.messages import calibrate
    >>> from sepset.inference.treequery.query import tree_query
    >>> from sepset.variables.variable import Discrete
    >>> a, b, c = Discrete("a"), Discrete("b"), Discrete("c")
    >>> tree = ClusterTree([("a", "b"), ("b", "c")], [(0, 1)])
    >>> result = calibrate(tree, [Table((a, b), [[1, 0], [0, 1]]), Table((b, c), [[1, 0], [0, 3]])])
    >>> order = MergeOrder(tree_query(tree, ["a", "c"], cards=dict(a=2, b=2, c=2)), (0,))
    >>> merged(order, result.beliefs, result.sepset_beliefs).values.tolist()
    [[1.0, 0.0], [0.0, 3.0]]
    """
    query = order.query
    held = [
        _project(beliefs[source] if source >= 0 else sepset_beliefs[-1 - source], query.scope_names(scope), semiring)
        for source, scope in zip(query.sources, query.cliques, strict=True)
    ]
    home = list(range(len(held)))
    for step in order.steps:
        a, b = (home[node] for node in query.edges[step.edge])
        link = query.links[step.edge]
        both = _merge(held[a], held[b], sepset_beliefs[link] if link >= 0 else None, absorb=not step.cost)
        held[a] = _project(both, query.scope_names(step.kept), semiring)
        home = [a if node == b else node for node in home]
    return _project(held[home[0]], query.scope_names(query.targets), semiring) if held else Table.ones()


def _merge(left: Factor, right: Factor, sepset: Factor | None, *, absorb: bool) -> Factor:
    """The joint of two neighbors: their product over the sepset's belief; or the larger if it covers the other."""
    if left.size < right.size:
        left, right = right, left
    if absorb:
        return left
    return left * (right if sepset is None else right / sepset)


def _project(factor: Factor, keep: Iterable[str], semiring: Semiring) -> Factor:
    names = set(keep)
    out = [v for v in factor.scope if v.name not in names]
    return factor.marginalize(out, semiring) if out else factor
