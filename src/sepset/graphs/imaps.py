"""Graphs and independence oracles: the statements a graph makes, minimal I-maps, and perfect maps.

An oracle answers `independent(x, ys, given)`: whether $(X \\perp \\mathbf Y \\mid \\mathbf Z)$ holds. Oracles are taken
to be semi-graphoids, as every distribution's independences are; so statements about single nodes determine all others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias

from sepset.base.checks import one_of
from sepset.base.display import Plain, Worded
from sepset.base.foreign import translated
from sepset.errors import ModelError, TooLarge
from sepset.graphs.base import name_of, required_graph, unique_names
from sepset.graphs.graph import DAG, Graph, MixedGraph, Node, UndirectedGraph
from sepset.graphs.notation import quoted
from sepset.graphs.separation import chain_separated, d_separated, separated

__all__ = [
    "Independence",
    "Oracle",
    "independences",
    "is_imap",
    "is_perfect_map",
    "minimal_imap",
    "minimal_imap_undirected",
]

Oracle: TypeAlias = Callable[[str, Sequence[str], Sequence[str]], bool]

_LIMIT = 5_000_000

MOST_COUNTED = 100
"""The number of nodes up to which the sets that are too many are counted to the last."""


@dataclass(frozen=True, slots=True, repr=False)
class Independence(Worded, Plain):
    """The statement $(X \\perp Y \\mid \\mathbf Z)$."""

    x: str
    y: str
    _: KW_ONLY
    given: tuple[str, ...] = ()

    def __str__(self) -> str:
        given = f" | {', '.join(map(quoted, self.given))}" if self.given else ""
        return f"({quoted(self.x)} ⊥ {quoted(self.y)}{given})"

    def __repr__(self) -> str:
        return str(self)


@translated
def independences(graph: Graph, *, max_given: int | None = None) -> tuple[Independence, ...]:
    r"""Every separation $(X \perp Y \mid \mathbf Z)$ of two nodes that the graph states.

    Args:
        graph: a DAG (d-separation), an undirected graph, or a chain graph.
        max_given: the largest $|\mathbf Z|$ to list; by default every size.

    Cost: one traversal per node and set, so for small graphs only. Reference: Koller & Friedman, section 3.3.1.
    Reference: Koller & Friedman 3.3.1.
    Guarantee: complete.
    Tested by: graphs/test_imaps.py::test_statements_of_the_student_network

    >>> print(*independences(DAG.parse("A -> B -> C")))
    (A ⊥ C | B)
    """
    required_graph(graph)
    statements = _statements(graph.nodes, max_given)
    return tuple(Independence(x, y, given=given) for x, y, given in statements if _separates(graph, x, y, given))


@translated
def minimal_imap(order: Iterable[Node], independent: Oracle) -> DAG:
    r"""The minimal I-map for this order of the nodes.

    $$\mathrm{Pa}_{X_i} = \text{a minimal } \mathbf U \subseteq \{X_1, \dots, X_{i-1}\}
      \text{ with } (X_i \perp \{X_1, \dots, X_{i-1}\} - \mathbf U \mid \mathbf U)$$

    A predecessor is dropped when it is independent of $X_i$ given those still kept: by contraction all dropped ones
    are then jointly independent of it, and by weak union the remaining set is minimal.

    Cost: $n (n - 1) / 2$ calls of the oracle. Reference: Koller & Friedman, algorithm 3.2.
    Reference: Koller & Friedman algorithm 3.2.
    Guarantee: minimal for its order.
    Tested by: graphs/test_imaps.py::test_minimal_imaps_are_imaps_and_no_edge_can_go

    >>> truth = DAG.parse("A -> B -> C")
    >>> minimal_imap("CBA", lambda x, ys, given: d_separated(truth, x, ys, given=given))
    DAG(C -> B; B -> A)
    """
    nodes = unique_names(map(name_of, order))
    edges = []
    for i, x in enumerate(nodes):
        edges += [(parent, x) for parent in _boundary(x, nodes[:i], independent)]
    return DAG(nodes, edges)


@translated
def minimal_imap_undirected(
    nodes: Iterable[Node], independent: Oracle, *, form: Literal["pairwise", "blanket"] = "pairwise"
) -> UndirectedGraph:
    r"""The undirected minimal I-map of a positive distribution.

    Args:
        nodes: the nodes.
        independent: the oracle.
        form: `pairwise` joins $X - Y$ unless $(X \perp Y \mid \text{all others})$; `blanket` joins each node to a
            minimal set that separates it from all others. For positive distributions the two agree.

    Cost: about $n^2$ calls of the oracle. Reference: Koller & Friedman, section 4.3.3.
    Reference: Koller & Friedman 4.3.3.
    Guarantee: minimal for positive distributions.
    Tested by: graphs/test_imaps.py::test_undirected_minimal_imaps_recover_the_graph

    >>> truth = UndirectedGraph.parse("A - B - C")
    >>> minimal_imap_undirected("ABC", lambda x, ys, given: separated(truth, x, ys, given=given))
    UndirectedGraph(A - B; B - C)
    """
    names = unique_names(map(name_of, nodes))
    if one_of("form", form, ("pairwise", "blanket")) == "blanket":
        blankets = {x: _boundary(x, [y for y in names if y != x], independent) for x in names}
        return UndirectedGraph(names, [(x, y) for x in names for y in blankets[x]])
    pairs = itertools.combinations(names, 2)
    return UndirectedGraph(
        names, [(x, y) for x, y in pairs if not independent(x, (y,), tuple(z for z in names if z not in (x, y)))]
    )


@translated
def is_imap(graph: Graph, independent: Oracle) -> bool:
    r"""Whether every separation in the graph holds: $\mathcal I(\mathcal G) \subseteq \mathcal I(P)$.

    Cost: $n$ calls of the oracle for a DAG (each node against its predecessors given its parents); for other
    graphs, every separated pair and set. Reference: Koller & Friedman, section 3.2.3.

    Reference: Koller & Friedman 3.2.3.
    Guarantee: exact.
    Tested by: graphs/test_imaps.py::test_imaps_and_perfect_maps_by_definition

    >>> truth = DAG.parse("A -> B; C")
    >>> is_imap(DAG.parse("A -> B -> C"), lambda x, ys, given: d_separated(truth, x, ys, given=given))
    True
    """
    required_graph(graph)
    if not isinstance(graph, DAG):
        return all(independent(s.x, (s.y,), s.given) for s in independences(graph))
    order = graph.topological_order
    for i, x in enumerate(order):
        parents = graph.parents(x)
        rest = [y for y in order[:i] if y not in parents]
        if rest and not independent(x, rest, parents):
            return False
    return True


@translated
def is_perfect_map(graph: Graph, independent: Oracle) -> bool:
    r"""Whether the graph states exactly the independences that hold: $\mathcal I(\mathcal G) = \mathcal I(P)$.

    Cost: every pair and set of nodes, so for small graphs only. Reference: Koller & Friedman, section 3.4.2.
    Reference: Koller & Friedman 3.4.2.
    Guarantee: exact.
    Tested by: graphs/test_imaps.py::test_no_dag_is_a_perfect_map_of_the_diamond

    >>> diamond = UndirectedGraph.parse("A - B - C - D - A")
    >>> is_perfect_map(DAG.parse("A -> B -> C <- D <- A"), lambda x, ys, given: separated(diamond, x, ys, given=given))
    False
    """
    required_graph(graph)
    return all(
        _separates(graph, x, y, given) == independent(x, (y,), given) for x, y, given in _statements(graph.nodes, None)
    )


def _boundary(x: str, others: Sequence[str], independent: Oracle) -> list[str]:
    """A minimal subset of `others` that separates `x` from the rest of them."""
    kept = list(others)
    for y in others:
        given = [z for z in kept if z != y]
        if independent(x, (y,), given):
            kept = given
    return kept


def _separates(graph: Graph, x: str, y: str, given: tuple[str, ...]) -> bool:
    if isinstance(graph, DAG):
        return d_separated(graph, x, y, given=given)
    if isinstance(graph, UndirectedGraph):
        return separated(graph, x, y, given=given)
    if isinstance(graph, MixedGraph):
        return chain_separated(graph, x, y, given=given)
    raise ModelError(f"A {type(graph).__name__} makes no independence statements.")


def _statements(nodes: Sequence[str], max_given: int | None) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every pair and set of nodes, small sets first; raises before the first if there are too many."""
    others = max(len(nodes) - 2, 0)
    largest = others if max_given is None else min(max_given, others)
    count, pairs, more = 0, math.comb(len(nodes), 2), ""
    for size in range(largest + 1 if pairs else 0):
        if count > _LIMIT and others > MOST_COUNTED:
            more = "more than "
            break
        count += pairs * math.comb(others, size)
    if count > _LIMIT:
        raise TooLarge(
            f"{len(nodes)} nodes have {more}{count:,} pairs and sets to test, above the limit of {_LIMIT:,}. "
            "Ask for small sets with max_given, or for single statements."
        )
    for x, y in itertools.combinations(nodes, 2):
        rest = [z for z in nodes if z not in (x, y)]
        for size in range(largest + 1):
            for given in itertools.combinations(rest, size):
                yield x, y, given
