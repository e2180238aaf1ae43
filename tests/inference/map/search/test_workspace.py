"""Regions are solved exactly given the rest, and values with losses are those of the model."""

import itertools

import numpy as np
import pytest

from sepset.inference.map.search.workspace import Workspace
from sepset.inference.wiring import Wiring
from sepset.kernels.map.regions import GONE
from support.blocks import in_blocks
from support.wired import random_binary, random_problem


def random_wiring(rng):
    return Wiring.of(random_binary(rng, zeros=0.3) if rng.random() < 0.3 else random_problem(rng))


def by_hand(wiring, codes, loss):
    """The value with a loss per zero, factor by factor."""
    terms = [wiring.logs(i)[codes[i]] for i in range(wiring.num_variables)]
    terms += [wiring.table(f)[tuple(codes[wiring.scope(f)])] for f in range(wiring.num_factors)]
    constant = wiring.constant if np.isfinite(wiring.constant) else 0.0
    return constant + sum(-loss if np.isinf(term) else term for term in terms)


@in_blocks("seed", range(200))
def test_regions_are_best_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    for _ in range(5):
        wiring = random_wiring(rng)
        cards, n = wiring.plugs.cards, wiring.num_variables
        space = Workspace(wiring, int(rng.choice([2, 3, 4, 9, 40, 2000])))
        codes = (rng.random(n) * cards).astype(np.int64)
        members = np.flatnonzero((rng.random(n) < rng.choice([0.5, 0.9, 1.0])) & (cards > 1))
        found, count = space.solved(codes, rng.permutation(members), rng.random(n), rng)
        free = np.flatnonzero(space.region.marks == GONE)
        assert count == len(free)
        assert set(free) <= set(members)
        assert count == len(members) or space.entries < 2000
        np.testing.assert_array_equal(np.delete(found, free), np.delete(codes, free))
        best = -np.inf
        for states in itertools.product(*(range(cards[i]) for i in free)):
            trial = codes.copy()
            trial[free] = states
            best = max(best, by_hand(wiring, trial, space.loss))
        assert space.value(found) == pytest.approx(best)


@in_blocks("seed", range(100))
def test_fewer_zeros_are_always_better(seed):
    rng = np.random.default_rng(seed)
    wiring = random_wiring(rng)
    loss = Workspace(wiring, 8).loss
    every = [np.array(x, np.int64) for x in itertools.product(*(range(c) for c in wiring.plugs.cards))]
    finite = [value for value in map(wiring.log_value, every) if value > -np.inf]
    if finite and max(finite) - min(finite) > 0:
        assert loss > max(finite) - min(finite)
    values = sorted(
        (round((by_hand(wiring, x, 1e9) - by_hand(wiring, x, 0.0)) / -1e9), by_hand(wiring, x, loss)) for x in every
    )
    assert all(one[1] > two[1] for one, two in itertools.pairwise(values) if one[0] < two[0])


def test_near_variables_are_connected_and_fixed_from_outside():
    import sepset as ss

    spin = ss.Discrete.array("spin", (20, 20))
    wiring = Wiring.of(ss.MarkovNet.potts(spin, 1.0).as_written())
    members, keys = Workspace(wiring, 8).near(50, np.random.default_rng(0))
    assert len(set(members.tolist())) == 50
    center = int(members[np.argmin(keys[members])])
    distance = [abs(i // 20 - center // 20) + abs(i % 20 - center % 20) for i in members]
    order = np.argsort(keys[members])
    assert (np.diff(np.array(distance)[order]) >= 0).all()
