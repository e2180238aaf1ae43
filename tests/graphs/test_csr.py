from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.errors import ScopeError
from sepset.graphs.csr import (
    components,
    csr,
    cycle,
    has_large_core,
    id_pairs,
    owners,
    pairs_within_rows,
    reached,
    row,
    sorted_pairs,
    topological,
)

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=15)


def columns(edges):
    table = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(pairs)
def test_rows_hold_their_columns_sorted(edges):
    unique = sorted(set(edges))
    indptr, indices = found = csr(*columns(unique), 6)
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)
    assert [row(found, i) for i in range(6)] == [[b for a, b in unique if a == i] for i in range(6)]
    assert not indices.flags.writeable


@given(pairs)
def test_sorted_pairs_are_a_sorted_set(edges):
    table = np.array(edges, dtype=np.int64).reshape(-1, 2)
    assert [tuple(p) for p in sorted_pairs(table, 6).tolist()] == sorted(set(edges))


@given(pairs)
def test_pairs_within_rows(edges):
    unique = sorted(set(edges))
    expected = [p for i in range(6) for p in itertools.combinations([b for a, b in unique if a == i], 2)]
    assert [tuple(p) for p in pairs_within_rows(csr(*columns(unique), 6)).tolist()] == expected


def test_ids_out_of_range_are_refused():
    with pytest.raises(ScopeError, match="0 to 2; found -1 to 3"):
        id_pairs([-1], [3], 3)


@given(pairs)
def test_topological_order_or_a_cycle(edges):
    edges = sorted({(a, b) for a, b in edges if a != b})
    sources, targets = columns(edges)
    into = csr(targets, sources, 6)
    order = topological(into, csr(sources, targets, 6))
    place = {node: i for i, node in enumerate(order)}
    assert all(place[a] < place[b] for a, b in edges if b in place)
    if len(order) < 6:
        found = cycle(into, set(order))
        assert found[0] == found[-1]
        assert len(found) >= 3
        assert all((a, b) in edges for a, b in itertools.pairwise(found))


def test_walks_stop_at_blocked_nodes():
    chain = csr(np.array([0, 1, 2]), np.array([1, 2, 3]), 4)
    assert reached((chain,), [0], 4) == [True] * 4
    assert reached((chain,), [0], 4, blocked=[2]) == [True, True, False, False]
    assert reached((chain,), [2], 4, blocked=[2]) == [False] * 4


def test_components_are_sorted_groups():
    both = csr(np.array([3, 0, 4, 1]), np.array([0, 3, 1, 4]), 5)
    assert components(both) == [[0, 3], [1, 4], [2]]
    assert owners(components(both)).tolist() == [0, 1, 2, 0, 1]
    assert components(csr(*columns([]), 0)) == []


@given(st.integers(1, 6), pairs, st.lists(st.integers(1, 4), min_size=6, max_size=6), st.floats(0, 10))
def test_a_large_core_is_in_every_elimination_order(num, edges, cards, most):
    neighbors = {v: set() for v in range(num)}
    for a, b in edges:
        if a != b and max(a, b) < num:
            neighbors[a].add(b)
            neighbors[b].add(a)
    rows = csr(*columns([(a, b) for a in neighbors for b in sorted(neighbors[a])]), num)
    logs = np.log2(cards[:num])

    def largest(order):
        left = {v: set(own) for v, own in neighbors.items()}
        for v in order:
            own = left.pop(v)
            yield logs[v] + sum(logs[list(own)])
            for u in own:
                left[u] = (left[u] | own) - {u, v}

    least = min(max(largest(order)) for order in itertools.permutations(range(num)))
    if has_large_core(*rows, logs, most):
        assert least > most


def test_the_core_of_a_complete_graph_is_all_of_it():
    n = 40
    rows = csr(*columns([(a, b) for a in range(n) for b in range(n) if a != b]), n)
    assert has_large_core(*rows, np.ones(n), 39.5)
    assert not has_large_core(*rows, np.ones(n), 40.0)
