"""A* against dynamic programming, and what it says when it is ended."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.errors import TooLarge
from sepset.inference.iterate import Until
from sepset.inference.result import Status
from sepset.learning.structure.exact.astar import astar
from sepset.learning.structure.exact.dynamic import best_dag, dense_scores
from sepset.learning.structure.exact.optimum import Optimum
from support.score_tables import random_table


@pytest.mark.parametrize("tied", [False, True])
def test_equals_dynamic_programming(tied):
    rng = np.random.default_rng(11)
    for size in [0, 1, 2, 3] * 10 + [6, 8]:
        table = random_table(rng, size, tied=tied)
        found = astar(table, rng=rng)
        assert found.score == pytest.approx(best_dag(dense_scores(table)).score, abs=1e-8)
        assert table.score_of(found.parents) == pytest.approx(found.score, abs=1e-8)
        assert found.is_proved
        assert found.status is Status.COMPLETED


def test_the_heuristic_start_is_not_needed(monkeypatch):
    worst = Optimum((0,) * 7, -1e9, bound=np.inf)
    monkeypatch.setattr("sepset.learning.structure.exact.astar.incumbent", lambda *_: worst)
    table = random_table(np.random.default_rng(2), 7)
    found = astar(table)
    assert found.score == pytest.approx(best_dag(dense_scores(table)).score, abs=1e-8)
    assert found.num_steps > 7


def test_ended_with_a_bound(monkeypatch):
    monkeypatch.setattr("sepset.learning.structure.exact.astar.BLOCK", 3)
    worst = Optimum((0,) * 9, -1e9, bound=np.inf)
    monkeypatch.setattr("sepset.learning.structure.exact.astar.incumbent", lambda *_: worst)
    table = random_table(np.random.default_rng(2), 9)
    found = astar(table, until=Until(steps=4, tolerance=None))
    assert found.status is Status.STEP_LIMIT
    assert not found.is_proved
    assert found.score <= best_dag(dense_scores(table)).score <= found.bound + 1e-9


def test_more_sets_than_memory(monkeypatch):
    worst = Optimum((0,) * 14, -1e9, bound=np.inf)
    monkeypatch.setattr("sepset.learning.structure.exact.astar.incumbent", lambda *_: worst)
    monkeypatch.setattr("sepset.learning.structure.exact.astar.START", 256)
    table = random_table(np.random.default_rng(2), 14, max_parents=3)
    with pytest.raises(TooLarge, match=r"A\* knows .* sets of columns in .*; the limit is"):
        astar(table, max_bytes=1e4)
