"""Dtrees: parts are independent given what stands above them, and steps are what the recursion takes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.graphs.elimination import eliminate_graph
from sepset.graphs.graph import UndirectedGraph
from sepset.inference import costs
from sepset.inference.exact.dtree import (
    balanced_parents,
    choose_kept,
    elimination_parents,
    make_dtree,
    useful,
)
from support.blocks import in_blocks

SHAPES = (elimination_parents, balanced_parents)


def random_scopes(rng):
    names = [f"v{i}" for i in range(int(rng.integers(1, 9)))]
    cards = {name: int(rng.integers(1, 4)) for name in names}
    scopes = [tuple(rng.choice(names, size=int(rng.integers(0, min(3, len(names)) + 1)), replace=False)) for _ in names]
    return names, cards, [tuple(map(str, scope)) for scope in scopes]


def random_order(rng, names, scopes):
    edges = {tuple(sorted(pair)) for scope in scopes for pair in itertools.combinations(scope, 2)}
    order = [names[i] for i in rng.permutation(len(names))]
    return eliminate_graph(UndirectedGraph(names, sorted(edges)), order)


def above(tree, node):
    found = []
    while tree.parents[node] >= 0:
        node = tree.parents[node]
        found.append(node)
    return found


def plain_steps(tree, kept):
    """The states visited, by running the recursion on nothing but visits."""
    seen, count = set(), 0

    def visit(node, states):
        nonlocal count
        if node in kept:
            key = (node, tuple(states[v] for v in tree.contexts[node]))
            if key in seen:
                return
            seen.add(key)
        for state in range(tree.cards[node]):
            count += 1
            for child in tree.children[node]:
                visit(child, {**states, node: state})

    for root in tree.roots:
        outside = tree.contexts[root]
        for cell in itertools.product(*(range(tree.cards[v]) for v in outside)):
            visit(root, dict(zip(outside, cell, strict=True)))
    return count


@in_blocks("seed", range(40))
@pytest.mark.parametrize("shape", SHAPES)
def test_every_factor_lies_on_one_path_and_contexts_are_what_subtrees_mention(seed, shape):
    rng = np.random.default_rng(seed)
    names, cards, scopes = random_scopes(rng)
    tree = make_dtree(shape(random_order(rng, names, scopes)), scopes, cards)
    assert sorted(tree.names) == sorted(names)
    assert all(parent < node for node, parent in enumerate(tree.parents))
    mentioned = [set() for _ in names]
    for scope, home in zip(scopes, tree.homes, strict=True):
        places = {tree.names.index(name) for name in scope}
        assert home == max(places, default=-1)
        if places:
            assert places <= {home, *above(tree, home)}
            for node in (home, *above(tree, home)):
                mentioned[node] |= places
    for node in range(len(tree)):
        assert set(tree.contexts[node]) == mentioned[node] & set(above(tree, node))
        assert tree.sizes[node] == math.prod(cards[tree.names[v]] for v in tree.contexts[node])


@in_blocks("seed", range(40))
@pytest.mark.parametrize("shape", SHAPES)
def test_steps_are_counted_as_the_recursion_takes_them(seed, shape):
    rng = np.random.default_rng([seed, 1])
    names, cards, scopes = random_scopes(rng)
    tree = make_dtree(shape(random_order(rng, names, scopes)), scopes, cards)
    for kept in ((), useful(tree), tuple(np.flatnonzero(rng.random(len(tree)) < 0.5).tolist()), range(len(tree))):
        assert tree.steps(kept) == plain_steps(tree, set(kept))
    assert tree.steps(useful(tree)) == tree.steps(range(len(tree)))


def test_outside_variables_are_contexts_and_never_nodes():
    order = eliminate_graph(UndirectedGraph.parse("A - B - C; A - C"), "ABC")
    scopes = [("A", "B"), ("B", "C"), ("C",), ("A", "C")]
    for shape in SHAPES:
        tree = make_dtree(shape(order, ["C"]), scopes, {"A": 2, "B": 3, "C": 4}, ["C"])
        assert len(tree) == 2
        assert tree.names[2:] == ("C",)
        assert tree.homes[2] == -1
        assert tree.contexts[0] == (2,)
        assert tree.visits()[0][0] == 4
        assert tree.steps() == plain_steps(tree, set())


def chain(length):
    names = [f"x{i}" for i in range(length)]
    edges = list(itertools.pairwise(names))
    return eliminate_graph(UndirectedGraph(names, edges), names), edges, dict.fromkeys(names, 2)


def test_balanced_chains_are_as_low_as_a_logarithm():
    order, scopes, cards = chain(1023)
    assert make_dtree(elimination_parents(order), scopes, cards).height == 1023
    low = make_dtree(balanced_parents(order), scopes, cards)
    assert low.height <= 12
    assert low.steps() < 10**6


def grid(side):
    pixels = ss.Discrete.array("s", (side, side), states=(-1, 1))
    problem = ss.MarkovNet.ising(pixels, 0.3).problem()
    scopes = [[problem.variables[v].name for v in problem.scope(i)] for i in range(problem.num_factors)]
    order = ss.VariableElimination().prepare(problem).plan([], []).elimination
    return make_dtree(elimination_parents(order), scopes, dict.fromkeys(order.order, 2))


def test_more_memory_never_takes_more_time_on_a_grid_and_ends_as_elimination():
    tree = grid(8)
    full = sum(tree.sizes[node] for node in useful(tree))
    steps, used = [], []
    for entries in [0, *(full * 2**i // 1024 for i in range(11))]:
        kept = choose_kept(tree, entries)
        assert sum(tree.sizes[node] for node in kept) <= entries
        steps.append(tree.steps(kept))
        used.append(len(kept))
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 1000 * steps[-1]
    assert len(set(steps)) >= 10
    assert choose_kept(tree, 0) == ()
    assert choose_kept(tree, full) == useful(tree)
    # Each step multiplies one clique's entries once: the same as the cliques of the order.
    assert steps[-1] <= sum(2 ** (len(context) + 1) for context in tree.contexts)


def test_an_empty_model_has_an_empty_tree():
    order = eliminate_graph(UndirectedGraph([], []), [])
    for shape in SHAPES:
        tree = make_dtree(shape(order), [()], {})
        assert len(tree) == tree.height == tree.steps() == 0
        assert tree.homes == (-1,)
        assert choose_kept(tree, 10) == ()


def test_the_passes_over_a_large_tree_are_few(monkeypatch):
    tree, calls = grid(12), []
    everything = sum(tree.sizes[node] for node in useful(tree))
    visits = type(tree).visits
    monkeypatch.setattr(type(tree), "visits", lambda self, kept=(): calls.append(1) or visits(self, kept))
    one_by_one = choose_kept(tree, everything // 8)
    num = len(calls)
    monkeypatch.setattr(costs, "VISITS_TO_CHOOSE_RESULTS", 10 * len(tree))
    several = choose_kept(tree, everything // 8)
    assert len(calls) - num < 30 < num
    assert sum(tree.sizes[node] for node in several) <= everything // 8
    assert tree.steps(several) < 10 * tree.steps(one_by_one)
    calls.clear()
    assert sum(tree.sizes[node] for node in choose_kept(tree, everything // 8, most=1)) <= everything // 8
    assert len(calls) == 2  # nothing helps: one look, and one choice
