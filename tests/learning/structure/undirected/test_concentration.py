"""Penalized concentration matrices against a plain solver, the conditions of optimality, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sepset.learning.structure.undirected.concentration import charge, components, inverse_of, maximized


def covariance(seed, size, rows):
    x = np.random.default_rng(seed).normal(size=(rows, size))
    x[:, 1:] += 0.8 * x[:, :-1]
    return np.cov(x.T, bias=True)


def off_diagonal(size, penalty):
    return penalty * (1.0 - np.eye(size))


def violation(found, S, penalties):
    """How far $W - S$ is from a subgradient of the penalty."""
    apart = found.covariance - S
    joined = found.matrix != 0.0
    return max(
        (np.abs(apart) - penalties)[~joined].max(initial=0.0),
        np.abs(apart - penalties * np.sign(found.matrix))[joined].max(),
    )


@pytest.mark.parametrize(("size", "rows", "penalty"), [(6, 100, 0.1), (8, 5, 0.3), (12, 40, 0.02), (5, 50, 5.0)])
def test_the_conditions_of_optimality(size, rows, penalty):
    S, penalties = covariance(size, size, rows), off_diagonal(size, penalty)
    found = maximized(S, penalties, tolerance=1e-10)
    assert found.gap + 1e-12 >= 0.0
    assert found.gap <= 1e-9
    assert violation(found, S, penalties) < 1e-4
    np.testing.assert_allclose(found.matrix @ found.covariance, np.eye(size), atol=1e-8)


def test_a_plain_solver_finds_the_same():
    size = 4
    S, penalties = covariance(1, size, 30), off_diagonal(size, 0.15)
    upper = np.triu_indices(size)

    def symmetric(z):
        T = np.zeros((size, size))
        T[upper] = z
        return T + np.triu(T, 1).T

    def value(z):
        half = len(z) // 2
        T = symmetric(z[:half] - z[half:])
        sign, log = np.linalg.slogdet(T)
        if sign <= 0 or np.linalg.eigvalsh(T)[0] <= 0:
            return 1e10
        return -log + (S * T).sum() + (penalties * symmetric(z[:half] + z[half:])).sum()

    start = np.r_[np.eye(size)[upper], np.zeros(len(upper[0]))]
    expected = minimize(
        value, start, bounds=[(0, None)] * len(start), method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14}
    )
    found = maximized(S, penalties, tolerance=1e-10)
    assert found.objective == pytest.approx(-expected.fun, abs=1e-5)
    assert found.bound >= -expected.fun - 1e-5


def test_two_columns_in_closed_form():
    found = maximized(np.array([[1.0, 0.6], [0.6, 1.0]]), off_diagonal(2, 0.25), tolerance=1e-12)
    np.testing.assert_allclose(found.covariance, [[1.0, 0.35], [0.35, 1.0]], atol=1e-8)


def test_a_penalized_diagonal():
    S = covariance(2, 4, 30)
    found = maximized(S, np.full((4, 4), 0.1), tolerance=1e-10)
    np.testing.assert_allclose(np.diagonal(found.covariance), np.diagonal(S) + 0.1, atol=1e-6)


def test_components_are_solved_apart():
    S = np.zeros((5, 5))
    S[:2, :2], S[2:, 2:] = covariance(0, 2, 50), covariance(1, 3, 50)
    order = np.array([3, 0, 4, 1, 2])
    mixed = S[np.ix_(order, order)]
    found = maximized(mixed, off_diagonal(5, 0.1), tolerance=1e-10)
    back = np.argsort(order)
    for part in (slice(0, 2), slice(2, 5)):
        alone = maximized(S[part, part], off_diagonal(len(S[part]), 0.1), tolerance=1e-10)
        np.testing.assert_allclose(found.matrix[np.ix_(back, back)][part, part], alone.matrix, atol=1e-6)
    assert [c.tolist() for c in components(mixed != 0.0)] == [[0, 2, 4], [1, 3]]


def test_infinite_penalties_forbid_edges_and_no_penalty_selects_covariances():
    """On a tree, the fitted covariance along an edge is that of the data, and products of correlations elsewhere."""
    S = covariance(4, 3, 60)
    penalties = np.zeros((3, 3))
    penalties[0, 2] = penalties[2, 0] = np.inf
    found = maximized(S, penalties, tolerance=1e-12)
    assert found.matrix[0, 2] == 0.0
    assert found.gap < 1e-9
    expected = S.copy()
    expected[0, 2] = expected[2, 0] = S[0, 1] * S[1, 2] / S[1, 1]
    np.testing.assert_allclose(found.covariance, expected, atol=1e-7)


def test_an_unbounded_likelihood_has_no_certificate():
    S = covariance(5, 6, 3)
    found = maximized(S, np.zeros((6, 6)), start=np.eye(6), most_steps=20)
    assert found.gap == np.inf


def test_a_start_does_not_change_the_optimum():
    S, penalties = covariance(7, 6, 50), off_diagonal(6, 0.05)
    cold = maximized(S, penalties, tolerance=1e-10)
    warm = maximized(S, penalties, start=maximized(S, off_diagonal(6, 0.3)).matrix, tolerance=1e-10)
    np.testing.assert_allclose(cold.matrix, warm.matrix, atol=1e-6)


def test_charges_and_inverses():
    assert charge(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[1.0, np.inf], [np.inf, 3.0]])) == 5.0
    assert inverse_of(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    found = inverse_of(np.array([[2.0, 1.0], [1.0, 2.0]]))
    np.testing.assert_allclose(found.matrix, np.array([[2.0, -1.0], [-1.0, 2.0]]) / 3.0)
    assert found.log_determinant == pytest.approx(np.log(3.0))
