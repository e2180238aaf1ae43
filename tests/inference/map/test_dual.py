"""Any messages give an upper bound; a bound that they do not prove is refuted."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from sepset.factors.potentials import Potts, TruncatedLinear
from sepset.inference.map.dual import bound_of, dual_certificate
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import random_pairs, random_problem


@in_blocks("seed", range(150))
def test_any_messages_give_an_upper_bound(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    messages = rng.normal(size=int(wiring.wires.messages[-1]))
    bound = bound_of(wiring, messages)
    joint = itertools.product(*(range(int(c)) for c in wiring.plugs.cards))
    best = max(wiring.log_value(codes) for codes in joint)
    assert bound >= best - 1e-9
    wiring = wiring.consistent
    expected = wiring.constant
    for i in range(wiring.num_variables):
        slots = np.flatnonzero(wiring.plugs.scope == i)
        given = [messages[wiring.wires.messages[s] : wiring.wires.messages[s + 1]] for s in slots]
        expected += (wiring.logs(i) + sum(given)).max()
    for f in range(wiring.num_factors):
        table = wiring.table(f).copy()
        for axis, s in enumerate(range(wiring.plugs.starts[f], wiring.plugs.starts[f + 1])):
            part = messages[wiring.wires.messages[s] : wiring.wires.messages[s + 1]]
            dead = np.where(np.isinf(wiring.logs(int(wiring.plugs.scope[s]))), np.inf, 0.0)
            table = table - np.expand_dims(part + dead, [a for a in range(table.ndim) if a != axis])
        expected += table.max()
    assert bound == pytest.approx(expected, abs=1e-9)
    assert dual_certificate(wiring, messages, bound).check()
    if np.isfinite(bound):
        assert not dual_certificate(wiring, messages, bound - 1e-3 * max(1.0, abs(bound))).check()


@in_blocks("seed", range(150))
def test_states_that_are_ruled_out_are_impossible(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    possible = wiring.consistent
    for codes in itertools.product(*(range(int(c)) for c in wiring.plugs.cards)):
        assert possible.log_value(codes) == pytest.approx(wiring.log_value(codes), abs=1e-12)
    for f in range(possible.num_factors):
        table = possible.table(f).copy()
        for axis, i in enumerate(possible.scope(f)):
            others = [a for a in range(table.ndim) if a != axis]
            table = table + np.expand_dims(np.where(np.isinf(possible.logs(int(i))), -np.inf, 0.0), others)
        for axis, i in enumerate(possible.scope(f)):
            others = tuple(a for a in range(table.ndim) if a != axis)
            supported = table.max(axis=others) > -np.inf
            assert (supported == np.isfinite(possible.logs(int(i)))).all()


@in_blocks("seed", range(12))
def test_bounds_are_rounded_up(seed):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng, potentials=[Potts(0.7), Potts(-1e8), TruncatedLinear(0.3, 1.0)])
    messages = rng.normal(size=int(wiring.wires.messages[-1])) * 10.0 ** rng.uniform(-3, 8)
    exact = Fraction(wiring.constant)
    for i in range(wiring.num_variables):
        slots = np.flatnonzero(wiring.plugs.scope == i)
        parts = [wiring.logs(i), *(messages[wiring.wires.messages[s] : wiring.wires.messages[s + 1]] for s in slots)]
        exact += max(sum(map(Fraction, column)) for column in np.stack(parts, axis=1).tolist())
    for f in range(wiring.num_factors):
        at, (rows, columns) = int(wiring.wires.messages[wiring.plugs.starts[f]]), wiring.table(f).shape
        given = [Fraction(m) for m in messages[at : at + rows + columns].tolist()]
        cells = itertools.product(range(rows), range(columns))
        exact += max(Fraction(float(wiring.table(f)[x, y])) - given[x] - given[rows + y] for x, y in cells)
    found = Fraction(bound_of(wiring, messages))
    assert exact <= found <= exact + Fraction(1e-13) * sum(abs(Fraction(m)) for m in [1e8, *messages.tolist()])
