r"""Minimum cuts between two terminals, with the flow that proves them.

$$\text{cut}(S) = \sum_{i \in S} t_i + \sum_{i \notin S} s_i + \sum_{i \in S,\, j \notin S} c_{ij}$$

A node $i$ on the source's side pays its capacity $t_i$ to the sink, one on the sink's side its capacity $s_i$ from the
source, and each edge that leads from the source's side to the sink's pays its own. The largest flow equals the smallest
cut.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Int32s
from sepset.base.checks import whole
from sepset.base.display import Plain, Worded
from sepset.base.frozen import read_only
from sepset.base.text import brief
from sepset.base.threads import interruptible
from sepset.errors import ArgumentError
from sepset.kernels.map.maxflow import FREE, Forest, Residual, edge_flows, max_flow, wire_arcs

ROUNDING = 1e-12
"""The error of sums of capacities, relative to their size, that is taken for rounding."""

DUST = 1e-14
"""The difference of flows at one node, relative to their size, that counts as none."""


@dataclass(frozen=True, eq=False)
class Cut(Worded, Plain):
    """A minimum cut.

    Attributes:
        value: its capacity; infinite if every cut has an infinite arc.
        sink_side: which nodes are on the side of the sink; the source's side is the smallest possible.
        residual: the residual capacities of the largest flow.
    """

    value: float
    sink_side: Bools
    _: KW_ONLY
    residual: Residual = field(repr=False)

    def __repr__(self) -> str:
        sides = int(self.sink_side.sum()), len(self.sink_side)
        return f"Cut(capacity {self.value:.6g}; {sides[0]:,} of {sides[1]:,} nodes on the side of the sink)"


@dataclass(frozen=True, eq=False)
class FlowGraph:
    """A directed graph with capacities between nodes, from a source, and to a sink.

    Args:
        num_nodes: the number of nodes besides the two terminals.
        edges: `[m, 2]`, pairs of nodes; several edges of one pair add up.
        forward: the capacity of each edge from its first node to its second.
        backward: the capacity of each edge in the other direction.
        from_source, to_sink: capacities of each node.

    Cost: memory of about 24 bytes per edge and direction; a flow on graphs of images takes little more than a pass.
    Reference: Boykov & Kolmogorov (2004); Ford & Fulkerson (1956) for the theorem.
    Guarantee: exact.
    Tested by: inference/map/test_maxflow.py::test_flows_equal_cuts_and_enumeration

    >>> graph = FlowGraph(2, [[0, 1]], forward=[3.0], backward=[0.0], from_source=[5.0, 0.0], to_sink=[1.0, 4.0])
    >>> cut = graph.min_cut()
    >>> cut.value, cut.sink_side.tolist()
    (4.0, [False, True])
    """

    num_nodes: int
    edges: ArrayLike
    _: KW_ONLY
    forward: ArrayLike
    backward: ArrayLike
    from_source: ArrayLike
    to_sink: ArrayLike

    def arrays(self) -> tuple[Int32s, Floats, Floats, Floats, Floats]:
        """Edges and capacities as arrays that fit; raises if a capacity is negative or a node does not exist."""
        n = whole("num_nodes", self.num_nodes, least=0)
        pairs = np.asarray(self.edges)
        pairs = np.ascontiguousarray(pairs.reshape(-1, 2) if pairs.size == 0 else pairs, dtype=np.int32)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or (pairs.size and (pairs.min() < 0 or pairs.max() >= n)):
            raise ArgumentError(f"Edges are pairs of nodes below {n}; found shape {pairs.shape}.")
        forward, backward = (_capacities(c, len(pairs), "edge") for c in (self.forward, self.backward))
        source, sink = (_capacities(c, n, "node") for c in (self.from_source, self.to_sink))
        return pairs, forward, backward, source, sink

    def min_cut(self, flows: Floats | None = None) -> Cut:
        """The cut of smallest capacity, and among those the one with the smallest side of the source.

        Args:
            flows: one number for each edge to begin with, such as the flow in a graph with other capacities; what is
                too much for an edge is left out. Nodes may then send more than they get: what is left of the capacities
                is as good for another cut, but `flow_size` refuses it as a proof.

        Reference: Kohli & Torr (2007) for flows that are used again.
        """
        pairs, forward, backward, source, sink = self.arrays()
        through = np.minimum(source, sink)
        base = float(through.sum())
        if base == math.inf:
            return Cut(
                math.inf, np.zeros(len(source), bool), residual=residual_network(pairs, forward, backward, source)
            )
        ends = source - sink
        if flows is not None:
            if np.shape(flows) != forward.shape:
                raise ArgumentError(f"flows= has one number for each of {len(forward)} edges; found {brief(flows)}.")
            begun = np.clip(flows, -backward, forward)
            rest, paid = _ends_after(pairs, begun, ends)
            base += paid
            forward, backward, ends = forward - begun, backward + begun, rest
        residual = residual_network(pairs, forward, backward, ends)
        forest = search_forest(len(source))
        value = base + float(interruptible(lambda cancel: max_flow(residual, forest, cancel)))
        sink_side = (forest.parents == FREE) | (forest.sinks > 0)
        return Cut(value, read_only(sink_side), residual=residual)

    def flows(self, cut: Cut) -> Floats:
        """The flow of each edge from its first node to its second; zero where the capacity is infinite."""
        pairs, forward, _, _, _ = self.arrays()
        sources, targets = (np.ascontiguousarray(pairs[:, k]) for k in (0, 1))
        found = np.empty(len(pairs))
        edge_flows(sources, targets, np.ascontiguousarray(forward), cut.residual.caps, cut.residual.first.copy(), found)
        return np.where(np.isfinite(found), found, 0.0)

    def flow_size(self, cut: Cut) -> float | None:
        """The size of the flow that a cut left behind; None if it breaks a capacity or is lost somewhere.

        No cut is smaller than any flow, so that this proves the cut.
        """
        pairs, forward, backward, source, sink = self.arrays()
        before, after = residual_network(pairs, forward, backward, source - sink), cut.residual
        owners = np.repeat(np.arange(self.num_nodes), np.diff(after.first))
        flow, sent = before.caps - after.caps, before.ends - after.ends
        rounding = ROUNDING * max(1.0, float(before.caps.sum() + np.abs(before.ends).sum()))
        lost = np.abs(np.bincount(owners, flow, self.num_nodes) - sent) > rounding
        wrong = np.abs(flow + flow[after.mates]) > rounding
        beyond = (after.ends * before.ends < 0.0) | (np.abs(after.ends) > np.abs(before.ends) + rounding)
        if lost.any() or wrong.any() or beyond.any() or (after.caps < 0.0).any():
            return None
        return float(np.minimum(source, sink).sum() + np.maximum(sent, 0.0).sum())


def _capacities(values: ArrayLike, size: int, what: str) -> Floats:
    found = np.broadcast_to(np.asarray(values, np.float64), (size,))
    if size and not found.min() >= 0.0:  # NaN is not
        first = int(np.argmax(~(found >= 0.0)))
        raise ArgumentError(f"Capacities are numbers >= 0; found {found[first]} at {what} {first}.")
    return found


def _ends_after(pairs: Int32s, flows: Floats, ends: Floats) -> tuple[Floats, float]:
    """The capacities to the terminals after flows, what rounding leaves of them being none, and what cuts pay less."""
    first, second = pairs[:, 0], pairs[:, 1]
    into = np.bincount(second, flows, len(ends)) - np.bincount(first, flows, len(ends))
    left = ends + into
    size = np.abs(flows)
    total = np.abs(ends) + np.bincount(first, size, len(ends)) + np.bincount(second, size, len(ends))
    rest = np.where(np.isfinite(left) & (np.abs(left) <= DUST * total), 0.0, left)
    known = np.isfinite(ends)
    before, after = np.where(known, ends, 0.0), np.where(known, rest, np.where(ends < 0.0, into, 0.0))
    return rest, float(np.where(known, np.minimum(after, 0.0) - np.minimum(before, 0.0), after).sum())


def residual_network(pairs: Int32s, forward: Floats, backward: Floats, ends: Floats) -> Residual:
    """The network before any flow."""
    m = len(pairs)
    sources, targets = (np.ascontiguousarray(pairs[:, k]) for k in (0, 1))
    first, caps = np.zeros(len(ends) + 1, np.int64), np.empty(2 * m)
    heads, mates = np.empty(2 * m, np.int32), np.empty(2 * m, np.int32)
    numbers = np.ascontiguousarray(forward), np.ascontiguousarray(backward)
    wire_arcs(sources, targets, *numbers, first, heads, mates, caps)
    return Residual(first, heads, mates, caps, np.array(ends))


def search_forest(n: int) -> Forest:
    """Room for the trees of a search for paths between the terminals."""
    return Forest(
        np.empty(n, np.int32),
        np.zeros(n, np.uint8),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int32),
        np.empty(5, np.int64),
        np.empty(n, np.int32),
    )
