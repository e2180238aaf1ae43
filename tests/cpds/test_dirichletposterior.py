"""Posteriors of multinomials against quadrature, scipy's Beta, draws, and Pólya's urn step by step."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate, stats

from sepset.cpds.dirichletposterior import log_evidence, log_polya, log_urn
from sepset.cpds.priors.dirichlet import BDeu, Dirichlet, DirichletMixture
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.errors import DataError, ModelError, ScopeError
from sepset.learning.estimation.networkpriors import ImaginaryData
from sepset.variables.variable import Discrete
from support.tolerances import CLOSE, STANDARD_ERRORS

A, X = Discrete("a"), Discrete("x", ("p", "q", "r"))
TABLE = TableCPD(X, np.full((2, 3), 1 / 3), given=A)
COUNTS = np.array([3.0, 1.0, 0.0, 0.0, 2.0, 2.0])
MIXTURE = DirichletMixture([0.7, 0.3], [[1.0, 2.0, 3.0], [4.0, 0.5, 0.5]])


def posterior(cpds, prior, counts):
    return cpds[0].parameters.posterior(prior, cpds, counts)


def test_means_and_marginals_of_a_dirichlet():
    post = posterior([TABLE], Dirichlet([1, 2, 3]), COUNTS)
    np.testing.assert_allclose(post.mean.reshape(2, 3), [[4 / 10, 3 / 10, 3 / 10], [1 / 10, 4 / 10, 5 / 10]])
    beta = stats.beta(4, 6)
    assert post.tail("p", 0.25, {"a": 0}) == pytest.approx(beta.sf(0.25))
    np.testing.assert_allclose(post.interval("p", 0.9, {"a": 0}), beta.interval(0.9))
    np.testing.assert_allclose(post.moments("p", {A: 0}), [beta.mean(), beta.std()])


@pytest.mark.parametrize("counts", [(4e12, 6e12), (1e15, 3.0), (1e-9, 1e9), (1e9, 1e-9), (5e-5, 2e-4)])
def test_deviations_and_tails_have_their_digits(counts):
    """The variance is not a difference, the rarer state is not a rest, and a tail is not the rest of a share."""
    post = posterior([TableCPD(Discrete("coin"), [0.5, 0.5])], Dirichlet(list(counts)), np.zeros(2))
    a, b = map(Fraction, counts)
    mean, deviation = post.moments(0, {})
    assert mean == pytest.approx(float(a / (a + b)), rel=1e-15)
    assert deviation**2 == pytest.approx(float(a * b / (a + b) ** 2 / (a + b + 1)), rel=1e-14)
    assert post.betas(0, {}) == [(1.0, *counts)]


def test_tails_far_out():
    """P(theta > t) = (1 - t)^b with one count of the state."""
    post = posterior([TableCPD(Discrete("coin"), [0.5, 0.5])], Dirichlet([1.0, 60.0]), np.zeros(2))
    for point in (0.5, 0.9, 0.99):
        assert post.tail(0, point, {}) == pytest.approx((1.0 - point) ** 60.0, rel=1e-12)


def test_components_that_differ_little():
    """The variance of a mixture of two Betas is that within and that between them."""
    alphas = [[1e10, 1e10], [1e10 + 4e5, 1e10 - 4e5]]
    post = posterior([TableCPD(Discrete("coin"), [0.5, 0.5])], DirichletMixture([0.5, 0.5], alphas), np.zeros(2))
    parts = [
        (Fraction(a) / Fraction(2e10), Fraction(a * b) / Fraction(2e10) ** 2 / Fraction(2e10 + 1)) for a, b in alphas
    ]
    middle = sum(mean for mean, _ in parts) / 2
    right = sum(own + (mean - middle) ** 2 for mean, own in parts) / 2
    assert post.moments(0, {})[1] ** 2 == pytest.approx(float(right), rel=1e-9)


def test_evidence_is_the_product_over_contexts():
    post = posterior([TABLE], Dirichlet(0.5), COUNTS)

    def one(counts):
        value = math.lgamma(1.5) - math.lgamma(1.5 + sum(counts))
        return value + sum(math.lgamma(0.5 + m) - math.lgamma(0.5) for m in counts)

    assert post.log_marginal_likelihood() == pytest.approx(one((3, 1, 0)) + one((0, 2, 2)))


def test_a_mixture_by_quadrature():
    """Midpoints over the simplex; pseudo-counts of one and more, so that the density is bounded."""
    weights, alphas = np.array([0.7, 0.3]), np.array([[1.0, 2.0, 3.0], [4.0, 1.5, 1.0]])
    counts = np.array([2.0, 0.0, 1.0])
    post = posterior([TableCPD(X, np.full(3, 1 / 3))], DirichletMixture(weights, alphas), counts)
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
    post = posterior([TABLE], MIXTURE, COUNTS)
    for state in X.states:
        low, high = post.interval(state, 0.8, {"a": 0})
        assert post.tail(state, low, {"a": 0}) == pytest.approx(0.9)
        assert post.tail(state, high, {"a": 0}) == pytest.approx(0.1)
    np.testing.assert_allclose(post.weights.sum(axis=1), 1.0)


def test_batches_and_chunks_agree():
    whole = posterior([TABLE], MIXTURE, COUNTS)
    parts = posterior([TABLE], MIXTURE, np.zeros(6))
    for cell in np.repeat(np.arange(6), COUNTS.astype(int))[::-1]:
        parts = parts.updated(np.eye(6)[cell])
    np.testing.assert_allclose(parts.mean, whole.mean)
    assert parts.log_marginal_likelihood() == pytest.approx(whole.log_marginal_likelihood())


def test_later_rows_gain_what_the_evidence_says():
    first, more = COUNTS, np.array([0.0, 2.0, 1.0, 1.0, 0.0, 0.0])
    for prior in (Dirichlet(0.7), MIXTURE, BDeu(5)):
        post = posterior([TABLE], prior, first)
        both = posterior([TABLE], prior, first + more)
        gain = both.log_marginal_likelihood() - post.log_marginal_likelihood()
        assert post.log_gain(more) == pytest.approx(gain)


def test_one_row_is_the_mean():
    rows = {A: np.array([0, 0, 1]), X: np.array([0, 2, 1])}
    for prior in (Dirichlet(0.7), MIXTURE):
        post = posterior([TABLE], prior, COUNTS)
        np.testing.assert_allclose(np.exp(post.log_predictive(rows)), post.mean[[0, 2, 4]])


@pytest.mark.parametrize("prior", [Dirichlet([1, 2, 3]), MIXTURE])
def test_draws_have_the_moments(prior):
    post = posterior([TABLE], prior, COUNTS)
    rng = np.random.default_rng(0)
    draws = np.array([post.sample(rng) for _ in range(4000)])
    np.testing.assert_allclose(draws.reshape(-1, 2, 3).sum(axis=2), 1.0)
    for cell, (a, state) in enumerate((a, s) for a in (0, 1) for s in X.states):
        mean, deviation = post.moments(state, {"a": a})
        assert abs(draws[:, cell].mean() - mean) <= STANDARD_ERRORS * deviation / math.sqrt(4000)


def test_tiny_pseudo_counts_can_be_drawn():
    post = posterior([TABLE], Dirichlet(1e-9), np.zeros(6))
    draws = np.array([post.sample(np.random.default_rng(seed)) for seed in range(20)]).reshape(-1, 2, 3)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)


def test_imaginary_rows_may_leave_cells_out():
    post = posterior([TABLE], ImaginaryData({"a": [0, 0, 1], "x": ["p", "q", "q"]}), np.zeros(6))
    np.testing.assert_allclose(post.mean, [0.5, 0.5, 0, 0, 1, 0])
    assert (post.is_proper, post.tail("r", 0.0, {"a": 0}), post.tail("q", 0.999, {"a": 1})) == (False, 0.0, 1.0)
    assert post.interval("r", 0.9, {"a": 0}) == (0.0, 0.0)
    assert post.interval("q", 0.9, {"a": 1}) == (1.0, 1.0)
    assert post.log_predictive({A: np.array([0]), X: np.array([2])}).tolist() == [-np.inf]
    with pytest.raises(ModelError, match="improper"):
        post.log_marginal_likelihood()
    silent = posterior([TABLE], ImaginaryData({"a": [0], "x": ["p"]}), np.zeros(6))
    with pytest.raises(DataError, match=r"determine 1 contexts \(first: \(a=1\)\)"):
        _ = silent.mean


def test_rules_that_stand_for_several_states():
    """A rule for two states shares its mass among them evenly."""
    cpd = RuleCPD(X, [({X: "p"}, 0.5), ({X: frozenset({"q", "r"})}, 0.25)])
    post = posterior([cpd], Dirichlet([1.0, 3.0]), np.array([2.0, 2.0]))
    (made,) = post.mean_cpds()
    np.testing.assert_allclose(made.probability, [3 / 8, 5 / 16])
    row = {X: np.array([1])}
    assert math.exp(post.log_predictive(row)[0]) == pytest.approx(5 / 16)
    expected = stats.beta(1, 3).expect(lambda t: t**2 * ((1 - t) / 2) ** 2)
    assert math.exp(post.log_marginal_likelihood()) == pytest.approx(expected)


def test_questions_that_make_no_sense():
    post = posterior([TABLE], Dirichlet(1), COUNTS)
    with pytest.raises(ScopeError, match="'a' is missing"):
        post.tail("p", 0.5, {})
    with pytest.raises(ScopeError, match="no parent 'b'"):
        post.tail("p", 0.5, {"a": 0, "b": 1})
    assert repr(post) == "DirichletPosterior(x: 2 contexts, 14 counts and pseudo-counts)"


alphas = st.lists(st.floats(0.05, 20.0), min_size=1, max_size=4)


@given(alphas, st.lists(st.integers(0, 3), min_size=0, max_size=8))
@settings(max_examples=60)
def test_a_sequence_is_a_product_of_predictions(alpha, draws):
    outcomes = [d % len(alpha) for d in draws]
    urn, expected = list(alpha), 0.0
    for outcome in outcomes:
        expected += math.log(urn[outcome] / sum(urn))
        urn[outcome] += 1
    counts = [outcomes.count(k) for k in range(len(alpha))]
    assert log_polya(alpha, counts) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize(("alpha", "counts"), [((0.5, 2.0), (3, 1)), ((4.0, 1.5), (0, 2)), ((1.0, 1.0), (9, 1))])
def test_evidence_by_quadrature(alpha, counts):
    a, b = alpha
    const = math.gamma(a + b) / math.gamma(a) / math.gamma(b)

    def integrand(t):
        return const * t ** (a - 1 + counts[0]) * (1 - t) ** (b - 1 + counts[1])

    value, _ = integrate.quad(integrand, 0, 1, epsabs=1e-12, epsrel=1e-11)
    assert math.exp(log_polya(alpha, counts)) == pytest.approx(value, rel=1e-8)


def test_bad_arguments_are_refused():
    for alpha, counts in (([0.0, 1.0], [1, 1]), ([1.0], [1, 1]), ([1.0, 1.0], [-1, 1])):
        with pytest.raises(ModelError, match="log_polya needs"):
            log_polya(alpha, counts)


def test_large_pseudo_counts_do_not_overflow():
    assert log_polya([5000, 5000], [9, 1]) == pytest.approx(math.log(0.00093024 / 0.95), abs=1e-4)


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_rows_with_repeated_use(seed):
    """Every row against the plain urn, group by group and component by component."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(int(rng.integers(1, 4))), int(rng.integers(1, 4)))
    num, parts, occurrences = len(groups), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    alpha = rng.uniform(0.1, 5, size=(parts, num))
    weights = rng.dirichlet(np.ones(parts), size=groups.max() + 1)
    uses = rng.integers(num, size=(6, occurrences))
    found = log_urn(alpha, np.log(weights), groups, uses)
    for row, value in zip(uses, found, strict=True):
        expected = 1.0
        for group in set(groups[row].tolist()):
            mixed = 0.0
            for i in range(parts):
                urn, share = alpha[i].copy(), weights[group, i]
                for cell in row[groups[row] == group]:
                    share *= urn[cell] / urn[groups == group].sum()
                    urn[cell] += 1
                mixed += share
            expected *= mixed
        assert value == pytest.approx(math.log(expected), abs=CLOSE)


def test_rows_sum_to_one_and_are_exchangeable():
    groups = np.array([0, 0, 0])
    uses = np.array(list(itertools.product(range(3), repeat=3)))
    found = np.exp(log_urn(np.array([[0.5, 2.0, 1.0]]), np.zeros((1, 1)), groups, uses))
    assert found.sum() == pytest.approx(1.0)
    by_use = {tuple(u): p for u, p in zip(uses.tolist(), found, strict=True)}
    for use, p in by_use.items():
        assert p == pytest.approx(by_use[tuple(sorted(use))])


def test_evidence_of_nothing():
    np.testing.assert_array_equal(log_evidence(np.ones((1, 2)), np.zeros(2), np.array([0, 1])), [[0.0], [0.0]])
