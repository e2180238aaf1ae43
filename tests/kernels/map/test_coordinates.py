"""One sweep of coordinate ascent."""

import numpy as np

from sepset.inference.wiring import Wiring
from sepset.kernels.map.coordinates import sweep
from support.blocks import in_blocks
from support.wired import random_problem


@in_blocks("seed", range(40))
def test_a_sweep_never_lowers_the_value_and_counts_its_changes(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    codes = np.array([rng.integers(card) for card in wiring.wires.cards], np.int64)
    before, old = wiring.log_value(codes), codes.copy()
    order, room = rng.permutation(wiring.num_variables), np.empty(4)
    due, model = np.ones(len(codes), np.uint8), (wiring.wires, wiring.unary, wiring.factors, order)
    changes = sweep(*model, codes, due, room, np.zeros(1, np.uint8))
    assert changes == np.count_nonzero(codes != old)
    assert wiring.log_value(codes) >= before - 1e-12
    stopped = old.copy()
    assert sweep(*model, stopped, np.ones(len(codes), np.uint8), room, np.ones(1, np.uint8)) == 0
    assert (stopped == old).all()


@in_blocks("seed", range(40))
def test_variables_that_are_not_due_have_their_best_states(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    codes = np.array([rng.integers(card) for card in wiring.wires.cards], np.int64)
    order, room, going = rng.permutation(wiring.num_variables), np.empty(4), np.zeros(1, np.uint8)
    due, model, everything = np.ones(len(codes), np.uint8), (wiring.wires, wiring.unary, wiring.factors, order), codes
    for _ in range(20):
        everything = everything.copy()
        all_changes = sweep(*model, everything, np.ones(len(codes), np.uint8), room, going)
        assert sweep(*model, codes, due, room, going) == all_changes
        assert (codes == everything).all()
        for i in np.flatnonzero(due == 0):
            other, value = codes.copy(), wiring.log_value(codes)
            for x in range(wiring.wires.cards[i]):
                other[i] = x
                assert value == -np.inf or wiring.log_value(other) <= value + 1e-9
        if not all_changes:
            break
    assert not due.any()


def test_a_sweep_visits_only_what_is_due():
    wiring = Wiring.of(random_problem(np.random.default_rng(0)))
    codes, n = np.zeros(wiring.num_variables, np.int64), wiring.num_variables
    model = wiring.wires, np.arange(float(len(wiring.unary))), wiring.factors, np.arange(n)
    due = np.zeros(n, np.uint8)
    assert sweep(*model, codes, due, np.empty(4), np.zeros(1, np.uint8)) == 0
    due[-1] = 1
    assert sweep(*model, codes, due, np.empty(4), np.zeros(1, np.uint8)) <= 1
    assert not codes[:-1].any()
