from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate, stats

from sepset.api.learning import fit
from sepset.cpds import kerneldensity
from sepset.cpds.cpd import CPD
from sepset.cpds.kerneldensity import KernelCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.data import kernelrows
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError, ModelError, NotApplicable, ScopeError, TooLarge
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real, Vector
from support.tolerances import CLOSE, STANDARD_ERRORS, printed

D, U, V, X = Discrete("d", "ab"), Real("u"), Real("v"), Real("x")
PUBLISHED = KernelCPD(X, {"u": [0.0, 1.0, 2.0], "x": [0.0, 2.0, 1.0]}, width=0.7, given=U)


def density(cpd, **values):
    """The density at one assignment, as the CPD gives it."""
    rows = {v: np.array([D.code(values[v.name]) if v is D else float(values[v.name])]) for v in cpd.scope}
    return math.exp(cpd.log_probability(rows)[0])


def test_published_conditional():
    assert density(PUBLISHED, u=0.5, x=1.0) == pytest.approx(0.2276591, abs=printed(7))
    assert PUBLISHED.distribution({"u": 0.5}).mean() == pytest.approx(1.0, abs=CLOSE)
    assert integrate.quad(lambda x: density(PUBLISHED, u=0.5, x=x), -12, 14)[0] == pytest.approx(1.0, abs=1e-8)


def test_published_training_likelihood_is_unbounded():
    cpd = KernelCPD(X, {"x": [0.0, 1.0, 3.0]}, width=1.0)
    rows = {X: np.array([0.0, 1.0, 3.0])}
    for width, expected in ((1.0, -4.88006), (0.1, 0.85510), (0.01, 7.76286), (0.001, 14.67061)):
        assert cpd.with_width(width).log_probability(rows).sum() == pytest.approx(expected, abs=printed(5))
    chosen = KernelCPD(X, {"x": [0.0, 1.0, 3.0]})
    assert chosen.width[0] == pytest.approx(1.9019, abs=5e-5)


def random_cpd(seed, num_rows=5, width=(0.5, 0.8, 0.6)):
    rng = np.random.default_rng(seed)
    rows = {"d": rng.choice(["a", "b"], size=num_rows), **{n: rng.normal(size=num_rows) for n in "uvx"}}
    rows["d"][:2] = ["a", "b"]
    return KernelCPD(X, rows, width=width, given=(U, V), by=D, weights=rng.random(num_rows) + 0.1), rows


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_conditional_is_a_ratio_of_parzen_windows(seed):
    cpd, rows = random_cpd(seed)
    weights = np.concatenate(cpd.samples.weights)
    at = np.random.default_rng(seed + 1).normal(size=3)
    for state in "ab":
        points = cpd.samples.points[D.code(state)]
        share = cpd.samples.weights[D.code(state)]
        joint = share @ stats.norm(points, cpd.width).pdf(at).prod(axis=1)
        above = share @ stats.norm(points[:, :2], cpd.width[:2]).pdf(at[:2]).prod(axis=1)
        columns = {D: np.array([D.code(state)]), U: at[:1], V: at[1:2], X: at[2:]}
        assert cpd.log_probability(columns)[0] == pytest.approx(math.log(joint / above), rel=1e-9, abs=1e-9)
        assert cpd.log_joint(columns)[0] == pytest.approx(math.log(joint / share.sum()), rel=1e-9, abs=1e-9)
    assert len(weights) == len(rows["x"])


@pytest.mark.parametrize("u", [0.3, 3.0, 500.0, -1e6])
def test_densities_integrate_to_one_even_far_from_the_data(u):
    total = integrate.quad(lambda x: density(PUBLISHED, u=u, x=x), -12, 14, points=[0, 1, 2])[0]
    assert total == pytest.approx(1.0, abs=1e-7)


def test_the_joint_integrates_to_one():
    grid = np.linspace(-8, 10, 361)
    u, x = np.meshgrid(grid, grid)
    values = np.exp(PUBLISHED.log_joint({U: u.ravel(), X: x.ravel()}))
    assert values.sum() * (grid[1] - grid[0]) ** 2 == pytest.approx(1.0, abs=1e-6)


