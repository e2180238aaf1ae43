"""The discrete part with weights: as likelihoods, as tables, in log space, and with certain values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

import sepset as ss
from sepset.inference.hybrid.discretepart import discrete_part
from sepset.inference.hybrid.weightedcontexts import Weights, weighted
from sepset.variables.evidence import Evidence
from support.tolerances import EXACT

A, B = ss.Discrete("a"), ss.Discrete("b", 3)
PAIR = np.array([[0.1, 0.2, 0.3], [0.05, 0.15, 0.2]])
PROBLEM = ss.MarkovNet(ss.Table((A, B), PAIR)).problem()
PART = discrete_part(PROBLEM)
METHOD = ss.VariableElimination()


def made(*weights, evidence=None):
    known = [Weights(by, np.asarray(logs, float), np.asarray(exact)) for by, logs, exact in weights]
    return weighted(PART, METHOD.prepare, METHOD.prepare(PART.problem), evidence or Evidence(), known)


@pytest.mark.parametrize("far", [1.0, 500.0, 5000.0])
def test_weights_of_one_variable_and_of_both(far):
    single, pair = np.array([0.0, -far]), -np.arange(6.0) * far / 10
    found = made(((0,), single, [0, 0]), ((0, 1), pair, np.zeros(6, int)), ((), [2.5], [0]))
    logs = np.log(PAIR) + single[:, None] + pair.reshape(2, 3)
    assert found.log_partition == pytest.approx(logsumexp(logs) + 2.5, rel=EXACT)
    np.testing.assert_allclose(found.log_shares((0, 1)), log_softmax(logs.reshape(-1)), rtol=1e-10, atol=EXACT)


def test_likelihoods_of_the_evidence_stay():
    found = made(((0,), [0.0, -1.0], [0, 0]), evidence=Evidence(weights={0: np.array([0.5, 0.25])}))
    logs = logsumexp(np.log(PAIR), axis=1) + np.log([0.5, 0.25]) + [0.0, -1.0]
    assert found.log_partition == pytest.approx(logsumexp(logs), abs=EXACT)


def test_impossible_weights():
    assert made(((0,), [-np.inf, -np.inf], [0, 0])).log_partition == -np.inf
    assert made(((), [-np.inf], [0])).log_partition == -np.inf
    opposite = made(((0,), [0.0, -np.inf], [0, 0]), ((0,), [-np.inf, 0.0], [0, 0]))
    assert opposite.log_partition == -np.inf


def test_certain_values_outweigh_densities():
    found = made(((0,), [10.0, 0.0], [0, 1]), ((1,), [0.0, 0.0, 0.0], [2, 0, 0]))
    np.testing.assert_array_equal(np.exp(found.log_shares((0, 1))), [0, 0, 0, 1, 0, 0])
    assert found.log_partition == pytest.approx(np.log(PAIR[1, 0]), abs=EXACT)
