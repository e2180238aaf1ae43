from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracle
from sepset.errors import ImpossibleEvidence, ModelError, NotClosed, ScopeError
from sepset.factors.algebra import Distribution
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.moments import Gaussian, GaussianMixture, square_roots
from support.random_forms import REALS, A, P, X, Y, Z, some, width
from support.tolerances import CLOSE, EXACT

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def covariance(rng, size):
    root = rng.normal(size=(size, size))
    return root @ root.T + 0.2 * np.eye(size)


def normal(rng, scope=None):
    scope = some(rng, REALS, 1) if scope is None else scope
    return Gaussian(scope, rng.normal(size=width(scope)), covariance=covariance(rng, width(scope)))


def mixture(rng, scope, count=3):
    size = width(scope)
    sigmas = [covariance(rng, size) for _ in range(count)]
    return GaussianMixture(
        scope, rng.dirichlet(np.ones(count)), means=2 * rng.normal(size=(count, size)), covariances=sigmas
    )


def test_they_are_distributions():
    rng = np.random.default_rng(0)
    assert isinstance(normal(rng), Distribution)
    assert isinstance(mixture(rng, (X,)), Distribution)


def test_one_real_is_a_number():
    g = Gaussian(X, 3.0, covariance=4.0)
    assert (g.mean(), g.mode(), g.variance()) == (3.0, 3.0, 4.0)
    assert g.entropy() == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 4))
    low, high = g.interval(0.95)
    assert (low, high) == pytest.approx((3 - 1.959963984540054 * 2, 3 + 1.959963984540054 * 2))
    assert g.log_density({X: 1.0}) == pytest.approx(-0.5 - 0.5 * math.log(2 * math.pi * 4))
    assert repr(g) == "Gaussian(x; mean 3, deviation 2)"


@given(seeds)
def test_marginals_slice_and_conditioning_is_the_schur_complement(rng):
    g = normal(rng, (X, P, Y))
    marginal = g.marginal(["y", X])
    assert marginal.scope == (Y, X)
    np.testing.assert_array_equal(marginal.covariance, g.covariance[np.ix_([3, 0], [3, 0])])
    known = {P: rng.normal(size=2), "elsewhere": 1.0}
    posterior = g.condition(known)
    assert posterior.scope == (X, Y)
    _, mean, cov = oracle.condition_gaussian(g.mu, g.covariance, [1, 2], known[P])
    np.testing.assert_allclose(posterior.mu, mean, atol=1e-8)
    np.testing.assert_allclose(posterior.covariance, cov, atol=1e-8)


@given(seeds)
def test_kl_and_entropy_are_expectations(rng):
    p, q = normal(rng, (X, Y)), normal(rng, (Y, X))
    swapped = q.marginal((X, Y))

    def gap(point):
        return oracle.gaussian_log_density(point, p.mu, p.covariance) - oracle.gaussian_log_density(
            point, swapped.mu, swapped.covariance
        )

    assert p.kl(q) == pytest.approx(oracle.gaussian_expectation(gap, p.mu, p.covariance, 4), rel=1e-7, abs=CLOSE)
    surprise = oracle.gaussian_expectation(
        lambda point: -oracle.gaussian_log_density(point, p.mu, p.covariance), p.mu, p.covariance, 4
    )
    assert p.entropy() == pytest.approx(surprise, abs=1e-8)
    assert p.kl(p) == pytest.approx(0.0, abs=CLOSE)


