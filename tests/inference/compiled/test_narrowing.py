"""Fewer states for expensive sums: every answer by enumeration, whichever values come first, and with other numbers."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled.narrowing import is_worth_a_look
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.zero_cases import check, model_of, zero_case

CASES = [{"a": a, "c": c} for a, c in itertools.product(range(3), range(4))]


@pytest.fixture(autouse=True)
def expensive(monkeypatch):
    """Every question counts as expensive, and fewer states are always cheaper."""
    monkeypatch.setattr(costs, "ENTRIES_BEFORE_TREE_SEARCH", 0)
    monkeypatch.setattr(costs, "ENTRIES_BEFORE_NARROWING", 0)
    monkeypatch.setattr(costs, "TABLES_PER_LOOK_AT_ZEROS", 0)
    monkeypatch.setattr(costs, "SHARE_OF_FEWER_STATES", math.inf)


def states_of(engine, evidence):
    """The number of states left, for the values that are asked; None if all are."""
    states = engine.compiler.narrowing.pattern(evidence).states
    return None if states is None else int(states.cards.sum())


@in_blocks("seed", range(12))
def test_every_question_with_several_values(seed):
    factors = zero_case(seed, 0.35)
    engine = ss.CliqueTree().prepare(model_of(factors).problem())
    for given in [*CASES, {}, {"b": np.array([0.0, 2.0]), "e": 1}, {"e": 0}, *CASES[:3]]:
        check(engine, factors, given)


@pytest.mark.parametrize("joint", [False, True])
def test_the_first_values_get_the_states_they_leave_and_others_share_those_without_findings(joint):
    engine = ss.CliqueTree().prepare(chain().problem())
    ask = (lambda given: engine.query((3,), given)) if joint else engine.marginals
    first, second, third, never = (Evidence({0: code}) for code in (0, 2, 3, 1))
    for evidence in (first, second, third, never):
        ask(evidence)
    assert states_of(engine, first) == 6  # one of each variable
    assert states_of(engine, second) == states_of(engine, third) == 6 * 3
    assert states_of(engine, never) is None  # an impossible value has tables over all states
    ask(Evidence())
    assert states_of(engine, Evidence()) == 6 * 3


def test_states_stay_where_they_are_hardly_cheaper(monkeypatch):
    monkeypatch.setattr(costs, "SHARE_OF_FEWER_STATES", 0.0)
    engine = ss.CliqueTree().prepare(chain().problem())
    for code in (0, 2):
        engine.marginals(Evidence({0: code}))
        assert states_of(engine, Evidence({0: code})) is None


@pytest.mark.parametrize("zeros", ["dense", "sparse"])
def test_only_auto_decides(zeros, monkeypatch):
    monkeypatch.setattr(costs, "ENTRIES_FOR_SMALLER_DOMAINS", 10**9)
    engine = ss.CliqueTree(zeros=zeros).prepare(chain().problem())
    engine.marginals(Evidence({0: 0}))
    assert states_of(engine, Evidence({0: 0})) is None


@pytest.mark.parametrize("is_asked_first", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_values_without_these_zeros_are_never_answered_over_fewer_states(seed, is_asked_first):
    factors = zero_case(seed, 0.35)
    engine = ss.CliqueTree().prepare(model_of(factors).problem())
    if is_asked_first:
        check(engine, factors, {"c": 1})
    full = [(scope, table + 0.5) for scope, table in factors]
    other = engine.with_values([table for _, table in full])
    for given in ({}, {"c": 1}, {"c": 2}):
        check(engine, factors, given)
        check(other, full, given)
    rng = np.random.default_rng(seed)
    scaled = [(scope, table * rng.uniform(0.5, 2.0, table.shape)) for scope, table in factors]
    third = engine.with_values([table for _, table in scaled])
    assert third.compiler is engine.compiler
    check(third, scaled, {"c": 1})


def test_pickled_engines_keep_what_was_chosen():
    engine = ss.CliqueTree().prepare(chain().problem())
    engine.marginals(Evidence({0: 0}))
    again = pickle.loads(pickle.dumps(engine))
    assert states_of(again, Evidence({0: 0})) == 6
    assert again.marginals(Evidence({0: 0}))[0](5).values.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_look_is_worth_it_for_large_tables_only(monkeypatch):
    engine = ss.CliqueTree().prepare(chain().problem())
    monkeypatch.setattr(costs, "ENTRIES_BEFORE_NARROWING", 1000)
    monkeypatch.setattr(costs, "TABLES_PER_LOOK_AT_ZEROS", 20)
    num = len(engine.store.values)
    assert not is_worth_a_look(999, engine.store)
    assert not is_worth_a_look(20 * num - 1, engine.store)
    assert is_worth_a_look(20 * num, engine.store)


def chain(n=6):
    """Every variable equals the next; the first has three states that occur, of four."""
    variables = [ss.Discrete(f"x{i}", 4) for i in range(n)]
    cpds = [ss.TableCPD(variables[0], [0.25, 0.0, 0.5, 0.25])]
    cpds += [ss.TableCPD(b, np.eye(4), given=a) for a, b in itertools.pairwise(variables)]
    return ss.BayesNet(*cpds)
