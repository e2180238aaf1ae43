"""Statistics of contingency tables against scipy and published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from sepset.learning.structure.independence import contingency

COINS = np.array([[[27.0, 22.0], [25.0, 26.0]]])
FEW_COINS = np.array([[[3.0, 6.0], [5.0, 6.0]]])


def test_published_numbers():
    assert contingency.pearson_statistic(COINS).sum() == pytest.approx(0.370405, abs=5e-7)
    assert contingency.g_statistic(COINS).sum() == pytest.approx(0.370660, abs=5e-7)
    assert contingency.g_statistic(COINS).sum() / 200 == pytest.approx(0.00185330, abs=5e-9)
    assert contingency.pearson_statistic(FEW_COINS).sum() == pytest.approx(0.303030, abs=5e-7)
    assert contingency.g_statistic(FEW_COINS).sum() / 40 == pytest.approx(0.00762521, abs=5e-9)


@given(st.lists(st.integers(0, 9), min_size=24, max_size=24))
def test_strata_add_and_empty_cells_do_not_count(cells):
    table = np.array(cells, dtype=float).reshape(2, 3, 4)
    for statistic in (contingency.g_statistic, contingency.pearson_statistic):
        parts = statistic(table)
        assert parts.sum() == pytest.approx(sum(statistic(stratum[None]).sum() for stratum in table))
        assert (parts >= 0).all()
        assert np.isfinite(parts).all()
        padded = np.pad(table, ((0, 1), (1, 0), (0, 2)))
        assert statistic(padded).sum() == pytest.approx(parts.sum())
        assert contingency.degrees_of_freedom(padded) == contingency.degrees_of_freedom(table)
    for stratum in table:
        small = stratum[stratum.any(axis=1)][:, stratum.any(axis=0)]
        if small.size and min(small.shape) > 1:
            assert contingency.degrees_of_freedom(stratum[None]) == stats.chi2_contingency(small).dof


def test_independent_tables_have_statistic_zero():
    table = np.outer([1.0, 2.0, 3.0], [2.0, 5.0])[None]
    assert contingency.g_statistic(table).sum() == pytest.approx(0, abs=1e-12)
    assert contingency.pearson_statistic(table).sum() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(contingency.expected_counts(table), table)


def test_sparse_tables_are_warned_about():
    assert contingency.sparse_warnings(COINS) == ()
    (warning,) = contingency.sparse_warnings(FEW_COINS)
    assert warning.startswith("2 of 4 cells")


def test_shrinking_ends_at_uniform_and_at_shares():
    assert contingency.shrunken_information(np.array([[[1.0, 0.0], [0.0, 1.0]]])) < np.log(2)
    many = 1e9 * np.array([[[0.4, 0.1], [0.1, 0.4]]])
    assert contingency.shrunken_information(many) == pytest.approx(contingency.g_statistic(many).sum() / 2e9, rel=1e-6)
    assert contingency.shrunken_information(np.array([[[1.0, 0.0], [0.0, 0.0]]])) == pytest.approx(0)
    padded = np.concatenate([many / 1e7, np.zeros_like(many)])
    assert contingency.shrunken_information(many / 1e7, 8) == pytest.approx(contingency.shrunken_information(padded))
