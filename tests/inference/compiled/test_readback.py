"""Modes and draws read back from compiled trees."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled import readback
from sepset.inference.compiled.execution import run_tensors
from sepset.inference.compiled.readback import drawer, modes, most_probable, read_back
from sepset.inference.completion import complete_rows
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.variables.evidence import Evidence, resolve
from support.blocks import in_blocks
from support.method_contract import Truth
from support.random_models import markov_net, random_evidence, table_net
from support.tolerances import STANDARD_ERRORS, TIE

NUM_ROWS = 4000


def cases(kind, num):
    for seed in range(num):
        rng = np.random.default_rng([seed, 11])
        case = kind(rng)
        given, weights = random_evidence(rng, case)
        truth = Truth(case.factors, case.cards, weights)
        if truth.log_z > -math.inf:
            yield case, resolve(given, case.model.variables), truth


@pytest.mark.parametrize("kind", [table_net, markov_net])
def test_modes_attain_the_maximum(kind):
    for case, evidence, truth in cases(kind, 25):
        prepared = ss.CliqueTree().prepare(case.model.problem())
        hidden = [v for v in range(len(case.variables)) if v not in set(evidence.observed)]
        best = prepared.best(evidence, hidden)
        codes = {**best.values, **evidence.codes}
        there = truth.logs[tuple(codes[v] for v in range(len(case.variables)))]
        assert there == pytest.approx(truth.logs.max(), abs=TIE)
        assert best.log_value == pytest.approx(truth.logs.max(), abs=TIE)


@pytest.mark.parametrize("kind", [table_net, markov_net])
def test_draws_follow_the_posterior(kind):
    for case, evidence, truth in cases(kind, 12):
        prepared = ss.CliqueTree().prepare(case.model.problem())
        drawn = prepared.sample(NUM_ROWS, evidence, np.random.default_rng(2))
        hidden = [v for v in range(len(case.variables)) if v not in set(evidence.observed)]
        assert sorted(drawn) == hidden
        if not hidden:
            continue
        names = [case.variables[v].name for v in hidden]
        expected = truth.marginal(names)
        found = np.zeros_like(expected)
        np.add.at(found, tuple(drawn[v] for v in hidden), 1.0 / NUM_ROWS)
        assert not found[expected == 0].any()
        error = np.sqrt(expected * (1 - expected) / NUM_ROWS)
        assert (np.abs(found - expected) <= STANDARD_ERRORS * error + 5 / NUM_ROWS).all()


def test_no_rows_and_no_variables():
    prepared = ss.CliqueTree().prepare(ss.datasets.load("student").problem())
    empty = prepared.sample(0, ss.variables.Evidence(), np.random.default_rng(0))
    assert all(len(column) == 0 for column in empty.values())
    everything = ss.variables.Evidence(dict.fromkeys(range(5), 0))
    assert prepared.sample(3, everything, np.random.default_rng(0)) == {}


def test_the_first_of_equal_modes():
    weights = np.array([[0.0, 2.0, 2.0], [3.0, 1.0, 3.0]])
    assert modes(weights, np.array([1, 0, 0])).tolist() == [0, 1, 1]


class Fixed:
    """A generator whose uniform numbers are given."""

    def __init__(self, numbers):
        self.numbers = np.array(numbers)

    def random(self, size):
        assert size == len(self.numbers)
        return self.numbers


@pytest.mark.parametrize("contexts", [1, 4])
def test_a_draw_is_the_state_whose_share_holds_the_number(contexts):
    rng = np.random.default_rng(contexts)
    for size in (1, 2, 3, 7, 16):
        weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=(contexts, size))
        weights[:, rng.integers(size)] = 1.0
        which = rng.integers(contexts, size=200)
        uniform = rng.random(200)
        drawn = drawer(Fixed(uniform))(weights, which)
        for row, u, code in zip(which, uniform, drawn, strict=True):
            low = weights[row, :code].sum()
            assert low <= u * weights[row].sum() < low + weights[row, code]


def test_the_number_zero_draws_the_first_possible_state():
    weights = np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 1.0]])
    for rows, expected in ((weights, [1, 2]), (weights[:1], [1])):
        assert drawer(Fixed(np.zeros(len(rows))))(rows, np.arange(len(rows))).tolist() == expected


def test_a_number_rounded_up_to_the_total_draws_the_last_possible_state():
    weights = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0]])
    for rows in (weights, weights[:1]):
        which = np.arange(len(rows))
        assert drawer(Fixed(np.ones(len(rows))))(rows, which).tolist() == [1] * len(rows)


@pytest.mark.parametrize("power", [1, 300], ids=["linear", "log space"])
def test_reading_back_by_steps_and_in_parts_is_the_same(monkeypatch, power):
    """However few joint states are in memory: the same maximum, and draws with the posterior's frequencies."""
    for seed in range(15):
        rng = np.random.default_rng([seed, 12])
        variables = [ss.Discrete(f"v{i}", int(rng.integers(1, 4))) for i in range(5)]
        scopes = [[variables[i] for i in rng.permutation(5)[: rng.integers(1, 4)]] for _ in range(7)]
        shapes = [[v.num_states for v in scope] for scope in scopes]
        logs = [power * np.log(rng.uniform(0.01, 1, shape)) for shape in shapes]
        tables = [ss.Table.from_log(scope, table) for scope, table in zip(scopes, logs, strict=True)]
        model = ss.MarkovNet(*tables, variables=variables)
        joint = ss.query(model, model.variables.names, method=ss.inference.BruteForce())
        with monkeypatch.context() as few:
            few.setattr(costs, "STATES_READ_BY_CLIQUE", 1)
            few.setattr(costs, "ENTRIES_READ_AT_ONCE", 2)
            engine = ss.prepare(model)
            best, drawn = engine.map_assignment(), engine.sample_columns(NUM_ROWS, seed=1)
        expected = joint.values
        assert joint[best.assignment] == pytest.approx(expected.max(), rel=TIE)
        found = np.zeros_like(expected)
        np.add.at(found, tuple(drawn.values()), 1.0 / NUM_ROWS)
        error = np.sqrt(expected * (1 - expected) / NUM_ROWS)
        assert (np.abs(found - expected) <= STANDARD_ERRORS * error + 5 / NUM_ROWS).all()


