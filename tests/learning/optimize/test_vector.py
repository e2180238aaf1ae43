"""Slopes of the log-likelihood, for every kind of CPD, held to finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.regression import NormalGamma
from sepset.cpds.priors.weights import LaplaceWeights, NormalWeights
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.learning.estimation.networkpriors import ImaginaryData
from sepset.learning.incomplete.run import EMTask
from sepset.learning.optimize.vector import ParameterVector
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete
from support.learning_cases import FORMS, masked_codes, mixed, mixed_rows, network
from support.random_incomplete import incomplete


def check_slope(net, rows, prior=None, atol=1e-5):
    em_task = EMTask.of(Task(net, rows), prior, threads=1)
    vector = ParameterVector.of(em_task.expectation.blocks)
    point = em_task.evaluate(net)
    x, slope = vector.pack(net), vector.slope(net, point.statistics, em_task.terms)
    h = 1e-5
    for i in range(len(x)):
        e = np.eye(len(x))[i] * h
        rise = em_task.evaluate(vector.unpack(x + e)).objective - em_task.evaluate(vector.unpack(x - e)).objective
        assert_allclose(slope[i], rise / (2 * h), atol=atol * max(1.0, rows.num_rows), rtol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_slopes_of_structured_cpds(form):
    net = network(form)
    check_slope(net, masked_codes(net, 30))


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_slopes_of_lines(share):
    net = mixed()
    check_slope(net, mixed_rows(net, 30, share))


def test_slopes_of_priors():
    net = network("tree")
    check_slope(net, masked_codes(net, 30), Dirichlet(2.5))
    check_slope(net, masked_codes(net, 30), Dirichlet(0.5))
    wide = network("logistic")
    check_slope(wide, masked_codes(wide, 30), (NormalWeights(0.7), Dirichlet(1.0)))
    lines = mixed()
    check_slope(lines, mixed_rows(lines, 30, 0.2), (NormalGamma(1.0, 2.0, shape=3.0, rate=4.0), Dirichlet(1.0)))
    check_slope(lines, mixed_rows(lines, 30, 0.2), (NormalWeights(0.5), Dirichlet(1.0)))


@pytest.mark.parametrize("form", [*FORMS, "lines"])
def test_slopes_of_imaginary_rows(form):
    net = mixed() if form == "lines" else network(form)
    rows = mixed_rows(net, 20, 0.2) if form == "lines" else masked_codes(net, 20)
    check_slope(net, rows, ImaginaryData(net.sample(15, seed=9), 0.7))


@given(incomplete(num_rows=5))
@settings(max_examples=20)
def test_vectors_come_back_and_slopes_of_zeros_vanish(case):
    net, rows = case
    em_task = EMTask.of(Task(net, rows), threads=1)
    vector = ParameterVector.of(em_task.expectation.blocks)
    back = vector.unpack(vector.pack(net))
    for cpd in net.cpds:
        assert_allclose(back.cpd(cpd.child).values, cpd.values, atol=1e-12)
    point = em_task.evaluate(net)
    slope = vector.slope(net, point.statistics, em_task.terms)
    flat = np.concatenate([c.values.reshape(-1) for c in net.cpds])
    assert_allclose(slope[flat == 0], 0.0, atol=1e-12)
    assert (vector.curvature(net, point.statistics, em_task.terms) >= 0).all()


@pytest.mark.parametrize("form", FORMS)
def test_natural_parameters_and_their_vectors_agree(form):
    net = network(form)
    em_task = EMTask.of(Task(net, masked_codes(net, 5)), threads=1)
    vector = ParameterVector.of(em_task.expectation.blocks)
    back = vector.unpack(vector.pack(net))
    for one, other in zip(vector.written(net), vector.written(back), strict=True):
        assert_allclose(one, other, atol=1e-12)
    assert_allclose(back.cpds[-1].to_table().values, net.cpds[-1].to_table().values, atol=1e-12)


def test_the_derivative_by_a_probability_is_the_posterior_over_it():
    """Koller & Friedman, lemma 19.1: expected counts over parameters are the slopes of the log-likelihood.

    The likelihood of c = 1 is summed here by brute force, each probability by itself moved off its simplex.
    """
    rng = np.random.default_rng(0)
    a, b, c = (Discrete(n) for n in "abc")
    tables = [rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(2), 2)]
    net = BayesNet(TableCPD(a, tables[0]), TableCPD(b, tables[1], given=a), TableCPD(c, tables[2], given=b))
    rows = Dataset({"a": [None], "b": [None], "c": [1]}, [a, b, c])
    point = EMTask.of(Task(net, rows), threads=1).evaluate(net)

    def likelihood(t):
        return np.einsum("a,ab,b->", t[0], t[1], t[2][:, 1])

    assert_allclose(point.log_likelihood, np.log(likelihood(tables)), rtol=1e-12)
    for place, table in enumerate(tables):
        slope = np.empty(table.size)
        for cell in range(table.size):
            step = np.zeros(table.size)
            step[cell] = 0.125
            ends = [likelihood([t + s * step.reshape(t.shape) if i == place else t for i, t in enumerate(tables)])
                    for s in (1, -1)]  # fmt: skip
            slope[cell] = (ends[0] - ends[1]) / 0.25 / likelihood(tables)
        assert_allclose(point.statistics[place] / table.reshape(-1), slope, rtol=1e-10, atol=1e-14)


def test_sharp_priors_are_kinks_beside_the_slope():
    """Off zero the slope less the kink is the derivative; every penalized coordinate has a kink, and no other."""
    for net, rows in [
        (network("logistic"), masked_codes(network("logistic"), 30)),
        (mixed(), mixed_rows(mixed(), 30, 0.2)),
    ]:
        em_task = EMTask.of(Task(net, rows), (LaplaceWeights(0.5), Dirichlet(1.0)), threads=1)
        vector = ParameterVector.of(em_task.expectation.blocks)
        point = em_task.evaluate(net)
        x, kinks = vector.pack(net), vector.kinks(em_task.terms)
        assert set(kinks.tolist()) == {0.0, 2.0}
        slope = vector.slope(net, point.statistics, em_task.terms) - kinks * np.sign(x)
        for i in np.flatnonzero(kinks):
            e = np.eye(len(x))[i] * 1e-5
            rise = em_task.evaluate(vector.unpack(x + e)).objective - em_task.evaluate(vector.unpack(x - e)).objective
            assert_allclose(slope[i], rise / 2e-5, atol=1e-5 * rows.num_rows, rtol=1e-4)
    plain = EMTask.of(Task(net, rows), threads=1)
    assert not vector.kinks(plain.terms).any()


def test_zeros_stay_zero_wherever_the_vector_is_near():
    net = BayesNet(TableCPD(Discrete("x", 3), [0.0, 0.25, 0.75]))
    vector = ParameterVector.of(EMTask.of(Task(net, {"x": [1, 2]}), threads=1).expectation.blocks)
    moved = vector.unpack(vector.pack(net) + np.array([5.0, 1.0, -1.0])).cpd("x").values
    assert moved[0] == 0.0
    assert_allclose(moved[1:], np.array([np.e / 4, 3 / np.e / 4]) / (np.e / 4 + 3 / np.e / 4))


def test_weights_are_measured_from_first_states():
    a, x = Discrete("a"), Discrete("x", 3)
    rng = np.random.default_rng(0)
    net = BayesNet(TableCPD(a, [0.5, 0.5]), LogisticCPD(x, {a: rng.normal(size=(2, 3))}, bias=rng.normal(size=3)))
    em_task = EMTask.of(Task(net, {"a": [0, None], "x": [2, 1]}), threads=1)
    back = ParameterVector.of(em_task.expectation.blocks)
    made = back.unpack(back.pack(net)).cpd("x")
    assert_allclose(made.to_table().values, net.cpd("x").to_table().values, atol=1e-14)
    assert made.bias[0] == 0
    assert not made.weights[0][0].any()
