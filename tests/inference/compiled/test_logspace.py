"""Questions in logarithms against enumeration in logarithms: tiny and huge values, thousands of factors, zeros."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.base.threads import OutOfWork, working
from sepset.inference import costs
from sepset.inference.compiled.dense import run_dense
from sepset.inference.compiled.execution import run_tensors
from sepset.inference.compiled.gradients import Derivatives
from sepset.inference.compiled.logspace import run_log
from sepset.inference.compiled.store import FactorStore, FactorValues
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.tolerances import CLOSE

CARDS = {"a": 2, "b": 3, "c": 2, "d": 1, "e": 3}
SCOPES = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e",), ("b", "e", "a")]


def wide_case(seed, zeros=0.2, bits=280.0):
    """Factors whose entries range over hundreds of powers of ten, some of them zero."""
    rng = np.random.default_rng(seed)
    factors = []
    for scope in SCOPES:
        shape = [CARDS[name] for name in scope]
        factors.append((scope, 10.0 ** rng.uniform(-bits, 20.0, shape) * (rng.random(shape) > zeros)))
    variables = {name: ss.Discrete(name, card) for name, card in CARDS.items()}
    model = ss.MarkovNet(
        *(ss.Table([variables[n] for n in scope], table) for scope, table in factors), variables=variables.values()
    )
    return model, factors


def prepared(model):
    """The compiled engine, which has no executor over factors to turn to."""
    return ss.CliqueTree().prepare(model.problem())


@pytest.mark.parametrize("given", [{}, {"b": 1}, {"e": np.array([1e-300, 0.0, 1e200])}, {"a": 1, "e": 0}], ids=str)
@in_blocks("seed", range(15))
def test_every_question_with_entries_of_any_size(seed, given):
    model, factors = wide_case(seed)
    engine = prepared(model)
    codes = {model.variables.id(n): f for n, f in given.items() if isinstance(f, int)}
    weights = {model.variables.id(n): f for n, f in given.items() if not isinstance(f, int)}
    evidence = ss.variables.Evidence(codes, weights)
    log_z = oracle.log_z(factors, CARDS, given)
    assert engine.log_partition(evidence) == pytest.approx(log_z, rel=CLOSE)
    if log_z == -math.inf:
        return
    hidden = [v for v in range(len(CARDS)) if v not in codes]
    truth = oracle.marginals(factors, CARDS, given)
    read, found = engine.marginals(evidence)
    assert found == pytest.approx(log_z, rel=CLOSE)
    for v in hidden:
        np.testing.assert_allclose(read(v).values, truth[model.variables[v].name], rtol=CLOSE, atol=1e-300)
    pair = hidden[-1:] + hidden[:1]
    expected = oracle.conditional(factors, CARDS, [model.variables[v].name for v in pair], given)
    np.testing.assert_allclose(engine.query(pair, evidence).distribution.values, expected, rtol=CLOSE, atol=1e-300)
    best, log_best = oracle.map_assignments(factors, CARDS, given)
    answer = engine.best(evidence, hidden)
    assert answer.log_value == pytest.approx(log_best, rel=CLOSE)
    assert {**codes, **answer.values} in [{model.variables.id(n): s for n, s in cell.items()} for cell in best]


@in_blocks("seed", range(6))
def test_factor_marginals_and_derivatives(seed):
    model, factors = wide_case(seed, zeros=0.05)
    evidence = ss.variables.Evidence({1: 2})
    given = {"b": 2}
    log_z = oracle.log_z(factors, CARDS, given)
    if log_z == -math.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            prepared(model).factor_marginals(evidence)
        return
    found = prepared(model).factor_marginals(evidence)
    gradient = Derivatives(model.problem()).gradient(evidence)
    assert gradient.log_partition == pytest.approx(log_z, rel=CLOSE)
    for number, (scope, table) in enumerate(factors):
        expected = oracle.conditional(factors, CARDS, scope, given)
        np.testing.assert_allclose(found[number], expected, rtol=CLOSE, atol=1e-300)
        ones = [*factors[:number], (scope, np.ones_like(table)), *factors[number + 1 :]]
        logs = oracle.project(oracle.log_joint(ones, CARDS, given), CARDS, scope, lambda x: oracle.log_sum(np.array(x)))
        array, log_scale = gradient.parts[number]
        np.testing.assert_allclose(array, np.exp(logs - log_scale), rtol=1e-8, atol=1e-290)


def test_draws_follow_the_posterior():
    model, factors = wide_case(3, zeros=0.0, bits=0.6)
    shifted = ss.MarkovNet(
        *(ss.Table.from_log(f.scope, f.log_values - 3000.0) for f in model.factors),
        ss.Table([model.variables["a"]], [1.0, 1e-200]),
    )
    given = [*factors, (("a",), np.array([1.0, 1e-200]))]
    drawn = prepared(shifted).sample(20_000, ss.variables.Evidence(), np.random.default_rng(0))
    truth = oracle.marginals(given, CARDS)
    for v, column in drawn.items():
        name = shifted.variables[v].name
        counts = np.bincount(column, minlength=CARDS[name]) / 20_000
        error = 5.0 * np.sqrt(truth[name] * (1.0 - truth[name]) / 20_000)
        assert (abs(counts - truth[name]) <= error + 1e-12).all()


def test_thousands_of_factors_on_one_variable():
    x, y = ss.Discrete("x", 2), ss.Discrete("y", 2)
    model = ss.MarkovNet(*([ss.Table(x, [1.0, 1e-5])] * 3000), ss.Table((x, y), [[0.25, 0.0], [1.0, 3.0]]))
    engine = prepared(model)
    below = -3000 * 5 * math.log(10.0)
    assert engine.log_partition(ss.variables.Evidence()) == pytest.approx(math.log(0.25), rel=CLOSE)
    assert engine.log_partition(ss.variables.Evidence({0: 1})) == pytest.approx(below + math.log(4.0), rel=CLOSE)
    assert engine.log_partition(ss.variables.Evidence({1: 1})) == pytest.approx(below + math.log(3.0), rel=CLOSE)
    read, _ = engine.marginals(ss.variables.Evidence({1: 1}))
    np.testing.assert_array_equal(read(0).values, [0.0, 1.0])


def test_a_long_chain_of_tiny_numbers():
    n, tiny = 400, 1e-300
    chain = [ss.Discrete(f"x{i}", 2) for i in range(n)]
    model = ss.MarkovNet(*(ss.Table(pair, [[tiny, 0.0], [1.0, tiny]]) for pair in itertools.pairwise(chain)))
    read, log_partition = prepared(model).marginals(ss.variables.Evidence())
    # A path starts in state 1 and may step down once (weight 1), or stays where it is (weight tiny each step): n - 1
    # places for the step, and two paths without one.
    stay = (n - 1) * math.log(tiny)
    assert log_partition == pytest.approx(stay - math.log(tiny) + math.log(n - 1), rel=CLOSE)
    np.testing.assert_allclose(read(0).values, [0.0, 1.0], atol=1e-290)
    np.testing.assert_allclose(read(100).values[1], (n - 1 - 100) / (n - 1), rtol=CLOSE)


def test_impossible_findings_and_empty_problems():
    x = ss.Discrete("x", 2)
    engine = prepared(ss.MarkovNet(ss.Table(x, [1.0, 0.0]), ss.Table(x, [1e-300, 1e300])))
    assert engine.log_partition(ss.variables.Evidence({0: 1})) == -math.inf
    assert engine.log_partition(ss.variables.Evidence()) == pytest.approx(math.log(1e-300), rel=CLOSE)
    assert engine.best(ss.variables.Evidence({0: 1}), []).log_value == -math.inf
    with pytest.raises(ss.ImpossibleEvidence):
        engine.factor_marginals(ss.variables.Evidence({}, {0: np.array([0.0, 1.0])}))
    empty = ss.MarkovNet().problem()
    assert len(FactorValues(empty, FactorStore.of(empty)).logs) == 0


def test_linear_numbers_are_tried_first_and_both_agree():
    problem = ss.datasets.load("asia").problem()
    tables = ss.CliqueTree().prepare(problem)
    _, question = tables.compiler.all_marginals(tables.compiler.planner.pattern(ss.variables.Evidence()))
    values = FactorValues(problem, tables.store)
    with run_tensors(question, values, ss.variables.Evidence()) as run:
        assert not run.is_log
    with (
        run_dense(question, values, ss.variables.Evidence()) as linear,
        run_log(question, values, ss.variables.Evidence()) as logs,
    ):
        assert logs.is_log
        np.testing.assert_allclose(linear.singles(), logs.singles(), rtol=CLOSE, atol=1e-300)


def test_logarithms_are_kept_with_the_problem():
    problem = wide_case(0)[0].problem()
    store = FactorStore.of(problem)
    assert FactorValues(problem, store).logs is FactorValues(problem, store).logs


def test_new_values_have_their_own_logarithms():
    model, _ = wide_case(1, zeros=0.0)
    engine = prepared(model)
    evidence = ss.variables.Evidence()
    before = engine.log_partition(evidence)
    values = [table.values * 2.0 for table in model.factors]
    assert engine.with_values(values).log_partition(evidence) == pytest.approx(
        before + len(values) * math.log(2.0), rel=CLOSE
    )


def test_long_runs_can_be_interrupted(monkeypatch):
    asked = []
    monkeypatch.setattr(costs, "WORK_UNINTERRUPTED", 0)
    monkeypatch.setattr(
        "sepset.inference.compiled.logspace.interruptible", lambda run: asked.append(run(np.zeros(1, np.uint8)))
    )
    model, factors = wide_case(2)
    assert prepared(model).log_partition(ss.variables.Evidence()) == pytest.approx(
        oracle.log_z(factors, CARDS), rel=CLOSE
    )
    assert asked == [None]


def test_a_run_that_follows_a_long_one_is_not_refused(monkeypatch):
    a, b = ss.Discrete("a"), ss.Discrete("b")
    wide = ss.MarkovNet(ss.Table((a, b), [[1.0, 1e-200], [1e-200, 1e-300]]), ss.Table(a, [1.0, 1e-150]))
    prepared = ss.CliqueTree().prepare(wide.problem())
    question, _ = prepared.question("joint", (), Evidence())
    values = prepared.within(None, Evidence())[0]
    with working(1e-3), pytest.raises(OutOfWork):
        run_log(question, values, Evidence())
    with working(1e-3):
        done = run_log(question, values, Evidence(), is_late=True)
    assert done.log_partition == pytest.approx(0.0, abs=1e-12)
