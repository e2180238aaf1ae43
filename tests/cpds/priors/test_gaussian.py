from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, stats

import sepset as ss
from sepset.cpds.priors.gaussian import ConjugatePrior, GammaPrecision, NormalMean
from sepset.cpds.priors.regression import NormalGamma
from sepset.data.scatter import Scatter
from sepset.errors import DataError, ModelError
from support.tolerances import STANDARD_ERRORS, printed

X = np.array([1.0, 2.0, 3.0, 4.0])
PRIORS = [
    NormalMean(0.5, 2.0, noise=1.5),
    GammaPrecision(2.0, 1.5, mean=0.3),
    NormalGamma(0.2, 1.3, shape=2.1, rate=0.9),
]
numbers = st.lists(st.floats(-50, 50), min_size=1, max_size=12)


def close(first, second):
    """Whether two posteriors of one family agree in every hyperparameter."""
    return all(
        getattr(first, name) == pytest.approx(getattr(second, name), rel=1e-9, abs=1e-9)
        for name in type(first).__dataclass_fields__
    )


def test_published_normal_mean():
    posterior = NormalMean(0.0, 1.0, noise=1.0).update(X)
    assert (posterior.precision, posterior.mean) == (5.0, pytest.approx(2.0, abs=1e-12))
    assert posterior.predictive().covariance()[0, 0] == pytest.approx(1.2, abs=1e-12)
    # x = (2, 4, 6), variance 4, prior N(1, 2): N(2.8, 0.8)
    posterior = NormalMean(1.0, 0.5, noise=0.25).update([2.0, 4.0, 6.0])
    assert (posterior.mean, 1 / posterior.precision) == (pytest.approx(2.8), pytest.approx(0.8))


def test_published_gamma():
    posterior = GammaPrecision(2.0, 1.0, mean=2.5).update(X)
    assert (posterior.shape, posterior.rate) == (4.0, 3.5)
    assert posterior.expected_precision == pytest.approx(1.142857, abs=printed(6))
    assert posterior.precision_variance == pytest.approx(0.326531, abs=printed(6))
    assert len(X) / ((X - 2.5) ** 2).sum() == pytest.approx(0.8)
    weak = GammaPrecision(1e-9, 1e-9, mean=2.5).update(X)
    assert weak.expected_precision == pytest.approx(0.8, abs=1e-8)
    posterior = GammaPrecision(2.0, 3.0, mean=4.0).update([2.0, 4.0, 6.0])
    assert (posterior.shape, posterior.rate, posterior.expected_precision) == (3.5, 7.0, 0.5)


def likelihood(x, mean, precision):
    return math.exp(stats.norm(mean, precision**-0.5).logpdf(x).sum())


def test_evidence_and_prediction_by_quadrature():
    x = [0.4, 1.9, -0.3]
    a = NormalMean(0.5, 2.0, noise=1.5)
    density = stats.norm(0.5, 2.0**-0.5).pdf
    evidence = integrate.quad(lambda m: density(m) * likelihood(x, m, 1.5), -8, 8)[0]
    assert math.exp(a.log_marginal_likelihood(x)) == pytest.approx(evidence, rel=1e-7)
    b = GammaPrecision(2.0, 1.5, mean=0.3)
    density = stats.gamma(2.0, scale=1 / 1.5).pdf
    evidence = integrate.quad(lambda t: density(t) * likelihood(x, 0.3, t), 0, 60)[0]
    assert math.exp(b.log_marginal_likelihood(x)) == pytest.approx(evidence, rel=1e-7)
    c = NormalGamma(0.2, 1.3, shape=2.1, rate=0.9)
    grid = np.linspace(-12, 12, 1201)
    taus = np.linspace(1e-4, 25, 2500)
    gamma, spread = stats.gamma(2.1, scale=1 / 0.9).pdf(taus), (1.3 * taus) ** -0.5
    density = gamma[:, None] * stats.norm.pdf(grid, 0.2, spread[:, None])
    for value in x:
        density = density * stats.norm.pdf(value, grid, (taus**-0.5)[:, None])
    evidence = integrate.trapezoid(integrate.trapezoid(density, grid, axis=1), taus)
    assert math.exp(c.log_marginal_likelihood(x)) == pytest.approx(evidence, rel=2e-4)


