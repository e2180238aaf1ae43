"""Clique trees over regressions: rows answered together or one by one are the same rows."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.cliquetree import hybrid as module
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.evidencerows import Workers
from sepset.variables.evidence import Evidence
from support.hybrid_rows import evidence_of, mixture_of, random_case
from support.tolerances import CLOSE

ONE = Workers(1)


@pytest.mark.parametrize("most", [0, 1, 2, 4])
@pytest.mark.parametrize("seed", range(8))
def test_some_rows_together_and_others_alone_keep_their_order(seed, most, monkeypatch):
    net, plain, rows = random_case(seed)
    monkeypatch.setattr(costs, "CONTEXTS_ENUMERATED_PER_ROW", most)
    prepared = CliqueTree().prepare(net.problem())
    found = prepared.answer_rows(evidence_of(net, rows), range(len(net.variables)), ONE)
    expected = [mixture_of(plain, row).log_evidence for row in rows]
    np.testing.assert_allclose(found.log_partition, expected, rtol=0, atol=CLOSE)


def test_which_tree_a_problem_gets():
    a, b = ss.Real("a"), ss.Discrete("b")
    coin = ss.BayesNet(ss.TableCPD(b, [0.5, 0.5])).problem()
    assert not isinstance(CliqueTree().prepare(coin), module.RowTree)
    joint = ss.BayesNet(ss.LinearGaussian(a, 1.0, covariance=2.0)).problem()
    tree = CliqueTree().prepare(joint)
    assert isinstance(tree, module.RegressionTree)
    assert tree.log_partition(Evidence()) == pytest.approx(0.0, abs=CLOSE)