def test_no_array_has_the_joint_states_of_a_large_clique(monkeypatch):
    """All pairs of twelve variables: one clique of 4096 states, of which never more than 64 are weighed at once."""
    most = []
    monkeypatch.setattr(costs, "STATES_READ_BY_CLIQUE", 64)
    monkeypatch.setattr(readback, "modes", lambda weights, which: most.append(weights.size) or modes(weights, which))
    loops = readback.kernels.most_probable
    monkeypatch.setattr(readback.kernels, "most_probable", lambda *args: most.append(args[-3]) or loops(*args))
    rng, variables = np.random.default_rng(0), [ss.Discrete(f"v{i}", 2) for i in range(12)]
    pairs = [(a, b) for i, a in enumerate(variables) for b in variables[:i]]
    model = ss.MarkovNet(*(ss.Table(pair, rng.random((2, 2))) for pair in pairs))
    best = ss.map_assignment(model)
    assert most
    assert max(most) <= 64
    assert best.log_value == pytest.approx(
        ss.map_assignment(model, method=ss.inference.BruteForce()).log_value, abs=TIE
    )


@pytest.mark.parametrize("most", [2**16, 4], ids=["by clique", "by step"])
def test_loops_and_arrays_choose_the_same_states(monkeypatch, most):
    """Whole weights have many ties: the lowest joint code of each choice either way, of the largest weight."""
    monkeypatch.setattr(costs, "STATES_READ_BY_CLIQUE", most)
    for seed in range(30):
        rng = np.random.default_rng([seed, 13])
        variables = [ss.Discrete(f"v{i}", int(rng.integers(1, 4))) for i in range(6)]
        scopes = [[variables[i] for i in rng.permutation(6)[: rng.integers(1, 4)]] for _ in range(8)]
        entries = [rng.choice([0.0, 1.0, 1.0, 2.0], [v.num_states for v in scope]) for scope in scopes]
        model = ss.MarkovNet(*map(ss.Table, scopes, entries), variables=variables)
        tables = ss.CliqueTree().prepare(model.problem())
        question, _ = tables.question("mode", (), Evidence())
        with run_tensors(question, *tables.within(question.states, Evidence())) as done:
            if done.log_partition == -math.inf:
                continue
            loops, value = most_probable(done), done.log_partition
            arrays = {r: int(column[0]) for r, column in read_back(done, 1, modes, maximize=True).items()}
        assert dict(enumerate(loops)) == arrays
        states = {question.ids[r]: code for r, code in enumerate(loops)}
        place = {v: i for i, v in enumerate(variables)}
        weights = [t[tuple(states[place[v]] for v in scope)] for scope, t in zip(scopes, entries, strict=True)]
        assert math.log(math.prod(weights)) == pytest.approx(value)


