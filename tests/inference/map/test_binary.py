"""Binary energies as costs of single cells."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.inference.map.binary import BinaryEnergy
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.universe import Universe
from support.blocks import in_blocks
from support.wired import random_binary


@in_blocks("seed", range(200))
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


@in_blocks("seed", range(200))
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
    three = Problem(Universe([ss.Discrete("a", 3)]), ())
    with pytest.raises(ss.errors.NotApplicable, match="MinCut takes binary variables; 'a' has 3 states"):
        BinaryEnergy.of(Wiring.of(three), ss.MinCut())
    names = Universe([ss.Discrete(n) for n in "abc"])
    wide = Problem(names, (FactorBlock([[0, 1, 2]], (2, 2, 2), values=np.arange(8.0)),))
    with pytest.raises(ss.errors.NotApplicable, match="factor 0 over 3 variables"):
        BinaryEnergy.of(Wiring.of(wide), ss.MinCut())
