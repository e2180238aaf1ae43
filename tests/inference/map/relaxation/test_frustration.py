"""Cycles that would lower a bound, against enumeration."""

import itertools

import numpy as np
import pytest

from sepset.factors.block import FactorBlock
from sepset.inference.map.relaxation.frustration import Dual, frustrated_cycles, short_cycles, tree_cycles
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete
from support.blocks import in_blocks


def _random(rng, n, pairs):
    cards = rng.integers(1, 4, n)
    beliefs = [rng.normal(size=c) for c in cards]
    return Dual(beliefs, {p: rng.normal(0, 2, size=(cards[p[0]], cards[p[1]])) for p in pairs})


@in_blocks("seed", range(10))
def test_gains_are_those_of_one_table_for_the_cycle(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    dual = _random(rng, n, list(itertools.combinations(range(n), 2)))
    cycle = tuple(rng.permutation(n).tolist())
    edges = [tuple(sorted(e)) for e in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
    joint = max(
        sum(dual.beliefs[i][x[i]] for i in cycle) + sum(dual.pairs[i, j][x[i], x[j]] for i, j in edges)
        for x in itertools.product(*(range(len(b)) for b in dual.beliefs))
    )
    apart = sum(dual.beliefs[i].max() for i in cycle) + sum(dual.pairs[e].max() for e in edges)
    assert dual.gains([cycle])[0] == pytest.approx(apart - joint)


def test_cycles_that_contradict_themselves_come_first():
    apart, alike = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    n = 9  # one ring of nine, of which one pair is frustrated
    beliefs = [np.array([0.1, 0.0])] * n
    pairs = {(i, i + 1): alike for i in range(n - 1)} | {(0, n - 1): apart}
    dual = Dual(beliefs, pairs)
    assert short_cycles(pairs) == []
    assert [sorted(c) for c in tree_cycles(dual)] == [list(range(n))]
    assert [sorted(c) for c in frustrated_cycles(dual, most=5, least=1e-6)] == [list(range(n))]
    assert dual.gains(tree_cycles(dual)[:1])[0] == pytest.approx(1.0)
    assert frustrated_cycles(Dual(beliefs, pairs | {(0, n - 1): alike}), most=5, least=1e-6) == []


def test_short_cycles_of_a_grid_are_its_squares():
    ids = np.arange(12).reshape(3, 4)
    pairs = [*zip(ids[:, :-1].ravel().tolist(), ids[:, 1:].ravel().tolist(), strict=True)]
    pairs += zip(ids[:-1].ravel().tolist(), ids[1:].ravel().tolist(), strict=True)
    assert len(short_cycles(pairs)) == 6
    assert len(short_cycles(itertools.combinations(range(6), 2))) == 20


def test_states_that_messages_rule_out_are_impossible_in_pairs():
    table = np.array([[-np.inf, 0.5], [1.0, 2.0]])
    variables = Universe([Discrete("a"), Discrete("b")])
    wiring = Wiring.of(Problem(variables, (FactorBlock([[0, 1]], (2, 2), values=table, space="log"),)))
    dual = Dual.of(wiring, np.array([-np.inf, 0.25, 0.0, 0.5]))
    np.testing.assert_array_equal(dual.pairs[0, 1], [[-np.inf, -np.inf], [0.75, 1.25]])


def test_gains_of_many_cycles_are_those_of_each():
    rng = np.random.default_rng(3)
    dual = _random(rng, 7, list(itertools.combinations(range(7), 2)))
    cycles = [tuple(rng.permutation(7)[: int(rng.integers(3, 6))].tolist()) for _ in range(40)]
    assert dual.gains(cycles) == [dual.gains([cycle])[0] for cycle in cycles]
    assert len(frustrated_cycles(dual, most=100, least=0.0, candidates=3)) <= 3 + len(tree_cycles(dual))
