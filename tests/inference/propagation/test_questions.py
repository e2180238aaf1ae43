"""Questions answered by beliefs."""

import pickle

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


@pytest.mark.parametrize("method", [None, ss.LoopyBP(), ss.TreeReweighted(), ss.inference.ClusterBP(2)])
def test_arrays_are_read_at_once(method):
    """The same numbers as one by one, for arrays beside other variables, partly and wholly observed, pickled too."""
    rng = np.random.default_rng(3)
    first, alone, spin = ss.Discrete("first", 3), ss.Discrete("alone"), ss.Discrete.array("spin", (2, 3), states="uvw")
    tables = [ss.Table([spin[0, j], spin[1, j]], rng.random((3, 3))) for j in range(3)]
    tables += [ss.Table([first, spin[0, 0]], rng.random((3, 3))), ss.Table([alone], rng.random(2))]
    net = ss.MarkovNet(*tables, variables=[first, alone, spin])
    everything = {f"spin[{i},{j}]": "v" for i in range(2) for j in range(3)}
    for given in ({}, {"spin[0,1]": "w", "first": 2}, everything):
        found = ss.marginals(net, given=given, method=method)
        array = found[spin]
        assert array.shape == (2, 3, 3)
        for i, j in np.ndindex(2, 3):
            assert array[i, j] == pytest.approx(np.asarray(found[spin[i, j]].values), abs=1e-15)
        assert not array.flags.writeable
        assert (pickle.loads(pickle.dumps(found))[spin] == array).all()
    for other in (
        ss.Discrete.array("spin", (2, 3)),
        ss.Discrete.array("spin", (3, 3), states="uvw"),
        ss.Discrete.array("x", 2),
    ):
        with pytest.raises(ss.errors.ScopeError, match="There are no marginals of"):
            found[other]
