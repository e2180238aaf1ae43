"""Reversing an edge with new parents keeps the exact distribution over the 543 DAGs of four columns."""

from __future__ import annotations

import numpy as np

from sepset.kernels.structure.reversals import mark_open, reverse_edge
from support.stationary import TABLE, all_graphs, assert_same, uniforms


def test_a_reversal_keeps_the_distribution_over_dags():
    graphs, shares = all_graphs()
    place = {g.tobytes(): i for i, g in enumerate(graphs)}
    start = np.random.default_rng(0).choice(len(graphs), 12000, p=shares)
    ends = []
    for k, row in zip(start, uniforms(12000), strict=True):
        graph = graphs[k].copy()
        accepted = reverse_edge(graph, *TABLE.arrays, row)
        ends.append(place[graph.tobytes()])
        assert accepted or ends[-1] == k
    assert_same(ends, shares, start)


def test_detailed_balance_of_reversals_between_two_columns():
    """Between a -> b and b -> a the flows are equal: both are proposed in every second step."""
    graphs, shares = all_graphs()
    flows = {}
    start = np.random.default_rng(2).choice(len(graphs), 12000, p=shares)
    for k, row in zip(start, uniforms(12000, seed=3), strict=True):
        graph = graphs[k].copy()
        if reverse_edge(graph, *TABLE.arrays, row):
            pair = (graphs[k].tobytes(), graph.tobytes())
            flows[pair] = flows.get(pair, 0) + 1
    often = {pair: count for pair, count in flows.items() if count + flows.get(pair[::-1], 0) > 60}
    assert len(often) > 4
    for pair, count in often.items():
        back = flows.get(pair[::-1], 0)
        assert abs(count - back) < 4.5 * (count + back) ** 0.5


def test_open_columns_are_not_descendants():
    graph = np.zeros((4, 4), np.uint8)
    graph[0, 1] = graph[1, 2] = 1
    inside = np.zeros(4, np.uint8)
    mark_open(graph, 1, inside)
    assert inside.tolist() == [1, 0, 0, 1]
