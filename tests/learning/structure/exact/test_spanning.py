"""Spanning trees, forests and branchings against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree

from sepset.learning.structure.exact.spanning import maximum_branching, spanning_tree


def parent_vectors(size, first):
    """Every arborescence in which nodes marked first have only such parents, the root marked if any is."""
    for parents in itertools.product(range(-1, size), repeat=size):
        roots = [i for i, p in enumerate(parents) if p < 0]
        if len(roots) != 1 or (any(first) and not first[roots[0]]):
            continue
        if any(p >= 0 and first[i] and not first[p] for i, p in enumerate(parents)):
            continue
        if all(reaches(parents, i) for i in range(size)):
            yield parents


def reaches(parents, node):
    for _ in parents:
        if parents[node] < 0:
            return True
        node = parents[node]
    return parents[node] < 0


@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.booleans(), st.data())
def test_trees_are_the_best_of_all(size, seed, tied, data):
    rng = np.random.default_rng(seed)
    gains = rng.integers(3, size=(size, size)).astype(float) if tied else rng.random((size, size))
    gains = gains + gains.T
    first = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    found = spanning_tree(gains, first)
    every = list(parent_vectors(size, first))

    def total(parents):
        return sum(gains[i, p] for i, p in enumerate(parents) if p >= 0)

    assert tuple(found) in every
    assert total(found) == pytest.approx(max(map(total, every)), abs=1e-12)


def test_each_edge_of_a_large_graph_is_looked_at_a_few_times():
    """Against SciPy's tree, and by the number of numbers that are read."""
    rng, size = np.random.default_rng(0), 300
    gains = rng.random((size, size))
    read = CountedReads.of(gains + gains.T)
    found = spanning_tree(read, [True] * size)
    total = sum(float(gains[i, p] + gains[p, i]) for i, p in enumerate(found) if p >= 0)
    assert total == pytest.approx(-minimum_spanning_tree(-(gains + gains.T)).sum())
    assert read.num_read <= 4 * size**2


class CountedReads(np.ndarray):
    """An array that counts the numbers that indexing returns."""

    @classmethod
    def of(cls, values):
        found = values.view(cls)
        found.num_read = 0
        return found

    def __getitem__(self, key):
        found = np.asarray(super().__getitem__(key))
        self.num_read += found.size
        return found


def test_ties_go_to_what_comes_first():
    assert spanning_tree(np.ones((4, 4)), [True] * 4) == [-1, 0, 0, 0]
    noisy = np.ones((4, 4)) + 1e-15 * np.arange(16).reshape(4, 4)
    assert spanning_tree(noisy + noisy.T, [True] * 4) == [-1, 0, 0, 0]
    assert spanning_tree(np.ones((3, 3)), [False, True, False]) == [1, -1, 0]
    infinite = np.array([[0.0, 1.0, np.inf], [1.0, 0.0, np.inf], [np.inf, np.inf, 0.0]])
    assert spanning_tree(infinite, [True] * 3) == [-1, 2, 0]
    assert spanning_tree(np.zeros((0, 0)), []) == []


@given(st.integers(0, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_forests_use_only_edges_that_gain(size, seed, tied):
    rng = np.random.default_rng(seed)
    gains = rng.integers(-2, 3, size=(size, size)).astype(float) if tied else rng.normal(size=(size, size))
    gains = gains + gains.T
    found = spanning_tree(gains, [True] * size, above=0.0)
    assert all(p < 0 or gains[i, p] > 0 for i, p in enumerate(found))
    best = max((total(gains, p) for p in forests(size)), default=0.0)
    assert total(gains, found) == pytest.approx(best, abs=1e-12)


def forests(size):
    """Every way of giving each node at most one parent without a cycle."""
    for parents in itertools.product(range(-1, size), repeat=size):
        if all(reaches(parents, i) for i in range(size)):
            yield parents


def total(gains, parents):
    return sum(gains[p, i] for i, p in enumerate(parents) if p >= 0)


@given(st.integers(0, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_branchings_against_enumeration(size, seed, tied):
    rng = np.random.default_rng(seed)
    gains = rng.integers(-2, 4, size=(size, size)).astype(float) if tied else rng.normal(0.3, 1.0, size=(size, size))
    gains[rng.random((size, size)) < 0.2] = -np.inf
    found = maximum_branching(gains)
    every = {p: total(gains, p) for p in forests(size)}
    assert tuple(found) in every
    assert total(gains, found) == pytest.approx(max(every.values()), abs=1e-12)


def test_an_infinite_gain_is_always_used():
    gains = np.array([[0.0, 5.0, 5.0], [np.inf, 0.0, 1.0], [-np.inf, 0.0, 0.0]])
    assert maximum_branching(gains) == [1, -1, 0]
