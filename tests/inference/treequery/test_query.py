"""Trimming a clique tree to a query: the smallest part, what stays of each clique, and how many parts that has."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sepset.errors import ScopeError
from sepset.graphs.clusters import ClusterTree
from sepset.inference.treequery.query import Subtree, bits, tree_query
from support.blocks import in_blocks
from support.random_trees import Plain, random_targets, random_tree

SEEDS = range(60)


def drawn(seed, **settings):
    rng = np.random.default_rng([seed, 7])
    tree, cards = random_tree(rng, **settings)
    targets = random_targets(rng, tree)
    return tree, cards, targets, tree_query(tree, targets, cards=cards)


def path(n, extra=()):
    """Cliques in a row, each with a target of its own at the ends; `extra` cliques hang from a node."""
    clusters = [{f"s{i}", f"s{i + 1}"} for i in range(n)]
    edges = [(i, i + 1) for i in range(n - 1)]
    for node in extra:
        edges.append((node, len(clusters)))
        clusters.append({f"s{node}", f"leaf{len(clusters)}"})
    return ClusterTree([sorted(c) for c in clusters], edges)


def arms(k):
    """Three arms of k cliques around a middle one."""
    clusters, edges = [{"a0", "b0", "c0"}], []
    for arm in "abc":
        for i in range(k):
            edges.append((0 if i == 0 else len(clusters) - 1, len(clusters)))
            clusters.append({f"{arm}{i}", f"{arm}{i + 1}"})
    return ClusterTree([sorted(c) for c in clusters], edges)


@in_blocks("seed", SEEDS)
def test_the_part_is_the_smallest_that_covers_the_query(seed):
    tree, cards, targets, query = drawn(seed, parts=False)
    wanted = {name for name in targets if cards[name] > 1}
    sets = [set(c) for c in tree.clusters]
    best = len(sets)
    for size in range(len(sets), -1, -1):
        for nodes in itertools.combinations(range(len(sets)), size):
            joined = sum(set(e) <= set(nodes) for e in tree.edges) == max(size - 1, 0)
            if joined and wanted <= set().union(*(sets[i] for i in nodes)):
                best = size
    assert len(query.cliques) == best
    leaves = sum(len(row) == 1 for row in query.incident)
    assert leaves <= max(len(wanted), 1)
    assert query.whole.scope == query.targets
    assert set(query.scope_names(query.targets)) == wanted


@in_blocks("seed", SEEDS)
def test_a_clique_keeps_its_targets_and_its_sepsets(seed):
    tree, cards, targets, query = drawn(seed)
    wide = {name for name in tree.variables if cards[name] > 1}
    for node, scope in enumerate(query.cliques):
        kept = set(targets).union(*(query.scope_names(query.sepsets[e]) for e in query.incident[node]))
        assert set(query.scope_names(scope)) == kept & wide & set(tree.clusters[query.sources[node]])
    for edge, (a, b) in enumerate(query.edges):
        shared = set(tree.clusters[query.sources[a]]) & set(tree.clusters[query.sources[b]]) & wide
        assert set(query.scope_names(query.sepsets[edge])) == shared
    if len(query.cliques) == 1:
        holders = [c for c in tree.clusters if {n for n in targets if cards[n] > 1} <= set(c)]
        assert len(tree.clusters[query.sources[0]]) == min(map(len, holders))


@in_blocks("seed", SEEDS)
def test_parts_of_splits_keep_what_the_definition_says(seed):
    *_, query = drawn(seed, most=9)
    plain, seen, stack = Plain(query), set(), [query.whole]
    while stack:
        part = stack.pop()
        nodes = set(bits(part.nodes))
        assert set(query.scope_names(part.scope)) == plain.retained(nodes)
        assert sum(set(query.edges[e]) <= nodes for e in range(len(query.edges))) == part.edges.bit_count()
        seen.add(part.nodes)
        stack += (side for e in bits(part.edges) for side in query.split(part, e) if side.nodes not in seen)
    if query.cliques:
        assert len(seen) == len(plain.connected()) == query.num_subtrees


def test_numbers_of_subtrees():
    for n in (1, 2, 5, 30):
        tree = path(n)
        query = tree_query(tree, ["s0", f"s{n}"], cards=dict.fromkeys(tree.variables, 2))
        assert query.num_subtrees == n * (n + 1) // 2
    for n, expected in ((10, 82), (100, 40987)):
        k = (n - 1) // 3
        tree = arms(k)
        query = tree_query(tree, [f"a{k}", f"b{k}", f"c{k}"], cards=dict.fromkeys(tree.variables, 2))
        assert len(query.cliques) == n
        assert query.num_subtrees == expected == (k + 1) ** 3 + 3 * k * (k + 1) // 2
    for n, expected in ((10, 62), (100, 5147)):
        tree = path(n - 1, extra=[n - 3])
        query = tree_query(tree, ["s0", f"s{n - 1}", f"leaf{n - 1}"], cards=dict.fromkeys(tree.variables, 2))
        assert len(query.cliques) == n
        assert query.num_subtrees == expected == (n * n + 3 * n - 6) // 2


@in_blocks("seed", SEEDS)
def test_subtrees_are_at_most_the_choices_of_their_leaves(seed):
    *_, query = drawn(seed, most=9)
    n, leaves = len(query.cliques), sum(len(row) == 1 for row in query.incident)
    assert query.num_subtrees <= max(sum(math.comb(n, i) for i in range(1, leaves + 1)), n)


def test_a_hub_stands_between_cliques_that_share_a_sepset():
    tree = ClusterTree([("x", "u"), ("x", "v"), ("x", "w"), ("u", "z")], [(0, 1), (0, 2), (0, 3)])
    query = tree_query(tree, ["u", "v", "w", "z"], cards=dict.fromkeys("uvwxz", 2))
    hubs = query.with_hubs()
    assert hubs.sources == (0, 1, 2, 3, -1)
    assert set(hubs.edges) == {(4, 1), (4, 2), (0, 3), (0, 4)}
    assert hubs.scope_names(hubs.cliques[4]) == ("x",)
    assert query.with_hubs().with_hubs().cliques == hubs.cliques


def test_parts_that_share_nothing_are_joined_and_those_without_targets_left_out():
    tree = ClusterTree([("a", "b"), ("c",), ("d", "e"), ("e", "f")], [(2, 3)])
    cards = dict.fromkeys("abcdef", 2)
    query = tree_query(tree, ["a", "f", "d"], cards=cards)
    assert query.sources == (0, 2, 3)
    assert query.edges == ((1, 2), (0, 1))
    assert query.links == (0, -1)
    assert query.sepsets[1] == 0


def test_nothing_asked_or_nothing_to_choose_needs_no_clique():
    tree = ClusterTree([("a", "b"), ("b", "c")], [(0, 1)])
    assert tree_query(tree, [], cards={"a": 2, "b": 2, "c": 2}).cliques == ()
    assert tree_query(tree, ["a", "c"], cards={"a": 1, "b": 2, "c": 1}).whole == Subtree(0, 0, 0)
    assert tree_query(ClusterTree([]), [], cards={}).num_subtrees == 0


def test_an_unknown_target_is_refused_by_name():
    tree = ClusterTree([("rain", "wind")])
    with pytest.raises(ScopeError, match="Did you mean 'rain'"):
        tree_query(tree, ["rian"], cards={"rain": 2, "wind": 2})
