"""Coordinate descent with a penalty against the conditions of optimality and a plain solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sepset.base.threads import NEVER
from sepset.kernels.structure.lasso import lasso_regressions, newton_direction, shrunken


def covariance(seed, size, rows):
    x = np.random.default_rng(seed).normal(size=(rows, size))
    x[:, 1:] += 0.7 * x[:, :-1]
    return np.cov(x.T, bias=True)


def test_shrinking():
    assert [shrunken(x, 1.0) for x in (-3.0, -1.0, 0.5, 1.0, 2.5)] == [-2.0, 0.0, 0.0, 0.0, 1.5]


def by_parts(matrix, vector, penalty):
    """The lasso as a smooth problem over the positive and negative parts of coefficients."""
    size = len(vector)

    def value(z):
        beta = z[:size] - z[size:]
        slope = matrix @ beta - vector
        return 0.5 * beta @ matrix @ beta - vector @ beta + penalty * z.sum(), np.r_[slope, -slope] + penalty

    found = minimize(
        value,
        np.zeros(2 * size),
        jac=True,
        bounds=[(0, None)] * (2 * size),
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000},
    )
    return found.x[:size] - found.x[size:]


@pytest.mark.parametrize(("rows", "penalty"), [(50, 0.1), (50, 0.6), (4, 0.2)])
def test_regressions_against_a_plain_solver(rows, penalty):
    S = covariance(rows, 5, rows)
    found, allowed = np.zeros((5, 5)), ~np.eye(5, dtype=bool)
    assert lasso_regressions(S, allowed, penalty, found, 10_000, 1e-12, NEVER) < 1e-8
    for j in range(5):
        rest = np.flatnonzero(np.arange(5) != j)
        expected = by_parts(S[np.ix_(rest, rest)], S[j, rest], penalty)
        value = [
            0.5 * b @ S[np.ix_(rest, rest)] @ b - S[j, rest] @ b + penalty * abs(b).sum()
            for b in (found[j, rest], expected)
        ]
        assert value[0] <= value[1] + 1e-9
        if rows > 5:
            np.testing.assert_allclose(found[j, rest], expected, atol=1e-5)


def test_pairs_that_are_not_allowed_stay_zero():
    S = covariance(0, 4, 30)
    allowed = ~np.eye(4, dtype=bool)
    allowed[0, 1] = False
    found = np.zeros((4, 4))
    lasso_regressions(S, allowed, 0.01, found, 10_000, 1e-12, NEVER)
    assert found[0, 1] == 0.0 != found[1, 0]


def test_a_direction_minimizes_its_model():
    """Without a penalty the model's minimum is $D$ with $WDW = -G$, so $D = -TGT$ with $T = W^{-1}$."""
    S = covariance(3, 4, 40)
    T = np.diag(1.0 / np.diagonal(S))
    W = np.linalg.inv(T)
    _rows, members = map(np.ascontiguousarray, np.nonzero(np.ones((4, 4))))
    twin = np.ascontiguousarray(np.arange(16).reshape(4, 4).T.ravel())
    step = np.zeros(16)
    newton_direction(T, W, np.arange(0, 17, 4), members, twin, (S - W).ravel(), np.zeros(16), step, 500, 1e-14, NEVER)
    np.testing.assert_allclose(step.reshape(4, 4), -T @ (S - W) @ T, atol=1e-10)


def test_a_canceled_direction_ends_at_once():
    S, step = covariance(3, 4, 40), np.zeros(16)
    members = np.tile(np.arange(4), 4)
    twin = np.ascontiguousarray(np.arange(16).reshape(4, 4).T.ravel())
    given = (np.eye(4), np.eye(4), np.arange(0, 17, 4), members, twin, (S - np.eye(4)).ravel(), np.zeros(16), step)
    assert newton_direction(*given, 500, 1e-14, np.ones(1, np.uint8)) == 0
    assert not step.any()
