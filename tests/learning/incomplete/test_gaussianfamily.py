"""Expectations of missing numbers given what was found."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.errors import NotClosed
from sepset.learning.incomplete.gaussianfamily import conditional_numbers
from sepset.variables.variable import Real

x, y = Real("x"), Real("y")
LINES = [LinearGaussian(x, 1.0, covariance=4.0), LinearGaussian(y, 0.5, coefficients=2.0, covariance=1.0, given=x)]


def test_a_missing_parent_is_regressed_on_its_child():
    numbers = conditional_numbers(LINES, {x: np.array([np.nan]), y: np.array([6.5])}, (x,), 1)
    # By hand: Var y = 17, Cov = 8, E y = 2.5.
    assert_allclose(numbers.columns[x], 1.0 + 8 / 17 * 4.0)
    assert_allclose(numbers.covariance((x, y))[0], [[4 - 64 / 17, 0], [0, 0]], atol=1e-12)
    assert_allclose(numbers.log_density, -0.5 * (np.log(2 * np.pi * 17) + 16 / 17))
    assert_allclose(numbers.log_peak, -0.5 * np.log(2 * np.pi * (4 - 64 / 17)))
    assert not numbers.certain().covariances.any()


def test_nothing_found_leaves_the_prior():
    numbers = conditional_numbers(LINES, {x: np.array([np.nan]), y: np.array([np.nan])}, (x, y), 1)
    assert_allclose([numbers.columns[x][0], numbers.columns[y][0]], [1.0, 2.5])
    assert_allclose(numbers.covariance((x, y))[0], [[4, 8], [8, 17]])
    assert numbers.log_density.tolist() == [0.0]


def test_certain_relations_are_refused_where_they_cannot_be_inverted():
    z = Real("z")
    lines = [
        LINES[0],
        LinearGaussian(y, 0.0, coefficients=1.0, covariance=0.0, given=x),
        LinearGaussian(z, covariance=1.0),
    ]
    with pytest.raises(NotClosed, match="no bound"):
        conditional_numbers(lines, {x: np.array([1.0]), y: np.array([1.0]), z: np.array([np.nan])}, (z,), 1)