def test_draws_follow_the_density():
    count = 20_000
    for u in (0.5, 30.0):
        drawn = PUBLISHED.sample({U: np.full(count, u)}, count, np.random.default_rng(0))
        mixture = PUBLISHED.distribution({"u": u})
        for threshold in (-0.5, 0.8, 1.7):
            expected = mixture.weights @ stats.norm(mixture.means[:, 0], 0.7).cdf(threshold)
            error = STANDARD_ERRORS * math.sqrt(max(expected * (1 - expected), 1e-4) / count)
            assert abs((drawn < threshold).mean() - expected) < error


def test_draws_stay_in_their_context():
    rows = {"d": ["a", "b", "b"], "x": [0.0, 100.0, 200.0]}
    cpd = KernelCPD(X, rows, width=0.1, by=D)
    drawn = cpd.sample({D: np.array([0, 1, 1, 0])}, 4, np.random.default_rng(0))
    assert (np.abs(drawn[[0, 3]]) < 1).all()
    assert (drawn[[1, 2]] > 99).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_linear_gaussian_has_the_same_moments(seed):
    cpd, _ = random_cpd(seed, num_rows=8)
    line = cpd.to_linear_gaussian()
    for c in range(2):
        points, share = cpd.samples.points[c], cpd.samples.weights[c]
        mean = np.average(points, axis=0, weights=share)
        covariance = np.cov(points.T, aweights=share, bias=True) if len(points) > 1 else np.zeros((3, 3))
        covariance = covariance + np.diag(cpd.width**2)
        slope = np.linalg.solve(covariance[:2, :2], covariance[:2, 2])
        np.testing.assert_allclose(line.coefficients[c, 0], slope, rtol=CLOSE)
        assert line.intercept[c, 0] == pytest.approx(mean[2] - slope @ mean[:2], rel=CLOSE)
        assert line.covariance[c, 0, 0] == pytest.approx(covariance[2, 2] - slope @ covariance[:2, 2], rel=CLOSE)
    assert line.factors()


def test_statistics_add_up_and_scopes_are_kept():
    rng = np.random.default_rng(0)
    rows = {D: rng.integers(2, size=40), U: rng.normal(size=40), X: rng.normal(size=40)}
    weights = rng.random(40)
    template = KernelCPD(X, given=U, by=D, block="shared")
    parts = [
        template.statistics({v: c[part] for v, c in rows.items()}, weights[part]) for part in (slice(15), slice(15, 40))
    ]
    whole, joined = (template.from_statistics(s) for s in (template.statistics(rows, weights), parts[0] + parts[1]))
    np.testing.assert_allclose(whole.log_probability(rows), joined.log_probability(rows), rtol=1e-6)
    assert (whole.scope, whole.block) == (template.scope, template.block)
    assert isinstance(whole, CPD)
    assert whole.num_parameters == 41 * 2
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.log_probability(rows), whole.log_probability(rows))
    assert repr(whole) == "KernelCPD(x | d[2], u; 40 rows)"


def test_networks_with_kernels_are_fitted_scored_and_drawn():
    rng = np.random.default_rng(0)
    u = rng.normal(size=80)
    rows = Dataset.from_codes([U, X], {"u": u, "x": np.sin(2 * u) + 0.1 * rng.normal(size=80)})
    net = BayesNet(LinearGaussian(U, covariance=1.0), KernelCPD(X, given=U))
    found = fit(net, rows).model
    assert np.isfinite(found.log_probability(rows)).all()
    line = LinearGaussian(X, coefficients=0.0, covariance=1.0, given=U)
    straight = fit(BayesNet(LinearGaussian(U, covariance=1.0), line), rows)
    assert found.log_probability(rows).sum() > straight.log_likelihood
    drawn = found.sample(500, seed=0)
    assert np.abs(drawn.values("x") - np.sin(2 * drawn.values("u"))).mean() < 0.6
    with pytest.raises(NotApplicable, match="to_linear_gaussian"):
        found.problem().factor(1)


