"""Rows of all states have the weights and the counts that inference finds."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from sepset.graphs.graph import DAG
from sepset.inference import costs
from sepset.inference.capabilities import answer_rows, summed_marginals
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.hybrid.completestates import CompleteStates
from sepset.models.bayesnet import BayesNet

NET = BayesNet.random(DAG.parse("a -> b <- c; b -> d"), states={"a": 2, "b": 3, "c": 2, "d": 4}, seed=1)
CODES = np.array([[1, 0, 1, 3], [0, 2, 1, 0], [1, 0, 1, 3]])


def rows(order=(0, 1, 2, 3), codes=CODES):
    return EvidenceRows(tuple(order), codes[:, list(order)])


def test_weights_and_counts_are_those_of_inference():
    prepared, weights = CliqueTree().prepare(NET.problem()), np.array([1.0, 2.0, 0.5])
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        found = CompleteStates.of(prepared.problem, rows(order))
        assert_allclose(found.log_weights({}), answer_rows(prepared, rows(order), (), Workers()).log_partition)
        expected = summed_marginals(prepared, rows(order), weights, Workers()).factors
        for one, other in zip(found.summed(weights), expected, strict=True):
            assert_allclose(one, other, rtol=1e-12)


def test_entries_of_zero_are_impossible():
    sure = BayesNet.random(DAG.parse("a"), seed=1)
    sure = sure.with_parameters([sure.cpd("a").from_statistics(np.array([3.0, 0.0]))])
    found = CompleteStates.of(sure.problem(), EvidenceRows((0,), np.array([[0], [1]])))
    assert found.log_weights({}).tolist() == [0.0, -np.inf]
    assert found.log_weights({0: np.array([0.0, 1.0])}).tolist() == [-np.inf, 0.0]


def test_other_rows_and_larger_problems_are_left_to_inference():
    missing = CODES.copy()
    missing[1, 2] = -1
    assert CompleteStates.of(NET.problem(), rows(codes=missing)) is None
    assert CompleteStates.of(NET.problem(), EvidenceRows((0, 1), CODES[:, :2])) is None
    wide = BayesNet.random(DAG.parse("a -> b"), states={"a": costs.ENTRIES_OF_COMPLETE_ROWS, "b": 2}, seed=1)
    assert CompleteStates.of(wide.problem(), EvidenceRows((0, 1), np.zeros((1, 2), np.int64))) is None
