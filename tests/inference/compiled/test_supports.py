"""Programs over supports: every answer by enumeration; made at once, after some uses, or not at all."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled import supports
from sepset.inference.compiled.supports import SupportProgram, support_program
from support.blocks import in_blocks
from support.tolerances import CLOSE
from support.zero_cases import check, model_of, zero_case


@pytest.fixture
def runs(monkeypatch):
    """Which kinds of runs went over supports."""
    made = []
    run = SupportProgram.run

    def noted(self, *args):
        made.append("singles" if self.question.reads_singles else "joint")
        return run(self, *args)

    monkeypatch.setattr(SupportProgram, "run", noted)
    return made


@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_every_question(seed, shrink, runs, monkeypatch):
    monkeypatch.setattr(costs, "ENTRIES_FOR_SMALLER_DOMAINS", 0 if shrink else 10**9)
    monkeypatch.setattr(costs, "BITS_FOR_SMALLER_DOMAINS", 1e-9)
    monkeypatch.setattr(costs, "SAVING_FOR_FIRST_DOMAINS", 0.0)
    factors = zero_case(seed, 0.25)
    engine = ss.CliqueTree(zeros="sparse").prepare(model_of(factors).problem())
    check(engine, factors, {})
    for a, c in itertools.product(range(3), range(4)):
        check(engine, factors, {"a": a, "c": c})
    check(engine, factors, {"b": np.array([0.0, 2.0]), "e": 1})
    assert "joint" in runs


@in_blocks("seed", range(6))
def test_wide_numbers_go_to_logarithms(seed):
    rng = np.random.default_rng(seed)
    factors = [(scope, table * 10.0 ** rng.uniform(-100, 0, table.shape)) for scope, table in zero_case(seed, 0.35)]
    engine = ss.CliqueTree(zeros="sparse").prepare(model_of(factors).problem())
    for given in ({}, {"a": 1}, {"e": 0, "c": 3}):
        check(engine, factors, given)


@pytest.mark.parametrize("seed", range(6))
def test_new_numbers_with_the_same_zeros_run_on_the_same_supports(seed, runs):
    factors = zero_case(seed)
    engine = ss.CliqueTree(zeros="sparse").prepare(model_of(factors).problem())
    check(engine, factors, {"c": 1})
    rng = np.random.default_rng(seed)
    fewer = [(scope, table * (rng.random(table.shape) > 0.2) * 3.0) for scope, table in factors]
    check(engine.with_values([table for _, table in fewer]), fewer, {"c": 1})
    full = [(scope, table + 0.5) for scope, table in factors]
    check(engine.with_values([table for _, table in full]), full, {"c": 1})


def counter(length=6, states=40):
    """A running sum of dice, modulo the number of states: in each table one entry of forty is not zero."""
    dice = [ss.Discrete(f"die{i}", 6) for i in range(length)]
    sums = [ss.Discrete(f"sum{i}", states) for i in range(length)]
    cpds = [ss.TableCPD(die, np.arange(1.0, 7.0) / 21.0) for die in dice]
    cpds.append(ss.DeterministicCPD(sums[0], lambda x: x, given=[dice[0]]))
    for i in range(1, length):
        cpds.append(ss.DeterministicCPD(sums[i], lambda s, x: (s + x) % states, given=[sums[i - 1], dice[i]]))
    return ss.BayesNet(*cpds)


def test_a_sum_of_dice_by_convolution(runs):
    net = counter()
    found = ss.marginals(net, method=ss.CliqueTree(zeros="sparse"))["sum5"].values
    expected = np.ones(1)
    for _ in range(6):
        expected = np.convolve(expected, np.arange(1.0, 7.0) / 21.0)
    np.testing.assert_allclose(found[: len(expected)], expected, rtol=CLOSE)
    assert runs == ["singles"]


def test_auto_goes_over_after_some_uses_where_that_is_cheaper(runs, monkeypatch):
    monkeypatch.setattr(costs, "USES_BEFORE_SUPPORTS", 3)
    monkeypatch.setattr(costs, "WORK_FOR_SUPPORTS", 1000)
    monkeypatch.setattr(costs, "DENSE_NANOSECONDS", 1.0)
    engine = ss.prepare(counter(length=12, states=30))
    first = engine.query("die0", given={"sum11": 11}).values
    assert not runs
    for _ in range(2):
        np.testing.assert_allclose(engine.query("die0", given={"sum11": 11}).values, first, rtol=CLOSE)
    assert runs == ["joint"]
    alarm = ss.prepare(ss.datasets.load("asia"))
    for _ in range(4):
        alarm.query("dysp")
    assert runs == ["joint"]


def test_a_program_with_too_many_triples_is_not_made():
    tables = ss.CliqueTree().prepare(counter().problem())
    question = tables.compiler.question("joint", (11,), tables.compiler.planner.pattern(ss.variables.Evidence()))
    store = tables.store if question.states is None else question.states.store(tables.store)
    made = support_program(question, store)
    assert made.num_triples < question.program.work / 10
    assert support_program(question, store, made.num_triples) is not None
    assert support_program(question, store, made.num_triples - 1) is None


def test_dense_never_looks(runs, monkeypatch):
    monkeypatch.setattr(costs, "USES_BEFORE_SUPPORTS", 1)
    monkeypatch.setattr(costs, "WORK_FOR_SUPPORTS", 0)
    ss.query(counter(), "die0", given={"sum5": 11}, method=ss.CliqueTree(zeros="dense"))
    assert not runs


def test_long_runs_can_be_interrupted(monkeypatch):
    asked = []
    monkeypatch.setattr(costs, "TRIPLES_UNINTERRUPTED", 0)
    monkeypatch.setattr(supports, "interruptible", lambda run: asked.append(1) or run(np.zeros(1, np.uint8)))
    found = ss.log_probability(counter(), given={"sum5": 0}, method=ss.CliqueTree(zeros="sparse"))
    assert float(found) == pytest.approx(6 * math.log(1 / 21))
    assert asked
