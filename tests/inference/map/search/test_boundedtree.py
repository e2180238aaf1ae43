"""Bounds of subtrees are never below their best values, and caches hold these values."""

import itertools

import numpy as np
import pytest

from sepset.inference.map.search.boundedtree import BoundedTree
from sepset.kernels.map.andor import AT, and_or, evaluate
from support.blocks import in_blocks
from support.sparse import joint, sparse_wiring

NEVER = np.zeros(1, np.uint8)


def small_tree(rng, *, entries, cache=10**6):
    wiring = sparse_wiring(rng, n=6, factors=6, zeros=0.1).consistent
    messages = rng.normal(size=int(wiring.wires.messages[-1]))
    return wiring, BoundedTree.of(wiring, messages, entries=entries, cache=cache)


def best_below(tree, codes, d, memory):
    """The best value of a subtree given the states above, by recursion over all states."""
    key = d, tuple(codes[list(tree.pseudo.contexts[d])])
    if key not in memory:
        values = []
        for x in range(tree.pseudo.cards[d]):
            codes[d] = x
            own = np.zeros(tree.pseudo.cards[d])
            evaluate(tree.tree, codes, d, d, own, 0)
            values.append(own[x] + sum(best_below(tree, codes.copy(), c, memory) for c in tree.pseudo.children[d]))
        memory[key] = max(values)
    return memory[key]


@in_blocks("seed", range(25))
def test_bounds_of_subtrees_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    wiring, tree = small_tree(rng, entries=int(rng.integers(1, 9)))
    memory = {}
    n = len(tree.pseudo.parents)
    best = tree.constant + best_below(tree, np.zeros(n, np.int64), 0, memory)
    assert best == pytest.approx(joint(wiring).max()) or best == joint(wiring).max()
    for d in range(1, n):
        above, parent = tree.pseudo.path(d)[1:-1], tree.pseudo.parents[d]
        for states in itertools.product(*(range(tree.pseudo.cards[e]) for e in above)):
            codes, bounds = np.zeros(n, np.int64), np.zeros(tree.pseudo.cards[parent])
            codes[above] = states
            evaluate(tree.tree, codes, n + d, parent, bounds, 0)
            assert best_below(tree, codes.copy(), d, memory) <= bounds[codes[parent]] + 1e-9


@in_blocks("seed", range(25))
def test_caches_hold_the_best_values(seed):
    rng = np.random.default_rng(100 + seed)
    wiring, tree = small_tree(rng, entries=int(rng.integers(1, 5)), cache=int(rng.choice([20, 10**6])))
    frames, memory, best = tree.frames(), {}, joint(wiring).max()
    while frames.counters[AT] >= 0:
        and_or(tree.tree, frames, 9, 1e-13, NEVER)
        assert tree.bound(frames) >= best - 1e-9
    n = len(tree.pseudo.parents)
    if best > -np.inf:
        assert tree.bound(frames) == pytest.approx(best)
        codes = tree.solution(frames, np.zeros(n - 1, np.int64))
        assert wiring.log_value(codes) == pytest.approx(best)
    for d in np.flatnonzero(tree.tree.caches >= 0)[1:]:
        context = list(tree.pseudo.contexts[d])
        for at, states in enumerate(itertools.product(*(range(tree.pseudo.cards[e]) for e in context))):
            codes = np.zeros(n, np.int64)
            codes[context] = states
            value, upper = (each[tree.tree.caches[d] + at] for each in (frames.values, frames.uppers))
            true = best_below(tree, codes, int(d), memory)
            assert upper >= true - 1e-9
            assert value == -np.inf or value == pytest.approx(true)
