"""Flows on wired graphs: arcs come in pairs, and the trees at the end are the sides of a cut."""

import numpy as np

from sepset.inference.map.maxflow import FlowGraph
from sepset.kernels.map.maxflow import edge_flows, wire_arcs


def test_arcs_are_sorted_by_node_and_paired():
    sources, targets = np.array([2, 0, 1], np.int32), np.array([0, 1, 2], np.int32)
    first, heads, mates, caps = np.zeros(4, np.int64), np.empty(6, np.int32), np.empty(6, np.int32), np.empty(6)
    wire_arcs(sources, targets, np.array([1.0, 2, 3]), np.array([4.0, 5, 6]), first, heads, mates, caps)
    assert first.tolist() == [0, 2, 4, 6]
    assert (mates[mates] == np.arange(6)).all()
    arcs = {(int(np.searchsorted(first, a, "right")) - 1, int(heads[a])): float(caps[a]) for a in range(6)}
    assert arcs == {(2, 0): 1, (0, 2): 4, (0, 1): 2, (1, 0): 5, (1, 2): 3, (2, 1): 6}

    flows, gone = np.empty(3), {(2, 0): 0.25, (0, 1): -0.5, (1, 2): 3.0}
    for a in range(6):
        i = int(np.searchsorted(first, a, "right")) - 1
        caps[a] -= gone.get((i, int(heads[a])), -gone.get((int(heads[a]), i), 0.0))
    edge_flows(sources, targets, np.array([1.0, 2, 3]), caps, first.copy(), flows)
    assert flows.tolist() == [0.25, -0.5, 3.0]


def test_no_residual_arc_leaves_the_side_of_the_source():
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(2, 30))
        edges = np.array([rng.permutation(n)[:2] for _ in range(3 * n)])
        graph = FlowGraph(
            n,
            edges,
            forward=rng.random(3 * n),
            backward=rng.random(3 * n),
            from_source=rng.random(n),
            to_sink=rng.random(n),
        )
        cut = graph.min_cut()
        owners = np.repeat(np.arange(n), np.diff(cut.residual.first))
        leaves = ~cut.sink_side[owners] & cut.sink_side[cut.residual.heads]
        assert (cut.residual.caps[leaves] == 0.0).all()
        assert (cut.residual.ends[cut.sink_side] <= 0.0).all()
        assert (cut.residual.ends[~cut.sink_side] >= 0.0).all()
