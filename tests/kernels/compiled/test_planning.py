"""Elimination in integers against the same by sets and names."""

from __future__ import annotations

import itertools

import numpy as np

from sepset.graphs.elimination import eliminate_graph
from sepset.graphs.graph import UndirectedGraph
from sepset.kernels.compiled import planning
from support.blocks import in_blocks
from support.kernel_calls import NONE, adjacency, eliminate
from support.random_contractions import neighbors, random_network, rows


def lists(start, members):
    return [members[i:j].tolist() for i, j in itertools.pairwise(start)]


def lists_of_both(found):
    return lists(*found[:2]), lists(*found[2:])


@in_blocks("seed", range(20))
def test_adjacency_joins_the_members_of_every_scope(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, num=9, num_factors=int(rng.integers(0, 9)), arity=4)
    assert lists(*adjacency(*rows(network.scopes), 9)) == neighbors(9, network.scopes)


def test_local_scopes_are_sorted_and_leave_out_what_has_no_place():
    start, members = rows([[3, 1], [2], [0, 4, 1]])
    place = np.array([7, 5, -1, 2, 0])
    scopes, near = lists_of_both(planning.scope_graph(start, members, np.array([2, 0, 1]), place, NONE, 8))
    assert scopes == [[0, 5, 7], [2, 5], [], []]
    assert near == neighbors(8, scopes)


def test_places_that_belong_together_are_joined_as_one_more_scope():
    scopes, near = lists_of_both(
        planning.scope_graph(*rows([[0, 1]]), np.array([0]), np.arange(4), np.array([1, 3]), 4)
    )
    assert scopes == [[0, 1], [1, 3]]
    assert near == [[1], [0, 3], [], [1]]


def test_transposed_lists_the_rows_of_each_member():
    assert lists(*planning.transposed(*rows([[2, 0], [], [0]]), 4)) == [[0, 2], [], [0], []]


@in_blocks("seed", range(30))
def test_elimination_agrees_with_elimination_by_name(seed):
    rng = np.random.default_rng(seed)
    num = int(rng.integers(0, 12))
    network = random_network(rng, num=num, num_factors=num, arity=3)
    near = neighbors(num, network.scopes)
    order = rng.permutation(num)
    names = [f"v{i}" for i in range(num)]
    graph = UndirectedGraph(names, [(names[a], names[b]) for a in range(num) for b in near[a] if a < b])
    truth = eliminate_graph(graph, [names[i] for i in order], cards=dict(zip(names, network.cards, strict=True)))
    start, scopes, parents, absorbed, sizes = eliminate(*rows(near), order, np.array(network.cards, dtype=np.float64))
    rank = {names[v]: i for i, v in enumerate(order)}
    assert lists(start, scopes) == [sorted(rank[n] for n in message) for message in truth.messages]
    assert parents.tolist() == list(truth.parents)
    assert absorbed.tolist() == list(truth.absorbed)
    assert sizes.tolist() == list(truth.sizes)


@in_blocks("seed", range(20))
def test_maximal_cliques_hold_every_elimination_clique(seed):
    rng = np.random.default_rng(seed)
    near = neighbors(8, random_network(rng, num=8).scopes)
    start, scopes, _, absorbed = eliminate(*rows(near), rng.permutation(8))
    kept = seed % 3
    group, sep_start, sepsets = planning.maximal_cliques(start, scopes, absorbed, 8 - kept)
    messages = lists(start, scopes)
    assert (group[8 - kept :] == -1).all()
    for clique, sepset in enumerate(lists(sep_start, sepsets)):
        own = np.flatnonzero(group == clique).tolist()
        assert sorted([*own, *sepset]) == sorted({own[0], *messages[own[0]]})
        assert all(group[r] > clique or r >= 8 - kept for r in sepset)
        assert all({r, *messages[r]} <= {*own, *sepset} for r in own)