def tied_model(rng, power=1.0):
    """Tables of few different values: many assignments are equally probable, but for rounding."""
    variables = [ss.Discrete(f"v{i}", int(rng.integers(1, 4))) for i in range(7)]
    scopes = [[variables[i] for i in rng.permutation(7)[: rng.integers(1, 4)]] for _ in range(9)]
    logs = [power * np.log(rng.choice([0.1, 0.3, 0.3, 0.7], [v.num_states for v in scope])) for scope in scopes]
    return ss.MarkovNet(*map(ss.Table.from_log, scopes, logs), variables=variables), list(
        zip(scopes, logs, strict=True)
    )


def lowest_of_the_best(model, parts, order):
    """The best assignment with the lowest state of the variable eliminated last, then of the one before it, ..."""
    names = [v.name for v in model.variables]
    axes = {name: axis for axis, name in enumerate(reversed(order))}
    shape = [model[name].num_states for name in reversed(order)]
    joint = np.zeros(shape)
    for scope, logs in parts:
        at = sorted(range(len(scope)), key=lambda i: axes[scope[i].name])
        wide = [1] * len(shape)
        for v in scope:
            wide[axes[v.name]] = v.num_states
        joint = joint + logs.transpose(at).reshape(wide)
    first = int(np.argmax(joint >= joint.max() - 1e-9))
    codes = np.unravel_index(first, shape)
    return {name: int(codes[axes[name]]) for name in names}


@in_blocks("seed", range(100))
def test_ties_follow_one_rule(seed):
    """By cliques or in parts, linear or in log space, alone or in rows of findings: the order decides."""
    rng = np.random.default_rng([seed, 14])
    model, parts = tied_model(rng, power=(1.0, 400.0)[seed % 2])
    found = []
    for most in (1, 4, 2**16):
        with pytest.MonkeyPatch.context() as few:
            few.setattr(costs, "STATES_READ_BY_CLIQUE", most)
            engine = ss.prepare(model)
            found.append(dict(engine.map_assignment().assignment))
    question = engine.prepared.compiler.best(Evidence())
    order = [model.variables[v].name for v in question.ids]
    expected = lowest_of_the_best(model, parts, order)
    assert found == [expected] * 3
    rows = EvidenceRows(tuple(range(7)), np.full((2, 7), -1, np.int32), (), np.zeros((2, 0)))
    completed = complete_rows(engine.prepared, rows, Workers(1)).rows.codes
    assert completed.tolist() == [[expected[v.name] for v in model.variables]] * 2


def test_products_beyond_the_range_of_floats_are_compared():
    """Three tables of one variable whose product with the larger weights underflows in linear arithmetic."""
    x = ss.Discrete("x", 3)
    rows = [[1e-110, 1e-100, 0.0], [1e-110, 1e-120, 1.0], [1e-119, 1e-120, 1.0]]
    model = ss.MarkovNet(*(ss.Table([x], row) for row in rows))
    assert ss.map_assignment(model).assignment["x"] == 0


@pytest.mark.parametrize("bound", [7, 4 * 50, 4 * 50 + 1, 10**15])
def test_distinct_numbers_are_marked_or_sorted_alike(bound):
    numbers = np.random.default_rng(1).integers(0, 7, 50)
    place, which = readback.distinct_places(numbers, bound)
    assert numbers[place].tolist() == sorted(set(numbers.tolist()))
    np.testing.assert_array_equal(numbers[place][which], numbers)
