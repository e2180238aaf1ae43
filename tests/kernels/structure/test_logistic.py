"""Penalized logistic regressions against a plain solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sepset.base.threads import NEVER
from sepset.kernels.structure.logistic import (
    add_states,
    block_gradient,
    logistic_regression,
    residuals,
    shrunken_step,
    sum_states,
)


def test_losses_and_their_gradients():
    rng = np.random.default_rng(0)
    logits, answers, weights = rng.normal(size=(4, 3)), np.array([0, 2, 1, 1], np.int32), np.full(4, 0.25)
    out = np.zeros((4, 3))
    loss = residuals(logits, answers, weights, out)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert loss == pytest.approx(-np.log(p[np.arange(4), answers]).mean())
    for r, c in np.ndindex(4, 3):
        moved = logits.copy()
        moved[r, c] += 1e-6
        assert (residuals(moved, answers, weights, np.zeros((4, 3))) - loss) / 1e-6 == pytest.approx(
            out[r, c], abs=1e-5
        )


def test_sums_by_state():
    rows, codes = np.arange(6.0).reshape(3, 2), np.array([1, 0, 1], np.int32)
    by_state = np.ones((2, 2))
    sum_states(rows, codes, by_state)
    assert by_state.tolist() == [[2.0, 3.0], [4.0, 6.0]]
    add_states(rows, codes, by_state, -1.0)
    assert rows.tolist() == [[-4.0, -5.0], [0.0, 0.0], [0.0, -1.0]]


def test_steps_are_proximal():
    """The step minimizes the linear model with its curvature and the penalty of the norm."""
    rng = np.random.default_rng(1)
    rows, columns, by_state = rng.normal(size=(3, 2)), rng.normal(size=(2, 1)), rng.normal(size=(2, 3))
    block, gradient, step, moved = rng.normal(size=(2, 1)), np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((2, 3))
    apart = block_gradient(by_state, rows, columns, block, 0.3, gradient)
    np.testing.assert_allclose(gradient, rows.T @ by_state.T @ columns)
    assert apart == pytest.approx(np.linalg.norm(gradient + 0.3 * block / np.linalg.norm(block)))
    change = shrunken_step(block, gradient, rows, columns, 0.3, 2.0, step, moved)

    def model(z):
        d = z.reshape(2, 1)
        return (gradient * d).sum() + (d**2).sum() + 0.3 * np.linalg.norm(block + d)

    expected = minimize(model, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    np.testing.assert_allclose(step.ravel(), expected.x, atol=1e-5)
    assert change == pytest.approx((gradient * step).sum() + (step**2).sum())
    np.testing.assert_allclose(moved, columns @ step.T @ rows.T)


def test_columns_that_must_not_be_used():
    codes = np.array([[0, 1, 0, 1], [0, 1, 0, 1], [0, 0, 0, 0]], np.int32)
    contrasts = np.array([[[1.0], [-1.0]], [[1.0], [-1.0]], [[1.0], [0.0]]])
    coefficients, logits = np.zeros((3, 1, 1)), np.zeros((4, 2))
    violation = logistic_regression(
        codes,
        0,
        np.array([2, 2, 1]),
        np.full(4, 0.25),
        contrasts,
        np.array([np.inf, np.inf, 0.0]),
        coefficients,
        np.ones(3),
        logits,
        100,
        1e-9,
        NEVER,
    )
    assert violation <= 1e-9
    assert not coefficients.any()
