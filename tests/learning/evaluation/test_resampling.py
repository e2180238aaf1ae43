"""The bootstrap and permutations against enumeration and scipy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.learning.evaluation.resampling import (
    BootstrapResult,
    bootstrap,
    bootstrap_mean,
    paired_comparison,
    permutation_test,
    shuffled,
)


def test_the_bootstrap_of_a_mean_has_the_known_spread():
    values = np.random.default_rng(0).gamma(2.0, size=200)
    found = bootstrap_mean(values, num_draws=20_000, seed=1)
    assert found.estimate == pytest.approx(values.mean())
    expected = values.std(ddof=0) / math.sqrt(200)
    assert found.standard_error == pytest.approx(expected, rel=5 / math.sqrt(2 * 20_000))
    assert abs(found.bias) < 5 * expected / math.sqrt(20_000)


@pytest.mark.parametrize("kind", ["percentile", "basic", "bca"])
def test_intervals_agree_with_scipy(kind):
    values = np.random.default_rng(3).exponential(size=60)
    scipys = {"bca": "BCa"}.get(kind, kind)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=40_000, method=scipys, rng=np.random.default_rng(0))
    ours = bootstrap_mean(values, num_draws=40_000, seed=1).interval(0.95, kind)
    spread = values.std() / math.sqrt(60)
    np.testing.assert_allclose(ours, theirs.confidence_interval, atol=0.05 * spread)


def test_the_general_bootstrap_is_the_quick_one():
    data = Dataset({"x": np.random.default_rng(0).integers(0, 2, 30).tolist()})
    figure = lambda rows: float(rows.codes("x").mean())  # noqa: E731
    slow = bootstrap(data, figure, num_draws=3000, seed=5, jackknife=True)
    quick = bootstrap_mean(data.codes("x"), num_draws=3000, seed=6)
    assert slow.estimate == pytest.approx(quick.estimate)
    np.testing.assert_allclose(slow.jackknife, quick.jackknife)
    assert slow.standard_error == pytest.approx(quick.standard_error, rel=0.1)
    assert bootstrap(data, figure, num_draws=5, seed=5).draws.tolist() == slow.draws[:5].tolist()


def test_weights_are_drawn_with_their_rows():
    found = bootstrap_mean([1.0, math.inf], [1.0, 0.0], num_draws=50)
    assert found.estimate == 1.0
    assert set(found.draws[~np.isnan(found.draws)]) == {1.0}


def test_constant_values_have_a_point_interval():
    for kind in ("percentile", "basic", "bca"):
        assert bootstrap_mean([2.0] * 5, num_draws=20).interval(kind=kind) == (2.0, 2.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-8, 8).map(lambda k: k / 4), min_size=1, max_size=7))
def test_sign_tests_against_enumeration(differences):
    d = np.array(differences)
    found = paired_comparison(d, np.zeros(len(d)))
    signed = [abs(float(np.dot(s, d))) for s in itertools.product([-1, 1], repeat=len(d))]
    expected = np.mean([value >= abs(d.sum()) - 1e-9 for value in signed])
    assert found.p_value == pytest.approx(expected)
    means = [np.mean(c) for k in range(1, len(d) + 1) for c in itertools.combinations(differences, k)]
    np.testing.assert_allclose(np.sort(found.subset_means), np.sort(means), atol=1e-12)


def test_the_interval_holds_the_shifts_that_the_test_does_not_refuse():
    d = np.random.default_rng(4).normal(0.3, 1.0, 10)
    low, high = paired_comparison(d, np.zeros(10)).interval(0.9)
    inside, outside = np.linspace(low, high, 9)[1:-1], [low - 0.05, high + 0.05]
    p = {x: paired_comparison(d - x, np.zeros(10)).p_value for x in (*inside, *outside)}
    assert min(p[x] for x in inside) > 0.1
    assert max(p[x] for x in outside) < 0.11


def test_intervals_of_signs_cover_as_often_as_they_say():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        low, high = paired_comparison(rng.normal(1.0, 2.0, 40), np.zeros(40), num_draws=400, seed=rng).interval(0.9)
        covered += low <= 1.0 <= high
    assert abs(covered / 300 - 0.9) < 5 * math.sqrt(0.09 / 300)


def test_few_rows_cannot_be_sure():
    assert paired_comparison([1.0, 2.0], [0.0, 0.0]).interval(0.95) == (-math.inf, math.inf)


def test_random_signs_agree_with_scipy():
    rng = np.random.default_rng(7)
    a, b = rng.normal(0.2, 1.0, 60), rng.normal(0.0, 1.0, 60)
    ours = paired_comparison(a, b, num_draws=20_000, seed=1)
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y: np.mean(x - y),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(2),
    )
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=0.02)
    assert ours.mean == pytest.approx((a - b).mean())


def test_memory_does_not_grow_with_the_number_of_signs():
    """Two thousand random subsets of 20,000 rows are not drawn at once: a quarter of that memory is plenty."""
    import tracemalloc

    d = np.random.default_rng(0).normal(0.0, 1.0, 20_000)
    tracemalloc.start()
    found = paired_comparison(d, np.zeros(len(d)), num_draws=2000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2000 * len(d) * 8 / 4
    sums = found.subset_means * len(d) / 2  # subsets have about half of the rows
    assert sums.std() == pytest.approx(math.sqrt((d**2).sum()) / 2, rel=0.1)


def test_frames_will_do():
    rows = {"x": [0, 1, 1, 0, 1], "y": [0, 1, 1, 0, 0]}
    data = Dataset(rows)
    assert (
        bootstrap(rows, agreement, num_draws=20).draws.tolist()
        == bootstrap(data, agreement, num_draws=20).draws.tolist()
    )
    frame = permutation_test(rows, agreement, column="y", num_draws=20)
    assert frame.draws.tolist() == permutation_test(data, agreement, column="y", num_draws=20).draws.tolist()


def agreement(rows: Dataset) -> float:
    return float((rows.codes("x") == rows.codes("y")).mean())


def test_permutations_find_dependence_and_independence():
    x = np.random.default_rng(0).integers(0, 2, 60)
    noise = np.random.default_rng(1).integers(0, 2, 60)
    found = permutation_test(Dataset({"x": x, "y": x}), agreement, column="y", num_draws=199, seed=2)
    assert found.p_value == 1 / 200
    low, high = found.interval()
    assert low < 0.5 < high < 1.0
    assert permutation_test(Dataset({"x": x, "y": noise}), agreement, column="y", num_draws=199, seed=2).p_value > 0.02


def test_p_values_of_permutations_are_uniform_under_the_null():
    rng = np.random.default_rng(0)
    p = []
    for _ in range(120):
        rows = Dataset({"x": rng.normal(size=12), "y": rng.normal(size=12)})
        figure = lambda d: float(np.dot(d.values("x"), d.values("y")))  # noqa: E731
        p.append(permutation_test(rows, figure, column="y", num_draws=39, seed=rng).p_value)
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_shuffling_keeps_the_other_columns_and_weights():
    rows = Dataset({"x": [0, 1, 2, 3], "y": [0.5, 1.5, None, 3.5]}, weights=[1, 2, 3, 4])
    found = shuffled(rows, "y", np.random.default_rng(0))
    assert found.codes("x").tolist() == [0, 1, 2, 3]
    assert found.weights.tolist() == [1, 2, 3, 4]
    assert sorted(map(str, found.values("y").tolist())) == sorted(map(str, rows.values("y").tolist()))


def test_bad_settings_are_refused():
    with pytest.raises(ArgumentError, match="level"):
        bootstrap_mean([1.0, 2.0]).interval(1.5)
    with pytest.raises(ArgumentError, match="'percentile', 'basic' or 'bca'"):
        bootstrap_mean([1.0, 2.0]).interval(kind="t")
    with pytest.raises(ScopeError, match="jackknife"):
        BootstrapResult(1.0, np.array([1.0, 2.0])).interval(kind="bca")
    with pytest.raises(DataError, match="at least one row"):
        bootstrap_mean([])
    with pytest.raises(ArgumentError, match="num_draws"):
        bootstrap_mean([1.0], num_draws=0)
    with pytest.raises(DataError, match="finite losses on the same rows"):
        paired_comparison([1.0, math.inf], [0.0, 0.0])
    with pytest.raises(DataError, match=r"shapes \(1,\) and \(2,\)"):
        paired_comparison([1.0], [0.0, 0.0])


def test_infinite_figures_have_infinite_ends():
    """One row in ten is impossible: most resamples hold it, some do not."""
    found = bootstrap_mean([math.inf] + [1.0] * 9, num_draws=400)
    low, high = found.interval(0.9)
    assert (low, high) == (1.0, math.inf)
