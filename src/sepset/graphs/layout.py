"""Places for the nodes of a graph in layers, and the points that its edges pass through.

Nodes are below their parents, in the layers for which edges are shortest in total. Edges over several layers get a
point in each layer between, and these are ordered and placed like nodes: orders follow the means of neighbors, down and
up, and the one with the fewest crossings is kept; places then move toward the means of neighbors as far as the distance
of one between neighbors in a layer allows.

Reference: Gansner, Koutsofios, North & Vo (1993).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sepset.errors import ModelError
from sepset.graphs.base import Graph
from sepset.graphs.graph import DAG

Point = tuple[float, float]
Item = str | tuple[str, str, int]
"""A node, or the point of an edge in a layer."""

ORDER_SWEEPS = 24
PLACE_SWEEPS = 40


class Layout(NamedTuple):
    """Where a graph is drawn.

    Attributes:
        nodes: the place of each node; layers are at 0, -1, and so on.
        routes: for each edge the points from its first to its second node, both included.
    """

    nodes: Mapping[str, Point]
    routes: Mapping[tuple[str, str], tuple[Point, ...]]


def layered(graph: Graph, order: Sequence[str] | None = None) -> Layout:
    """The layout of a graph in layers: later nodes of an order below earlier ones that they are joined to.

    Args:
        graph: a graph of any kind.
        order: of all nodes; by default one that the arrows go along. Without arrows, or if these form a cycle, layers
            are the distances from the nodes with the most neighbors.

    >>> layered(DAG.parse("a -> b <- c")).nodes
    {'a': (0.0, 0.0), 'c': (1.0, 0.0), 'b': (0.5, -1.0)}
    """
    edges = [*graph.directed, *graph.undirected]
    along = _along_arrows(graph) if order is None else order
    depth = _distances(graph) if along is None else depths(graph.nodes, edges, along)
    chains = {edge: _chain(edge, depth) for edge in edges}
    layers = _layers(depth, chains.values())
    joined = _joined(chains.values())
    _order(layers, joined)
    across = _places(layers, joined)
    where = {item: (across[item], 0.0 - level) for level, layer in enumerate(layers) for item in layer}
    ordered = sorted(depth, key=lambda name: (depth[name], across[name]))
    return Layout(
        {name: where[name] for name in ordered},
        {edge: tuple(where[item] for item in chain) for edge, chain in chains.items()},
    )


def _along_arrows(graph: Graph) -> tuple[str, ...] | None:
    """An order of the nodes that the arrows go along; None if there are no arrows, or they form a cycle."""
    if not graph.directed:
        return None
    try:
        return DAG(graph.nodes, graph.directed).topological_order
    except ModelError:
        return None


def depths(nodes: Sequence[str], edges: Sequence[tuple[str, str]], order: Sequence[str]) -> dict[str, int]:
    r"""Layers that minimize the total length of edges: $\min \sum (d_b - d_a)$ with $d_b - d_a \ge 1$ along the order.

    The matrix of the constraints is totally unimodular, so that the vertices of the linear program are whole numbers.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    rank = {name: k for k, name in enumerate(order)}
    place = {name: k for k, name in enumerate(nodes)}
    pairs = [tuple(sorted(edge, key=rank.__getitem__)) for edge in edges]
    if not pairs:
        return dict.fromkeys(nodes, 0)
    rows = [k for k in range(len(pairs)) for _ in range(2)]
    columns = [place[name] for pair in pairs for name in pair]
    matrix = coo_array(([1.0, -1.0] * len(pairs), (rows, columns)), shape=(len(pairs), len(nodes)))
    cost = -np.asarray(matrix.sum(0)).ravel() + 1e-6
    found = linprog(cost, A_ub=matrix.tocsr(), b_ub=-np.ones(len(pairs)), bounds=(0, None))  # type: ignore[call-overload]
    return {name: round(float(found.x[place[name]])) for name in nodes}


def _distances(graph: Graph) -> dict[str, int]:
    """The distance of each node from the node with the most neighbors that it is connected with."""
    depth: dict[str, int] = {}
    for root in sorted(graph.nodes, key=lambda name: -len(graph.adjacent(name))):
        queue = [] if root in depth else [root]
        depth.setdefault(root, 0)
        for name in queue:
            for other in graph.adjacent(name):
                if other not in depth:
                    depth[other] = depth[name] + 1
                    queue.append(other)
    return depth


