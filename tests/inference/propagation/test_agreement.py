"""Assignments at which all beliefs have their maxima, beside enumeration."""

import itertools

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_maxproduct import triangle
from sepset.inference.propagation.agreement import TIED, Agreements
from sepset.inference.propagation.maxproduct import loss
from sepset.inference.propagation.passing import BUDGET, Passing, propagated
from sepset.inference.wiring import Wiring
from sepset.potentials import AtLeastOne, Parity, over_scopes
from support.blocks import in_blocks
from support.wired import random_problem


def maximized(wiring, damping=0.5):
    return propagated(Passing(damping, "sequential", True), wiring, BUDGET)


def tied_model(rng):
    """A small model of integer log values, with ties and frustrated loops."""
    n = int(rng.integers(2, 6))
    variables = [ss.Discrete(f"v{i}", int(rng.integers(2, 4))) for i in range(n)]
    scopes = [rng.permutation(n)[: int(rng.integers(2, min(n, 3) + 1))] for _ in range(int(rng.integers(1, 7)))]
    scopes = [[variables[i] for i in scope] for scope in scopes]
    tables = [ss.Table(scope, np.exp(rng.integers(0, 2, [v.num_states for v in scope]))) for scope in scopes]
    return Wiring.of(ss.MarkovNet(*tables, variables=variables).as_written())


@in_blocks("seed", range(120))
def test_agreements_by_enumeration(seed):
    beliefs = maximized(tied_model(np.random.default_rng(seed)))
    cards = beliefs.wiring.plugs.cards.tolist()
    all_codes = [np.array(x) for x in itertools.product(*map(range, cards))]
    optimal = [x for x in all_codes if loss(beliefs, x) <= TIED]
    search = Agreements(beliefs)
    found = search.found()
    assert found.is_decided
    assert (found.codes is not None) == bool(optimal)
    if optimal:
        assert found.codes.tolist() in [x.tolist() for x in optimal]
        states = search.states()
        assert [s.tolist() for s in states] == [sorted({int(x[i]) for x in optimal}) for i in range(len(cards))]


def test_a_frustrated_triangle_names_its_loop():
    search = Agreements(maximized(Wiring.of(triangle(2.0, 1.0).as_written())))
    assert search.found() == (None, True)
    assert search.states() is None
    assert sorted(search.conflict()) == [0, 1, 2]
    found = ss.map_assignment(triangle(2.0, 1.0), method=ss.LoopyBP())
    assert sorted(map(sorted, found.info["frustrated"])) == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert found.bound == pytest.approx(3 * np.log(2.0))  # the bound of the linear program
    assert found.certificate.check()


def test_a_conflict_leaves_out_factors_that_agree():
    a, b, c, d, e = (ss.Discrete(n) for n in "abcde")
    unequal, equal = [[1.0, 2.0], [2.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]]
    pairs = [(a, b, unequal), (b, c, unequal), (a, c, unequal), (c, d, equal), (d, e, equal)]
    net = ss.MarkovNet(*(ss.Table([u, v], table) for u, v, table in pairs))
    found = ss.map_assignment(net, method=ss.LoopyBP())
    assert len(found.info["frustrated"]) == 3
    assert found.log_value == pytest.approx(np.log(16.0))


@pytest.mark.parametrize("potential", [Parity(), AtLeastOne()])
def test_wide_constraints_have_no_table(potential):
    rng = np.random.default_rng(1)
    bit = ss.Discrete.array("bit", 40)
    seen = [ss.Table([bit[i]], np.exp(rng.normal(size=2) if i > 2 else [0.0, 0.0])) for i in range(40)]
    net = ss.MarkovNet(over_scopes([range(30), range(2, 32)], potential, array=bit), *seen)
    search = Agreements(beliefs := maximized(Wiring.of(net.as_written())))
    found = search.found()
    assert found.is_decided
    if found.codes is not None:
        assert loss(beliefs, found.codes) <= TIED


def test_zeros_are_never_chosen():
    for seed in range(30):
        wiring = Wiring.of(random_problem(np.random.default_rng(seed)))
        beliefs = maximized(wiring)
        if beliefs.log_totals == -np.inf or not beliefs.has_converged:
            continue
        found = Agreements(beliefs).found()
        if found.codes is not None:
            assert loss(beliefs, found.codes) <= TIED


def test_parts_without_a_connection_are_searched_on_their_own():
    """A frustrated triangle among many that agree is found out at once, and named, in any order of the factors."""
    copies = 150
    spin = ss.Discrete.array("spin", (copies, 3))
    scopes = np.array([[3 * k + i, 3 * k + j] for k in range(copies) for i, j in ((0, 1), (1, 2), (0, 2))])
    agree = np.log(np.array([[2.0, 1.0], [1.0, 2.0]]))
    logs = np.repeat(agree[None], len(scopes), axis=0)
    for frustrated in (0, copies - 1):
        values = logs.copy()
        values[3 * frustrated : 3 * frustrated + 3] = agree[::-1]
        for order in (np.arange(len(scopes)), np.random.default_rng(0).permutation(len(scopes))):
            block = ss.factors.FactorBlock(scopes[order], (2, 2), values=values[order], space="log")
            search = Agreements(maximized(Wiring.of(ss.MarkovNet(block, variables=[spin]).as_written())))
            assert search.found() == (None, True)
    block = ss.factors.FactorBlock(scopes, (2, 2), values=logs, space="log")
    found = ss.map_assignment(ss.MarkovNet(block, variables=[spin]), method=ss.LoopyBP())
    assert found.info["locally_optimal"]
    assert found.log_value == pytest.approx(3 * copies * np.log(2.0))
