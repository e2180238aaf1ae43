from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given

from sepset.kernels.graphs.treewidth import has_width
from support import plain_elimination as plain
from support.small_graphs import undirected

NEVER = np.zeros(1, np.uint8)


def masks(nodes, edges):
    number = {node: i for i, node in enumerate(nodes)}
    rows = np.zeros(len(nodes), np.int64)
    for a, b in edges:
        rows[number[a]] |= 1 << number[b]
        rows[number[b]] |= 1 << number[a]
    return rows


@given(undirected(max_nodes=6))
def test_every_width_of_small_graphs(drawn):
    nodes, edges = drawn
    width = plain.treewidth(nodes, edges)
    for k in range(len(nodes) + 1):
        seen = np.zeros(2 ** len(nodes) // 8 + 1, np.uint8)
        assert has_width(masks(nodes, edges), k, seen, NEVER) == int(k >= width)


def test_canceled():
    nodes = [str(i) for i in range(8)]
    rows = masks(nodes, itertools.combinations(nodes, 2))
    assert has_width(rows, 3, np.zeros(33, np.uint8), np.ones(1, np.uint8)) == -1
