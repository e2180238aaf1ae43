"""Classes under constraints: the members that respect required and forbidden edges."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bools
from sepset.errors import ModelError
from sepset.graphs.equivalence import consistent_extension, meek_rules
from sepset.graphs.graph import DAG, MixedGraph
from sepset.learning.structure.classes.essential import EssentialGraph, graph_of
from sepset.learning.structure.constraints import Allowed


def permitted(edges: Bools, allowed: Allowed) -> bool:
    """Whether a DAG has all required and no forbidden edges."""
    return not ((edges & allowed.forbidden).any() or (allowed.required & ~edges).any())


def permitted_member(graph: EssentialGraph, edges: Bools, allowed: Allowed) -> Bools | None:
    """A DAG equivalent to one with these edges that respects the constraints; None if there is none."""
    if permitted(edges, allowed):
        return edges
    arcs = graph.class_of(edges)
    names = [str(x) for x in range(len(edges))]
    try:
        found = matrix_of(consistent_extension(graph_of(directed(arcs, allowed), names)))
    except ModelError:
        return None
    is_member = permitted(found, allowed) and np.array_equal(graph.class_of(found), arcs)
    return found if is_member else None


def directed(arcs: Bools, allowed: Allowed) -> Bools:
    """The class with undirected edges directed where one direction is forbidden or the other required."""
    against = (allowed.forbidden | allowed.required.T) & ~np.eye(len(arcs), dtype=np.bool_)
    return arcs & ~(against & ~against.T & arcs.T)


def constrained_graph(arcs: Bools, allowed: Allowed, names: tuple[str, ...]) -> MixedGraph:
    """The class, with the edges directed that all members within the constraints direct alike."""
    graph = graph_of(directed(arcs, allowed), names)
    return graph if np.array_equal(directed(arcs, allowed), arcs) else meek_rules(graph)


def matrix_of(dag: DAG) -> Bools:
    """The edges of a DAG as a matrix, from its node numbers."""
    edges = np.zeros((len(dag), len(dag)), np.bool_)
    place = {name: k for k, name in enumerate(dag.nodes)}
    for source, target in dag.edges:
        edges[place[source], place[target]] = True
    return edges
