"""The search for the cheapest merge order against every order there is."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.graphs.clusters import ClusterTree
from sepset.inference.treequery.orders import divided, greedy_estimate, greedy_orders
from sepset.inference.treequery.query import bits, tree_query
from sepset.inference.treequery.search import (
    best_first_merge_order,
    choose_merge_order,
    lower_bound,
    optimal_merge_order,
    refined,
)
from support.blocks import in_blocks
from support.random_trees import Plain, random_order, random_targets, random_tree


def drawn(seed, most=6):
    rng = np.random.default_rng([seed, 13])
    tree, cards = random_tree(rng, most + 2)
    return tree_query(tree, random_targets(rng, tree, least=2), cards=cards)


def long_query(seed, n=30):
    rng = np.random.default_rng([seed, 17])
    tree, cards = random_tree(rng, most=3 * n, cards=(2, 3, 4))
    return tree_query(tree, random_targets(rng, tree, most=8, least=3), cards=cards)


@in_blocks("seed", range(80))
@pytest.mark.parametrize("absorb", [False, True])
def test_programming_and_best_first_search_find_the_least_of_all_orders(seed, absorb):
    query = drawn(seed)
    best = Plain(query).best(absorb)
    assert optimal_merge_order(query, absorb=absorb).cost == best
    assert best_first_merge_order(query, absorb=absorb).cost == best


def test_the_rebuilt_published_tree():
    scopes = ("3 8 10", "3 6 7 8", "3 6 7", "4 6", "3 8 9")
    tree = ClusterTree([s.split() for s in scopes], [(0, 1), (1, 2), (1, 4), (2, 3)])
    query = tree_query(tree, ["4", "9", "10"], cards={"3": 3, "4": 2, "6": 4, "7": 2, "8": 4, "9": 4, "10": 4})
    for search in (optimal_merge_order, best_first_merge_order):
        assert search(query, absorb=False).cost == 672
        assert search(query).cost == 576


@in_blocks("seed", range(60))
@pytest.mark.parametrize("absorb", [False, True])
def test_the_lower_bound_is_never_above_the_optimum_of_any_part(seed, absorb):
    query = drawn(seed, most=9)
    costs, stack = {}, [query.whole]
    parts = {}
    while stack:
        part = stack.pop()
        if part.nodes not in parts:
            parts[part.nodes] = part
            stack += (side for e in bits(part.edges) for side in query.split(part, e))
    for part in sorted(parts.values(), key=lambda p: p.nodes.bit_count()):
        found = []
        for e in bits(part.edges):
            left, right = query.split(part, e)
            price = query.price(left.scope, right.scope, edge=e, absorb=absorb)
            found.append(costs[left.nodes] + costs[right.nodes] + price)
        costs[part.nodes] = min(found, default=0)
        assert lower_bound(query, part, absorb=absorb) <= costs[part.nodes]


def test_without_a_table_the_recursion_triples():
    """Work of the plain recursion on a path, a unit for each of its n nodes at every call: 1, 4, 13, 40, ..."""

    def work(nodes):
        return len(nodes) + sum(work(nodes[:i]) + work(nodes[i:]) for i in range(1, len(nodes)))

    assert [work(range(n)) for n in range(1, 7)] == [1, 4, 13, 40, 121, 364]
    tree = ClusterTree([(f"s{i}", f"s{i + 1}") for i in range(6)], [(i, i + 1) for i in range(5)])
    query = tree_query(tree, ["s0", "s6"], cards=dict.fromkeys(tree.variables, 2))
    assert query.num_subtrees == 21


@in_blocks("seed", range(40))
def test_a_greedy_heuristic_finds_an_order_that_is_good_but_maybe_not_best(seed):
    query = drawn(seed, most=9)
    order = best_first_merge_order(query, heuristic=greedy_estimate)
    assert order.cost == Plain(query).cost(order.edges, absorb=True)
    assert order.cost >= optimal_merge_order(query).cost


def test_best_first_search_gives_up_where_asked():
    tree = ClusterTree([(f"s{i}", f"s{i + 1}") for i in range(6)], [(i, i + 1) for i in range(5)])
    query = tree_query(tree, ["s0", "s6"], cards=dict.fromkeys(tree.variables, 2))
    best = optimal_merge_order(query).cost
    assert best_first_merge_order(query, below=best) is None
    assert best_first_merge_order(query, below=best + 1).cost == best
    assert best_first_merge_order(query, budget=0) is None


@in_blocks("seed", range(30))
@pytest.mark.parametrize("absorb", [False, True])
def test_refinement_never_costs_more_and_with_a_wide_window_is_optimal(seed, absorb):
    query = drawn(seed, most=9)
    start = random_order(query, np.random.default_rng(seed), absorb=absorb)
    best = optimal_merge_order(query, absorb=absorb).cost
    assert best <= refined(start, window=3).cost <= start.cost
    assert refined(start, window=9).cost == best
    assert refined(start, budget=0).cost == start.cost


@in_blocks("seed", range(12))
def test_the_chosen_order_is_never_above_a_greedy_one(seed):
    query = long_query(seed)
    baseline = divided(query, absorb=False).cost
    greedy = min(order.cost for order in greedy_orders(query))
    for budget in (100, 2000):
        order = choose_merge_order(query, budget=budget)
        assert order.cost <= greedy <= baseline
        assert order.cost == Plain(order.query).cost(order.edges, absorb=True)
    plenty = choose_merge_order(query, budget=10**4)
    assert plenty.cost <= order.cost


@in_blocks("seed", range(40))
def test_the_chosen_order_of_a_small_tree_is_optimal_or_better_through_hubs(seed):
    query = drawn(seed)
    order = choose_merge_order(query)
    best = Plain(query).best(absorb=True)
    if order.query is query:
        assert order.cost == best
    else:
        assert order.cost <= best


def test_a_greedy_order_that_meets_the_lower_bound_needs_no_search():
    leaves = [("x", f"u{i}") for i in range(12)]
    tree = ClusterTree([("x",), *leaves], [(0, i + 1) for i in range(12)])
    cards = {"x": 1, "u0": 5, "u1": 4} | dict.fromkeys([f"u{i}" for i in range(2, 12)], 1)
    query = tree_query(tree, list(cards), cards=cards)
    assert choose_merge_order(query, budget=0).cost == lower_bound(query, query.whole) == 20
