"""Derivatives of the partition function against differences of enumerated ones; zeros, parts, and wide ranges."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.compiled import gradients as module
from sepset.inference.compiled.gradients import Derivatives
from sepset.variables.evidence import Evidence, resolve
from support.blocks import in_blocks
from support.random_models import chain_graph, markov_net, names_of, random_evidence, structured_net, table_net
from support.tolerances import CLOSE

MAKERS = (table_net, markov_net, structured_net, chain_graph)


def plain_factors(problem):
    """The problem's factors and cards as the oracle takes them, auxiliaries included."""
    tables = [f.to_table() if isinstance(f, ss.factors.SparseTable) else f for f in problem.factors()]
    factors = [(names_of(f.scope), f.values) for f in tables]
    return factors, {v.name: v.num_states for v in problem.variables}


def enumerated(factors, cards, number, plain):
    """Z with factor `number` one at one entry and zero elsewhere: what Z gains by a unit of that entry."""
    scope, table = factors[number]
    found = np.empty(table.shape)
    for cell in np.ndindex(*table.shape):
        unit = np.zeros(table.shape)
        unit[cell] = 1.0
        found[cell] = math.exp(oracle.log_z([*factors[:number], (scope, unit), *factors[number + 1 :]], cards, plain))
    return found


@in_blocks("seed", range(12))
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_derivatives_are_what_a_unit_of_an_entry_adds(make, seed):
    rng = np.random.default_rng([seed, 51])
    case = make(rng)
    given, plain = random_evidence(rng, case)
    problem = case.model.problem()
    factors, cards = plain_factors(problem)
    if math.prod(cards.values()) > 3000:
        return
    evidence = resolve(given, case.model.variables)
    gradient = Derivatives(problem, prune=False).gradient(evidence)
    truth = oracle.log_z(factors, cards, plain)
    assert gradient.log_partition == pytest.approx(truth, abs=CLOSE)
    assert sorted(gradient.parts) == list(range(problem.num_factors))
    for number in gradient.parts:
        found = gradient.relative(number, 0.0)
        np.testing.assert_allclose(found, enumerated(factors, cards, number, plain), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_some_derivatives_are_those_of_all(make):
    rng = np.random.default_rng([52])
    for _ in range(5):
        case = make(rng)
        given, _ = random_evidence(rng, case)
        derivatives, evidence = Derivatives(case.model.problem(), prune=False), resolve(given, case.model.variables)
        whole = derivatives.gradient(evidence)
        wanted = set(range(0, len(whole.parts), 2))
        some = derivatives.gradient(evidence, numbers=wanted)
        assert set(some.parts) == wanted
        assert some.log_partition == whole.log_partition
        for number in wanted:
            np.testing.assert_array_equal(some.relative(number, 0.0), whole.relative(number, 0.0))


def test_an_impossible_observation_still_has_derivatives():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [1.0, 0.0]), ss.TableCPD(b, [[1.0, 0.0], [0.5, 0.5]], given=a))
    gradient = Derivatives(net.problem()).gradient(Evidence({1: 1}))
    assert gradient.log_partition == -math.inf
    np.testing.assert_allclose(gradient.relative(0, 0.0), [0.0, 0.5])
    np.testing.assert_allclose(gradient.relative(1, 0.0), [[0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(gradient.direction(0), [0.0, 1.0])


def test_a_part_of_weight_zero_stills_the_others():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.MarkovNet(ss.Table(a, [0.0, 0.0]), ss.Table(b, [2.0, 3.0]))
    gradient = Derivatives(net.problem()).gradient(Evidence())
    np.testing.assert_array_equal(gradient.relative(1, 0.0), [0.0, 0.0])
    assert gradient.direction(1) is None
    np.testing.assert_allclose(gradient.relative(0, 0.0), [5.0, 5.0])


def test_barren_factors_are_left_out():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [0.3, 0.7]), ss.TableCPD(b, [[0.1, 0.9], [0.5, 0.5]], given=a))
    pruned, whole = (Derivatives(net.problem(), prune=prune).gradient(Evidence({0: 1})) for prune in (True, False))
    assert sorted(pruned.parts) == [0]
    assert pruned.relative(1, 0.0) is None
    assert sorted(whole.parts) == [0, 1]
    assert whole.log_partition == pytest.approx(math.log(0.7))


def test_ranges_too_wide_for_linear_numbers():
    x, y = ss.Discrete("x", 2), ss.Discrete("y", 2)
    logs = np.array([[0.0, -900.0], [-450.0, -3.0]])
    net = ss.MarkovNet(ss.Table.from_log((x, y), logs), ss.Table(y, [0.25, 0.5]))
    gradient = Derivatives(net.problem()).gradient(Evidence({0: 1}))
    assert gradient.log_partition == pytest.approx(np.logaddexp(-450 + math.log(0.25), -3 + math.log(0.5)))
    np.testing.assert_allclose(gradient.relative(0, 0.0), [[0, 0], [0.25, 0.5]])
    np.testing.assert_allclose(gradient.relative(1, -3.0), [math.exp(-447), 1.0])


def test_plans_and_programs_are_made_once(monkeypatch):
    calls = []
    compiled = module.compile_question
    monkeypatch.setattr(module, "compile_question", lambda *a, **k: (calls.append(a), compiled(*a, **k))[1])
    net = ss.datasets.load("asia")
    made = Derivatives(net.problem())
    for code in (0, 1, 0):
        made.gradient(Evidence({0: code}))
    assert len(calls) == 1
    assert made.plan(range(2, 8)).cost > 0


def test_no_memory_is_refused_with_its_figure():
    problem = ss.datasets.load("asia").problem()
    with pytest.raises(ss.TooLarge, match="the limit is 0 B"):
        Derivatives(problem, memory=0).gradient(Evidence())
    engine = ss.prepare(ss.datasets.load("asia"), method=ss.inference.RecursiveConditioning(memory=0))
    with pytest.raises(ss.TooLarge, match="the limit is 0 B"):
        engine.sensitivity("lung", state="yes", given={"xray": "yes"})
    given = {"xray": "yes", "smoke": "no"}
    expected = ss.query(ss.datasets.load("asia"), "xray", given={"smoke": "no"}).values
    np.testing.assert_allclose(engine.retracted_marginals(given=given)["xray"].values, expected, rtol=0, atol=1e-12)


@in_blocks("seed", range(30))
def test_factor_marginals_are_those_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    case = table_net(rng) if seed % 2 else markov_net(rng)
    problem = case.model.problem()
    prepared = ss.CliqueTree().prepare(problem)
    given, plain = random_evidence(rng, case)
    evidence = resolve(given, case.model.variables)
    if oracle.log_z(case.factors, case.cards, plain) == -math.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            prepared.factor_marginals(evidence)
        return
    for number, found in enumerate(prepared.factor_marginals(evidence)):
        names = [problem.variables[v].name for v in problem.scope(number)]
        np.testing.assert_allclose(found, oracle.conditional(case.factors, case.cards, names, plain), atol=CLOSE)


def test_gradient_of_the_log_partition_function():
    rng = np.random.default_rng(1)
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 3)
    table = rng.uniform(0.5, 1.0, (2, 3))
    prepared = ss.CliqueTree().prepare(ss.MarkovNet(ss.Table([a, b], table)).problem())
    evidence = resolve({"a": 1}, prepared.problem.variables)
    gradient = prepared.factor_marginals(evidence)[0]
    for cell in np.ndindex(2, 3):
        step = np.zeros((2, 3))
        step[cell] = 1e-6
        up = prepared.with_values([table * np.exp(step)]).log_partition(evidence)
        down = prepared.with_values([table * np.exp(-step)]).log_partition(evidence)
        assert (up - down) / 2e-6 == pytest.approx(gradient[cell], abs=1e-8)
