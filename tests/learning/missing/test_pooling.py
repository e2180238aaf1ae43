"""Rubin's rules against their formulas written out, and against coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm, t

import sepset as ss
from sepset.learning.missing.pooling import pool_estimates
from support.tolerances import EXACT


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


def test_numbers_by_hand():
    """Estimates 1, 2, 3 with variances 0.5, 0.7, 0.6: T = 0.6 + 4/3, r = 20/9, freedom 2 (1 + 9/20)^2 = 4.205."""
    found = pool_estimates([1.0, 2.0, 3.0], [0.5, 0.7, 0.6])
    assert float(found.estimate) == 2.0
    assert float(found.within) == pytest.approx(0.6, rel=1e-15)
    assert float(found.between) == 1.0
    assert float(found.variance) == pytest.approx(29 / 15, rel=1e-15)
    assert float(found.relative_increase) == pytest.approx(20 / 9, rel=1e-14)
    assert float(found.degrees_of_freedom) == pytest.approx(4.205, rel=1e-14)
    assert float(found.missing_information) == pytest.approx((20 / 9 + 2 / 7.205) / (29 / 9), rel=1e-14)
    low, high = found.interval(0.95)
    assert float(high - low) / 2 == pytest.approx(t.ppf(0.975, 4.205) * np.sqrt(29 / 15), rel=1e-10)


def test_freedom_where_nearly_all_is_missing():
    """Variances of 1e-20 next to estimates that are 1 apart: what is observed is no rest of one."""
    found = pool_estimates([0.0, 1.0], [1e-20, 1e-20], complete_freedom=50)
    observed = 51 / 53 * 50 * 1e-20 / 0.75
    assert float(found.degrees_of_freedom) == pytest.approx(observed, rel=1e-14)


def test_intervals_cover_as_they_say_and_those_of_one_copy_do_not():
    """Cells hidden by what is seen: draws from the posterior of the parameters, one model a copy, then pooled.

    95% intervals for P(y) in 200 simulations: the pooled ones hold the truth about 190 times; those that take one
    completed dataset for real data hold it too rarely, and complete cases are biased.
    """
    x, y = ss.Discrete("x"), ss.Discrete("y")
    truth = ss.BayesNet(ss.TableCPD(x, [0.5, 0.5]), ss.TableCPD(y, [[0.8, 0.2], [0.3, 0.7]], given=x))
    rng, count, copies = np.random.default_rng(1), 120, 8
    held = {"pooled": 0, "single": 0, "complete": 0}
    for _ in range(200):
        codes = truth.sample(count, rng).matrix().astype(np.int64)
        codes[rng.random(count) < np.where(codes[:, 0] == 1, 0.7, 0.2), 1] = -1
        rows = ss.Dataset.from_codes([x, y], codes)
        seen = codes[codes[:, 1] >= 0]
        posterior = ss.fit(truth, ss.Dataset.from_codes([x, y], seen), ss.Bayes(ss.priors.Dirichlet(1.0))).posterior
        models = [posterior.sample_model(rng) for _ in range(copies)]
        shares = np.array(
            [full.codes("y").mean() for full in ss.impute(models, rows, kind="draw", copies=copies, seed=rng).datasets]
        )
        variances = shares * (1 - shares) / count
        low, high = pool_estimates(shares, variances, complete_freedom=count - 1).interval(0.95)
        held["pooled"] += bool(low <= 0.45 <= high)
        held["single"] += bool(abs(shares[0] - 0.45) <= 1.96 * np.sqrt(variances[0]))
        own = seen[:, 1].mean()
        held["complete"] += bool(abs(own - 0.45) <= 1.96 * np.sqrt(own * (1 - own) / len(seen)))
    assert 181 <= held["pooled"] <= 199
    assert held["single"] < 178
    assert held["complete"] < 150


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
        with pytest.raises(ss.errors.DataError):
            pool_estimates(q, u)
    with pytest.raises(ss.errors.ArgumentError, match="level"):
        pool_estimates([1.0, 2.0], [1.0, 1.0]).interval(95)


def test_no_freedom_has_no_bound():
    """Copies differ, complete data would have no variance, and small samples are corrected for: nothing is known."""
    found = pool_estimates([1.0, 2.0], [0.0, 0.0], complete_freedom=10)
    assert found.degrees_of_freedom == 0
    assert [float(end) for end in found.interval()] == [-np.inf, np.inf]
