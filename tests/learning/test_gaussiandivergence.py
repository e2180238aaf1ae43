"""The divergence of linear Gaussian networks against the closed form of their joint normals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate, stats

import sepset as ss
from sepset.learning.divergence import DivergenceFrom, divergence
from sepset.learning.gaussiandivergence import GaussianTruth, is_linear_gaussian


def network(rng, variables, share=0.5):
    """A random linear Gaussian network, parents drawn from the variables before in a random order."""
    order = [variables[int(i)] for i in rng.permutation(len(variables))]
    cpds = []
    for place, child in enumerate(order):
        given = [p for p in order[:place] if rng.random() < share]
        size, width = child.size, sum(p.size for p in given)
        root = rng.standard_normal((size, size)) + 2 * np.eye(size)
        B = rng.standard_normal((size, width))
        cpds.append(
            ss.LinearGaussian(child, rng.standard_normal(size), coefficients=B, covariance=root @ root.T, given=given)
        )
    return ss.BayesNet(*cpds)


def moments(net, variables):
    """Mean and covariance by solving x = a + B x + e, coordinates in the order of `variables`."""
    starts = dict(zip(variables, np.cumsum([0, *(v.size for v in variables)]), strict=False))
    size = sum(v.size for v in variables)
    a, A, C = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
    at = {v: slice(s, s + v.size) for v, s in starts.items()}
    for cpd in net.cpds:
        y, column = at[cpd.child], 0
        a[y], C[y, y] = cpd.intercept[0], cpd.covariance[0]
        for parent in cpd.given:
            A[y, at[parent]] = cpd.coefficients[0][:, column : column + parent.size]
            column += parent.size
    inverse = np.linalg.inv(np.eye(size) - A)
    return inverse @ a, inverse @ C @ inverse.T


def normal_kl(p, q):
    """KL between two normals, from the textbook formula."""
    (m, S), (n, T) = p, q
    inverse = np.linalg.inv(T)
    return 0.5 * (
        np.trace(inverse @ S) + (n - m) @ inverse @ (n - m) - len(m) + np.linalg.slogdet(T)[1] - np.linalg.slogdet(S)[1]
    )


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_total_is_the_divergence_of_the_joints(seed):
    rng = np.random.default_rng(seed)
    variables = [ss.Real("x"), ss.Vector("p", 2), ss.Real("y"), ss.Real("z")]
    p, q = network(rng, variables), network(rng, variables)
    found = divergence(p, q)
    assert found.total == pytest.approx(normal_kl(moments(p, variables), moments(q, variables)), rel=1e-8, abs=1e-8)
    assert found.structure >= 0
    assert min(found.families.values()) >= 0
    assert divergence(p, p).total == 0.0
    assert ss.kl_divergence(p, q) == found.total


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_the_graph_costs_what_the_best_line_of_that_graph_does(seed):
    """The projection: a network over the second graph with regressions read from the true moments."""
    rng = np.random.default_rng(seed)
    variables = [ss.Real(n) for n in "wxyz"]
    p, q = network(rng, variables), network(rng, variables)
    mean, covariance = moments(p, variables)
    place = {v: i for i, v in enumerate(variables)}
    lines = []
    for cpd in q.cpds:
        u, y = [place[v] for v in cpd.given], place[cpd.child]
        B = np.linalg.solve(covariance[np.ix_(u, u)], covariance[u, y]) if u else np.zeros(0)
        rest = covariance[y, y] - B @ covariance[u, y]
        line = {"coefficients": B[None], "covariance": rest, "given": cpd.given}
        lines.append(ss.LinearGaussian(cpd.child, mean[y] - B @ mean[u], **line))
    best = divergence(p, ss.BayesNet(*lines))
    assert best.parameters == pytest.approx(0.0, abs=1e-8)
    assert best.structure == pytest.approx(divergence(p, q).structure, rel=1e-8, abs=1e-8)


def test_entropy_is_that_of_the_joint():
    rng = np.random.default_rng(3)
    variables = [ss.Real(n) for n in "wxyz"]
    net = network(rng, variables)
    expected = stats.multivariate_normal(*moments(net, variables)).entropy()
    assert DivergenceFrom(net).entropy == pytest.approx(expected, rel=1e-12)


def test_one_variable_by_quadrature():
    x = ss.Real("x")
    p, q = ss.LinearGaussian(x, 1.0, covariance=0.5), ss.LinearGaussian(x, -0.5, covariance=2.0)
    ours, theirs = stats.norm(1.0, math.sqrt(0.5)), stats.norm(-0.5, math.sqrt(2.0))
    expected = integrate.quad(lambda t: ours.pdf(t) * (ours.logpdf(t) - theirs.logpdf(t)), -9, 11)[0]
    assert divergence(ss.BayesNet(p), ss.BayesNet(q)).total == pytest.approx(expected, rel=1e-9)


def test_parents_in_another_order_change_nothing():
    x, y, z = (ss.Real(n) for n in "xyz")
    roots = [ss.LinearGaussian(v, covariance=1.0) for v in (x, y)]
    first = ss.LinearGaussian(z, coefficients=[[1.0, 2.0]], covariance=1.0, given=(x, y))
    second = ss.LinearGaussian(z, coefficients=[[2.0, 1.0]], covariance=1.0, given=(y, x))
    assert divergence(ss.BayesNet(*roots, first), ss.BayesNet(*roots, second)).total == 0.0


def test_deterministic_lines_are_equal_or_infinitely_far():
    x, y = ss.Real("x"), ss.Real("y")

    def net(slope, variance):
        return ss.BayesNet(
            ss.LinearGaussian(x, covariance=1.0),
            ss.LinearGaussian(y, coefficients=slope, covariance=variance, given=x),
        )

    assert divergence(net(2.0, 0.0), net(2.0, 0.0)).total == 0.0
    for p, q in ((net(2.0, 0.0), net(1.0, 0.0)), (net(2.0, 0.0), net(2.0, 1.0)), (net(2.0, 1.0), net(2.0, 0.0))):
        assert divergence(p, q).total == math.inf
    assert DivergenceFrom(net(2.0, 0.0)).entropy == -math.inf


def test_learning_curves_of_gaussian_networks_use_it():
    truth = network(np.random.default_rng(0), [ss.Real(n) for n in "xyz"], share=1.0)
    learner = ss.Learner(truth.dag, ss.MLE())
    curve = ss.learning_curve({"MLE": learner}, truth, [30, 3000], repeats=3, progress=False)
    assert "KL" in curve.measure


def test_mixed_networks_are_refused():
    d, x = ss.Discrete("d"), ss.Real("x")
    mixed = ss.BayesNet(ss.TableCPD(d, [0.5, 0.5]), ss.LinearGaussian(x, [0.0, 1.0], covariance=1.0, by=d))
    assert not is_linear_gaussian(mixed)
    with pytest.raises(ss.NotApplicable, match="log-loss"):
        divergence(mixed, mixed)
    line = ss.BayesNet(ss.LinearGaussian(x, covariance=1.0))
    with pytest.raises(ss.ScopeError, match="'y'"):
        divergence(line, ss.BayesNet(ss.LinearGaussian(ss.Real("y"), covariance=1.0)))
    with pytest.raises(ss.NotApplicable, match="discrete"):
        ss.parameter_distance(line, line)
    assert GaussianTruth(line).entropy == pytest.approx(0.5 * math.log(2 * math.pi * math.e))
