"""Tables without impossible states: every answer by enumeration, for first values, other values and new numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled.domains import Domains, Spread, given_states, possible_states
from sepset.inference.compiled.store import FactorStore
from support.blocks import in_blocks
from support.zero_cases import check, model_of, zero_case


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Impossible states are left out of small tables too."""
    monkeypatch.setattr(costs, "ENTRIES_FOR_SMALLER_DOMAINS", 0)
    monkeypatch.setattr(costs, "BITS_FOR_SMALLER_DOMAINS", 1e-9)
    monkeypatch.setattr(costs, "SAVING_FOR_FIRST_DOMAINS", 0.0)


@in_blocks("seed", range(30))
def test_every_question_without_findings_and_with_several_values(seed):
    factors = zero_case(seed)
    engine = ss.CliqueTree().prepare(model_of(factors).problem())
    check(engine, factors, {})
    for a, c in itertools.product(range(3), range(4)):
        check(engine, factors, {"a": a, "c": c})
    check(engine, factors, {"b": 0})
    check(engine, factors, {"b": np.array([0.0, 2.0]), "e": 1})


@in_blocks("seed", range(8))
def test_numbers_too_wide_for_linear_tables(seed):
    rng = np.random.default_rng(seed)
    factors = [(scope, table * 10.0 ** rng.uniform(-250, 0, table.shape)) for scope, table in zero_case(seed, 0.35)]
    engine = ss.CliqueTree().prepare(model_of(factors).problem())
    for given in ({}, {"a": 1}, {"a": 2}, {"e": 0, "c": 3}):
        check(engine, factors, given)


@in_blocks("seed", range(12))
def test_new_numbers_keep_or_lose_zeros(seed):
    factors = zero_case(seed)
    engine = ss.CliqueTree().prepare(model_of(factors).problem())
    check(engine, factors, {"c": 1})
    rng = np.random.default_rng(seed)
    fewer = [(scope, table * (rng.random(table.shape) > 0.2)) for scope, table in factors]
    other = engine.with_values([table for _, table in fewer])
    assert other.compiler is engine.compiler
    check(other, fewer, {})
    check(other, fewer, {"c": 1})
    check(engine, factors, {})
    full = [(scope, table + 0.5) for scope, table in factors]
    fresh = other.with_values([table for _, table in full])
    assert fresh.compiler is not engine.compiler
    check(fresh, full, {"c": 1})
    check(fresh, full, {})


@pytest.mark.parametrize("bits", [1e-9, math.inf], ids=["fewer states shared", "all states shared"])
@pytest.mark.parametrize("seed", range(10))
def test_expensive_best_values_have_tables_of_their_own(monkeypatch, seed, bits):
    """The best values by enumeration for all findings, asked twice, also with likelihoods and new numbers."""
    monkeypatch.setattr(costs, "SAVING_FOR_FIRST_DOMAINS", math.inf)
    monkeypatch.setattr(costs, "BITS_FOR_SMALLER_DOMAINS", bits)
    monkeypatch.setattr(costs, "NANOSECONDS_FOR_OWN_STATES", 0.0)
    monkeypatch.setattr(costs, "BITS_FOR_OWN_STATES", 0.0)
    monkeypatch.setattr(costs, "SHARE_OF_OWN_STATES", math.inf)
    factors = zero_case(seed)
    engine = ss.CliqueTree().prepare(model_of(factors).problem())
    cases = [{"a": a, "c": c} for a, c in itertools.product(range(3), range(4))]
    for given in [*cases, {"b": np.array([0.0, 2.0]), "e": 1}, {}, *cases[:3]]:
        check(engine, factors, given)
    rng = np.random.default_rng(seed)
    other = [(scope, table * rng.uniform(0.5, 2.0, table.shape)) for scope, table in factors]
    check(engine.with_values([table for _, table in other]), other, cases[5])


def test_tables_of_their_own_are_only_for_expensive_questions(monkeypatch):
    """The same order and cliques, fewer states; one whose time hardly falls stays as it is."""
    monkeypatch.setattr(costs, "SAVING_FOR_FIRST_DOMAINS", math.inf)
    monkeypatch.setattr(costs, "BITS_FOR_SMALLER_DOMAINS", math.inf)
    engine = ss.CliqueTree().prepare(chain_of_equals().problem())
    evidence = ss.variables.Evidence({0: 2})
    shared = engine.compiler.best(evidence)
    assert shared.states is None
    monkeypatch.setattr(costs, "NANOSECONDS_FOR_OWN_STATES", 0.0)
    monkeypatch.setattr(costs, "SHARE_OF_OWN_STATES", 1.0)
    own = engine.compiler.best(evidence)
    assert own.states.cards.tolist() == [1] * 6
    assert own.order is shared.order
    assert own.tree is shared.tree
    assert engine.best_of_all(evidence).values == dict.fromkeys(range(1, 6), 2)
    assert engine.best_of_all(ss.variables.Evidence({0: 1})).log_value == -math.inf
    monkeypatch.setattr(costs, "SHARE_OF_OWN_STATES", 0.0)
    assert engine.compiler.best(ss.variables.Evidence({0: 0})) is shared
    monkeypatch.setattr(costs, "SHARE_OF_OWN_STATES", 1.0)
    assert engine.compiler.best(evidence) is shared


