"""Clique trees over tables: every capability by one object, each answer that of a question alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.method import AnswersRows, Calibrates, CountsRows, Prepared, ReadsAll, TakesValues
from sepset.variables.evidence import Evidence, resolve
from support.blocks import in_blocks
from support.random_models import random_evidence, table_net
from support.tolerances import CLOSE


def test_it_has_every_capability():
    prepared = ss.CliqueTree().prepare(ss.datasets.load("asia").problem())
    for protocol in (Prepared, ReadsAll, TakesValues, AnswersRows, CountsRows, Calibrates):
        assert isinstance(prepared, protocol)
    assert prepared.method == ss.CliqueTree()


@in_blocks("seed", range(10))
def test_marginals_cover_observed_variables_as_point_masses(seed):
    rng = np.random.default_rng(seed)
    case = table_net(rng)
    given, plain = random_evidence(rng, case)
    evidence = resolve(given, case.model.variables)
    log_z = oracle.log_z(case.factors, case.cards, plain)
    read, log_partition = ss.CliqueTree().prepare(case.model.problem()).all_marginals(evidence)
    assert log_partition == pytest.approx(log_z, abs=CLOSE)
    if log_z > -math.inf:
        for v, variable in enumerate(case.variables):
            expected = oracle.conditional(case.factors, case.cards, [variable.name], plain)
            np.testing.assert_allclose(read(v).values, expected, atol=CLOSE)


def test_maxima_over_some_variables_sum_out_the_others():
    student = ss.datasets.load("student")
    prepared = ss.CliqueTree().prepare(student.problem())
    plain = ss.inference.BruteForce().prepare(student.problem())
    for over in ([1], [0, 2], [4, 3, 2, 1, 0]):
        found, expected = prepared.best(Evidence(), over), plain.best(Evidence(), over)
        assert found.log_value == pytest.approx(expected.log_value, abs=CLOSE)
        assert dict(found.values) == dict(expected.values)


def test_new_numbers_serve_every_capability():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [0.3, 0.7]), ss.TableCPD(b, [[0.9, 0.1], [0.4, 0.6]], given=a))
    changed = ss.CliqueTree().prepare(net.problem()).with_values({0: [0.5, 0.5]})
    expected = np.array([[0.45, 0.05], [0.2, 0.3]])
    np.testing.assert_allclose(changed.query([0, 1], Evidence()).distribution.values, expected, atol=CLOSE)
    np.testing.assert_allclose(changed.pairwise_marginals(Evidence())["a", "b"].values, expected, atol=CLOSE)
    np.testing.assert_allclose(changed.factor_marginals(Evidence())[1], expected, atol=CLOSE)
    rows = EvidenceRows((1,), np.array([[0], [-1]], np.int32))
    found = changed.answer_rows(rows, [0], Workers(1))
    np.testing.assert_allclose(np.exp(found.log_partition), [0.65, 1.0], atol=CLOSE)
    np.testing.assert_allclose(found.probabilities[0], [[0.45 / 0.65, 0.2 / 0.65], [0.5, 0.5]], atol=CLOSE)
    counts = changed.summed_marginals(rows, np.array([2.0, 1.0]), Workers(1))
    np.testing.assert_allclose(counts.factors[0], 2 * np.array([0.45, 0.2]) / 0.65 + 0.5, atol=CLOSE)


def test_impossible_evidence_has_no_factor_marginals():
    a = ss.Discrete("a")
    prepared = ss.CliqueTree().prepare(ss.BayesNet(ss.TableCPD(a, [1.0, 0.0])).problem())
    with pytest.raises(ss.ImpossibleEvidence, match="a=1"):
        prepared.factor_marginals(Evidence({0: 1}))