def test_singular_gaussians():
    line = Gaussian((X, Y), [0.0, 1.0], covariance=[[1.0, 2.0], [2.0, 4.0]])
    assert line.entropy() == -math.inf
    posterior = line.condition({X: 2.0})
    assert posterior.mean() == pytest.approx(5.0)
    assert posterior.variance() == pytest.approx(0.0, abs=EXACT)
    drawn = line.sample(100, seed=1)
    np.testing.assert_allclose(drawn["y"], 1 + 2 * drawn["x"], atol=CLOSE)
    assert line.condition({X: 2.0, Y: 5.0}).scope == ()
    with pytest.raises(ImpossibleEvidence, match="deterministic relation"):
        line.condition({X: 2.0, Y: 9.0})
    with pytest.raises(NotClosed, match="singular"):
        CanonicalGaussian.from_moments(line.scope, line.mu, covariance=line.covariance)
    with pytest.raises(NotClosed, match="singular"):
        line.log_density({X: 0.0, Y: 1.0})
    with pytest.raises(ScopeError, match="missing 'y'"):
        line.log_density({X: 0.0})
    full = Gaussian((X, Y), [0, 0], covariance=np.eye(2))
    assert line.kl(full) == math.inf
    with pytest.raises(NotClosed, match="positive definite"):
        full.kl(line)
    point = Gaussian(X, 2.0, covariance=0.0)
    assert point.interval() == (2.0, 2.0)
    assert point.sample(3)["x"].tolist() == [2.0, 2.0, 2.0]


def test_samples_have_the_moments():
    g = normal(np.random.default_rng(2), (X, P))
    drawn = g.sample(50_000, seed=3)
    assert drawn["x"].shape == (50_000,)
    assert drawn["p"].shape == (50_000, 2)
    stacked = np.column_stack([drawn["x"], drawn["p"]])
    assert (np.abs(stacked.mean(axis=0) - g.mu) < 5 * np.sqrt(np.diag(g.covariance) / 50_000)).all()
    np.testing.assert_array_equal(g.sample(5, seed=3)["x"], g.sample(5, seed=3)["x"])


def test_intervals_and_means_by_name():
    g = Gaussian((X, P), [0, 1, 2], covariance=np.diag([1.0, 4.0, 9.0]))
    ends = g.interval(0.5)
    assert ends["x"][1] == pytest.approx(0.6744897501960817)
    np.testing.assert_allclose(ends["p"][0], [1 - 2 * 0.6744897501960817, 2 - 3 * 0.6744897501960817])
    assert g.mean()["p"].tolist() == [1.0, 2.0]


@given(seeds)
def test_mixture_moments_and_densities(rng):
    m = mixture(rng, (X, Y))
    mean, cov = oracle.collapse(m.weights, m.means, m.covariances)
    np.testing.assert_allclose(m.to_gaussian().mu, mean, atol=CLOSE)
    np.testing.assert_allclose(m.to_gaussian().covariance, cov, atol=CLOSE)
    point = rng.normal(size=2)
    parts = [
        w * math.exp(oracle.gaussian_log_density(point, a, b))
        for w, a, b in zip(m.weights, m.means, m.covariances, strict=True)
    ]
    assert m.log_densities(point[None])[0] == pytest.approx(math.log(sum(parts)), abs=1e-8)
    top = m.mode()
    best = m.log_densities(np.array([[top["x"], top["y"]]]))[0]
    assert best >= m.log_densities(m.means).max() - CLOSE
    around = np.array([top["x"], top["y"]]) + 1e-3 * rng.normal(size=(20, 2))
    assert (m.log_densities(around) <= best + CLOSE).all()


@given(seeds)
def test_mixture_intervals_and_entropy_by_quadrature(rng):
    m = mixture(rng, (X,))
    low, high = m.interval(0.9)
    spread = 12 * math.sqrt(m.covariances.max())
    grid = np.linspace(m.means.min() - spread, m.means.max() + spread, 200_001)
    density = sum(
        w * np.exp(-0.5 * (grid - a) ** 2 / v) / math.sqrt(2 * math.pi * v)
        for w, a, v in zip(m.weights, m.means[:, 0], m.covariances[:, 0, 0], strict=True)
    )
    step = grid[1] - grid[0]
    assert density[(grid >= low) & (grid <= high)].sum() * step == pytest.approx(0.9, abs=1e-3)
    assert density[grid < low].sum() * step == pytest.approx(0.05, abs=1e-3)
    positive = density[density > 0]
    assert m.entropy() == pytest.approx(-(positive * np.log(positive)).sum() * step, abs=1e-5)


