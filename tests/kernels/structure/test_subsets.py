"""Sums and maxima over subsets, orders and DAGs, against plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sepset.kernels.structure.subsets import (
    best_sinks,
    best_subsets,
    dag_derivatives,
    dag_descendants,
    dag_sums,
    order_descendants,
    order_sums,
    sum_subsets,
    sum_supersets,
)
from sepset.learning.structure.exact.dynamic import dense_scores
from sepset.learning.structure.exact.enumeration import all_parents, all_scores
from sepset.learning.structure.exact.scoretable import without
from support.score_tables import random_table

NEVER = np.zeros(1, np.uint8)


def subsets(s):
    return [u for u in range(s + 1) if u & ~s == 0]


def test_lattices():
    values = np.random.default_rng(0).normal(size=(2, 16))
    best, below, above = values.copy(), values.copy(), values.copy()
    best_subsets(best, NEVER)
    sum_subsets(below, NEVER)
    sum_supersets(above, NEVER)
    for row, s in itertools.product(range(2), range(16)):
        inside = values[row, subsets(s)]
        assert best[row, s] == inside.max()
        assert below[row, s] == pytest.approx(np.log(np.exp(inside).sum()))
        outside = [values[row, t] for t in range(16) if s & ~t == 0]
        assert above[row, s] == pytest.approx(np.log(np.exp(outside).sum()))


def test_minus_infinity_stays():
    values = np.full((1, 4), -np.inf)
    for kernel in (best_subsets, sum_subsets, sum_supersets):
        kernel(values, NEVER)
    assert (values == -np.inf).all()


@pytest.fixture(name="sums")
def _sums():
    table = random_table(np.random.default_rng(3), 4, density=0.7)
    sums = dense_scores(table)
    best = sums.copy()
    sum_subsets(sums, NEVER)
    best_subsets(best, NEVER)
    scale, sinks = np.empty(16), np.zeros(16, np.uint8)
    best_sinks(best, scale, sinks, NEVER)
    return table, sums, scale


def test_orders(sums):
    _, a, _ = sums
    forward, backward = np.full(16, -np.inf), np.full(16, -np.inf)
    order_sums(a, forward, backward, NEVER)
    total = 0.0
    for order in itertools.permutations(range(4)):
        before, term = 0, 0.0
        for v in order:
            term += a[v, without(before, v)]
            before |= 1 << v
        total += math.exp(term)
    assert forward[15] == backward[0] == pytest.approx(math.log(total))


def test_dags_and_derivatives(sums):
    table, a, scale = sums
    totals, slopes = np.zeros(16), np.zeros_like(a)
    dag_sums(a, scale, totals, NEVER)
    expected = np.log(np.exp(all_scores(table)).sum())
    assert math.log(totals[15]) + scale[15] == pytest.approx(expected, abs=1e-10)
    dag_derivatives(a, scale, totals, slopes, NEVER)
    step = 1e-5
    for v, s in [(0, 0), (1, 3), (3, 7)]:
        moved = []
        for sign in (1, -1):
            other = a.copy()
            other[v, s] += sign * step
            dag_sums(other, scale, totals, NEVER)
            moved.append(math.log(totals[15]))
        assert slopes[v, s] == pytest.approx((moved[0] - moved[1]) / (2 * step), abs=1e-6)


def descendants(parents, source):
    found = 1 << source
    for _ in parents:
        found |= sum(1 << v for v, mask in enumerate(parents) if mask & found)
    return found


def extensions(parents):
    """The number of orders in which every column comes after its parents."""
    size = len(parents)
    return sum(
        all(not parents[v] & ~sum(1 << u for u in order[:i]) for i, v in enumerate(order))
        for order in itertools.permutations(range(size))
    )


def test_descendants(sums):
    table, a, scale = sums
    rows, weights = all_parents(4).tolist(), np.exp(all_scores(table))
    for source in range(2):
        over_orders, over_dags = np.zeros(16), np.zeros(16)
        for parents, weight in zip(rows, weights, strict=True):
            if weight:
                reached = descendants(parents, source)
                over_dags[reached] += weight
                over_orders[reached] += weight * extensions(parents)
        found = np.empty(16)
        order_descendants(a, source, found, NEVER)
        assert np.exp(found) == pytest.approx(over_orders, rel=1e-9, abs=1e-12)
        dag_descendants(a, scale, source, found, NEVER)
        assert found * math.exp(scale[15]) == pytest.approx(over_dags, rel=1e-9, abs=1e-9)
