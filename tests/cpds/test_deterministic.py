"""Deterministic and multiplexer CPDs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.cpds.deterministic import DeterministicCPD, MultiplexerCPD
from sepset.errors import ModelError, ScopeError, StateError, TooLarge
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.variables.variable import Discrete
from support.cpd_contract import check_contract, joint_states

A, B = Discrete("a", 3), Discrete("b", (10, 20))
SUM = Discrete("sum", range(10, 40))


def point_mass(child, parents, function):
    table = np.zeros([v.num_states for v in (*parents, child)])
    for cell in joint_states(parents):
        state = function(*(p.states[c] for p, c in zip(parents, cell, strict=True)))
        table[(*cell, child.states.index(state))] = 1.0
    return table


def test_a_sum_is_sparse():
    cpd = DeterministicCPD(SUM, lambda a, b: a + b, given=(A, B))
    check_contract(cpd, point_mass(SUM, (A, B), lambda a, b: a + b))
    (factor,) = cpd.factors()
    assert isinstance(factor, SparseTable)
    assert factor.size == 6
    assert cpd({"a": 2, "b": 20}) == 22
    assert cpd.num_parameters == 0


def test_a_small_gate_is_dense():
    a, b, c = (Discrete(name, (False, True)) for name in "abc")
    cpd = DeterministicCPD(c, lambda x, y: x and y, given=(a, b))
    check_contract(cpd, point_mass(c, (a, b), lambda x, y: x and y))
    (factor,) = cpd.factors()
    assert isinstance(factor, Table)
    assert cpd.irrelevant({"a": False}) == (b,)
    assert cpd.irrelevant({"a": True}) == ()


def test_mappings_and_constants():
    cpd = DeterministicCPD(B, {0: 10, 1: 20, 2: 20}, given=A)
    check_contract(cpd, point_mass(B, (A,), lambda a: 10 if a == 0 else 20))
    check_contract(DeterministicCPD(B, {(0,): 10, (1,): 20, (2,): 20}, given=A), cpd.to_table().values)
    check_contract(DeterministicCPD(B, lambda: 20), [0.0, 1.0])
    check_contract(DeterministicCPD(B, {(): 10}), [1.0, 0.0])
    one = Discrete("one", 1)
    check_contract(DeterministicCPD(one, lambda a, o: 0, given=(A, Discrete("p", 1))), np.ones((3, 1, 1)))


def test_bad_functions_are_refused():
    with pytest.raises(StateError, match="Unknown state 99 for b"):
        DeterministicCPD(B, lambda a: 99, given=A)
    with pytest.raises(ModelError, match="2 of 3 values; 2 is missing"):
        DeterministicCPD(B, {0: 10, 1: 10}, given=A)
    with pytest.raises(ModelError, match="4 values; its parents have 3 joint states"):
        DeterministicCPD(B, {0: 10, 1: 10, 2: 10, 3: 10}, given=A)
    with pytest.raises(TooLarge, match="entries"):
        DeterministicCPD(B, lambda *_: 10, given=tuple(Discrete(f"p{i}") for i in range(40)))


def test_functions_of_many_parents_are_refused_before_they_are_called():
    parents = [Discrete(f"u{i}") for i in range(24)]
    with pytest.raises(TooLarge, match="16,777,216 joint states of the parents; the limit is 10,000,000"):
        DeterministicCPD(Discrete("x"), lambda *_: pytest.fail("called"), given=parents)


def test_statistics_count_agreement_and_breaches():
    cpd = DeterministicCPD(B, {0: 10, 1: 20, 2: 20}, given=A)
    rows = {A: np.array([0, 1, 2, 2]), B: np.array([0, 1, 0, 1])}
    assert cpd.statistics(rows).tolist() == [3.0, 1.0]
    assert cpd.statistics(rows, [1, 1, 5, 1]).tolist() == [3.0, 5.0]
    assert cpd.from_statistics([3.0, 1.0]) is cpd
    assert cpd.log_probability(rows).tolist() == [0.0, 0.0, -math.inf, 0.0]


def multiplexer(num_inputs, num_states):
    selector = Discrete("which", num_inputs)
    inputs = tuple(Discrete(f"z{i}", num_states) for i in range(num_inputs))
    return MultiplexerCPD(Discrete("x", num_states), selector, inputs=inputs)


@pytest.mark.parametrize(("num_inputs", "num_states"), [(1, 2), (2, 2), (2, 3), (3, 2), (3, 1), (4, 2)])
def test_multiplexers(num_inputs, num_states):
    cpd = multiplexer(num_inputs, num_states)
    check_contract(cpd, point_mass(cpd.child, cpd.parents, lambda which, *zs: zs[which]))


def test_a_multiplexer_is_one_factor_an_input():
    cpd = multiplexer(20, 3)
    factors = cpd.factors()
    assert [f.scope for f in factors] == [(cpd.selector, z, cpd.child) for z in cpd.inputs]
    assert cpd.irrelevant({"which": 4}) == tuple(z for i, z in enumerate(cpd.inputs) if i != 4)
    rng = np.random.default_rng(0)
    rows = {p: rng.integers(p.num_states, size=100) for p in cpd.parents}
    drawn = cpd.sample(rows, 100, rng)
    assert drawn.tolist() == [rows[cpd.inputs[w]][i] for i, w in enumerate(rows[cpd.selector])]


def test_an_input_may_serve_twice_and_inputs_come_by_state():
    which, y, z, x = Discrete("which", ("l", "m", "r")), Discrete("y"), Discrete("z"), Discrete("x")
    cpd = MultiplexerCPD(x, which, inputs={"r": y, "l": y, "m": z})
    assert cpd.parents == (which, y, z)
    check_contract(cpd, point_mass(x, cpd.parents, lambda w, a, b: b if w == "m" else a))


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ((Discrete("y"),), ModelError, "1 inputs; its selector which has 2 states"),
        ((Discrete("y"), Discrete("z", 3)), ModelError, "does not have its states"),
        ((Discrete("y"), Discrete("z", ("0", "1"))), ModelError, "does not have its states"),
        ((Discrete("y"), Discrete("which")), ScopeError, "cannot take which as an input"),
    ],
)
def test_bad_multiplexers_are_refused(inputs, error, message):
    with pytest.raises(error, match=message):
        MultiplexerCPD(Discrete("x"), Discrete("which"), inputs=inputs)