def _chain(edge: tuple[str, str], depth: Mapping[str, int]) -> tuple[Item, ...]:
    """The nodes of an edge, with a point for each layer between them."""
    a, b = edge
    step = 1 if depth[b] >= depth[a] else -1
    return (a, *((a, b, level) for level in range(depth[a] + step, depth[b], step)), b)


def _layers(depth: Mapping[str, int], chains: Iterable[tuple[Item, ...]]) -> list[list[Item]]:
    layers: list[list[Item]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name, level in depth.items():
        layers[level].append(name)
    for chain in chains:
        for item in chain[1:-1]:
            layers[item[2]].append(item)  # type: ignore[index]  # a point of an edge
    return layers


def _joined(chains: Iterable[tuple[Item, ...]]) -> dict[Item, list[Item]]:
    found: dict[Item, list[Item]] = {}
    for chain in chains:
        for one, two in itertools.pairwise(chain):
            found.setdefault(one, []).append(two)
            found.setdefault(two, []).append(one)
    return found


def _order(layers: list[list[Item]], joined: Mapping[Item, list[Item]]) -> None:
    """Order each layer by the means of its neighbors in the layer above, then below, keeping the fewest crossings."""
    best, fewest = [list(layer) for layer in layers], crossings(layers, joined)
    for sweep in range(ORDER_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        levels = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
        for level in levels:
            layers[level] = _sorted(layers[level], layers[level - 1 if down else level + 1], joined)
        count = crossings(layers, joined)
        if count < fewest:
            best, fewest = [list(layer) for layer in layers], count
    layers[:] = best


def _sorted(layer: Sequence[Item], near_by: Sequence[Item], joined: Mapping[Item, list[Item]]) -> list[Item]:
    """The layer by the means of the places of neighbors in the layer next to it."""
    place = {item: k for k, item in enumerate(near_by)}
    wanted = []
    for k, item in enumerate(layer):
        near = [place[other] for other in joined.get(item, ()) if other in place]
        wanted.append((sum(near) / len(near) if near else float(k), k))
    return [layer[k] for _, k in sorted(wanted)]


def crossings(layers: Sequence[Sequence[Item]], joined: Mapping[Item, list[Item]]) -> int:
    """How many pairs of edges between neighboring layers cross."""
    total = 0
    for upper, lower in itertools.pairwise(layers):
        place = {item: k for k, item in enumerate(lower)}
        ends: list[int] = []
        for item in upper:
            ends += sorted(place[other] for other in joined.get(item, ()) if other in place)
        total += sum(one > two for one, two in itertools.combinations(ends, 2))
    return total


def _places(layers: Sequence[Sequence[Item]], joined: Mapping[Item, list[Item]]) -> dict[Item, float]:
    """The horizontal place of each item: near the mean of its neighbors, one apart from its neighbors in the layer."""
    widest = max((len(layer) for layer in layers), default=1)
    across = {item: k + (widest - len(layer)) / 2.0 for layer in layers for k, item in enumerate(layer)}
    for _ in range(PLACE_SWEEPS):
        for layer in layers:
            wanted = [_wanted(item, joined, across) for item in layer]
            for item, x in zip(layer, spaced(wanted), strict=True):
                across[item] = x
    first = min(across.values(), default=0.0)
    return {item: round(x - first, 6) for item, x in across.items()}


def _wanted(item: Item, joined: Mapping[Item, list[Item]], across: Mapping[Item, float]) -> float:
    near = [across[other] for other in joined.get(item, ())]
    return sum(near) / len(near) if near else across[item]


def spaced(wanted: Sequence[float]) -> list[float]:
    """The places nearest to those wanted, by least squares, in order and at least one apart.

    >>> spaced([0.0, 0.0, 5.0])
    [-0.5, 0.5, 5.0]
    """
    groups: list[tuple[float, int]] = []
    for k, x in enumerate(wanted):
        total, count = x - k, 1
        while groups and groups[-1][0] / groups[-1][1] > total / count:
            before = groups.pop()
            total, count = total + before[0], count + before[1]
        groups.append((total, count))
    level = [total / count for total, count in groups for _ in range(count)]
    return [x + k for k, x in enumerate(level)]
