"""Choices between two assignments: the best of all where they are submodular, and never worse."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.map.fusion import choices, fused, move_energy, submodular_choice, truncated
from support.blocks import in_blocks
from support.wired import random_pairs


@in_blocks("seed", range(60))
def test_fusions_are_best_by_enumeration(seed):
    """Proposals that differ by a convex function of the state, with variables that are offered their own state."""
    rng = np.random.default_rng([seed, 3])
    wiring = random_pairs(rng)
    states, n = int(wiring.plugs.cards[0]), wiring.num_variables
    keep = rng.integers(states, size=n)
    take = np.where(rng.random(n) < 0.8, rng.integers(states), keep)
    chosen = submodular_choice(wiring, keep, take, flows := rng.normal(size=len(wiring.pairs)))
    assert chosen is not None
    assert not chosen[keep == take].any()
    values = [wiring.log_value(np.where(t, take, keep)) for t in itertools.product([False, True], repeat=n)]
    assert wiring.log_value(np.where(chosen, take, keep)) == pytest.approx(max(values), abs=1e-9)
    again = submodular_choice(wiring, keep, take, flows)
    assert (again == chosen).all()
    assert wiring.log_value(fused(wiring, keep, take, ss.AlphaExpansion())) == pytest.approx(max(values), abs=1e-9)


@in_blocks("seed", range(80))
def test_energies_of_choices_and_fusions_that_never_hurt(seed):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng, tables=True, zeros=0.15 * (seed % 2))
    cards = wiring.plugs.cards
    keep, take = (np.array([rng.integers(c) for c in cards], np.int64) for _ in range(2))
    energy = move_energy(wiring, keep, take, ss.AlphaExpansion())
    for chosen in itertools.product([0, 1], repeat=len(cards)):
        t = np.array(chosen, np.int64)
        if not (t[keep == take]).any():
            assert energy.value(t) == pytest.approx(-wiring.log_value(np.where(t, take, keep)), abs=1e-9)
    found = fused(wiring, keep, take, ss.AlphaExpansion())
    values = [wiring.log_value(np.where(t, take, keep)) for t in itertools.product([False, True], repeat=len(cards))]
    assert max(values) + 1e-9 >= wiring.log_value(found) >= wiring.log_value(keep)
    if choices(wiring, keep, take, ss.AlphaExpansion()).is_best:
        assert wiring.log_value(found) == pytest.approx(max(values), abs=1e-9)


def test_truncated_energies_never_hurt():
    """The decrease of a truncated energy is never more than that of the energy, whatever is chosen."""
    frustrated = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        wiring = random_pairs(rng, tables=True, zeros=0.15 * (seed % 2))
        keep, take = (np.array([rng.integers(c) for c in wiring.plugs.cards], np.int64) for _ in range(2))
        energy = move_energy(wiring, keep, take, ss.AlphaExpansion())
        smaller, none = truncated(energy), np.zeros(len(keep), np.int64)
        assert smaller.is_submodular
        frustrated += not energy.is_submodular
        if not np.isfinite(energy.value(none)):
            continue
        for chosen in itertools.product([0, 1], repeat=len(keep)):
            t = np.array(chosen, np.int64)
            assert smaller.value(t) - smaller.value(none) >= energy.value(t) - energy.value(none) - 1e-9
    assert frustrated > 10
