"""Bounds by elimination in any order."""

import numpy as np
import pytest

from sepset.errors import TooLarge
from sepset.inference.map.marginal.bounds import LogFactor, MixedElimination
from support.blocks import in_blocks
from support.marginal import random_question, scored


@pytest.mark.parametrize("entries", [1, 8, 10**6])
@in_blocks("seed", range(60))
def test_bounds_are_never_below_the_best_score(seed, entries):
    rng = np.random.default_rng(seed)
    problem, evidence, over = random_question(rng)
    expected = scored(problem, evidence, over)
    elimination = MixedElimination.of(problem, evidence, over, entries)
    best = max(expected.values())
    bound = float(elimination.bound({}, elimination.order(())))
    assert bound >= best - 1e-9
    if entries == 10**6:  # all sums come first
        assert bound == pytest.approx(best, abs=1e-9)
    if over:
        last = over[0]
        rows = elimination.bound({}, elimination.order((), last=last), last)
        for x, each in enumerate(rows):
            assert each >= max(v for key, v in expected.items() if key[0] == x) - 1e-9


@in_blocks("seed", range(20))
def test_sums_of_maxima_are_never_below_maxima_of_sums(seed):
    """The inequality itself; equal if one state is best whatever the others are."""
    table = np.random.default_rng(seed).normal(size=(3, 4))
    f = (LogFactor((0, 1), table),)
    above = MixedElimination(f, (0, 1), (3, 4), frozenset({0}), 1).bound({}, [0, 1])
    exact = MixedElimination(f, (0, 1), (3, 4), frozenset({0}), 1).bound({}, [1, 0])
    assert float(exact) == pytest.approx(np.log(np.exp(table).sum(axis=1)).max())
    assert float(above) == pytest.approx(np.log(np.exp(table.max(axis=0)).sum()))
    assert above >= exact - 1e-12
    table[0] = table.max() + 1.0
    same = MixedElimination((LogFactor((0, 1), table),), (0, 1), (3, 4), frozenset({0}), 1)
    assert float(same.bound({}, [0, 1])) == pytest.approx(float(same.bound({}, [1, 0])))


def test_tables_too_large_are_refused_before_they_are_made():
    wide = LogFactor(tuple(range(30)), np.zeros((1,) * 30))
    with pytest.raises(TooLarge, match="search='local'"):
        MixedElimination((wide,), tuple(range(30)), (2,) * 30, frozenset(), 1).order(())
