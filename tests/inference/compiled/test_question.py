"""Compiled questions: one plan, many findings, and a workspace for whoever asks."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.errors import TooLarge
from sepset.inference import costs
from sepset.inference.compiled.dense import run_dense
from sepset.inference.compiled.question import compile_question, rearranged
from sepset.inference.compiled.store import FactorStore, FactorValues
from sepset.inference.plan import make_plan
from sepset.variables.evidence import Evidence
from support.random_models import random_case


def question(model, observed=(), touched=(), kept=(), marginals=True, **settings):
    problem = model.problem()
    hidden = [v for v in range(len(problem.variables)) if v not in observed]
    relevant = problem.relevant(hidden, observed, touched=touched, constants=True)
    plan = make_plan(problem, relevant, method=ss.graphs.Portfolio(), observed=observed, last=kept)
    values = FactorValues(problem, FactorStore.of(problem))
    targets, cards = hidden if marginals else None, problem.variables.cards
    layout = values.store.layout
    return compile_question(
        layout, plan, cards=cards, observed=observed, touched=touched, kept=kept, marginals=targets, **settings
    ), values


def singles(asked, values, evidence):
    with run_dense(asked, values, evidence) as run:
        return run.log_partition, run.singles()


@pytest.mark.parametrize("seed", range(20))
def test_marginals_and_total_for_several_findings_of_one_question(seed):
    rng = np.random.default_rng(seed)
    case = random_case(rng)
    variables = case.variables
    if not all(v.is_discrete for v in variables):
        pytest.skip("tables only")
    seen = sorted(rng.permutation(len(variables))[: max(0, min(2, len(variables) - 1))].tolist())
    asked, values = question(case.model, seen)
    for _ in range(3):
        codes = {v: int(rng.integers(variables[v].num_states)) for v in seen}
        given = {variables[v].name: code for v, code in codes.items()}
        joint = oracle.joint(case.factors, case.cards, given)
        found = singles(asked, values, Evidence(codes))
        assert math.exp(found[0]) == pytest.approx(joint.sum(), rel=1e-9)
        if joint.sum() > 0:
            for v, place in asked.places.items():
                axes = tuple(i for i in range(joint.ndim) if i != v)
                truth = joint.sum(axis=axes) / joint.sum()
                np.testing.assert_allclose(found[1][place], truth, rtol=1e-8, atol=1e-12)


def test_likelihoods_enter_where_they_were_announced():
    net = ss.datasets.load("student")
    grade = net.variables.id("grade")
    asked, values = question(net, touched=(grade,))
    weights = np.array([0.2, 0.5, 1.0])
    with run_dense(asked, values, Evidence({}, {grade: weights})) as run:
        log_partition = run.log_partition
    prior = ss.query(net, "grade", method=ss.inference.BruteForce()).values
    assert math.exp(log_partition) == pytest.approx(prior @ weights, rel=1e-12)


def test_kept_variables_are_one_table():
    net = ss.datasets.load("student")
    kept = (net.variables.id("grade"), net.variables.id("sat"))
    asked, values = question(net, kept=kept, marginals=False)
    with run_dense(asked, values, Evidence()) as run:
        flat = run.joint()
    names = [net.variables[v].name for v in asked.joint_positions]
    np.testing.assert_allclose(
        flat, ss.query(net, names, method=ss.inference.BruteForce()).values.reshape(-1), rtol=1e-12
    )


def test_a_new_store_is_not_answered_from_an_old_workspace():
    first = ss.BayesNet(ss.TableCPD(ss.Discrete("a", 2), [0.5, 0.5]))
    second = ss.BayesNet(ss.TableCPD(ss.Discrete("a", 2), [0.9, 0.1]))
    asked, values = question(first)
    other = FactorValues(second.problem(), FactorStore.of(second.problem()))
    for _ in range(2):
        np.testing.assert_array_equal(singles(asked, values, Evidence())[1], [0.5, 0.5])
        np.testing.assert_array_equal(singles(asked, other, Evidence())[1], [0.9, 0.1])


def test_a_workspace_beyond_the_memory_is_refused():
    with pytest.raises(TooLarge, match="entries"):
        question(ss.datasets.load("student"), memory=64)


@pytest.mark.parametrize("seed", range(10))
def test_a_question_along_a_cheaper_tree_has_the_same_answers(seed, monkeypatch):
    monkeypatch.setattr(costs, "GAIN_BEFORE_ANNEALING", math.inf)
    case = random_case(np.random.default_rng(seed))
    if not all(v.is_discrete for v in case.variables):
        pytest.skip("tables only")
    asked, values = question(case.model, search=0.0)
    about = {"reads_tensors": False, "share": 100.0}
    other = rearranged(asked, values.store.layout, **about, memory=2**30)
    total, found = singles(other, values, Evidence())
    joint = oracle.joint(case.factors, case.cards, {})
    assert math.exp(total) == pytest.approx(joint.sum(), rel=1e-9)
    for v, place in other.places.items() if joint.sum() > 0 else ():
        axes = tuple(i for i in range(joint.ndim) if i != v)
        np.testing.assert_allclose(found[place], joint.sum(axis=axes) / joint.sum(), rtol=1e-8, atol=1e-12)
    assert rearranged(asked, values.store.layout, **about, memory=0) is asked
