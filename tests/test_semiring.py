import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from sepset.semiring import BOOLEAN, MAX, SUM, temperature

SEMIRINGS = [SUM, MAX, BOOLEAN, temperature(0.5), temperature(0.1), temperature(2.0)]
positive = st.floats(1e-3, 1e3)
value = st.just(0.0) | positive
everyone = pytest.mark.parametrize("semiring", SEMIRINGS, ids=str)


def add(semiring, *items):
    return float(semiring.reduce(np.array(items, np.float64), 0))


def domain(semiring, x):
    """Satisfiability lives on 0 and 1."""
    return float(x > 0) if semiring is BOOLEAN else x


@everyone
@given(a=value, b=value, c=value)
def test_sum_is_commutative_and_associative_with_zero(semiring, a, b, c):
    a, b, c = (domain(semiring, x) for x in (a, b, c))
    assert add(semiring, a, b) == pytest.approx(add(semiring, b, a), rel=1e-12)
    nested = add(semiring, a, add(semiring, b, c))
    assert nested == pytest.approx(add(semiring, add(semiring, a, b), c), rel=1e-10)
    assert nested == pytest.approx(add(semiring, a, b, c), rel=1e-10)
    assert add(semiring, a, 0.0) == pytest.approx(a, rel=1e-12)


@everyone
@given(a=value, b=value, c=value)
def test_product_distributes_over_sum(semiring, a, b, c):
    a, b, c = (domain(semiring, x) for x in (a, b, c))
    assert a * add(semiring, b, c) == pytest.approx(add(semiring, a * b, a * c), rel=1e-10)


@everyone
@given(
    values=hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=value), data=st.data()
)
def test_log_reduce_is_the_logarithm_of_reduce(semiring, values, data):
    axis = data.draw(st.integers(-values.ndim, values.ndim - 1))
    with np.errstate(divide="ignore"):
        logs, expected = np.log(values), np.log(semiring.reduce(values, axis))
    found = semiring.log_reduce(logs, axis)
    assert found.shape == expected.shape == values.sum(axis=axis).shape
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@everyone
@given(values=st.lists(value, min_size=1, max_size=5), factor=positive)
def test_common_factors_pass_through_where_it_says_so(semiring, values, factor):
    scaled = add(semiring, *(factor * v for v in values))
    expected = factor * add(semiring, *values) if semiring.scales else add(semiring, *values)
    assert scaled == pytest.approx(expected, rel=1e-10)


@everyone
def test_empty_sum_is_zero(semiring):
    empty = np.zeros((2, 0))
    np.testing.assert_array_equal(semiring.reduce(empty, 1), [0.0, 0.0])
    np.testing.assert_array_equal(semiring.log_reduce(empty, 1), [-np.inf, -np.inf])
    assert semiring.reduce(np.zeros((0, 3)), 0).shape == (3,)


@everyone
def test_all_zeros_stay_zero(semiring):
    assert add(semiring, 0.0, 0.0) == 0.0
    assert float(semiring.log_reduce(np.array([-np.inf, -np.inf]), 0)) == -np.inf


@given(st.lists(value, min_size=1, max_size=6))
def test_temperatures_run_from_the_maximum_to_the_sum(values):
    x = np.array(values)
    assert float(temperature(1e-6).reduce(x, 0)) == pytest.approx(max(values), rel=1e-4)
    assert float(temperature(1 - 1e-9).reduce(x, 0)) == pytest.approx(sum(values), rel=1e-6)
    ladder = [float(temperature(t).reduce(x, 0)) for t in (0.0, 0.2, 0.5, 0.8, 1.0)]
    assert all(low <= high * (1 + 1e-12) for low, high in itertools.pairwise(ladder))


@given(st.lists(value, min_size=1, max_size=6), st.sampled_from([0.25, 0.5, 2.0]))
def test_temperature_is_the_power_sum(values, t):
    expected = sum(v ** (1 / t) for v in values) ** t
    assert float(temperature(t).reduce(np.array(values), 0)) == pytest.approx(expected, rel=1e-10)


def test_temperature_at_its_ends():
    assert temperature(0.0) is MAX
    assert temperature(1.0) is SUM
    assert str(temperature(0.5)) == "temperature(0.5)"
    for bad in (-0.1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="A temperature is a finite number >= 0"):
            temperature(bad)


def test_infinite_weights():
    assert float(SUM.log_reduce(np.array([np.inf, 0.0]), 0)) == np.inf
    assert float(MAX.log_reduce(np.array([np.inf, 0.0]), 0)) == np.inf


def test_semirings_compare_by_name():
    assert temperature(0.5) == temperature(0.5)
    assert SUM != MAX
    assert repr(SUM).startswith("Semiring(name='sum'")
    assert str(MAX) == "max"