@given(numbers, st.integers(0, 12), st.sampled_from(PRIORS))
def test_batches_chunks_and_rows_lead_to_one_posterior(x, cut, prior):
    sequential, log_evidence = prior, 0.0
    for value in x:
        log_evidence += float(sequential.predictive().log_density(value))
        sequential = sequential.update([value])
    batch = prior.update(x)
    chunks = prior.update(x[:cut]).update(x[cut:])
    assert close(batch, sequential)
    assert close(batch, chunks)
    assert close(batch, prior.update(Scatter.of(x[::-1])))
    # The chain rule: the evidence is the product of one-step predictions.
    assert prior.log_marginal_likelihood(x) == pytest.approx(log_evidence, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("prior", PRIORS)
def test_no_data_change_nothing(prior):
    assert close(prior.update([]), prior)
    assert prior.log_marginal_likelihood([]) == pytest.approx(0.0, abs=1e-12)
    assert isinstance(prior, ConjugatePrior)


def test_predictions_are_mixtures_over_draws():
    count = 40_000
    means, precisions = NormalGamma(0.2, 1.3, shape=4.0, rate=2.0).sample(count, seed=0)
    t = NormalGamma(0.2, 1.3, shape=4.0, rate=2.0).predictive()
    for x in (-1.0, 0.3, 2.0):
        mixed = stats.norm.pdf(x, means, precisions**-0.5)
        assert abs(mixed.mean() - math.exp(t.log_density(x))) < STANDARD_ERRORS * mixed.std() / math.sqrt(count)
    marginal = NormalGamma(0.2, 1.3, shape=4.0, rate=2.0).mean_marginal()
    low, high = (float(end[0]) for end in marginal.interval(0.5))
    assert abs(((means > low) & (means < high)).mean() - 0.5) < STANDARD_ERRORS * 0.5 / math.sqrt(count)
    drawn = NormalMean(0.5, 4.0, noise=1.0).sample(count, seed=0)
    assert abs(drawn.mean() - 0.5) < STANDARD_ERRORS * 0.5 / math.sqrt(count)
    drawn = GammaPrecision(4.0, 2.0, mean=0.0).sample(count, seed=0)
    assert abs(drawn.mean() - 2.0) < STANDARD_ERRORS * 1.0 / math.sqrt(count)


def test_what_is_refused():
    with pytest.raises(ModelError, match="precision > 0"):
        NormalMean(0.0, 0.0, noise=1.0)
    with pytest.raises(ModelError, match="rate > 0"):
        GammaPrecision(1.0, -1.0, mean=0.0)
    with pytest.raises(ModelError, match="strength > 0"):
        NormalGamma(0.0, math.inf, shape=1.0, rate=1.0)
    with pytest.raises(ModelError, match="finite mean"):
        NormalGamma(math.nan, 1.0, shape=1.0, rate=1.0)
    with pytest.raises(DataError, match="1 coordinates"):
        NormalGamma(0.0, 1.0, shape=1.0, rate=1.0).update(np.zeros((3, 2)))
    assert NormalGamma(0.0, 1.0, shape=1.0, rate=1.0).expected_variance == math.inf
    assert NormalGamma(0.0, 1.0, shape=3.0, rate=1.5).expected_precision == 2.0


KNOWN = [NormalMean(0.5, 2.0, noise=0.8), GammaPrecision(2.5, 1.5, mean=0.5)]


@pytest.mark.parametrize("prior", KNOWN, ids=repr)
def test_rows_of_a_network_are_predicted_as_a_chain(prior):
    """Several uses of one mean or precision in a row: the product of predictions, each after those before it."""
    y, chain, post = np.array([0.3, -1.2, 2.0]), 0.0, prior
    for value in y:
        chain += post.log_marginal_likelihood([value])
        post = post.update([value])
    found = prior.log_predictives(np.zeros((1, 3, 0)), y[None, :, None])
    assert float(found[0]) == pytest.approx(chain, abs=1e-12)


@pytest.mark.parametrize("is_theta", [True, False])
def test_densities_of_what_is_not_known_integrate_to_one(is_theta):
    mean, precision = KNOWN
    fixed = np.array([[1.0 / mean.noise]])
    total = integrate.quad(lambda m: np.exp(mean.log_density(np.array([[m]]), fixed, is_theta=is_theta)), -9, 9)[0]
    assert total == pytest.approx(1.0, abs=1e-9)

    def density(x):
        variance = x if is_theta else np.exp(x)
        return np.exp(precision.log_density(precision.lines, np.array([[variance]]), is_theta=is_theta))

    assert integrate.quad(density, 0.0 if is_theta else -12.0, 400.0 if is_theta else 12.0, limit=500)[
        0
    ] == pytest.approx(1, abs=1e-4)
    assert mean.log_density(mean.lines, 2.0 * fixed, is_theta=is_theta) == -np.inf
    assert precision.log_density(precision.lines + 1.0, fixed, is_theta=is_theta) == -np.inf


def test_posteriors_in_networks_know_what_is_known():
    x = ss.Real("x")
    net = ss.BayesNet(ss.LinearGaussian(x, 0.0, covariance=1.0))
    for prior, fixed, free in ((KNOWN[0], "variance", "intercept"), (KNOWN[1], "intercept", "variance")):
        found = ss.fit(net, {"x": [0.2, 1.4, -0.3]}, ss.Bayes(prior)).posterior
        low, high = found.interval("x", fixed)
        assert low == high == found.moments("x", fixed)[0]
        low, high = found.interval("x", free)
        assert low < found.moments("x", free)[0] < high
        assert found.sample_model(seed=1).cpd("x").covariance.shape == (1, 1, 1)
        assert len(found.to_frame()) == 2


def test_gradients_and_regressions_do_not_take_them():
    u, x = ss.Real("u"), ss.Real("x")
    net = ss.BayesNet(
        ss.LinearGaussian(u, 0.0, covariance=1.0), ss.LinearGaussian(x, coefficients=1.0, covariance=1.0, given=u)
    )
    with pytest.raises(ss.errors.NotApplicable, match=r"LinearGaussian\(x \| u\)"):
        ss.fit(net, {"u": [0.1, 0.5, 0.2], "x": [1.0, 2.0, 0.3]}, ss.Bayes(KNOWN[0]))
    with pytest.raises(ss.errors.NotApplicable, match="known part"):
        ss.fit(net.subnetwork("u"), {"u": [0.1, None, 0.7]}, ss.GradientAscent(KNOWN[1]))
    with pytest.raises(ss.errors.ArgumentError, match="own"):
        ss.classify.discriminant_analysis(
            {"c": ["a", "a", "b", "b"], "x": [0.1, 0.4, 2.0, 2.5]},
            "c",
            prior=ss.priors.NormalGamma(0, 1, shape=2, rate=1),
        )
