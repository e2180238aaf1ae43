from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracle
from sepset.factors.canonical import Cholesky, Forms, merged, shares, symmetric
from support.random_forms import information
from support.tolerances import CLOSE, EXACT

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def batch(rng, count, size):
    parts = [information(rng, size) for _ in range(count)]
    return Forms.of(np.array([K for K, _ in parts]), np.array([h for _, h in parts]), rng.normal(size=count))


@given(seeds, st.integers(1, 5))
def test_the_factorization_inverts(rng, size):
    matrices = np.array([information(rng, size)[0] * 10.0**k for k in (-8, 0, 8)])
    chol = Cholesky.of(matrices)
    assert chol.definite.all()
    for matrix, inverse, root, half in zip(matrices, chol.inverse(), chol.root(), chol.half_log_det(), strict=True):
        np.testing.assert_allclose(matrix @ inverse, np.eye(size), atol=CLOSE)
        np.testing.assert_allclose(root @ root.T, inverse, rtol=CLOSE)
        assert half == pytest.approx(0.5 * np.linalg.slogdet(matrix)[1], abs=CLOSE)
    right = rng.normal(size=(3, size, 2))
    white = chol.whiten(right)
    expected = np.swapaxes(right, 1, 2) @ np.linalg.solve(matrices, right)
    np.testing.assert_allclose(np.swapaxes(white, 1, 2) @ white, expected, rtol=1e-8)


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.0, 0.0], [0.0, 1.0]],
        [[-1.0, 0.0], [0.0, 1.0]],
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 1.0], [1.0, 1.0]],
        [[1.0, 1.0], [1.0, 1.0 + 3e-16]],
        [[np.inf, 0.0], [0.0, 1.0]],
    ],
)
def test_what_is_not_definite_is_told_apart_in_a_batch(matrix):
    chol = Cholesky.of(np.array([np.eye(2), matrix, 4 * np.eye(2)]))
    assert chol.definite.tolist() == [True, False, True]
    assert chol.inverse()[2].tolist() == [[0.25, 0.0], [0.0, 0.25]]


def test_nothing_has_a_determinant_of_one():
    chol = Cholesky.of(np.zeros((2, 0, 0)))
    assert chol.definite.all()
    assert chol.half_log_det().tolist() == [0, 0]
    assert chol.inverse().shape == (2, 0, 0)


@given(seeds)
def test_each_form_of_a_batch_is_treated_alone(rng):
    forms = batch(rng, 4, 3)
    out = np.array([2, 0])
    together = forms.without(out, forms.block(out), integrate=True)
    for i in range(4):
        alone = forms.take(np.array([i]))
        one = alone.without(out, alone.block(out), integrate=True)
        np.testing.assert_allclose(together.K[i], one.K[0], atol=EXACT)
        np.testing.assert_allclose(together.g[i], one.g[0], atol=EXACT)
        mean, cov = np.linalg.solve(forms.K[i], forms.h[i]), np.linalg.inv(forms.K[i])
        np.testing.assert_allclose(1 / one.K[0, 0, 0], cov[1, 1], rtol=CLOSE)
        np.testing.assert_allclose(one.h[0, 0] / one.K[0, 0, 0], mean[1], atol=CLOSE)


@given(seeds)
def test_totals_are_integrals(rng):
    forms = batch(rng, 2, 1)
    for i, total in enumerate(forms.log_totals()):
        grid = oracle.canonical_integral(forms.K[i], forms.h[i], float(forms.g[i]), [0])
        assert total == pytest.approx(math.log(grid), abs=CLOSE)
    mixed = Forms.of(np.array([[[0.0]], [[-1.0]], [[1.0]]]), np.zeros((3, 1)), np.array([0.0, 0.0, -np.inf]))
    assert mixed.log_totals().tolist() == [np.inf, np.inf, -np.inf]


def test_zero_forms_are_cleaned():
    forms = Forms.of(np.array([[[np.nan]], [[2.0]]]), np.array([[np.nan], [1.0]]), np.array([-np.inf, 0.0]))
    assert forms.K[0, 0, 0] == forms.h[0, 0] == 0.0
    assert forms.alive.tolist() == [False, True]
    assert forms.over(forms).g.tolist() == [-np.inf, 0.0]


def test_spreading_leaves_new_coordinates_free():
    forms = batch(np.random.default_rng(0), 2, 2)
    wide = forms.spread(np.array([1, 0, 1]), np.array([2, 0]), 3)
    assert wide.K.shape == (3, 3, 3)
    assert wide.K[0, 2, 2] == forms.K[1, 0, 0]
    assert wide.K[1, 0, 2] == forms.K[0, 1, 0]
    assert not wide.K[:, 1].any()
    assert wide.rest(np.array([1])).tolist() == [0, 2]


@given(seeds)
def test_merged_moments_match_the_oracle(rng):
    weights = rng.dirichlet(np.ones(3), size=2)
    means = rng.normal(size=(2, 3, 2))
    roots = rng.normal(size=(2, 3, 2, 2))
    covariances = roots @ np.swapaxes(roots, -1, -2)
    mean, covariance = merged(weights, means, covariances)
    for i in range(2):
        expected = oracle.collapse(weights[i], means[i], covariances[i])
        np.testing.assert_allclose(mean[i], expected[0], atol=EXACT)
        np.testing.assert_allclose(covariance[i], expected[1], atol=1e-11)


def test_shares_survive_tiny_weights():
    weights, totals = shares(np.array([[-1e4, -1e4 + math.log(3)], [-np.inf, -np.inf]]))
    np.testing.assert_allclose(weights, [[0.25, 0.75], [0, 0]])
    assert totals[0] == pytest.approx(-1e4 + math.log(4))
    assert totals[1] == -np.inf


def test_symmetric_part():
    assert symmetric(np.array([[1.0, 2.0], [4.0, 1.0]])).tolist() == [[1.0, 3.0], [3.0, 1.0]]


@pytest.mark.parametrize("seed", [14500, 14613, 14649, 25154])
def test_children_integrated_out_of_ill_conditioned_lines_leave_nothing(seed):
    """The errors of a whitened vector are relative to its length: a small number in it can be all rounding."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
    covariance = symmetric((turn * 10.0 ** rng.uniform(-10, 0, size)) @ turn.T)
    slope = rng.normal(size=(1, size, size)) * 10.0 ** rng.integers(-4, 5, size=(1, size, size))
    line = Forms.from_linear(rng.normal(size=(1, size)), slope, Cholesky.of(covariance[None]))
    children = np.arange(size, 2 * size)
    left = line.without(children, line.block(children), integrate=True)
    assert not left.K.any()
    assert not left.h.any()
