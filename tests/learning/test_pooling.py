"""Rubin's rules against their formulas written out, and against coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm, t

import sepset as ss
from sepset.learning.pooling import pool_estimates
from tolerances import EXACT


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_the_rules(m, seed):
    rng = np.random.default_rng(seed)
    q, u = rng.standard_normal(m), rng.random(m) + 0.01
    found = pool_estimates(q, u, complete_freedom=50)
    mean = sum(q) / m
    between = sum((x - mean) ** 2 for x in q) / (m - 1)
    total = sum(u) / m + between + between / m
    assert float(found.estimate) == pytest.approx(mean, abs=EXACT)
    assert float(found.variance) == pytest.approx(total, rel=1e-12)
    share = (between + between / m) / total
    old, observed = (m - 1) / share**2, 51 / 53 * 50 * (1 - share)
    freedom = old * observed / (old + observed)
    assert float(found.degrees_of_freedom) == pytest.approx(freedom, rel=1e-9)
    low, high = found.interval(0.9)
    assert (float(low), float(high)) == pytest.approx(t.interval(0.9, freedom, mean, np.sqrt(total)), rel=1e-9)
    r = (1 + 1 / m) * between / (sum(u) / m)
    assert float(pool_estimates(q, u).degrees_of_freedom) == pytest.approx((m - 1) * (1 + 1 / r) ** 2, rel=1e-9)
    assert float(found.missing_information) == pytest.approx((r + 2 / (freedom + 3)) / (r + 1), rel=1e-9)


def test_copies_that_agree_add_nothing():
    found = pool_estimates([2.0, 2.0, 2.0], [0.25, 0.25, 0.25])
    assert float(found.degrees_of_freedom) == np.inf
    assert [float(end) for end in found.interval()] == pytest.approx(norm.interval(0.95, 2.0, 0.5))
    assert float(found.missing_information) == 0.0
    assert repr(found) == "PooledEstimate(2, standard error 0.5, 3 copies)"


def test_arrays_and_no_variance_at_all():
    found = pool_estimates([[1.0, 2.0], [1.0, 3.0]], [[0.0, 0.0], [0.0, 0.0]])
    assert found.estimate.tolist() == [1.0, 2.5]
    assert found.variance.tolist() == [0.0, 0.75]
    assert found.missing_information[1] == 1.0
    assert "(2,) estimates" in repr(found)


def test_what_is_refused():
    for q, u in (([1.0], [1.0]), (1.0, 1.0), ([1.0, 2.0], [1.0]), ([1.0, np.nan], [1.0, 1.0]), ([1.0, 2.0], [1.0, -1])):
        with pytest.raises(ss.DataError):
            pool_estimates(q, u)
    with pytest.raises(ss.DataError, match="level"):
        pool_estimates([1.0, 2.0], [1.0, 1.0]).interval(95)


def test_no_freedom_has_no_bound():
    """Copies differ, complete data would have no variance, and small samples are corrected for: nothing is known."""
    found = pool_estimates([1.0, 2.0], [0.0, 0.0], complete_freedom=10)
    assert found.degrees_of_freedom == 0
    assert [float(end) for end in found.interval()] == [-np.inf, np.inf]
