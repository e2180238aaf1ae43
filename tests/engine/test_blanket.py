"""The posterior of one variable from the CPDs that mention it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import sepset as ss
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.engine.blanket import blanket_log_posterior, blanket_scores, class_scores, log_posteriors
from sepset.variables.variable import Discrete
from support.tolerances import CLOSE, EXACT


def test_scores_of_other_cpds_use_their_own_log_probability():
    c, x = Discrete("c"), ss.Vector("p", 2)
    cpd = LinearGaussian(x, [[0.0, 0.0], [1.0, 1.0]], covariance=np.eye(2), by=c)
    points = np.array([[0.5, 0.2]])
    found = class_scores(cpd, c, {x: points}, 1)
    expected = [stats.multivariate_normal([m, m], np.eye(2)).logpdf(points[0]) for m in (0.0, 1.0)]
    np.testing.assert_allclose(found[:, 0], expected, atol=EXACT)
    assert math.isfinite(found.sum())


def test_every_state_gets_the_log_probability_of_its_row():
    net = ss.BayesNet.random(ss.DAG.parse("a -> c; c -> x; y -> x; y -> z"), states=3, seed=2)
    rows = net.sample(50, seed=3)
    target = net["c"]
    logs = np.empty((50, 3))
    for code in range(3):
        columns = {v.name: np.full(50, code) if v == target else rows.codes(v) for v in net.variables}
        logs[:, code] = net.log_probability(ss.Dataset.from_codes(net.variables, columns))
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(blanket_log_posterior(net, target, rows)), expected, atol=CLOSE)


def test_cpds_of_missing_leaves_drop_out():
    net = ss.BayesNet.random(ss.DAG.parse("c -> x; c -> y"), seed=4)
    rows = ss.Dataset.from_codes(net.variables, {"c": [-1, -1], "x": [0, 1], "y": [-1, -1]})
    scores = blanket_scores(net, net["c"], rows, {net["y"]: np.array([True, True])})
    expected = np.log(net.cpd("c").values) + np.log(net.cpd("x").values.T)
    np.testing.assert_allclose(scores, expected, atol=EXACT)


def test_rows_that_another_cpd_excludes_are_nan():
    a, b, c = (Discrete(n) for n in "abc")
    net = ss.BayesNet(ss.TableCPD(a, [0.0, 1.0]), ss.TableCPD(b, [0.5, 0.5]), ss.TableCPD(c, [0.3, 0.7]))
    rows = ss.Dataset.from_codes([a, b, c], np.array([[0, 1, 0], [1, 1, 0]]))
    assert np.isnan(blanket_log_posterior(net, c, rows)).all(axis=1).tolist() == [True, False]


def test_normalizing_in_logarithms():
    assert np.exp(log_posteriors(np.array([[-1000.0, -1000.0]]), "raise", Discrete("c"))).tolist() == [[0.5, 0.5]]
    with pytest.raises(ss.ImpossibleEvidence, match="1 of 1 rows are impossible"):
        log_posteriors(np.array([[-np.inf, -np.inf]]), "raise", Discrete("c"))
