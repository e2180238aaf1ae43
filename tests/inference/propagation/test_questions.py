"""Questions answered by beliefs."""

import numpy as np
import pytest

import sepset as ss


def test_joints_within_a_factor_are_read_from_its_belief():
    net = ss.datasets.load("student")
    for targets in (["grade", "intelligence"], ["intelligence", "grade", "difficulty"], ["difficulty", "grade"]):
        for given in ({}, {"letter": "weak"}, {"sat": "high", "letter": "weak"}):
            found = ss.query(net, targets, given=given, method=ss.LoopyBP())
            assert found.values == pytest.approx(ss.query(net, targets, given=given).values, abs=1e-12)
            assert found.guarantees["marginals"] is ss.Guarantee.EXACT


def test_beliefs_are_computed_once_for_several_questions():
    engine = ss.prepare(ss.datasets.load("misconception"), method=ss.LoopyBP())
    evidence = engine.evidence({"Alice": "a0"})
    assert engine.prepared.beliefs(evidence) is engine.prepared.beliefs(engine.evidence({"Alice": "a0"}))
    assert engine.prepared.beliefs(evidence) is not engine.prepared.beliefs(engine.evidence({"Alice": "a1"}))


def test_an_answer_says_that_its_messages_did_not_converge():
    found = ss.marginals(ss.datasets.load("misconception"), method=ss.LoopyBP(until=2))
    assert (found.status, found.info["passes"]) == (ss.Status.STEP_LIMIT, 2)
    assert found.info["residual"] > 1e-9
    assert np.isfinite(found.log_partition)
