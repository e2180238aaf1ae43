"""Outcomes, clocks and first DAGs of searches over score tables."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.inference.iterate import Until
from sepset.inference.result import Status
from sepset.learning.structure.exact.dynamic import best_dag, dense_scores
from sepset.learning.structure.exact.optimum import Clock, Optimum, along, incumbent, relaxed
from support.score_tables import random_table


def test_gap_and_proof():
    assert Optimum((0,), -5.0, bound=-5.0).is_proved
    assert Optimum((0,), -5.0, bound=-4.0).gap == 1.0
    assert not Optimum((0,), -5.0, bound=-4.0).is_proved


def test_clocks():
    assert Clock(None).status(10**9) is None
    assert Clock(Until(steps=3)).status(3) is Status.STEP_LIMIT
    assert Clock(Until(steps=None, seconds=0.0)).status(0) is Status.TIME_LIMIT


def test_first_dags_lie_between_the_bounds():
    rng = np.random.default_rng(0)
    for size in [1, 3, 6]:
        table = random_table(rng, size)
        found, best = incumbent(table, rng), best_dag(dense_scores(table)).score
        assert found.score <= best + 1e-9 <= relaxed(table) + 2e-9
        assert table.score_of(found.parents) == pytest.approx(found.score)
        table.graph(found.parents)
        parents, score = along(table, np.arange(size))
        assert all(mask < 1 << v for v, mask in enumerate(parents))
        assert table.score_of(parents) == pytest.approx(score)
