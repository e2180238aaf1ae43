"""The kind of graph that a question is about, whichever kind it is asked of.

The rule: what concerns elimination (orders, widths, triangulations, cliques, clique trees) is asked of the moral graph,
so a directed or mixed graph is moralized. A directed or undirected graph is also a mixed one. A question about
directions is refused for a graph that may lack them, and separation for a graph that reads it otherwise.
"""

from __future__ import annotations

from sepset.errors import ModelError
from sepset.graphs.base import Graph, required_graph
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph, moralize

__all__ = ["directed", "mixed", "undirected", "without_directions"]

OTHER = {DAG: "d_separated", UndirectedGraph: "separated", MixedGraph: "chain_separated"}


def undirected(graph: Graph) -> UndirectedGraph:
    """An undirected graph as it is; the moral graph of another.

    >>> undirected(DAG.parse("A -> B <- C"))
    UndirectedGraph(A - B; A - C; B - C)
    """
    return graph if isinstance(graph, UndirectedGraph) else moralize(graph)


def mixed(graph: Graph) -> MixedGraph:
    """The graph as one that may have edges of both kinds.

    >>> mixed(DAG.parse("A -> B"))
    MixedGraph(A -> B)
    """
    if isinstance(graph, MixedGraph):
        return graph
    found = required_graph(graph)
    return MixedGraph._of(found.nodes, found._directed, found._undirected)


def directed(graph: Graph, question: str) -> DAG:
    """The DAG itself; another kind of graph is refused.

    Args:
        graph: what was given.
        question: the name of the function that was asked, for the message.

    >>> directed(DAG.parse("A -> B"), "cpdag")
    DAG(A -> B)
    """
    if isinstance(graph, DAG):
        return graph
    kind = type(required_graph(graph))
    raise ModelError(f"{question} is asked of a DAG; found {article(kind)}.{_instead(question, kind)}")


def without_directions(graph: Graph, question: str) -> UndirectedGraph:
    """The undirected graph itself; another kind of graph is refused.

    >>> without_directions(UndirectedGraph.parse("A - B"), "separated")
    UndirectedGraph(A - B)
    """
    if isinstance(graph, UndirectedGraph):
        return graph
    kind = type(required_graph(graph))
    raise ModelError(f"{question} is asked of an undirected graph; found {article(kind)}.{_instead(question, kind)}")


def article(kind: type[Graph]) -> str:
    """The kind of graph, in words."""
    return {DAG: "a DAG", UndirectedGraph: "an undirected graph", MixedGraph: "a mixed graph"}.get(kind, kind.__name__)


def _instead(question: str, kind: type[Graph]) -> str:
    is_separation = question in OTHER.values() and kind in OTHER
    return f" Ask {OTHER[kind]} of it." if is_separation else ""
