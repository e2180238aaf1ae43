"""Every kind of step over ordered partitions keeps the exact distribution over them."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.structure.partitions import run_partitions
from support.stationary import NEVER, TABLE, all_graphs, assert_same, uniforms


def levels_of(graph):
    levels = np.zeros(4, np.int64)
    for _ in range(4):
        for a, b in np.argwhere(graph):
            levels[b] = max(levels[b], levels[a] + 1)
    return tuple(levels.tolist())


@pytest.mark.parametrize(
    ("kind", "heat"),
    [((0.0, 0.1), 1.0), ((0.1, 0.5), 1.0), ((0.5, 0.75), 1.0), ((0.75, 1.0), 1.0), ((0.0, 1.0), 0.5)],
    ids=["reversals", "moves of one column", "exchanges", "splits and joins", "heated"],
)
def test_a_step_keeps_the_distribution(kind, heat):
    graphs, shares = all_graphs()
    weights: dict[tuple[int, ...], float] = {}
    for graph, share in zip(graphs, shares, strict=True):
        weights[levels_of(graph)] = weights.get(levels_of(graph), 0.0) + share
    states = list(weights)
    assert len(states) == 75
    wanted = np.array(list(weights.values())) ** heat
    wanted /= wanted.sum()
    start = np.random.default_rng(0).choice(len(states), 6000, p=wanted)
    ends = []
    for place, row in zip(start, uniforms(6000, *kind), strict=True):
        levels = np.array(states[place])
        score, _ = run_partitions(levels, *TABLE.arrays, row[None], heat, NEVER)
        ends.append(states.index(tuple(levels.tolist())))
        assert np.isfinite(score)
    assert_same(ends, wanted, start)


def test_the_score_is_that_of_the_last_state():
    levels = np.zeros(4, np.int64)
    for row in uniforms(40):
        score, _ = run_partitions(levels, *TABLE.arrays, np.stack([row] * 7), 1.0, NEVER)
        again, _ = run_partitions(levels.copy(), *TABLE.arrays, row[None][:0], 1.0, NEVER)
        assert score == pytest.approx(again)
        assert set(levels) == set(range(levels.max() + 1))
