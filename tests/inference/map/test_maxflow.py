"""Minimum cuts: by enumeration, by the flow that proves them, and by an independent solver."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import maximum_flow

import sepset as ss
from sepset.inference.map.maxflow import FlowGraph
from support.blocks import in_blocks


def random_graph(rng, n, m, *, integer=False, infinite=0.0):
    edges = np.array([rng.permutation(n)[:2] for _ in range(m)]).reshape(-1, 2) if n > 1 else np.zeros((0, 2), int)
    m = len(edges)

    def numbers(size):
        found = rng.integers(0, 20, size).astype(float) if integer else rng.gamma(1.0, size=size)
        found *= rng.random(size) < 0.8
        found[rng.random(size) < infinite] = np.inf
        return found

    return FlowGraph(n, edges, forward=numbers(m), backward=numbers(m), from_source=numbers(n), to_sink=numbers(n))


def capacity(graph, sink_side):
    """The capacity of a cut by its definition."""
    edges, forward, backward, source, sink = graph.arrays()
    total = source[sink_side].sum() + sink[~sink_side].sum()
    for (i, j), c, d in zip(edges, forward, backward, strict=True):
        total += c if not sink_side[i] and sink_side[j] else 0.0
        total += d if not sink_side[j] and sink_side[i] else 0.0
    return total


@in_blocks("seed", range(200))
def test_flows_equal_cuts_and_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 8))
    graph = random_graph(rng, n, int(rng.integers(0, 16)), infinite=0.1 if seed % 3 == 0 else 0.0)
    cut = graph.min_cut()
    sides = [np.array(side, bool) for side in itertools.product([False, True], repeat=n)]
    values = [capacity(graph, side) for side in sides]
    assert cut.value == pytest.approx(min(values), rel=1e-12, abs=1e-12)
    if np.isfinite(cut.value):
        assert capacity(graph, cut.sink_side) == pytest.approx(cut.value, abs=1e-9)
        if all(np.isfinite(numbers).all() for numbers in graph.arrays()):
            assert graph.flow_size(cut) == pytest.approx(cut.value)
        best = [side for side, value in zip(sides, values, strict=True) if value <= min(values) + 1e-9]
        assert all((cut.sink_side | ~side).all() for side in best)  # every other source side contains this one


@in_blocks("seed", range(100))
def test_flows_of_other_capacities_change_nothing_but_the_work(seed):
    rng = np.random.default_rng([seed, 1])
    n, m = int(rng.integers(1, 30)), int(rng.integers(0, 80))
    whole = bool(seed % 2)
    before = random_graph(rng, n, m, integer=whole, infinite=0.05 if seed % 5 == 0 else 0.0)
    edges, forward, backward, source, sink = before.arrays()
    numbers = [
        np.where(rng.random(len(c)) < 0.3, rng.integers(8, size=len(c)), c) for c in (forward, backward, source, sink)
    ]
    names = ("forward", "backward", "from_source", "to_sink")
    after = FlowGraph(n, edges, **dict(zip(names, numbers, strict=True)))
    cold, warm = after.min_cut(), after.min_cut(before.flows(before.min_cut()))
    assert warm.value == pytest.approx(cold.value, rel=1e-12, abs=1e-9)
    assert (warm.sink_side == cold.sink_side).all()
    if np.isfinite(cold.value):
        assert capacity(after, warm.sink_side) == pytest.approx(cold.value, abs=1e-9)
        flows = after.flows(warm)
        assert (flows <= numbers[0] + 1e-9).all()
        assert (-flows <= numbers[1] + 1e-9).all()
    anything = after.min_cut(rng.normal(size=len(edges)) * 10.0)
    assert anything.value == pytest.approx(cold.value, rel=1e-12, abs=1e-9)


@in_blocks("seed", range(30))
def test_large_integer_flows_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 200))
    graph = random_graph(rng, n, 4 * n, integer=True)
    edges, forward, backward, source, sink = graph.arrays()
    rows = [*edges[:, 0], *edges[:, 1], *[n] * n, *range(n)]
    columns = [*edges[:, 1], *edges[:, 0], *range(n), *[n + 1] * n]
    numbers = np.concatenate([forward, backward, source, sink]).astype(np.int32)
    matrix = sparse.coo_array((numbers, (rows, columns)), shape=(n + 2, n + 2)).tocsr()
    cut = graph.min_cut()
    assert cut.value == maximum_flow(matrix.astype(np.int32), n, n + 1).flow_value
    assert capacity(graph, cut.sink_side) == cut.value
    assert graph.flow_size(cut) == cut.value
    if (cut.residual.caps > 0).any():
        cut.residual.caps[np.argmax(cut.residual.caps > 0)] -= 0.5
        assert graph.flow_size(cut) is None


def test_bad_capacities_and_nodes_are_named():
    with pytest.raises(ss.errors.ArgumentError, match=r"found -1.0 at edge 0"):
        FlowGraph(2, [[0, 1]], forward=[-1.0], backward=[0.0], from_source=0.0, to_sink=0.0).min_cut()
    with pytest.raises(ss.errors.ArgumentError, match="found nan at node 1"):
        FlowGraph(2, [[0, 1]], forward=[1.0], backward=[0.0], from_source=[0.0, np.nan], to_sink=0.0).min_cut()
    with pytest.raises(ss.errors.ArgumentError, match="pairs of nodes below 2"):
        FlowGraph(2, [[0, 2]], forward=[1.0], backward=[0.0], from_source=0.0, to_sink=0.0).min_cut()
