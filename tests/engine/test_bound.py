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
    assert bound.point(names.index("grade"), bound.evidence({"grade": "B"})).values.tolist() == [0.0, 1.0, 0.0]
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