@given(seeds)
def test_mixtures_marginalize_and_condition(rng):
    m = mixture(rng, (X, Y, Z))
    known = {Y: rng.normal(), Z: rng.normal()}
    posterior = m.condition(known)
    ratio = []
    for x in (-1.0, 0.5):
        joint = m.log_densities(np.array([[x, known[Y], known[Z]]]))[0]
        ratio.append(joint - posterior.log_densities(np.array([[x]]))[0])
    evidence = m.marginal([Y, Z]).log_densities(np.array([[known[Y], known[Z]]]))[0]
    assert ratio == pytest.approx([evidence, evidence], abs=1e-8)
    assert m.condition({"elsewhere": 1.0}) is m


def test_mixture_samples():
    m = mixture(np.random.default_rng(4), (X, P))
    drawn = m.sample(50_000, seed=5)
    whole = m.to_gaussian()
    stacked = np.column_stack([drawn["x"], drawn["p"]])
    assert (np.abs(stacked.mean(axis=0) - whole.mu) < 5 * np.sqrt(np.diag(whole.covariance) / 50_000)).all()
    assert m.num_components == 3
    assert repr(m).startswith("GaussianMixture(x, p; 3 components, mean ")
    assert m.variance()["x"] == pytest.approx(whole.variance()["x"])


def test_one_component_is_a_gaussian():
    g = Gaussian((X,), 2.0, covariance=3.0)
    m = GaussianMixture(X, [1.0], means=[2.0], covariances=[3.0])
    assert m.mode() == pytest.approx(2.0)
    assert m.entropy() == pytest.approx(g.entropy(), abs=1e-8)
    assert m.interval() == pytest.approx(g.interval())


def test_a_component_of_weight_zero_is_nothing():
    m = GaussianMixture(X, [1.0, 0.0], means=[2.0, 50.0], covariances=[3.0, 1.0])
    assert m.mode() == pytest.approx(2.0)
    assert m.mean() == 2.0


def test_singular_components():
    m = GaussianMixture(X, [0.5, 0.5], means=[0.0, 1.0], covariances=[0.0, 1.0])
    assert set(np.unique(m.sample(50)["x"] == 0.0)) == {True, False}
    with pytest.raises(NotClosed, match="component 0 is singular"):
        m.entropy()
    roots = square_roots(m.covariances)
    np.testing.assert_allclose(roots @ np.swapaxes(roots, 1, 2), m.covariances, atol=EXACT)


def test_pictures():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    rng = np.random.default_rng(0)
    axes = normal(rng, (X,)).plot()
    assert axes.get_xlabel() == "x"
    fresh = pyplot.figure().gca()
    assert mixture(rng, (X, Y)).plot(fresh) is fresh
    with pytest.raises(ScopeError, match="one or two"):
        normal(rng, (X, P)).plot()
    pyplot.close("all")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Gaussian(X, 0.0, covariance=-1.0), ModelError, "eigenvalue -1"),
        (lambda: Gaussian((X, Y), [0, 0], covariance=[[1, 2], [2, 1]]), ModelError, "eigenvalue -1"),
        (lambda: Gaussian(X, np.nan, covariance=1.0), ModelError, "finite"),
        (lambda: Gaussian((A,), 0.0, covariance=1.0), ScopeError, "continuous"),
        (lambda: Gaussian(X, 0, covariance=1).marginal("q"), ScopeError, "'q' is not in the scope"),
        (
            lambda: Gaussian(X, 0, covariance=1).kl(Gaussian((X, Y), [0, 0], covariance=np.eye(2))),
            ScopeError,
            "one scope",
        ),
        (lambda: GaussianMixture(X, [0.5, 0.4], means=[0, 1], covariances=[1, 1]), ModelError, "sum of 0.9"),
        (lambda: GaussianMixture(X, [1.5, -0.5], means=[0, 1], covariances=[1, 1]), ModelError, ">= 0"),
        (
            lambda: GaussianMixture((X, Y), [1.0], means=[[0, 0]], covariances=[np.eye(2)]).entropy(),
            NotClosed,
            "no closed form",
        ),
    ],
)
def test_errors_say_what_was_found(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_they_are_immutable():
    g = Gaussian(X, 0.0, covariance=1.0)
    with pytest.raises(AttributeError):
        g.mu = np.zeros(1)
    with pytest.raises(ValueError, match="read-only"):
        g.covariance[0, 0] = 2.0
    assert pickle.loads(pickle.dumps(g)).variance() == 1.0
