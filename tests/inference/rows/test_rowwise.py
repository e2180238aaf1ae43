"""Rows one after the other: any method, continuous findings, repeated rows once."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference.exact.bruteforce import BruteForce
from sepset.inference.exact.cliquetree import CliqueTree
from sepset.inference.rows.evidencerows import Findings
from sepset.inference.rows.rowwise import AnswersRows, Workers, answer_rows, row_by_row
from support.random_findings import dataset, random_codes
from support.tolerances import CLOSE


@pytest.mark.parametrize("targets", [[], [1], [0, 3]])
def test_methods_without_batches_agree_with_those_that_have_them(targets):
    net = ss.datasets.load("student")
    codes = random_codes(np.random.default_rng(0), net.variables, 25)
    rows = Findings.of(dataset(net.variables, codes), net.variables, without=targets)
    plain, fast = BruteForce().prepare(net.problem()), CliqueTree().prepare(net.problem())
    assert not isinstance(plain, AnswersRows)
    assert isinstance(fast, AnswersRows)
    done = []
    slow = answer_rows(plain, rows, targets, Workers(report=lambda i, n: done.append((i, n))))
    quick = answer_rows(fast, rows, targets, Workers(1))
    np.testing.assert_allclose(slow.log_partition, quick.log_partition, atol=CLOSE)
    for v in targets:
        np.testing.assert_allclose(slow.probabilities[v], quick.probabilities[v], atol=CLOSE)
    distinct = len(rows.distinct()[0])
    assert done == [(i + 1, distinct) for i in range(distinct)]


def test_impossible_rows_are_nan():
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    net = ss.BayesNet(ss.TableCPD(a, [1.0, 0.0]), ss.TableCPD(b, [[0.5, 0.5], [0.1, 0.9]], given=a))
    rows = Findings.of(dataset([a, b], np.array([[1, -1], [0, -1]])), net.variables)
    found = row_by_row(BruteForce().prepare(net.problem()), rows, [1])
    assert found.log_partition.tolist() == [-np.inf, 0.0]
    assert np.isnan(found.probabilities[1][0]).all()
    np.testing.assert_allclose(found.probabilities[1][1], [0.5, 0.5])
