"""Runs in whole numbers: their inputs, sums over all joint states, and the estimate of their time."""

from __future__ import annotations

import sepset as ss
from sepset.inference.compiled.gradients import Derivatives
from sepset.inference.wholenumbers.runs import WholeRun
from sepset.variables.evidence import resolve


def test_a_sum_without_rounding():
    """0.1 + 0.2 and 0.3 are not the same floats; the sum of both products over all states says so."""
    a = ss.Discrete("a")
    problem = ss.prepare(ss.MarkovNet(ss.Table(a, [0.1, 0.2]))).prepared.problem
    evidence = resolve({}, problem.variables)
    run = WholeRun.of(Derivatives(problem).question(evidence), problem, evidence)
    total = run.product(run.tensors()[r] for r in run.question.contraction.roots.tolist())
    assert int(total.values) * 2**60 == (int(0.1 * 2**60) + int(0.2 * 2**60)) * 2 ** (-total.exponent)


def test_time_is_estimated_from_products_and_digits():
    net = ss.datasets.load("asia")
    engine = ss.prepare(net)
    evidence = resolve({"xray": "yes"}, engine.known)
    derivatives = Derivatives(engine.prepared.problem)
    question = derivatives.question(evidence)
    short = WholeRun.of(question, derivatives.problem, evidence).nanoseconds
    cpds = [one if one.parents else ss.TableCPD(one.child, [1.0, 1e-300]) for one in net.cpds]
    problem = ss.prepare(ss.BayesNet(*cpds)).prepared.problem
    assert WholeRun.of(question, problem, evidence).nanoseconds > 2 * short


def test_factors_that_hold_logarithms_are_left_to_floats():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.MarkovNet(ss.Table.from_log([a, b], [[0.0, -1000.0], [-2000.0, 0.0]]), ss.Table(a, [0.5, 0.5]))
    engine = ss.prepare(net)
    derivatives = Derivatives(engine.prepared.problem)
    evidence = resolve({}, engine.known)
    assert WholeRun.of(derivatives.question(evidence), derivatives.problem, evidence) is None