def test_dense_keeps_every_state():
    factors = zero_case(1)
    problem = model_of(factors).problem()
    dense, sparse = (ss.CliqueTree(zeros=zeros).prepare(problem) for zeros in ("dense", "auto"))
    assert dense.compiler.planner.pattern(ss.variables.Evidence()).states is None
    check(dense, factors, {"a": 0})
    assert sparse.plan((), ()).total_size < dense.plan((), ()).total_size


def chain_of_equals(n=6):
    """Every variable equals the next; the first has two states that occur, of four."""
    chain = [ss.Discrete(f"x{i}", 4) for i in range(n)]
    cpds = [ss.TableCPD(chain[0], [0.25, 0.0, 0.75, 0.0])]
    cpds += [ss.TableCPD(b, np.eye(4), given=a) for a, b in itertools.pairwise(chain)]
    return ss.BayesNet(*cpds)


def test_impossible_states_spread_along_a_chain():
    net = chain_of_equals()
    store = FactorStore.of(net.problem())
    known = possible_states(store, np.full(6, 4))
    assert known.cards.tolist() == [2] * 6
    assert known.codes(5).tolist() == [0, 2]
    left = given_states(known, {3: 2})
    assert left.cards.tolist() == [1] * 6
    assert given_states(known, {3: 1}) is None
    assert given_states(known, {3: 0, 5: 2}) is None
    assert len(left.store(store).values) == 6
    np.testing.assert_allclose(ss.marginals(net)["x5"].values, [0.25, 0.0, 0.75, 0.0])
    assert ss.plan(net).largest == 4
    with pytest.raises(ss.ImpossibleEvidence):
        ss.query(net, "x0", given={"x5": 3})


def test_only_the_first_values_of_an_observed_set_have_their_own_tables():
    domains = Domains(FactorStore.of(chain_of_equals().problem()), np.full(6, 4))
    first = domains.of(ss.variables.Evidence({2: 0}))
    assert first.cards.tolist() == [1] * 6
    assert domains.of(ss.variables.Evidence({2: 0})) is first
    assert domains.of(ss.variables.Evidence({2: 2})) is domains.possible is domains.of(ss.variables.Evidence())
    assert domains.of(ss.variables.Evidence({2: 1})) is None


def test_tables_that_would_hardly_shrink_are_left_alone(monkeypatch):
    store, cards = FactorStore.of(chain_of_equals().problem()), np.full(6, 4)
    monkeypatch.setattr(costs, "BITS_FOR_SMALLER_DOMAINS", 3.0)
    assert Domains(store, cards).possible is None
    monkeypatch.setattr(costs, "BITS_FOR_SMALLER_DOMAINS", 0.5)
    assert Domains(store, cards).possible is not None
    assert Domains(store, cards).of(ss.variables.Evidence({2: 0})) is not Domains(store, cards).possible
    monkeypatch.setattr(costs, "SAVING_FOR_FIRST_DOMAINS", 1e9)
    domains = Domains(store, cards)
    assert domains.of(ss.variables.Evidence({2: 0})) is domains.possible
    monkeypatch.setattr(costs, "MOST_ENTRIES_PER_VARIABLE_FOR_SMALLER_DOMAINS", 1)
    assert not Domains(store, cards).has_zeros
    monkeypatch.setattr(costs, "MOST_ENTRIES_PER_VARIABLE_FOR_SMALLER_DOMAINS", 800)
    monkeypatch.setattr(costs, "ENTRIES_FOR_SMALLER_DOMAINS", 10_000)
    assert not Domains(store, cards).has_zeros


def test_where_nothing_is_possible_every_state_stays():
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    model = ss.MarkovNet(ss.Table((a, b), [[1, 0], [0, 0]]), ss.Table((a, b), [[0, 1], [1, 1]]))
    assert possible_states(FactorStore.of(model.problem()), np.full(2, 2)).cards.tolist() == [2, 2]
    assert ss.CliqueTree().prepare(model.problem()).log_partition(ss.variables.Evidence()) == -math.inf


def test_marginals_are_spread_in_any_order():
    known = possible_states(FactorStore.of(chain_of_equals(3).problem()), np.full(3, 4))
    spread = Spread.of(known, [2, 0])
    assert spread.read(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [1, 0, 2, 0, 3, 0, 4, 0]
    assert spread.places == {2: slice(0, 4), 0: slice(4, 8)}
    assert Spread.of(known, []).read(np.zeros(0)).size == 0


def test_numbers_too_small_for_the_store_are_not_impossible():
    a, chain = ss.Discrete("a", 3), [ss.Discrete(f"v{i}", 26) for i in range(30)]
    equal = [ss.Table(pair, np.eye(26)) for pair in itertools.pairwise(chain)]
    net = ss.MarkovNet(ss.Table(a, [1e300, 1e-300, 1e-200]), *equal, ss.Table(chain[0], np.eye(26)[0]))
    for method in (None, ss.CliqueTree(), ss.CliqueTree(zeros="sparse"), ss.VariableElimination()):
        best = ss.map_assignment(net, given={"a": ss.Not(0)}, method=method)
        assert (best["a"], best.log_value) == (2, pytest.approx(np.log(1e-200)))
        assert ss.query(net, "a", given={"a": ss.Not(0)}, method=method)[2] == pytest.approx(1.0)
        assert ss.query(net, "v7", given={"a": 1}, method=method)[0] == pytest.approx(1.0)
