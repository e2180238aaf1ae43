"""Messages of single factors beside sums over all joint states."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.factors.potentials import AtLeastOne, Parity, Potts, TruncatedLinear, TruncatedQuadratic
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.messages import added, factor_messages
from sepset.problem import Problem
from sepset.variables.universe import Universe

FACTORS = [
    (Potts(1.5), (4, 4)),
    (Potts(-900.0), (3, 3)),
    (TruncatedLinear(0.5, 2.0), (5, 5)),
    (TruncatedLinear(-0.5, 2.0), (5, 5)),
    (TruncatedQuadratic(0.5), (4, 4)),
    (Parity(), (2,) * 5),
    (AtLeastOne(), (2,) * 4),
    (None, (3, 2)),
    (None, (2, 1, 3, 2)),
]


def joined(values, is_max):
    top = max(values)
    return top if is_max or top == -np.inf else top + np.log(sum(np.exp(v - top) for v in values))


@pytest.mark.parametrize("is_max", [False, True])
@pytest.mark.parametrize(("potential", "cards"), FACTORS)
def test_messages_are_sums_over_all_other_variables(potential, cards, is_max):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        variables = Universe([ss.Discrete(f"v{i}", c) for i, c in enumerate(cards)])
        logs = np.where(rng.random(cards) < 0.3 * (seed % 2), -np.inf, rng.normal(0, 3, cards))
        values = logs[None] if potential is None else potential
        space = {"space": "log"} if potential is None else {}
        wiring = Wiring.of(Problem(variables, (FactorBlock([list(range(len(cards)))], cards, values=values, **space),)))
        h = [np.where(rng.random(c) < 0.2 * (seed % 3 == 2), -np.inf, rng.normal(0, 200, c)) for c in cards]
        out, room = np.empty(sum(cards)), np.empty(sum(cards) + 2)
        factor_messages(wiring.wires, 0, 1.0, np.concatenate(h), is_max, out, room, np.empty(8, np.int64))
        table, at = wiring.table(0), 0
        for i, card in enumerate(cards):
            for x in range(card):
                found = [
                    table[codes] + sum(h[j][codes[j]] for j in range(len(cards)) if j != i)
                    for codes in itertools.product(*map(range, cards))
                    if codes[i] == x
                ]
                if h[i][x] > -np.inf:
                    assert out[at + x] == pytest.approx(joined(found, is_max), abs=1e-9)
            at += card


def test_impossible_numbers_add_nothing():
    assert added(-np.inf, 2.0, False) == 2.0
    assert added(-np.inf, -np.inf, False) == -np.inf
    assert added(0.0, 0.0, False) == pytest.approx(np.log(2.0))
    assert added(0.0, 1.0, True) == 1.0
