"""Compiled engines: programs are made once and kept, evidence only runs them, and logarithms take over where needed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled import compiler, engine, planner
from sepset.variables.evidence import resolve
from support.method_contract import Truth
from support.random_models import markov_net, random_evidence, table_net
from support.tolerances import CLOSE


@pytest.fixture
def compilations(monkeypatch):
    """The kinds of questions compiled so far, in order."""
    made = []
    compile_one, compile_greedily = compiler.compile_question, compiler.compile_greedily
    answer_greedily = compiler.answer_greedily

    def name(kept, marginals, maximize, **rest):
        return "mode" if maximize else "sweep" if marginals is None and not kept else "query" if kept else "all"

    def counted(*args, **about):
        made.append(name(**about))
        return compile_one(*args, **about)

    def tried(*args, **about):
        found = compile_greedily(*args, **about)
        if found.question is not None:
            made.append(name(**about))
        return found

    def answered(*args):
        found = answer_greedily(*args)
        if found.question is not None:
            made.append("all")
        return found

    monkeypatch.setattr(compiler, "answer_greedily", answered)
    monkeypatch.setattr(compiler, "compile_question", counted)
    monkeypatch.setattr(compiler, "compile_greedily", tried)
    return made


def prepared(model, **settings):
    return ss.CliqueTree(**settings).prepare(model.problem())


def test_evidence_values_do_not_compile_again(compilations):
    student = ss.datasets.load("student")
    answers = prepared(student)
    for state in student["grade"].states:
        evidence = resolve({"grade": state, "sat": "high"}, student.variables)
        answers.marginals(evidence)
        answers.query([1], evidence)
        answers.best(evidence, [0, 1, 4])
        answers.sample(3, evidence, np.random.default_rng(0))
    assert compilations == ["all", "query", "mode", "sweep"]
    answers.marginals(resolve({"grade": "A"}, student.variables))
    assert compilations[4:] == ["all"]


def test_joints_have_their_axes_in_the_order_asked():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        case = (table_net, markov_net)[seed % 2](rng)
        given, weights = random_evidence(rng, case)
        truth = Truth(case.factors, case.cards, weights)
        evidence = resolve(given, case.model.variables)
        free = [v for v in range(len(case.variables)) if v not in set(evidence.observed)]
        asked = rng.permutation(free)[:3].tolist()
        answer = prepared(case.model).query(asked, evidence)
        assert answer.log_partition == pytest.approx(truth.log_z, abs=CLOSE)
        if truth.log_z > -math.inf:
            expected = truth.marginal([case.variables[v].name for v in asked])
            np.testing.assert_allclose(answer.distribution.values, expected, atol=CLOSE)


WIDE = {"a": 2, "b": 3}
FACTORS = [(("a", "b"), np.array([[1.0, 1e-200, 0.0], [1e-150, 1e-10, 1.0]])), (("b",), np.array([1e-190, 1.0, 1e-90]))]


def wide_model():
    scope = {name: ss.Discrete(name, card) for name, card in WIDE.items()}
    return ss.MarkovNet(*(ss.Table([scope[n] for n in names], values) for names, values in FACTORS))


def test_ranges_too_wide_for_linear_numbers_are_answered_in_logarithms():
    answers = prepared(wide_model())
    assert not answers.store.is_safe
    evidence = ss.variables.Evidence()
    log_z = oracle.log_z(FACTORS, WIDE)
    assert answers.log_partition(evidence) == pytest.approx(log_z, rel=CLOSE)
    read, found = answers.marginals(evidence)
    assert found == pytest.approx(log_z, rel=CLOSE)
    for position, name in enumerate(WIDE):
        expected = oracle.marginal(FACTORS, WIDE, [name])
        np.testing.assert_allclose(read(position).values, expected / expected.sum(), rtol=CLOSE)
    logs = oracle.log_joint(FACTORS, WIDE)
    assert answers.best(evidence, [0, 1]).log_value == pytest.approx(logs.max(), rel=CLOSE)
    drawn = answers.sample(5, evidence, np.random.default_rng(0))
    assert all(logs[a, b] > -math.inf for a, b in zip(drawn[0], drawn[1], strict=True))
    answer = answers.query([1, 0], evidence)
    np.testing.assert_allclose(answer.distribution.values, np.exp(logs - log_z).T, rtol=CLOSE)


def test_likelihoods_too_wide_are_answered_in_logarithms():
    student = ss.datasets.load("student")
    weights = np.array([1e-200, 1.0, 1e-180])
    evidence = resolve({"grade": ss.Likelihood(weights), "letter": "strong"}, student.variables)
    # P(grade) is 0.362, 0.2884, 0.3496 (Koller & Friedman, figure 3.4); a strong letter follows with 0.9, 0.6, 0.01.
    joint = np.array([0.362, 0.2884, 0.3496]) * [0.9, 0.6, 0.01] * weights
    read, log_partition = prepared(student).marginals(evidence)
    np.testing.assert_allclose(read(2).values, joint / joint.sum(), rtol=CLOSE)
    assert log_partition == pytest.approx(math.log(joint.sum()), abs=CLOSE)


def test_an_observed_set_asked_often_gets_a_longer_look(monkeypatch):
    looks = []
    monkeypatch.setattr(planner, "target_groups", lambda *args, whole, cards: looks.append(whole) or ((0, 1, 2, 3, 4),))
    answers = prepared(ss.datasets.load("student"))
    # The tree over student's five variables has 24 entries or fewer in each of three cliques, and two sinks.
    monkeypatch.setattr(costs, "ENTRIES_PER_SINK_FOR_GROUPS", 100)
    monkeypatch.setattr(costs, "ENTRIES_PER_SINK_FOR_GROUPS_LATER", 10)
    for _ in range(costs.USES_BEFORE_SEARCH):
        answers.marginals(ss.variables.Evidence())
    assert not looks
    for _ in range(3):
        answers.marginals(ss.variables.Evidence())
    assert len(looks) == 1


def test_groups_run_when_they_are_read(compilations, monkeypatch):
    monkeypatch.setattr(planner, "target_groups", lambda *args, whole, cards: ((0,), (1, 2), (3, 4)))
    monkeypatch.setattr(costs, "ENTRIES_PER_SINK_FOR_GROUPS", 0)
    student = ss.datasets.load("student")
    whole = ss.inference.BruteForce().prepare(student.problem())
    read, log_partition = prepared(student).marginals(ss.variables.Evidence())
    assert log_partition == pytest.approx(0.0, abs=CLOSE)
    assert compilations == ["sweep"]
    for position in (4, 3, 1):
        expected = whole.query([position], ss.variables.Evidence()).distribution.values
        np.testing.assert_allclose(read(position).values, expected, atol=CLOSE)
    assert compilations == ["sweep", "all", "all"]
    monkeypatch.delattr(engine, "run")
    np.testing.assert_array_equal(read(3).values, read(3).values)
    with pytest.raises(NameError, match="run"):
        read(0)


def test_plans_too_large_are_refused_before_anything_is_allocated():
    with pytest.raises(ss.TooLarge, match="RecursiveConditioning"):
        prepared(ss.datasets.load("alarm"), memory=2000).marginals(ss.variables.Evidence())


def test_answers_are_the_callers_own_and_read_only():
    student = ss.datasets.load("student")
    answers = prepared(student)
    first, _ = answers.marginals(resolve({"grade": "A"}, student.variables))
    before = first(1).values.copy()
    answers.marginals(resolve({"grade": "C"}, student.variables))
    np.testing.assert_array_equal(first(1).values, before)
    with pytest.raises(ValueError, match="read-only"):
        first(1).values[0] = 1.0


def test_models_without_variables_and_with_everything_observed():
    assert prepared(ss.MarkovNet()).log_partition(ss.variables.Evidence()) == 0.0
    student = ss.datasets.load("student")
    everything = ss.variables.Evidence(dict.fromkeys(range(5), 0))
    _, log_partition = prepared(student).marginals(everything)
    assert log_partition == pytest.approx(math.log(0.6 * 0.7 * 0.3 * 0.95 * 0.1), abs=CLOSE)
