"""All results of evaluation are results: with guarantees, a status, a method, and one way to be shown."""

from __future__ import annotations

import dataclasses

import pytest

import sepset as ss
from sepset.inference.result import Result
from sepset.learning.assessment import computed
from support.terminal import printed

STUDENT = ss.datasets.load("student")
ROWS = ss.sample(STUDENT, 40, seed=1)
LEARNER = ss.evaluation.Learner(STUDENT, ss.Bayes(ss.K2()))
CANDIDATES = {"k2": LEARNER}


def share(rows: ss.Dataset) -> float:
    return float(rows.codes("sat").mean())


RESULTS = {
    "evaluate": lambda: ss.evaluate(STUDENT, ROWS),
    "cross_validate": lambda: ss.cross_validate(LEARNER, ROWS, split=ss.evaluation.KFold(2)),
    "train_and_test": lambda: ss.evaluation.train_and_test(LEARNER, ROWS, test=ROWS),
    "select_learner": lambda: ss.evaluation.select_learner(CANDIDATES, ROWS, split=ss.evaluation.KFold(2)),
    "nested": lambda: ss.evaluation.nested_cross_validate(
        CANDIDATES, ROWS, outer=ss.evaluation.KFold(2), inner=ss.evaluation.KFold(2)
    ),
    "calibration_curve": lambda: ss.evaluation.calibration_curve(STUDENT, ROWS, target="sat"),
    "calibration": lambda: ss.evaluation.reliability_curve([0.2, 0.8], [0, 1]),
    "goodness_of_fit": lambda: ss.evaluation.goodness_of_fit(STUDENT, ROWS, num_draws=3),
    "bias_variance": lambda: ss.evaluation.bias_variance(
        LEARNER, STUDENT, target="sat", test=ROWS, num_rows=50, repeats=2
    ),
    "learning_curve": lambda: ss.evaluation.learning_curve(CANDIDATES, STUDENT, sizes=[20, 40], repeats=2),
    "divergence": lambda: ss.evaluation.divergence(STUDENT, STUDENT),
    "divergence from draws": lambda: ss.evaluation.divergence(STUDENT, STUDENT, samples=100),
    "bootstrap": lambda: ss.evaluation.bootstrap(ROWS, share, num_draws=20),
    "bootstrap_mean": lambda: ss.evaluation.bootstrap_mean([0.0, 1.0, 2.0], num_draws=20),
    "paired_comparison": lambda: ss.evaluation.paired_comparison([1.0, 0.0, 1.0], [0.0, 0.0, 0.5]),
    "permutation_test": lambda: ss.evaluation.permutation_test(ROWS, share, column="sat", num_draws=5),
    "classify": lambda: ss.classify.Classifier(STUDENT, "intelligence").predict(ROWS),
    "predict": lambda: ss.predict(STUDENT, ROWS, targets="intelligence"),
    "impute": lambda: ss.impute(STUDENT, ROWS.select(["grade"]), variables=["grade", "sat"]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_it_is_a_result(name):
    found = RESULTS[name]()
    assert isinstance(found, Result)
    assert found.status is ss.Status.COMPLETED
    assert found.guarantees
    assert set(found.guarantees.values()) <= set(ss.Guarantee)
    assert "method" in {field.name for field in dataclasses.fields(found)}
    assert "\n" not in repr(found)


@pytest.mark.parametrize("name", RESULTS)
def test_it_is_shown_in_terminals_and_notebooks(name):
    found = RESULTS[name]()
    assert printed(found).strip()
    assert found._repr_html_().startswith("<table>")


def test_numbers_from_exact_engines_are_exact():
    assert computed(ss.prepare(STUDENT), ss.prepare(STUDENT, method=ss.inference.BruteForce())) is ss.Guarantee.EXACT
    assert computed() is ss.Guarantee.EXACT