def test_vectors_and_equal_contexts():
    point = Vector("p", 2)
    cpd = KernelCPD(point, {"p": [[0.0, 1.0], [2.0, 2.0]]}, width=[0.5, 1.0])
    at = np.array([[1.0, 1.0]])
    expected = np.mean([stats.norm(p, [0.5, 1.0]).pdf(at[0]).prod() for p in ([0, 1], [2, 2])])
    assert cpd.log_probability({point: at})[0] == pytest.approx(math.log(expected), rel=CLOSE)
    assert cpd.sample({}, 3, np.random.default_rng(0)).shape == (3, 2)
    same = KernelCPD(X, {"d": ["a", "b"], "x": [1.0, 1.0]}, width=1.0, by=D)
    other = KernelCPD(X, {"d": ["a", "b"], "x": [1.0, 2.0]}, width=1.0, by=D)
    assert same.irrelevant({}) == (D,)
    assert other.irrelevant({}) == ()
    assert other.irrelevant({"d": "a"}) == ()


def test_widths_by_parts_of_the_rows():
    rng = np.random.default_rng(0)
    u = rng.normal(size=60)
    cpd = KernelCPD(X, {"u": u, "x": u + 0.3 * rng.normal(size=60)}, width=1.0, given=U)
    alone, parts = cpd.with_best_width(), cpd.with_best_width(folds=5, seed=1)
    again = KernelCPD(X, dict(zip("ux", cpd.samples.points[0].T, strict=True)), given=U)
    np.testing.assert_array_equal(alone.width, again.width)
    np.testing.assert_array_equal(parts.width, cpd.with_best_width(folds=5, seed=1).width)
    assert 0.3 < parts.width[0] / alone.width[0] < 3.0
    scaled = cpd.with_best_width(scale=[1.0, 2.0]).width
    assert scaled[1] == pytest.approx(2.0 * scaled[0])


def test_contexts_without_rows():
    cpd = KernelCPD(X, {"d": ["a", "a"], "x": [1.0, 2.0]}, width=1.0, by=D)
    with pytest.raises(DataError, match="no rows where d='b'"):
        density(cpd, d="b", x=0.0)
    stats_a = cpd.statistics({D: np.array([0]), X: np.array([5.0])})
    with pytest.raises(DataError, match="unseen='keep'"):
        cpd.from_statistics(stats_a)
    assert cpd.from_statistics(stats_a, unseen="keep").num_rows == 1


def test_what_is_refused():
    with pytest.raises(NotApplicable, match="to_linear_gaussian"):
        PUBLISHED.factors()
    with pytest.raises(NotApplicable, match="takes no prior"):
        PUBLISHED.from_statistics(PUBLISHED.samples, 1.0)
    with pytest.raises(DataError, match="Fit it to data"):
        KernelCPD(X, width=1.0).log_probability({X: np.zeros(1)})
    with pytest.raises(ModelError, match="widths > 0"):
        KernelCPD(X, width=0.0)
    with pytest.raises(ModelError, match="one width, or 2"):
        KernelCPD(X, width=[1.0, 2.0, 3.0], given=U)
    with pytest.raises(ScopeError, match="real child"):
        KernelCPD(D)
    with pytest.raises(ArgumentError, match="columns by name"):
        KernelCPD(X, [0.1, 0.4])
    with pytest.raises(ScopeError, match="belongs in by="):
        KernelCPD(X, given=D)
    with pytest.raises(ScopeError, match="belongs in given="):
        KernelCPD(X, by=U)
    with pytest.raises(DataError, match="column for u"):
        PUBLISHED.log_probability({X: np.zeros(1)})
    with pytest.raises(DataError, match="parent u"):
        PUBLISHED.distribution({})
    with pytest.raises(DataError, match="not its columns"):
        PUBLISHED.from_statistics(KernelCPD(X, {"x": [0.0, 1.0]}).samples)
    with pytest.raises(AttributeError):
        PUBLISHED.width = None


def test_very_many_rows_are_refused_before_any_kernel_is_evaluated(monkeypatch):
    monkeypatch.setattr(kernelrows, "log_kernels", None)
    monkeypatch.setattr(kerneldensity, "log_kernels", None)
    rows = {"x": np.linspace(0.0, 1.0, 500_000)}
    with pytest.raises(TooLarge, match=r"10,000,000,000,000 kernels .* Give width="):
        KernelCPD(X, rows)
    with pytest.raises(TooLarge, match="250,000,000,000 kernels"):
        BayesNet(KernelCPD(X, rows, width=0.1)).log_probability(rows)
