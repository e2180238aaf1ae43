"""The approximate method of CONTRIBUTING serves wherever a method is asked for, and results say what it makes of them.

It has only what a method must have: `query`, `marginals` and `log_partition`.
"""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import sepset as ss

TEXT = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
STUDENT = ss.datasets.load("student")
ROWS = ss.sample(STUDENT, 30, seed=1).select(["intelligence", "grade", "sat"])
"""The other two variables are summed out."""


@functools.cache
def document() -> ModuleType:
    """A module of the document's classes and what they import, taken from its text."""
    module = sys.modules["contributing"] = ModuleType("contributing")
    methods = TEXT[: TEXT.index("## How to add a CPD")]
    for block in re.findall(r"^```python\n(.*?)^```", methods, re.MULTILINE | re.DOTALL):
        if "class " in block:
            exec(compile(block, "CONTRIBUTING.md", "exec"), module.__dict__)
    return module


def draws(num_draws: int = 20_000):
    return document().UniformDraws(num_draws=num_draws)


def evaluated(method):
    found = ss.evaluate(STUDENT, ROWS, ss.evaluation.LogLoss(), ss.evaluation.Brier("intelligence"), method=method)
    return [risk.mean for risk in found.values()], found.guarantees["risk"]


def imputed(method):
    rows = {"grade": ["A", "C"], "intelligence": [None, None], "sat": ["high", "low"]}
    found = ss.impute(STUDENT, rows, method=method)
    return [float(found.dataset["intelligence"][0] == "high")], found.guarantees["values"]


def diverged(method):
    other = ss.BayesNet.random(STUDENT.dag, states={v.name: v.states for v in STUDENT.variables}, seed=3)
    found = ss.evaluation.divergence(STUDENT, other, method=method)
    return [found.total], found.guarantees["divergence"]


def validated(method):
    learner = ss.evaluation.Learner(STUDENT, ss.Bayes(ss.K2()))
    found = ss.cross_validate(
        learner, ss.sample(STUDENT, 60, seed=1), ss.evaluation.Brier("sat"), split=ss.evaluation.KFold(3), method=method
    )
    return [found.risk.pooled_mean], found.guarantees["risk"]


def calibrated(method):
    found = ss.evaluation.calibration_curve(STUDENT, ROWS, target="intelligence", bins=2, method=method)
    return found.observed.tolist(), found.guarantees["curve"]


def fitting_well(method):
    found = ss.evaluation.goodness_of_fit(STUDENT, ROWS, num_draws=2, method=method)
    return [found.statistic], found.guarantees["statistic"]


def learned(inference):
    """EM on the hidden grades of few rows, a few steps from the same start."""
    rows = ss.sample(STUDENT, 12, seed=2).select(["intelligence", "difficulty", "sat", "letter"])
    method = ss.EM(ss.priors.Dirichlet(1.0), start="model", inference=inference)
    found = ss.fit(STUDENT, rows, method, until=ss.Until(steps=3, tolerance=None))
    return found.model.cpd("sat").values.ravel().tolist(), found


# One line for each place that takes a method: what it finds, and what it says about that.
USES = {
    "evaluate": evaluated,
    "impute": imputed,
    "divergence": diverged,
    "cross_validate": validated,
    "calibration_curve": calibrated,
    "goodness_of_fit": fitting_well,
}


def test_the_document_holds_the_method():
    assert 30 <= TEXT.count("\n", TEXT.index("class UniformDraws"), TEXT.index("return self._draws(evidence)[2]")) <= 65
    assert not hasattr(document().PreparedDraws, "best")


def test_queries_are_estimates():
    found = ss.query(STUDENT, "intelligence", given={"letter": "weak"}, method=draws())
    assert found["high"] == pytest.approx(ss.query(STUDENT, "intelligence", given={"letter": "weak"})["high"], abs=0.02)
    assert found.guarantees["marginals"] is ss.Guarantee.ESTIMATE


@pytest.mark.parametrize("use", USES)
def test_every_use_finds_about_the_same_and_says_that_it_is_an_estimate(use):
    exact, sure = USES[use](None)
    about, guarantee = USES[use](draws())
    np.testing.assert_allclose(about, exact, atol=0.05)
    assert sure is ss.Guarantee.EXACT
    assert guarantee is ss.Guarantee.ESTIMATE


def test_em_finds_about_the_same_and_says_that_it_is_heuristic():
    exact, sure = learned(None)
    about, found = learned(draws(4_000))
    np.testing.assert_allclose(about, exact, atol=0.05)
    assert found.log_likelihood == pytest.approx(sure.log_likelihood, abs=1.0)
    assert found.guarantees == {"parameters": ss.Guarantee.HEURISTIC, "log_likelihood": ss.Guarantee.ESTIMATE}
    assert "inference=UniformDraws" in repr(found.method)


def test_standard_errors_by_draws_are_heuristic():
    rows = {"coin": ["head", "tail", "tail", "tail"]}
    coin = ss.fit(ss.DAG.parse("coin"), rows).model
    plain, found = (ss.learning.standard_errors(coin, rows, method=method) for method in (None, draws(100)))
    np.testing.assert_allclose(found["coin"], plain["coin"], rtol=1e-4)
    assert plain.guarantees == {"errors": ss.Guarantee.ESTIMATE}
    assert found.guarantees == {"errors": ss.Guarantee.HEURISTIC}


def test_impossible_findings_are_found():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    copy = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [[1.0, 0.0], [0.0, 1.0]], given=a))
    assert float(ss.log_probability(copy, given={"a": 0, "b": 1}, method=draws(100))) == -np.inf
    with pytest.raises(ss.ImpossibleEvidence):
        ss.query(copy, "a", given={"a": 0, "b": 1}, method=draws(100))
