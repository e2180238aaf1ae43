"""Posteriors of multinomials against quadrature, scipy's Beta, and draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sepset.cpds.priors.dirichlet import BDeu, Dirichlet, DirichletMixture
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.errors import DataError, ModelError, ScopeError
from sepset.learning.estimation.dirichlet import Dirichlets
from sepset.learning.estimation.networkpriors import ImaginaryData
from sepset.variables.variable import Discrete
from support.tolerances import STANDARD_ERRORS

A, X = Discrete("a"), Discrete("x", ("p", "q", "r"))
TABLE = TableCPD(X, np.full((2, 3), 1 / 3), given=A)
COUNTS = np.array([3.0, 1.0, 0.0, 0.0, 2.0, 2.0])
MIXTURE = DirichletMixture([0.7, 0.3], [[1.0, 2.0, 3.0], [4.0, 0.5, 0.5]])


def test_means_and_marginals_of_a_dirichlet():
    post = Dirichlets.of([TABLE], Dirichlet([1, 2, 3]), COUNTS)
    np.testing.assert_allclose(post.mean.reshape(2, 3), [[4 / 10, 3 / 10, 3 / 10], [1 / 10, 4 / 10, 5 / 10]])
    beta = stats.beta(4, 6)
    assert post.tail("p", 0.25, {"a": 0}) == pytest.approx(beta.sf(0.25))
    np.testing.assert_allclose(post.interval("p", 0.9, {"a": 0}), beta.interval(0.9))
    np.testing.assert_allclose(post.moments("p", {A: 0}), [beta.mean(), beta.std()])


def test_evidence_is_the_product_over_contexts():
    post = Dirichlets.of([TABLE], Dirichlet(0.5), COUNTS)

    def one(counts):
        value = math.lgamma(1.5) - math.lgamma(1.5 + sum(counts))
        return value + sum(math.lgamma(0.5 + m) - math.lgamma(0.5) for m in counts)

    assert post.log_marginal_likelihood() == pytest.approx(one((3, 1, 0)) + one((0, 2, 2)))


def test_a_mixture_by_quadrature():
    """Midpoints over the simplex; pseudo-counts of one and more, so that the density is bounded."""
    weights, alphas = np.array([0.7, 0.3]), np.array([[1.0, 2.0, 3.0], [4.0, 1.5, 1.0]])
    counts = np.array([2.0, 0.0, 1.0])
    post = Dirichlets.of([TableCPD(X, np.full(3, 1 / 3))], DirichletMixture(weights, alphas), counts)
    grid = (np.arange(1500) + 0.5) / 1500
    s, r = np.meshgrid(grid, grid, indexing="ij")
    theta = np.stack([s, (1 - s) * r, (1 - s) * (1 - r)])  # the Jacobian is 1 - s
    prior = sum(
        w * math.gamma(a.sum()) / math.prod(map(math.gamma, a)) * np.prod(theta ** (a - 1)[:, None, None], axis=0)
        for w, a in zip(weights, alphas, strict=True)
    )
    density = prior * np.prod(theta ** counts[:, None, None], axis=0) * (1 - s)
    total = density.mean()
    assert math.exp(post.log_marginal_likelihood()) == pytest.approx(total, rel=1e-5)
    mean, square = (theta[0] * density).mean() / total, (theta[0] ** 2 * density).mean() / total
    assert post.mean[0] == pytest.approx(mean, rel=1e-5)
    assert post.moments("p", {}) == pytest.approx((mean, math.sqrt(square - mean**2)), rel=1e-5)
    assert post.tail("p", 0.5, {}) == pytest.approx(density[750:].mean() / 2 / total, rel=1e-5)


def test_intervals_of_a_mixture_have_their_mass():
    post = Dirichlets.of([TABLE], MIXTURE, COUNTS)
    for state in X.states:
        low, high = post.interval(state, 0.8, {"a": 0})
        assert post.tail(state, low, {"a": 0}) == pytest.approx(0.9)
        assert post.tail(state, high, {"a": 0}) == pytest.approx(0.1)
    np.testing.assert_allclose(post.weights.sum(axis=1), 1.0)


def test_batches_and_chunks_agree():
    whole = Dirichlets.of([TABLE], MIXTURE, COUNTS)
    parts = Dirichlets.of([TABLE], MIXTURE, np.zeros(6))
    for cell in np.repeat(np.arange(6), COUNTS.astype(int))[::-1]:
        parts = parts.updated(np.eye(6)[cell])
    np.testing.assert_allclose(parts.mean, whole.mean)
    assert parts.log_marginal_likelihood() == pytest.approx(whole.log_marginal_likelihood())


def test_later_rows_gain_what_the_evidence_says():
    first, more = COUNTS, np.array([0.0, 2.0, 1.0, 1.0, 0.0, 0.0])
    for prior in (Dirichlet(0.7), MIXTURE, BDeu(5)):
        post = Dirichlets.of([TABLE], prior, first)
        both = Dirichlets.of([TABLE], prior, first + more)
        gain = both.log_marginal_likelihood() - post.log_marginal_likelihood()
        assert post.log_gain(more) == pytest.approx(gain)


def test_one_row_is_the_mean():
    rows = {A: np.array([0, 0, 1]), X: np.array([0, 2, 1])}
    for prior in (Dirichlet(0.7), MIXTURE):
        post = Dirichlets.of([TABLE], prior, COUNTS)
        np.testing.assert_allclose(np.exp(post.log_predictive(rows)), post.mean[[0, 2, 4]])


@pytest.mark.parametrize("prior", [Dirichlet([1, 2, 3]), MIXTURE])
def test_draws_have_the_moments(prior):
    post = Dirichlets.of([TABLE], prior, COUNTS)
    rng = np.random.default_rng(0)
    draws = np.array([post.sample(rng) for _ in range(4000)])
    np.testing.assert_allclose(draws.reshape(-1, 2, 3).sum(axis=2), 1.0)
    for cell, (a, state) in enumerate((a, s) for a in (0, 1) for s in X.states):
        mean, deviation = post.moments(state, {"a": a})
        assert abs(draws[:, cell].mean() - mean) <= STANDARD_ERRORS * deviation / math.sqrt(4000)


def test_tiny_pseudo_counts_can_be_drawn():
    post = Dirichlets.of([TABLE], Dirichlet(1e-9), np.zeros(6))
    draws = np.array([post.sample(np.random.default_rng(seed)) for seed in range(20)]).reshape(-1, 2, 3)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)


def test_imaginary_rows_may_leave_cells_out():
    post = Dirichlets.of([TABLE], ImaginaryData({"a": [0, 0, 1], "x": ["p", "q", "q"]}), np.zeros(6))
    np.testing.assert_allclose(post.mean, [0.5, 0.5, 0, 0, 1, 0])
    assert (post.is_proper, post.tail("r", 0.0, {"a": 0}), post.tail("q", 0.999, {"a": 1})) == (False, 0.0, 1.0)
    assert post.interval("r", 0.9, {"a": 0}) == (0.0, 0.0)
    assert post.interval("q", 0.9, {"a": 1}) == (1.0, 1.0)
    assert post.log_predictive({A: np.array([0]), X: np.array([2])}).tolist() == [-np.inf]
    with pytest.raises(ModelError, match="improper"):
        post.log_marginal_likelihood()
    silent = Dirichlets.of([TABLE], ImaginaryData({"a": [0], "x": ["p"]}), np.zeros(6))
    with pytest.raises(DataError, match=r"say anything of 1 contexts \(first: \(a=1\)\)"):
        _ = silent.mean


def test_rules_that_stand_for_several_states():
    """A rule for two states shares its mass among them evenly."""
    cpd = RuleCPD(X, [({X: "p"}, 0.5), ({X: frozenset({"q", "r"})}, 0.25)])
    post = Dirichlets.of([cpd], Dirichlet([1.0, 3.0]), np.array([2.0, 2.0]))
    (made,) = post.mean_cpds()
    np.testing.assert_allclose(made.probability, [3 / 8, 5 / 16])
    row = {X: np.array([1])}
    assert math.exp(post.log_predictive(row)[0]) == pytest.approx(5 / 16)
    expected = stats.beta(1, 3).expect(lambda t: t**2 * ((1 - t) / 2) ** 2)
    assert math.exp(post.log_marginal_likelihood()) == pytest.approx(expected)


def test_questions_that_make_no_sense():
    post = Dirichlets.of([TABLE], Dirichlet(1), COUNTS)
    with pytest.raises(ScopeError, match="'a' is missing"):
        post.tail("p", 0.5, {})
    with pytest.raises(ScopeError, match="no parent 'b'"):
        post.tail("p", 0.5, {"a": 0, "b": 1})
    assert repr(post) == "Dirichlets(x: 2 contexts, 14 counts and pseudo-counts)"
