"""Binary energies as costs of single cells."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.factors.potentials import AtLeastOne, Ising, Parity, Potts, TruncatedLinear, TruncatedQuadratic
from sepset.inference.map.binary import BinaryEnergy
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.universe import Variables

NAMED = [Potts(0.7), Potts(-0.3), Ising(0.4), TruncatedLinear(0.8, 0.5), TruncatedLinear(-0.6), TruncatedQuadratic(0.9)]


def random_binary(rng, *, zeros=0.0, submodular=False, one_state=0.1, integer=False):
    """A problem of pairs of binary variables."""
    n = int(rng.integers(0, 7))
    variables = [ss.Discrete(f"v{i}", 1 if rng.random() < one_state else 2) for i in range(n)]
    draw = (lambda shape: rng.integers(-3, 4, shape).astype(float)) if integer else (lambda s: rng.normal(size=s))
    blocks = [FactorBlock([[i]], (v.num_states,), draw(v.num_states), space="log") for i, v in enumerate(variables)]
    for _ in range(int(rng.integers(0, 10)) if n > 1 else 0):
        i, j = (int(v) for v in rng.permutation(n)[:2])
        shape = variables[i].num_states, variables[j].num_states
        if shape == (2, 2) and rng.random() < 0.4:
            blocks.append(FactorBlock([[i, j]], shape, NAMED[rng.integers(len(NAMED) if not submodular else 1)]))
            continue
        if shape == (2, 2) and zeros and rng.random() < 0.2:
            blocks.append(FactorBlock([[i, j]], shape, [Parity(), AtLeastOne()][rng.integers(2)]))
            continue
        logs = draw(shape)
        if submodular and shape == (2, 2) and logs[0, 0] + logs[1, 1] < logs[0, 1] + logs[1, 0]:
            logs = logs[:, ::-1].copy()
        blocks.append(FactorBlock([[i, j]], shape, np.where(rng.random(shape) < zeros, -np.inf, logs), space="log"))
    return Problem(Variables(variables), tuple(blocks))


@pytest.mark.parametrize("seed", range(200))
def test_energies_are_those_of_the_model(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_binary(rng, zeros=0.25 * (seed % 2)))
    energy = BinaryEnergy.of(wiring, ss.MinCut())
    assert (energy.costs >= 0.0).all()
    other = energy.flip(rng.random(energy.unary.shape[1]) < 0.5)
    for codes in itertools.product(*(range(int(card)) for card in wiring.plugs.cards)):
        expected = -wiring.log_value(codes)
        assert energy.value(np.array(codes, np.int64)) == pytest.approx(expected, abs=1e-9)
        assert other.value(np.array(codes, np.int64)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(200))
def test_states_are_exchanged_exactly_if_that_makes_it_submodular(seed):
    rng = np.random.default_rng(seed)
    energy = BinaryEnergy.of(Wiring.of(random_binary(rng, zeros=0.1 * (seed % 2))), ss.MinCut())
    flips = [
        energy.flip(np.array(chosen, bool)).is_submodular
        for chosen in itertools.product([False, True], repeat=energy.unary.shape[1])
    ]
    found = energy.submodular()
    assert (found is not None) == any(flips)
    assert found is None or found.is_submodular


def test_larger_domains_and_factors_are_refused_by_number():
    three = Problem(Variables([ss.Discrete("a", 3)]), ())
    with pytest.raises(ss.errors.NotApplicable, match="MinCut takes binary variables; 'a' has 3 states"):
        BinaryEnergy.of(Wiring.of(three), ss.MinCut())
    names = Variables([ss.Discrete(n) for n in "abc"])
    wide = Problem(names, (FactorBlock([[0, 1, 2]], (2, 2, 2), np.arange(8.0)),))
    with pytest.raises(ss.errors.NotApplicable, match="factor 0 has 3"):
        BinaryEnergy.of(Wiring.of(wide), ss.MinCut())
