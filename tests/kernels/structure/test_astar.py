"""Pattern databases, and the hash table of known sets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.kernels.structure.astar import pattern_costs, rehash
from support.score_tables import random_table

NEVER = np.zeros(1, np.uint8)


def test_patterns_are_the_best_orders_of_a_group():
    table = random_table(np.random.default_rng(0), 5)
    group = np.array([3, 0, 4])
    costs = np.empty(8)
    pattern_costs(table.starts, table.masks, table.scores, group, costs, NEVER)
    for subset in range(8):
        chosen = [int(v) for i, v in enumerate(group) if subset >> i & 1]
        every = []
        for order in itertools.permutations(chosen):
            inside, total = 31 ^ sum(1 << v for v in chosen), 0.0
            for v in order:
                total -= table.best(v, inside)[1]
                inside |= 1 << v
            every.append(total)
        assert costs[subset] == pytest.approx(min(every))


def test_a_larger_hash_table_has_the_same_sets():
    keys, costs, last = np.zeros(4, np.int64), np.zeros(4), np.zeros(4, np.uint8)
    keys[:2], costs[:2], last[:2] = [6, 9], [1.0, 2.0], [3, 4]
    more = np.zeros(16, np.int64), np.zeros(16), np.zeros(16, np.uint8)
    rehash(keys, costs, last, *more)
    at = {int(k): i for i, k in enumerate(more[0]) if k}
    assert set(at) == {6, 9}
    assert (more[1][at[9]], more[2][at[6]]) == (2.0, 3)
