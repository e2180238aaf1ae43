from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from sepset.errors import ArgumentError, DataError
from sepset.learning.estimation.proportions import (
    hoeffding_bound_size,
    hoeffding_error,
    interval_coverage,
    proportion_interval,
    rows_needed,
)
from support.tolerances import CLOSE, printed

GRID = np.linspace(0.0, 1.0, 101)


@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_intervals_are_scipys(successes, trials, level):
    successes = min(successes, trials)
    exact = stats.binomtest(successes, trials)
    for kind, name in (("wilson", "wilson"), ("clopper-pearson", "exact")):
        found, expected = (
            proportion_interval(successes, trials, level=level, kind=kind),
            exact.proportion_ci(level, name),
        )
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=CLOSE, abs=1e-12)
        assert successes / trials in found


@pytest.mark.parametrize("trials", [1, 7, 30])
@pytest.mark.parametrize("kind", ["wilson", "clopper-pearson", "hoeffding"])
def test_coverage_is_enumeration(trials, kind):
    for p in (0.0, 0.03, 0.5, 0.77, 1.0):
        inside = [k for k in range(trials + 1) if p in proportion_interval(k, trials, level=0.9, kind=kind)]
        expected = stats.binom(trials, p).pmf(inside).sum()
        assert interval_coverage(trials, p, level=0.9, kind=kind) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["clopper-pearson", "hoeffding"])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_guaranteed_intervals_keep_their_promise(kind, level):
    for trials in (1, 5, 23, 100):
        assert (interval_coverage(trials, GRID, level=level, kind=kind) >= level - 1e-12).all()


def test_wilson_is_near_the_level_but_no_guarantee():
    found = interval_coverage(50, GRID[1:-1])
    assert found.min() < 0.95
    assert abs(found.mean() - 0.95) < 0.01
    widths = [proportion_interval(20, 50, kind=k).half_width for k in ("wilson", "clopper-pearson", "hoeffding")]
    assert widths == sorted(widths)


def test_published_sample_sizes():
    # A poll of plus or minus 2 points at 95%, and epsilon = 0.05, delta = 0.01.
    assert rows_needed(0.02, kind="normal", proportion=0.61) == 2285
    assert rows_needed(0.02, kind="normal") == 2401
    assert rows_needed(0.02) == 4612
    assert hoeffding_bound_size(0.05, 0.01) == pytest.approx(1059.663473, abs=printed(6))
    assert rows_needed(0.05, 0.99) == 1060
    assert hoeffding_error(1060, 0.05) == pytest.approx(0.009983, abs=printed(6))


@given(st.floats(0.01, 0.3), st.floats(0.5, 0.999))
def test_sample_sizes_are_the_smallest_that_do(half_width, level):
    size = rows_needed(half_width, level)
    assert hoeffding_error(size, half_width) <= (1 - level) * (1 + 1e-9)
    assert hoeffding_error(size - 1, half_width) >= (1 - level) * (1 - 1e-9)


def test_hoeffding_bounds_the_binomial_tail():
    for trials, p in ((10, 0.5), (100, 0.2), (664, 0.5)):
        k = np.arange(trials + 1)
        for half_width in (0.01, 0.05, 0.2):
            tail = stats.binom(trials, p).pmf(k)[np.abs(k / trials - p) > half_width].sum()
            assert tail <= hoeffding_error(trials, half_width) + 1e-12


def test_no_trials_say_nothing():
    for kind in ("wilson", "clopper-pearson", "hoeffding"):
        found = proportion_interval(0, 0, kind=kind)
        assert (found.low, found.high) == (0.0, 1.0)


def test_the_same_proportion_of_more_rows_is_surer():
    assert proportion_interval(300, 1000).half_width < 0.2 * proportion_interval(3, 10).half_width
    assert repr(proportion_interval(35, 100, level=0.9)).endswith("at 90%, wilson)")


def test_what_is_refused():
    with pytest.raises(DataError, match="3 of 2"):
        proportion_interval(3, 2)
    with pytest.raises(ArgumentError, match="level"):
        proportion_interval(1, 2, level=95)
    with pytest.raises(ArgumentError, match="Did you mean 'wilson'"):
        proportion_interval(1, 2, kind="willson")
    with pytest.raises(ArgumentError, match="half_width= is a number between 0 and 1"):
        rows_needed(2.0)
    with pytest.raises(ArgumentError, match="'hoeffding' or 'normal'"):
        rows_needed(0.1, kind="wilson")
    with pytest.raises(ArgumentError, match="proportion"):
        rows_needed(0.1, kind="normal", proportion=1.5)
