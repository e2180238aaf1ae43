"""The discrete part with weights: as likelihoods, as tables, in log space, and with certain values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

import sepset as ss
from sepset.inference.hybrid.discretepart import discrete_part
from sepset.inference.hybrid.weightedcontexts import WeightedContexts, Weights, weighted
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


def test_the_shares_of_many_single_contexts_come_from_one_pass():
    """Questions one by one would each plan the whole network, so that many take quadratic time."""
    states = [ss.Discrete(f"v{i}", 2) for i in range(20)]
    pairs = itertools.pairwise(states)
    part = discrete_part(ss.MarkovNet(*(ss.Table(pair, [[0.7, 0.3], [0.2, 0.8]]) for pair in pairs)).problem())
    prepared = METHOD.prepare(part.problem)
    known = [Weights((v,), np.array([0.0, -0.1 * v]), np.zeros(2, int)) for v in range(20)]
    found = weighted(part, METHOD.prepare, prepared, Evidence(), known)
    groups = [*((v,) for v in range(20)), (0, 1), ()]
    alone = [found.log_shares(group) for group in groups]
    asked, passes = [], []

    class Counted:
        def query(self, targets, evidence):
            asked.append(tuple(targets))
            return prepared.query(targets, evidence)

        def marginals(self, evidence):
            passes.append(evidence)
            return prepared.marginals(evidence)

    counted = WeightedContexts(Counted(), found.evidence, found.constant, found.place)
    for share, expected in zip(counted.each_log_shares(groups), alone, strict=True):
        np.testing.assert_allclose(share, expected, rtol=0, atol=EXACT)
    assert asked == [(0, 1)]
    assert len(passes) == 1
