"""Mean and variance of the log probability, compared with enumeration, closed forms and simulated rows."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings

import oracle
import sepset as ss
from sepset.cpds.table import TableCPD
from sepset.learning.evaluation import logmoments
from sepset.learning.evaluation.logmoments import log_probability_moments
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real, Vector
from support.strategies import bayes_nets, plain_factors


@settings(max_examples=80, deadline=None)
@given(bayes_nets(max_variables=5))
def test_moments_are_those_of_the_joint(net):
    p = oracle.joint(*plain_factors(net)).reshape(-1)
    p = p[p > 0]
    mean = float(p @ np.log(p))
    found = log_probability_moments(net)
    assert found.mean == pytest.approx(mean, abs=1e-9)
    assert found.variance == pytest.approx(float(p @ (np.log(p) - mean) ** 2), abs=1e-9)


@pytest.mark.parametrize("apart", [1e-3, 1e-7, 1e-12])
def test_nearly_uniform_networks_have_tiny_variances(apart):
    """Against decimal numbers: a difference of squares would have no digits left."""
    rng = np.random.default_rng(2)
    a, b, c = Discrete("a", 3), Discrete("b"), Discrete("c", 3)
    tables = [1.0 + apart * rng.normal(size=shape) for shape in ((3,), (3, 2), (3, 2, 3))]
    tables = [table / table.sum(axis=-1, keepdims=True) for table in tables]
    net = BayesNet(*(TableCPD(v, t, given=u) for v, t, u in zip((a, b, c), tables, ((), (a,), (a, b)), strict=True)))
    with localcontext() as context:
        context.prec = 60
        parts = []
        for i, j, k in itertools.product(range(3), range(2), range(3)):
            chance = math.prod(Decimal(float(t[at])) for t, at in zip(tables, ((i,), (i, j), (i, j, k)), strict=True))
            parts.append((chance, chance.ln()))
        mean = sum(p * log for p, log in parts)
        variance = sum(p * (log - mean) ** 2 for p, log in parts)
    found = log_probability_moments(net)
    assert found.mean == pytest.approx(float(mean), rel=1e-14)
    assert found.variance == pytest.approx(float(variance), rel=1e-9)


def test_lines_with_nearly_equal_noise():
    """The variance is 1/2 for the line and that between the states: p(1 - p) times the squared half log ratio."""
    x, ratio = Real("x"), 2.0**-20
    line = ss.LinearGaussian(x, [0.0, 1.0], covariance=[1e30, 1e30 * (1 + ratio)], by=C)
    found = log_probability_moments(BayesNet(TableCPD(C, [0.25, 0.75]), line))
    right = 0.5 + 0.25 * 0.75 * (math.log(3.0) - 0.5 * math.log1p(ratio)) ** 2
    assert found.variance == pytest.approx(right, rel=1e-12)


def test_published_moments():
    found = log_probability_moments(BayesNet(TableCPD(Discrete("x", 3), [0.5, 0.3, 0.2])))
    assert -found.mean == pytest.approx(1.029653, abs=5e-7)
    assert -found.mean / math.log(2) == pytest.approx(1.485475, abs=5e-7)
    assert found.variance == pytest.approx(0.132964, abs=5e-7)


def test_moments_of_a_network_too_large_to_write_out():
    alarm = ss.datasets.load("alarm")
    found = log_probability_moments(alarm)
    assert -found.mean == pytest.approx(10.438, abs=5e-4)
    losses = -alarm.log_probability(alarm.sample(20_000, seed=0))
    assert losses.var() == pytest.approx(found.variance, rel=0.1)
    assert abs(losses.mean() + found.mean) < 5 * math.sqrt(found.variance / 20_000)


C, D, X, Y, P = Discrete("c"), Discrete("d", 3), Real("x"), Real("y"), Vector("p", 2)


def hybrid(order):
    """Two states, a line by both of them, a pair of numbers by one, and a line from the pair."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(3, 2, 2))
    cpds = [
        TableCPD(C, [0.3, 0.7]),
        TableCPD(D, [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]], given=C),
        ss.LinearGaussian(X, rng.normal(size=(2, 3)), covariance=rng.uniform(0.1, 3.0, (2, 3)), by=(C, D)),
        ss.LinearGaussian(P, rng.normal(size=(3, 2)), covariance=root @ root.transpose(0, 2, 1) + np.eye(2), by=D),
        ss.LinearGaussian(Y, 1.0, coefficients={P: [[2.0, -1.0]]}, covariance=0.4, given=P),
    ]
    return BayesNet(*(cpds[i] for i in order))


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0)])
def test_moments_of_a_hybrid_are_those_of_its_states(order):
    """In each joint state minus the entropies, and half of every coordinate; between the states they vary."""
    net = hybrid(order)
    p = np.array([0.3, 0.7])[:, None] * np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    with np.errstate(divide="ignore"):
        levels = np.log(p)
    pair = np.array([np.linalg.det(c) for c in net.cpd("p").covariance])
    levels -= 0.5 * np.log(2 * np.pi * np.e * net.cpd("x").covariance.reshape(2, 3))
    levels -= 0.5 * np.log((2 * np.pi * np.e) ** 2 * pair) + 0.5 * np.log(2 * np.pi * np.e * 0.4)
    mean = p[p > 0] @ levels[p > 0]
    found = log_probability_moments(net)
    assert found.mean == pytest.approx(mean, abs=1e-9)
    assert found.variance == pytest.approx(p[p > 0] @ (levels[p > 0] - mean) ** 2 + 4 / 2, abs=1e-9)


def test_no_variables():
    found = log_probability_moments(BayesNet())
    assert (found.mean, found.variance) == (0.0, 0.0)


def test_a_line_without_noise_has_no_moments():
    with pytest.raises(ss.errors.NotApplicable, match="infinite"):
        log_probability_moments(BayesNet(ss.LinearGaussian(X, 0.0, covariance=0.0)))


def test_a_kernel_density_has_no_moments_in_closed_form():
    net = BayesNet(ss.KernelCPD(X, {"x": [0.1, 0.4, 1.5]}))
    with pytest.raises(ss.errors.NotApplicable, match="neither"):
        log_probability_moments(net)


def test_products_in_portions(monkeypatch):
    net = ss.datasets.load("asia")
    whole = log_probability_moments(net)
    monkeypatch.setattr(logmoments, "PORTION", 2)
    portions = log_probability_moments(net)
    assert (portions.mean, portions.variance) == (whole.mean, whole.variance)
