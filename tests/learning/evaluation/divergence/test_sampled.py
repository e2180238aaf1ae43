"""Divergence from draws: within a few standard errors of what is known exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.learning.evaluation.divergence.discrete import divergence
from sepset.learning.evaluation.divergence.sampled import CHUNK, SampledDivergence, sampled_divergence
from support.strategies import plain_factors


def test_discrete_networks_agree_with_the_joint():
    dag = ss.DAG.parse("a -> b <- c; b -> d")
    p, q = (ss.BayesNet.random(dag, states=3, seed=s) for s in (1, 2))
    joints = [oracle.joint(*plain_factors(net)) for net in (p, q)]
    found = sampled_divergence(p, q, num_rows=CHUNK + 10_000, seed=3)
    assert abs(found.total - oracle.kl(*joints)) < 4 * found.standard_error
    ratios = np.log(joints[0] / joints[1])
    spread = math.sqrt((joints[0] * (ratios - (joints[0] * ratios).sum()) ** 2).sum())
    assert found.standard_error == pytest.approx(spread / math.sqrt(found.num_rows), rel=0.05)
    assert found.guarantee is ss.Guarantee.ESTIMATE
    assert found.bits == pytest.approx(float(found) / math.log(2.0))


def test_standard_errors_cover_as_they_should():
    """Of 200 estimates about one in twenty is more than 1.96 standard errors away."""
    x, y = ss.Real("x"), ss.Real("y")
    p, q = (
        ss.BayesNet(ss.LinearGaussian(x, covariance=c), ss.LinearGaussian(y, coefficients=b, covariance=1.0, given=x))
        for b, c in ((1.0, 1.0), (0.5, 2.0))
    )
    exact = divergence(p, q).total
    found = [sampled_divergence(p, q, num_rows=1000, seed=s) for s in range(200)]
    outside = sum(abs(f.total - exact) > 1.96 * f.standard_error for f in found)
    assert 2 <= outside <= 22


def test_kernels_and_vectors_can_be_compared():
    x, v = ss.Real("x"), ss.Vector("v", 2)
    rows = np.random.default_rng(0).normal(size=300)
    kernel = ss.BayesNet(ss.KernelCPD(x, {"x": rows}, width=0.3))
    line = ss.BayesNet(ss.LinearGaussian(x, covariance=1.0))
    assert 0 < sampled_divergence(line, kernel, num_rows=5000).total < 0.1
    wide, narrow = (ss.BayesNet(ss.LinearGaussian(v, covariance=c * np.eye(2))) for c in (2.0, 1.0))
    found = sampled_divergence(wide, narrow, num_rows=20_000)
    assert abs(found.total - (1.0 - math.log(2.0))) < 4 * found.standard_error


def test_what_the_other_excludes_is_infinite():
    a = ss.Discrete("a")
    fair, sure = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5])), ss.BayesNet(ss.TableCPD(a, [1.0, 0.0]))
    assert sampled_divergence(fair, sure) == SampledDivergence(math.inf, 0.0, 100_000)
    assert sampled_divergence(sure, fair).total == pytest.approx(math.log(2.0))
    assert sampled_divergence(fair, fair).total == 0.0


def test_draws_follow_from_the_seed():
    p, q = (ss.BayesNet.random(ss.DAG.parse("a -> b"), seed=s) for s in (1, 2))
    assert sampled_divergence(p, q, num_rows=100, seed=5) == sampled_divergence(p, q, num_rows=100, seed=5)
    assert sampled_divergence(p, q, num_rows=100, seed=5) != sampled_divergence(p, q, num_rows=100, seed=6)


def test_what_cannot_be_compared_is_refused():
    net = ss.BayesNet.random(ss.DAG.parse("a"), seed=1)
    with pytest.raises(ss.ScopeError, match="differ in 'b'"):
        sampled_divergence(net, ss.BayesNet.random(ss.DAG.parse("a; b"), seed=1))
    with pytest.raises(ss.NotApplicable, match="Bayesian networks"):
        sampled_divergence(net, "net")
    for count in (0, 1, True):
        with pytest.raises(ss.ArgumentError, match="num_rows"):
            sampled_divergence(net, net, num_rows=count)
