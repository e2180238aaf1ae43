from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sepset.errors import ModelError, NotApplicable
from sepset.factors.studentt import StudentT
from support.tolerances import CLOSE, STANDARD_ERRORS

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])


def test_one_dimension_is_scipys_t():
    ours, theirs = StudentT(5.0, 1.0, dispersion=4.0), stats.t(5.0, 1.0, 2.0)
    x = np.linspace(-9, 9, 37)
    np.testing.assert_allclose(ours.log_density(x), theirs.logpdf(x), rtol=CLOSE)
    assert ours.log_density(2.0).shape == ()
    assert ours.log_density([2.0]).shape == (1,)
    assert ours.tail(0.3) == pytest.approx(theirs.sf(0.3), rel=CLOSE)
    np.testing.assert_allclose(np.ravel(ours.interval(0.9)), theirs.interval(0.9), rtol=CLOSE)
    assert ours.covariance()[0, 0] == pytest.approx(theirs.var(), rel=CLOSE)


def test_several_dimensions_are_scipys():
    x = np.random.default_rng(0).normal(size=(20, 2))
    ours, theirs = StudentT(3.5, [1.0, -1.0], dispersion=MATRIX), stats.multivariate_t([1.0, -1.0], MATRIX, df=3.5)
    np.testing.assert_allclose(ours.log_density(x), theirs.logpdf(x), rtol=CLOSE)
    assert ours.log_density(x[0]).shape == ()
    assert float(ours.log_density(x[0])) == pytest.approx(theirs.logpdf(x[0]), rel=CLOSE)
    low, high = ours.interval(0.8)
    np.testing.assert_allclose(low, stats.t(3.5, [1.0, -1.0], np.sqrt([2.0, 1.0])).interval(0.8)[0], rtol=CLOSE)
    np.testing.assert_allclose(low + high, [2.0, -2.0], atol=CLOSE)


def test_infinite_degrees_are_normal():
    ours = StudentT(math.inf, [1.0, -1.0], dispersion=MATRIX)
    x = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(ours.log_density(x), stats.multivariate_normal([1, -1], MATRIX).logpdf(x), rtol=CLOSE)
    single = StudentT(math.inf, 1.0, dispersion=4.0)
    assert single.tail(2.0) == pytest.approx(stats.norm(1, 2).sf(2.0), rel=CLOSE)
    np.testing.assert_allclose(np.ravel(single.interval()), stats.norm(1, 2).interval(0.95), rtol=CLOSE)
    assert single.covariance().tolist() == [[4.0]]


@pytest.mark.parametrize("degrees", [9.0, math.inf])
def test_draws_have_the_moments(degrees):
    ours, count = StudentT(degrees, [1.0, -1.0], dispersion=MATRIX), 40_000
    drawn = ours.sample(count, seed=1)
    covariance = ours.covariance()
    np.testing.assert_array_less(
        np.abs(drawn.mean(axis=0) - ours.mean()), STANDARD_ERRORS * np.sqrt(np.diagonal(covariance) / count)
    )
    inside = (drawn > ours.interval(0.5)[0]) & (drawn < ours.interval(0.5)[1])
    np.testing.assert_array_less(np.abs(inside.mean(axis=0) - 0.5), STANDARD_ERRORS * 0.5 / math.sqrt(count))
    assert StudentT(3.0, 0.0, dispersion=1.0).sample(5).shape == (5,)


def test_few_degrees_have_few_moments():
    assert np.isnan(StudentT(1.0, 0.0, dispersion=1.0).mean()).all()
    with pytest.raises(NotApplicable, match="no finite covariance"):
        StudentT(2.0, 0.0, dispersion=1.0).covariance()


def test_what_is_refused():
    with pytest.raises(ModelError, match="degrees of freedom > 0"):
        StudentT(0.0, 0.0, dispersion=1.0)
    with pytest.raises(ModelError, match="positive definite"):
        StudentT(1.0, 0.0, dispersion=0.0)
    with pytest.raises(NotApplicable, match="one coordinate"):
        StudentT(3.0, [0.0, 0.0], dispersion=np.eye(2)).tail(0.0)
    assert repr(StudentT(3.0, 0.0, dispersion=4.0)) == "StudentT(3 degrees of freedom, location 0, scale 2)"
