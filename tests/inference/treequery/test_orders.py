"""What merge orders cost, counted again on plain sets and against published numbers; the greedy orders."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sepset.errors import ArgumentError, ModelError
from sepset.graphs.clusters import ClusterTree
from sepset.graphs.ordering import MinWeight
from sepset.inference.treequery.orders import (
    LeastFill,
    MergeOrder,
    cheapest_first,
    divided,
    eliminated,
    greedy_estimate,
    greedy_orders,
    widest_last,
)
from sepset.inference.treequery.query import bits, tree_query
from sepset.inference.treequery.search import optimal_merge_order
from support.blocks import in_blocks
from support.random_trees import Plain, entries, random_order, random_targets, random_tree


def drawn(seed, most=8):
    rng = np.random.default_rng([seed, 11])
    tree, cards = random_tree(rng, most)
    return tree_query(tree, random_targets(rng, tree, least=1), cards=cards)


def surrogate():
    """Five cliques whose two published orders cost 2736 and 672 (El-Hay 2001, figure 4-1, rebuilt)."""
    scopes = ("3 8 10", "3 6 7 8", "3 6 7", "4 6", "3 8 9")
    tree = ClusterTree([s.split() for s in scopes], [(0, 1), (1, 2), (1, 4), (2, 3)])
    return tree_query(tree, ["4", "9", "10"], cards={"3": 3, "4": 2, "6": 4, "7": 2, "8": 4, "9": 4, "10": 4})


def star(n):
    """A large clique with n small ones around it, every variable but the shared one asked for."""
    names = [f"u{i}" for i in range(2 * n)]
    tree = ClusterTree([["x", *names[:n]], *(["x", name] for name in names[n:])], [(0, i + 1) for i in range(n)])
    return tree_query(tree, names, cards=dict.fromkeys(["x", *names], 2))


@in_blocks("seed", range(60))
@pytest.mark.parametrize("absorb", [False, True])
def test_the_cost_is_that_of_merging_sets_one_after_another(seed, absorb):
    query = drawn(seed)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        order = random_order(query, rng, absorb=absorb)
        assert order.cost == Plain(query).cost(order.edges, absorb)
        assert order.steps[-1].kept == query.targets if order.steps else order.cost == 0


def test_two_published_orders_of_one_tree():
    query = surrogate()
    first = MergeOrder(query, (0, 3, 2, 1), absorb=False)
    assert [step.cost for step in first.steps] == [384, 48, 1536, 768]
    assert [set(query.scope_names(s.left | s.right)) for s in first.steps] == [
        {"3", "6", "7", "8", "10"},
        {"3", "4", "6", "7"},
        {"3", "6", "7", "8", "9", "10"},
        {"3", "4", "6", "7", "9", "10"},
    ]
    assert first.cost == 2736
    assert first.largest == 1536
    second = MergeOrder(query, (1, 3, 0, 2), absorb=False)
    assert [step.cost for step in second.steps] == [96, 96, 96, 384]
    assert second.cost == 672


def test_a_search_pays_after_some_questions():
    """2736 and 672 multiplications, as published: a search that costs 20,640 pays from the tenth question on."""
    query = surrogate()
    found, plain = MergeOrder(query, (1, 3, 0, 2), absorb=False), MergeOrder(query, (0, 3, 2, 1), absorb=False)
    assert found.break_even(plain, 20_640) == 10.0
    assert found.break_even(plain, 0) == 0.0
    assert plain.break_even(found, 20_640) == plain.break_even(plain, 1) == math.inf
    for number in (9, 10, 11):
        assert (20_640 + number * found.cost <= number * plain.cost) == (number >= 10)
    with pytest.raises(ArgumentError, match="search="):
        found.break_even(plain, -1)


@pytest.mark.parametrize(("n", "local", "small_first"), [(2, 48, 40), (3, 224, 152), (4, 960, 568), (5, 3968, 2168)])
def test_around_a_large_clique_the_small_ones_had_better_meet_first(n, local, small_first):
    query = star(n)
    assert local == 2 ** (2 * n + 2) - 2 ** (n + 2)
    assert {MergeOrder(query, order, absorb=False).cost for order in itertools.permutations(range(n))} == {local}
    hubs = query.with_hubs()
    order = MergeOrder(hubs, tuple(range(n + 1)))
    assert order.cost == small_first == 2 ** (2 * n + 1) + 2 ** (n + 2) - 8
    assert optimal_merge_order(hubs).cost == small_first


@pytest.mark.parametrize(("k", "paid"), [(0, 8), (1, 12), (2, 14), (3, 16), (4, 18), (6, 22)])
def test_cliques_that_equal_their_sepset_are_free_when_absorbed(k, paid):
    tree = ClusterTree([("a", "b"), *[("b",)] * k, ("b", "c")], [(i, i + 1) for i in range(k + 1)])
    query = tree_query(tree, ["a", "c"], cards={"a": 2, "b": 2, "c": 2})
    assert optimal_merge_order(query, absorb=False).cost == paid
    assert optimal_merge_order(query).cost == 8


@in_blocks("seed", range(60))
@pytest.mark.parametrize("absorb", [False, True])
def test_greedy_orders_are_orders_and_absorption_never_costs(seed, absorb):
    query = drawn(seed, most=12)
    for order in greedy_orders(query, absorb=absorb):
        assert sorted(order.edges) == list(range(len(query.edges)))
        assert order.cost == Plain(query).cost(order.edges, absorb)
        assert MergeOrder(query, order.edges, absorb=True).cost <= MergeOrder(query, order.edges, absorb=False).cost


@in_blocks("seed", range(40))
def test_the_divided_order_takes_the_smallest_pair_of_parts_at_every_level(seed):
    query = drawn(seed)
    plain, order = Plain(query), divided(query)
    rank = {e: i for i, e in enumerate(order.edges)}
    stack = [query.whole]
    while stack:
        part = stack.pop()
        if not part.edges:
            continue
        measure = {
            e: sum(entries(plain.retained(set(bits(side.nodes))), plain.cards) for side in query.split(part, e))
            for e in bits(part.edges)
        }
        last = max(bits(part.edges), key=rank.__getitem__)
        assert measure[last] == min(measure.values())
        stack += query.split(part, last)


@in_blocks("seed", range(40))
def test_elimination_merges_every_clique_with_a_variable_before_it_leaves(seed):
    query = drawn(seed)
    for method in (None, LeastFill(fill=False), MinWeight()):
        order = eliminated(query, method)
        gone = 0
        for step in order.steps:
            assert not (step.left | step.right) & gone
            gone |= (step.left | step.right) & ~step.kept


def plain_greedy(scopes, targets, cards):
    """Min-fill elimination, ties by weight, on the graph of variables that share a scope: one table a variable."""
    around = {name: set().union(*(s for s in scopes if name in s)) - {name} for s in scopes for name in s}
    total, left = 0, set(around) - targets
    weights = []
    while left:

        def key(name):
            pairs = itertools.combinations(sorted(around[name]), 2)
            return sum(b not in around[a] for a, b in pairs), entries({name} | around[name], cards)

        best = min(map(key, left))
        chosen = [name for name in sorted(left) if key(name) == best]
        weights.append(len(chosen))
        name = chosen[0]
        total += best[1]
        for a in around[name]:
            around[a] |= around[name] - {a}
            around[a].discard(name)
        del around[name]
        left.discard(name)
    return total, max(weights, default=1)


def test_the_greedy_estimate_counts_one_table_a_variable():
    compared = 0
    for seed in range(120):
        query = drawn(seed)
        plain = Plain(query)
        expected, ties = plain_greedy(plain.scopes, plain.targets, plain.cards)
        if ties == 1:
            compared += 1
            assert greedy_estimate(query) == expected
    assert compared > 25


def test_the_greedy_estimate_leaves_out_the_last_product():
    tree = ClusterTree([("a", "b"), ("b", "c")], [(0, 1)])
    query = tree_query(tree, ["a", "b", "c"], cards={"a": 2, "b": 2, "c": 2})
    assert greedy_estimate(query) == 0
    assert optimal_merge_order(query).cost == 8
    query = tree_query(tree, ["a", "c"], cards={"a": 2, "b": 3, "c": 5})
    assert greedy_estimate(query) == 30


def test_simple_orders_of_a_chain():
    tree = ClusterTree([("a", "b"), ("b", "c"), ("c", "d")], [(0, 1), (1, 2)])
    query = tree_query(tree, ["a", "d"], cards={"a": 9, "b": 2, "c": 3, "d": 2})
    assert widest_last(query).edges == (0, 1)
    assert cheapest_first(query).edges == (1, 0)
    assert cheapest_first(query, by="growth").cost == min(o.cost for o in greedy_orders(query)) == 48


def test_an_order_names_each_edge_once():
    with pytest.raises(ModelError, match="each of 4 edges once"):
        MergeOrder(surrogate(), (0, 1, 1, 2))


def test_an_order_prints_its_merges():
    order = MergeOrder(surrogate(), (1, 3, 0, 2), name="given")
    assert str(order).splitlines()[0] == "given order: 576 multiplications"
    assert "3, 8, 10" in str(order)
    assert repr(order) == "MergeOrder(given, 4 edges, cost 576)"
    long = ClusterTree([(f"s{i}", f"s{i + 1}") for i in range(20)], [(i, i + 1) for i in range(19)])
    query = tree_query(long, ["s0", "s20"], cards=dict.fromkeys(long.variables, 2))
    assert str(divided(query)).endswith("... (19 merges in all)")
