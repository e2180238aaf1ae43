"""Shrunken lines against their optimality conditions and their limits."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import Laplace, Normal
from sepset.cpds.regression import least_squares
from sepset.cpds.shrinkage import penalized_line
from sepset.data.scatter import Scatter
from sepset.errors import NotApplicable


def scatter(seed, num=40, parents=4):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(num, parents)) * rng.uniform(0.5, 3, size=parents)
    y = u @ rng.normal(size=parents) + rng.normal(size=num)
    return Scatter.of(np.column_stack([u, y]))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [0.05, 0.5, 5.0])
def test_ridge_is_stationary(seed, scale):
    s = scatter(seed)
    line = penalized_line(s, Normal(scale))
    beta, variance = line.slope[0], line.residue[0, 0] / s.count
    gradient = (s.products[:-1, -1] - s.products[:-1, :-1] @ beta) / variance - beta / scale**2
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6 * np.abs(s.products).max())
    rss = s.products[-1, -1] - 2 * s.products[:-1, -1] @ beta + beta @ s.products[:-1, :-1] @ beta
    assert line.residue[0, 0] == pytest.approx(rss)
    assert line.intercept[0] == pytest.approx(s.mean[-1] - beta @ s.mean[:-1])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [0.02, 0.1, 1.0])
def test_lasso_meets_the_subgradient_conditions(seed, scale):
    s = scatter(seed)
    line = penalized_line(s, Laplace(scale))
    beta, variance = line.slope[0], line.residue[0, 0] / s.count
    pull = (s.products[:-1, -1] - s.products[:-1, :-1] @ beta) / variance
    at_zero = beta == 0
    assert (np.abs(pull[at_zero]) <= 1 / scale + 1e-6).all()
    np.testing.assert_allclose(pull[~at_zero], np.sign(beta[~at_zero]) / scale, rtol=1e-6)


def test_limits():
    s = scatter(7)
    plain = least_squares(s.mean, s.products)
    for prior in (Normal(1e6), Laplace(1e9)):
        np.testing.assert_allclose(penalized_line(s, prior).slope, plain.slope, rtol=1e-6)
    np.testing.assert_allclose(penalized_line(s, Normal(1e-6)).slope, 0.0, atol=1e-6)
    assert penalized_line(s, Laplace(1e-6)).slope.tolist() == [[0.0] * 4]
    alone = penalized_line(Scatter.of([[1.0], [2.0]]), Laplace(1.0))
    assert (alone.intercept.tolist(), alone.residue.tolist()) == ([1.5], [[0.5]])


def test_constant_parents_have_no_effect():
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.full(20, 3.0), rng.normal(size=20), rng.normal(size=20)])
    assert penalized_line(Scatter.of(rows), Laplace(1.0)).slope[0, 0] == 0.0
    assert penalized_line(Scatter.of(rows), Normal(1.0)).slope[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_vectors_are_refused():
    with pytest.raises(NotApplicable, match="one dimension"):
        penalized_line(scatter(0), Normal(1.0), 2)
