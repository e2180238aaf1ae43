"""Gaussian Markov networks from concentration matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sepset.inference.result import Status
from sepset.learning.undirected.markovfit import MarkovFitResult, gaussian_markov_net
from sepset.variables.variable import Real

K = np.array([[2.0, 0.7, 0.0], [0.7, 1.5, -0.4], [0.0, -0.4, 1.0]])
MEAN = np.array([1.0, -2.0, 0.5])


def test_the_density_is_that_of_the_gaussian():
    net = gaussian_markov_net([Real("a"), Real("b"), Real("c")], MEAN, K)
    rows = np.random.default_rng(0).normal(size=(5, 3))
    expected = multivariate_normal(MEAN, np.linalg.inv(K)).logpdf(rows)
    found = net.log_value(dict(zip("abc", rows.T, strict=True)))
    np.testing.assert_allclose(found, expected)
    assert [set(e) for e in net.graph.edges] == [{"a", "b"}, {"b", "c"}]


def test_a_result_prints_itself():
    found = MarkovFitResult(gaussian_markov_net([Real("a")], MEAN[:1], K[:1, :1]), -3.0, method=None)
    assert found.status is Status.COMPLETED
    assert repr(found).startswith("MarkovFitResult(MarkovNet(1 variable,")
    assert found.log_likelihood == pytest.approx(-3.0)
