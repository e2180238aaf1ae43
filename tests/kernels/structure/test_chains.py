"""Chains over orders keep the exact distribution; numbers of topological orders."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sepset.kernels.structure.chains import log_extensions, run_orders
from sepset.learning.structure.exact.scoretable import bits
from support.stationary import NEVER, TABLE, all_graphs, assert_same, uniforms


@pytest.mark.parametrize("kind", [(0.0, 0.5), (0.5, 1.0)], ids=["neighbors", "any two places"])
def test_a_step_over_orders_keeps_their_distribution(kind):
    graphs, shares = all_graphs()
    orders = list(itertools.permutations(range(4)))
    weights = np.array([shares[[follows(g, order) for g in graphs]].sum() for order in orders])
    start = np.random.default_rng(0).choice(len(orders), 6000, p=weights / weights.sum())
    ends = []
    for place, row in zip(start, uniforms(6000, *kind), strict=True):
        state = np.array(orders[place])
        run_orders(state, *TABLE.arrays, row[None], 1.0, NEVER)
        ends.append(orders.index(tuple(state.tolist())))
    assert_same(ends, weights / weights.sum(), start)


def follows(graph, order):
    return all(order.index(a) < order.index(b) for a, b in np.argwhere(graph))


def test_topological_orders():
    rng = np.random.default_rng(1)
    for _ in range(20):
        parents = [int(rng.integers(0, 1 << v)) for v in range(5)]
        count = sum(
            all(set(bits(parents[v])) <= set(order[:i]) for i, v in enumerate(order))
            for order in itertools.permutations(range(5))
        )
        assert log_extensions(np.array(parents)) == pytest.approx(math.log(count))
