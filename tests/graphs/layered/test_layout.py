"""Layouts, measured from the outside: boxes apart, edges around them and on their borders, arrows down."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.graphs.layered.layout import layered
from support.blocks import in_blocks
from support.geometry import num_crossings, on_border, overlapping, passed_through, points_of


def boxes_of(found, sizes):
    return [(*center, *size) for center, size in zip(found.centers, sizes, strict=True)]


def check(sizes, arrows, lines=(), *, acyclic=True):
    """All laws of a layout; the layout and its boxes."""
    found = layered(sizes, arrows, lines=lines)
    edges, boxes = [*arrows, *lines], boxes_of(found, sizes)
    drawn = [points_of(points) for points in found.curves]
    assert overlapping(boxes) == []
    assert passed_through(edges, drawn, boxes) == []
    for (a, b), line in zip(edges, drawn, strict=True):
        assert on_border(line[0], boxes[a])
        assert on_border(line[-1], boxes[b])
    if acyclic:
        assert all(found.centers[a][1] < found.centers[b][1] for a, b in arrows)
    for x, y, width, height in boxes:
        assert x - width / 2 >= -1e-6
        assert x + width / 2 <= found.width + 1e-6
        assert y - height / 2 >= -1e-6
        assert y + height / 2 <= found.height + 1e-6
    for line in drawn:
        assert line.min() >= -1e-6
        assert (line <= (found.width + 1e-6, found.height + 1e-6)).all()
    return found, boxes


def random_edges(rng, count, share):
    return [pair for pair in itertools.combinations(range(count), 2) if rng.random() < share]


@in_blocks("seed", range(8))
def test_random_graphs(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 16))
    sizes = [tuple(pair) for pair in rng.uniform(10.0, 90.0, (count, 2)).tolist()]
    pairs = random_edges(rng, count, 0.2)
    order = rng.permutation(count).tolist()
    pairs = [(order[a], order[b]) for a, b in pairs]
    which = rng.random(len(pairs)) < 0.7
    arrows = [pair for pair, is_arrow in zip(pairs, which, strict=True) if is_arrow]
    lines = [pair for pair, is_arrow in zip(pairs, which, strict=True) if not is_arrow]
    found, _ = check(sizes, arrows, lines)
    assert layered(sizes, arrows, lines=lines) == found


@pytest.mark.parametrize("seed", range(3))
def test_cycles_and_several_edges_between_two_nodes(seed):
    rng = np.random.default_rng(100 + seed)
    pairs = [tuple(rng.choice(8, 2, replace=False).tolist()) for _ in range(16)]
    check([(30.0, 20.0)] * 8, [*pairs, pairs[0], pairs[0][::-1]], acyclic=False)


def test_small_graphs():
    assert layered([], []) == ([], [], 0.0, 0.0)
    assert layered([(30.0, 20.0)], []).centers == [(15.0, 10.0)]
    check([(30.0, 20.0)] * 30, [])
    found, _ = check([(30.0, 20.0)] * 4, [(0, 1), (2, 3)])
    assert found.width > found.centers[0][0] * 2


@pytest.mark.parametrize("name", ["alarm", "insurance", "child", "win95pts"])
def test_networks(name):
    dag = ss.datasets.load(name).dag
    arrows = [(dag.index[a], dag.index[b]) for a, b in dag.directed]
    sizes = [(7.0 * len(node) + 16.0, 26.0) for node in dag.nodes]
    found, boxes = check(sizes, arrows)
    crossings = num_crossings(arrows, [points_of(points) for points in found.curves], boxes)
    assert crossings <= {"alarm": 9, "insurance": 25, "child": 3, "win95pts": 100}[name]


def test_other_orders_of_nodes_and_edges():
    """The picture stays lawful, and about as good."""
    dag = ss.datasets.load("child").dag
    arrows = [(dag.index[a], dag.index[b]) for a, b in dag.directed]
    rng = np.random.default_rng(0)
    for _ in range(3):
        order = rng.permutation(len(dag)).tolist()
        shuffled = [(order[a], order[b]) for a, b in arrows]
        rng.shuffle(shuffled)
        found, boxes = check([(50.0, 26.0)] * len(dag), [tuple(pair) for pair in shuffled])
        assert num_crossings(shuffled, [points_of(points) for points in found.curves], boxes) <= 4


def test_long_strips_are_made_shorter():
    """A hub with a hundred children is not one row of them."""
    found, _ = check([(60.0, 26.0)] * 101, [(0, k) for k in range(1, 101)])
    assert len({y for _, y in found.centers}) > 2
    assert found.width < 0.7 * 100 * 78.0
