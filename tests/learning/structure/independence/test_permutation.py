"""The permutation test: tables given margins, sequential stops, and answers that do not depend on their order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sepset.errors import ArgumentError
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.independence.independencetest import independence_test
from sepset.learning.structure.independence.permutation import Permutation, tables_with_margins


def test_draws_follow_the_distribution_given_margins():
    table = np.array([[[2, 1], [1, 1]]])
    drawn = tables_with_margins(table, 20_000, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.sum(axis=2), np.broadcast_to(table.sum(axis=1), (20_000, 1, 2)))
    np.testing.assert_array_equal(drawn.sum(axis=3), np.broadcast_to(table.sum(axis=2), (20_000, 1, 2)))
    for first in (1, 2, 3):
        chance = math.comb(3, first) * math.comb(2, 3 - first) / math.comb(5, 3)
        assert (drawn[:, 0, 0, 0] == first).mean() == pytest.approx(chance, abs=0.02)


def test_it_agrees_with_fishers_exact_test():
    rows = {"x": [0] * 8 + [1] * 7, "y": [0] * 6 + [1] * 2 + [0] * 2 + [1] * 5}
    found = independence_test(rows, between=("x", "y"), test=Permutation(num_draws=20_000, exceedances=20_000))
    assert found.p_value == pytest.approx(stats.fisher_exact([[6, 2], [2, 5]]).pvalue, abs=0.02)


def test_draws_end_early_for_independent_variables():
    rng = np.random.default_rng(0)
    columns = Columns.of({"x": rng.integers(0, 2, 100), "y": rng.integers(0, 3, 100), "z": rng.integers(0, 2, 100)})
    p_value = Permutation(exceedances=10).bind(columns).outcome((0,), (1,), (2,)).p_value
    draws = 10 / p_value
    assert draws == pytest.approx(round(draws))
    assert draws < 1000


def test_p_values_are_valid_under_independence():
    p_values = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        rows = {"x": rng.integers(0, 2, 20), "y": rng.integers(0, 3, 20), "z": rng.integers(0, 2, 20)}
        test = Permutation(num_draws=99, exceedances=10, seed=seed)
        p_values.append(independence_test(rows, between=("x", "y"), given="z", test=test).p_value)
    share = np.mean(np.array(p_values)[:, None] <= np.array([0.05, 0.1, 0.25, 0.5]), axis=0)
    assert (share <= np.array([0.11, 0.18, 0.36, 0.62])).all()


def test_answers_do_not_depend_on_order():
    rng = np.random.default_rng(1)
    rows = {"x": rng.integers(0, 2, 50), "y": rng.integers(0, 2, 50), "z": rng.integers(0, 2, 50)}
    one = independence_test(rows, between=("x", "y"), given="z", test=Permutation())
    assert one.p_value == independence_test(rows, between=("x", "y"), given="z", test=Permutation()).p_value
    swapped = independence_test(rows, between=("y", "x"), given="z", test=Permutation())
    assert swapped.p_value == one.p_value


def test_refusals():
    with pytest.raises(ArgumentError):
        Permutation(num_draws=0)
    with pytest.raises(ArgumentError):
        Permutation(statistic="t")
