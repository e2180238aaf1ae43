"""A model bound to a method: names become positions, findings become evidence."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sepset as ss
from sepset.engine.bound import Bound

STUDENT = ss.datasets.load("student")


def test_names_become_positions_and_findings_evidence():
    bound = Bound(STUDENT)
    names = STUDENT.variables.names
    assert bound.positions(["sat", STUDENT["grade"]]) == [names.index("sat"), names.index("grade")]
    assert bound.evidence({"grade": "B"}).codes == {names.index("grade"): 1}
    assert ss.prepare(STUDENT).query("grade", given={"grade": "B"}).values.tolist() == [0.0, 1.0, 0.0]
    with pytest.raises(ss.errors.ScopeError, match="sat is asked for twice"):
        bound.positions(["sat", "sat"])


def test_soft_evidence_has_a_posterior_but_no_probability():
    bound = Bound(STUDENT)
    soft = {"grade": ss.Soft([0.2, 0.3, 0.5])}
    assert bound.evidence(soft).weights
    with pytest.raises(ss.errors.NotApplicable, match="has no probability of its own"):
        bound.weighted_evidence(soft)


def test_weights_become_probabilities_by_their_total():
    a = ss.Discrete("a")
    assert Bound(STUDENT).log_total == 0.0
    assert Bound(ss.MarkovNet(ss.Table(a, [3.0, 5.0]))).log_total == pytest.approx(np.log(8.0))


def test_it_is_exact_where_its_method_is():
    assert Bound(STUDENT).is_exact
    assert Bound(STUDENT, ss.inference.BruteForce()).is_exact
    assert Bound(STUDENT).method == ss.CliqueTree()


def test_it_is_pickled_as_model_and_method():
    again = pickle.loads(pickle.dumps(Bound(STUDENT, ss.inference.BruteForce())))
    assert again.method == ss.inference.BruteForce()
    assert again.model.variables == STUDENT.variables


def test_models_are_told_from_what_holds_one():
    with pytest.raises(ss.errors.ModelError, match=r"Use its \.model"):
        Bound(ss.fit(ss.DAG.parse("a"), {"a": [0, 1]}))
    with pytest.raises(ss.errors.ModelError, match="Build one, fit one, or read a file"):
        Bound(3)


def asked(engine, seen):
    """Several kinds of answers, as numbers."""
    names = [v for v in engine.model.variables.names if v not in seen]
    singles = engine.marginals(given=seen)
    best = engine.map_assignment(given=seen)
    rows = engine.predict({name: [state, None] for name, state in seen.items()}, targets=names[0])
    return (
        [engine.query(names[:2], given=seen).values.tolist(), float(engine.log_probability(given=seen))],
        [singles[name].values.tolist() for name in names],
        [best.assignment, best.log_value],
        np.asarray(rows.probabilities(names[0])).tolist(),
        engine.sample(5, given=seen, seed=0).matrix().tolist(),
    )


@pytest.mark.parametrize("name", ["asia", "student", "alarm", "misconception"])
@pytest.mark.parametrize("zeros", ["auto", "sparse", "dense"])
def test_an_engine_is_pickled_with_its_plans(name, zeros, monkeypatch):
    """The copy gives the same answers and compiles nothing that the original had compiled."""
    from sepset.inference.compiled import compiler as compiled
    from sepset.inference.rows import batch

    model = ss.datasets.load(name)
    first = model.variables[0]
    seen = {first.name: first.states[0]}
    engine = ss.prepare(model, method=ss.CliqueTree(zeros=zeros))
    expected = asked(engine, seen)
    sent = pickle.dumps(engine)

    def fail(*args, **kwargs):
        raise AssertionError("compiled again")

    monkeypatch.setattr(compiled, "compile_question", fail)
    monkeypatch.setattr(compiled, "compile_greedily", fail)
    monkeypatch.setattr(compiled, "answer_greedily", fail)
    monkeypatch.setattr(batch, "compile_question", fail)
    monkeypatch.setattr(batch, "compile_greedily", fail)
    assert asked(pickle.loads(sent), seen) == expected


@pytest.mark.parametrize(
    "method",
    [ss.VariableElimination(), ss.inference.BruteForce(), ss.inference.ShaferShenoy()],
    ids=lambda m: type(m).__name__,
)
def test_other_methods_are_prepared_again(method):
    engine = ss.prepare(STUDENT, method=method)
    expected = engine.query("grade").values
    again = pickle.loads(pickle.dumps(engine))
    assert again.method == method
    np.testing.assert_array_equal(again.query("grade").values, expected)


def test_an_engine_of_real_variables_is_prepared_again():
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 0.0, covariance=1.0),
        ss.LinearGaussian(y, 1.0, coefficients={x: 2.0}, covariance=1.0, given=x),
    )
    engine = ss.prepare(net)
    engine.query("x", given={"y": 2.0})
    again = pickle.loads(pickle.dumps(engine))
    assert again.query("x", given={"y": 2.0}).distribution.mean() == pytest.approx(0.4, abs=1e-12)
