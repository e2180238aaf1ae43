"""Loops over score tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.kernels.structure.tables import best_in, improve_order, undominated
from support.score_tables import random_table

NEVER = np.zeros(1, np.uint8)


def test_the_best_set_inside_a_mask():
    table = random_table(np.random.default_rng(0), 4, density=0.5)
    for child, inside in itertools.product(range(4), range(16)):
        masks, scores = table.of(child)
        within = scores[masks & ~inside == 0]
        at = best_in(table.starts, table.masks, child, inside)
        assert table.scores[at] == within.max() if len(within) else at == -1


def test_sets_without_a_better_subset():
    starts, masks = np.array([0, 4]), np.array([0b110, 0b010, 0b100, 0b000])
    assert undominated(starts, masks, np.array([3.0, 3.0, 2.0, 1.0])).tolist() == [0, 1, 1, 1]
    assert undominated(starts, masks, np.array([4.0, 3.0, 3.0, 3.0])).tolist() == [1, 0, 0, 1]


def test_no_move_improves_an_order():
    table = random_table(np.random.default_rng(1), 5)

    def along(order):
        before, total = 0, 0.0
        for v in order:
            total += table.best(v, before)[1]
            before |= 1 << v
        return total

    order = np.arange(5)
    first = along(order)
    score = improve_order(table.starts, table.masks, table.scores, order, NEVER)
    assert sorted(order) == list(range(5))
    assert score == pytest.approx(along(order))
    assert score >= first
    for v, place in itertools.product(range(5), range(5)):
        rest = [u for u in order if u != v]
        assert along([*rest[:place], v, *rest[place:]]) <= score + 1e-6
