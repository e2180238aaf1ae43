"""Every conjugate prior of a Gaussian that is a value of the library can be given to the estimation of a network.

With a known precision the mean has a normal posterior, with a known mean the precision has a gamma one. Classes may
have a prior each, and share one variance. Expected values are the textbook's formulas and integrals by quadrature.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, multivariate_normal, norm

import sepset as ss
from support.tolerances import CLOSE

X, C = ss.Real("x"), ss.Discrete("c", ("a", "b"))
POINTS = np.array([1.0, 2.0, 3.0, 4.0])
SINGLE = ss.BayesNet(ss.LinearGaussian(X, 0.0, covariance=1.0))
CLASSES = ["a", "a", "a", "b", "b"]
FEATURE = np.array([1.0, 2.0, 4.5, 8.0, 11.0])
CLASSED = ss.BayesNet(ss.TableCPD(C, [0.5, 0.5]), ss.LinearGaussian(X, [0.0, 0.0], covariance=[1.0, 1.0], by=C))
ROWS = {"c": CLASSES, "x": FEATURE.tolist()}


def points():
    return {"x": POINTS.tolist()}


def test_mean_and_precision_unknown():
    """The normal-gamma prior, which estimation takes: shape 4, rate 6, and E[variance] = 6 / 3."""
    found = ss.fit(SINGLE, points(), ss.Bayes(ss.priors.NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)))
    assert float(found.model.cpd("x").intercept[0, 0]) == pytest.approx(2.0, abs=CLOSE)
    assert float(found.model.cpd("x").covariance[0, 0, 0]) == pytest.approx(2.0, abs=CLOSE)


def test_a_known_precision():
    """Precision 1 + 4 * 0.5 and the mean (4 * 0.5 * 2.5) / 3; the variance stays what is known."""
    found = ss.fit(SINGLE, points(), ss.Bayes(ss.priors.NormalMean(0.0, 1.0, noise=0.5)))
    assert float(found.model.cpd("x").intercept[0, 0]) == pytest.approx(5.0 / 3.0, abs=CLOSE)
    assert float(found.model.cpd("x").covariance[0, 0, 0]) == pytest.approx(2.0, abs=CLOSE)
    joint = multivariate_normal(np.zeros(4), 2.0 * np.eye(4) + 1.0)
    assert found.posterior.log_marginal_likelihood == pytest.approx(joint.logpdf(POINTS), abs=CLOSE)


def test_a_known_mean():
    """Shape 2 + 2 and rate 1 + 5 / 2; E[variance] = 3.5 / 3."""
    found = ss.fit(SINGLE, points(), ss.Bayes(ss.priors.GammaPrecision(2.0, 1.0, mean=2.5)))
    assert float(found.model.cpd("x").intercept[0, 0]) == pytest.approx(2.5, abs=CLOSE)
    assert float(found.model.cpd("x").covariance[0, 0, 0]) == pytest.approx(3.5 / 3.0, abs=CLOSE)

    def weight(precision):
        return norm.pdf(POINTS, 2.5, precision**-0.5).prod() * gamma.pdf(precision, 2.0, scale=1.0)

    expected = np.log(quad(weight, 0.0, 60.0, epsabs=1e-15, limit=400)[0])
    assert found.posterior.log_marginal_likelihood == pytest.approx(expected, abs=1e-7)


def test_the_most_probable_mean():
    """A normal posterior has its mode at its mean."""
    found = ss.fit(SINGLE, points(), ss.PosteriorMode(ss.priors.NormalMean(0.0, 1.0, noise=0.5)))
    assert float(found.model.cpd("x").intercept[0, 0]) == pytest.approx(5.0 / 3.0, abs=CLOSE)


def test_a_known_precision_in_every_class():
    """Each class shrinks toward the prior mean by its own number of rows."""
    found = ss.fit(
        CLASSED, ROWS, ss.Bayes({"x": ss.priors.NormalMean(3.0, 2.0, noise=1.0), ...: ss.priors.Dirichlet(1.0)})
    )
    expected = [(2.0 * 3.0 + FEATURE[:3].sum()) / 5.0, (2.0 * 3.0 + FEATURE[3:].sum()) / 4.0]
    assert found.model.cpd("x").intercept.ravel().tolist() == pytest.approx(expected, abs=CLOSE)
    assert found.model.cpd("x").covariance.ravel().tolist() == pytest.approx([1.0, 1.0], abs=CLOSE)
    assert found.model.cpd("c").values.tolist() == pytest.approx([4.0 / 7.0, 3.0 / 7.0], abs=CLOSE)


def test_updating_in_two_batches_is_updating_once():
    prior = ss.Bayes(ss.priors.NormalMean(0.0, 1.0, noise=0.5))
    whole = ss.fit(SINGLE, points(), prior).posterior
    halves = ss.fit(SINGLE, {"x": POINTS[:2].tolist()}, prior).posterior.update({"x": POINTS[2:].tolist()})
    found, expected = (part.mean_model().cpd("x").intercept.ravel() for part in (halves, whole))
    assert found == pytest.approx(expected, abs=CLOSE)


def test_discriminant_analysis_with_a_prior_of_each_class():
    """Normal-gamma: means shrink by the strength, and E[variance] = rate / (shape - 1) of each class."""
    model = ss.classify.discriminant_analysis(
        ROWS, "c", covariance="own", prior=ss.priors.NormalGamma(3.0, 2.0, shape=2.0, rate=1.0)
    )
    for place, part in enumerate((FEATURE[:3], FEATURE[3:])):
        strength = 2.0 + len(part)
        mean = (2.0 * 3.0 + part.sum()) / strength
        spread = ((part - part.mean()) ** 2).sum() + 2.0 * len(part) / strength * (part.mean() - 3.0) ** 2
        variance = (1.0 + 0.5 * spread) / (2.0 + 0.5 * len(part) - 1.0)
        assert float(model.cpd("x").intercept[place, 0]) == pytest.approx(mean, abs=CLOSE)
        assert float(model.cpd("x").covariance[place, 0, 0]) == pytest.approx(variance, abs=CLOSE)


def test_discriminant_analysis_of_a_class_of_one_row():
    """Its likelihood is unbounded; with a prior it has an ordinary line."""
    model = ss.classify.discriminant_analysis(
        {"c": ["a", "a", "b"], "x": [1.0, 2.0, 5.0]},
        "c",
        covariance="own",
        prior=ss.priors.NormalGamma(0.0, 1.0, shape=2.0, rate=1.0),
    )
    assert float(model.cpd("x").intercept[1, 0]) == pytest.approx(2.5, abs=CLOSE)
    assert float(model.cpd("x").covariance[1, 0, 0]) == pytest.approx((1.0 + 0.25 * 25.0) / 1.5, abs=CLOSE)


def test_discriminant_analysis_shrinks_means_of_a_shared_variance():
    model = ss.classify.discriminant_analysis(ROWS, "c", prior=ss.priors.NormalMean(3.0, 2.0, noise=1.0))
    expected = [(2.0 * 3.0 + FEATURE[:3].sum()) / 5.0, (2.0 * 3.0 + FEATURE[3:].sum()) / 4.0]
    assert model.cpd("x").intercept.ravel().tolist() == pytest.approx(expected, abs=CLOSE)


POOLED = sum(((part - part.mean()) ** 2).sum() for part in (FEATURE[:3], FEATURE[3:])) / 5.0


def shared():
    line = ss.LinearGaussian(X, [0.0, 0.0], covariance=1.0, by=C, shared="covariance")
    return ss.BayesNet(ss.TableCPD(C, [0.5, 0.5]), line)


def test_discriminant_analysis_pools_one_variance():
    model = ss.classify.discriminant_analysis(ROWS, "c", covariance="shared")
    assert model.cpd("x").covariance.ravel().tolist() == pytest.approx([POOLED, POOLED], abs=CLOSE)


def test_a_network_pools_one_variance():
    """Two means and one variance: the sum of both scatters over all rows."""
    net = shared()
    assert net.cpd("x").num_parameters == 3
    found = ss.fit(net, ROWS, ss.MLE()).model.cpd("x")
    assert found.intercept.ravel().tolist() == pytest.approx([2.5, 9.5], abs=CLOSE)
    assert found.covariance.ravel().tolist() == pytest.approx([POOLED, POOLED], abs=CLOSE)


def test_em_pools_one_variance():
    """One step from a start, the class of one row unknown: shares, then weighted means and one pooled variance."""
    net = shared().with_cpds(ss.LinearGaussian(X, [2.0, 9.0], covariance=4.0, by=C, shared="covariance"))
    rows = {"c": [*CLASSES[:4], None], "x": FEATURE.tolist()}
    weights = norm.pdf(FEATURE[4], [2.0, 9.0], 2.0)
    share = weights / weights.sum()
    memberships = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0], share])
    means = memberships.T @ FEATURE / memberships.sum(axis=0)
    pooled = (memberships * (FEATURE[:, None] - means) ** 2).sum() / 5.0
    found = ss.fit(net, rows, ss.EM(start="model"), until=ss.Until(steps=1, tolerance=None)).model.cpd("x")
    assert found.intercept.ravel().tolist() == pytest.approx(means.tolist(), abs=CLOSE)
    assert found.covariance.ravel().tolist() == pytest.approx([pooled, pooled], abs=CLOSE)


def test_the_values_themselves_are_right():
    """The posteriors that estimation would use."""
    assert ss.priors.NormalMean(0.0, 1.0, noise=0.5).update(POINTS).mean == pytest.approx(5.0 / 3.0, abs=CLOSE)
    assert ss.priors.GammaPrecision(2.0, 1.0, mean=2.5).update(POINTS).rate == pytest.approx(3.5, abs=CLOSE)
