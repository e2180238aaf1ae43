"""Divergence from draws: within a few standard errors of what is known exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.learning.evaluation.divergence.relativeentropy import divergence
from sepset.learning.evaluation.divergence.sampled import CHUNK, Estimate, sampled
from support.strategies import plain_factors


def test_discrete_networks_agree_with_the_joint():
    dag = ss.DAG.parse("a -> b <- c; b -> d")
    p, q = (ss.BayesNet.random(dag, states=3, seed=s) for s in (1, 2))
    joints = [oracle.joint(*plain_factors(net)) for net in (p, q)]
    found = divergence(p, q, samples=CHUNK + 10_000, seed=3)
    assert abs(found.total - oracle.kl(*joints)) < 4 * found.standard_error
    ratios = np.log(joints[0] / joints[1])
    spread = math.sqrt((joints[0] * (ratios - (joints[0] * ratios).sum()) ** 2).sum())
    assert found.standard_error == pytest.approx(spread / math.sqrt(found.samples), rel=0.05)
    assert found.guarantees == {"divergence": ss.Guarantee.ESTIMATE}
    assert found.bits == pytest.approx(float(found) / math.log(2.0))


def test_standard_errors_cover_as_they_should():
    """Of 200 estimates about one in twenty is more than 1.96 standard errors away."""
    x, y = ss.Real("x"), ss.Real("y")
    p, q = (
        ss.BayesNet(ss.LinearGaussian(x, covariance=c), ss.LinearGaussian(y, coefficients=b, covariance=1.0, given=x))
        for b, c in ((1.0, 1.0), (0.5, 2.0))
    )
    exact = divergence(p, q).total
    found = [divergence(p, q, samples=1000, seed=s) for s in range(200)]
    outside = sum(abs(f.total - exact) > 1.96 * f.standard_error for f in found)
    assert 2 <= outside <= 22


def test_kernels_and_vectors_can_be_compared():
    x, v = ss.Real("x"), ss.Vector("v", 2)
    rows = np.random.default_rng(0).normal(size=300)
    kernel = ss.BayesNet(ss.KernelCPD(x, {"x": rows}, width=0.3))
    line = ss.BayesNet(ss.LinearGaussian(x, covariance=1.0))
    assert 0 < divergence(line, kernel, samples=5000).total < 0.1
    wide, narrow = (ss.BayesNet(ss.LinearGaussian(v, covariance=c * np.eye(2))) for c in (2.0, 1.0))
    found = divergence(wide, narrow, samples=20_000)
    assert abs(found.total - (1.0 - math.log(2.0))) < 4 * found.standard_error


def test_what_the_other_excludes_is_infinite():
    a = ss.Discrete("a")
    fair, sure = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5])), ss.BayesNet(ss.TableCPD(a, [1.0, 0.0]))
    assert sampled(fair, sure, samples=100_000, seed=0) == Estimate(math.inf, 0.0)
    assert divergence(fair, sure, samples=100_000).total == math.inf
    assert divergence(sure, fair, samples=100_000).total == pytest.approx(math.log(2.0))
    assert divergence(fair, fair, samples=100_000).total == 0.0


def test_draws_follow_from_the_seed():
    p, q = (ss.BayesNet.random(ss.DAG.parse("a -> b"), seed=s) for s in (1, 2))
    assert divergence(p, q, samples=100, seed=5) == divergence(p, q, samples=100, seed=5)
    assert divergence(p, q, samples=100, seed=5) != divergence(p, q, samples=100, seed=6)


def test_what_cannot_be_compared_is_refused():
    net = ss.BayesNet.random(ss.DAG.parse("a"), seed=1)
    with pytest.raises(ss.errors.ScopeError, match="differ in 'b'"):
        divergence(net, ss.BayesNet.random(ss.DAG.parse("a; b"), seed=1), samples=100_000)
    with pytest.raises(ss.errors.NotApplicable, match="Bayesian networks"):
        divergence(net, "net", samples=100_000)
    for count in (0, 1, True):
        with pytest.raises(ss.errors.ArgumentError, match="samples"):
            divergence(net, net, samples=count)
