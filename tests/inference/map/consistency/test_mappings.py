"""Improving mappings make no assignment worse, and strict ones make every assignment that they change better."""

import numpy as np

import sepset as ss
from sepset.inference.map.consistency.mappings import Mapping, difference
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.sparse import joint, sparse_wiring
from support.wired import random_pairs, random_problem


def random_wiring(rng, kind):
    if kind == 0:
        return Wiring.of(random_problem(rng)).consistent
    if kind == 1:
        return random_pairs(rng, tables=bool(rng.integers(2)), zeros=0.1).consistent
    return sparse_wiring(rng, n=6, factors=6, ties=bool(rng.integers(2)), zeros=0.1).consistent


def random_mapping(rng, wiring, values, *, is_strict):
    """A mapping to the best assignment, or to any states of positive value."""
    n = wiring.num_variables
    codes = np.array([rng.choice(np.flatnonzero(np.isfinite(wiring.logs(i)))) for i in range(n)], np.int64)
    if rng.random() < 0.5:
        codes = np.array(np.unravel_index(values.argmax(), values.shape), np.int64)
    messages = rng.normal(size=int(wiring.wires.messages[-1])) * float(rng.integers(2))
    return Mapping.improving(wiring, codes, messages, is_strict=is_strict)


def image_values(wiring, values, mapping):
    """The values of the images of all assignments."""
    found = values
    for i, y in enumerate(mapping.codes):
        moved = mapping.moved[wiring.plugs.states[i] : wiring.plugs.states[i + 1]]
        found = found.take(np.where(moved, y, np.arange(len(moved))), axis=i)
    return found


@in_blocks("seed", range(90))
def test_no_assignment_becomes_worse(seed):
    rng = np.random.default_rng(seed)
    wiring = random_wiring(rng, seed % 3)
    values = joint(wiring)
    if values.max() == -np.inf:
        return
    mapping = random_mapping(rng, wiring, values, is_strict=seed % 2 == 0)
    images = image_values(wiring, values, mapping)
    with np.errstate(invalid="ignore"):
        changes = np.where(values > -np.inf, images - values, np.inf)
    assert (changes >= -1e-9).all()
    if seed % 2 == 0:
        for i in range(wiring.num_variables):
            moved = mapping.moved[wiring.plugs.states[i] : wiring.plugs.states[i + 1]]
            assert (changes.compress(moved, axis=i) > 1e-12).all()
    assert not mapping.exceptions(wiring, is_strict=seed % 2 == 0).any()
    assert not mapping.moved[~np.isfinite(wiring.unary)].any()


@in_blocks("seed", range(18))
def test_differences_are_least_ones(seed):
    rng = np.random.default_rng([1, seed])
    wiring = random_wiring(rng, seed % 3)
    values = joint(wiring)
    if values.max() == -np.inf or wiring.num_variables == 0:
        return
    mapping = random_mapping(rng, wiring, values, is_strict=False)
    moved = mapping.moved & (rng.random(len(mapping.moved)) < 0.7)
    made, worse = difference(wiring, mapping.codes, moved)
    if worse.any():
        return
    images = image_values(wiring, values, Mapping(mapping.codes, moved, mapping.messages))
    with np.errstate(invalid="ignore"):
        above = np.where(values > -np.inf, values - images, -np.inf)
    bounds = joint(made)
    for i, y in enumerate(mapping.codes):  # all states that stay are one
        mask = moved[wiring.plugs.states[i] : wiring.plugs.states[i + 1]]
        bounds = bounds.take(np.where(mask, np.arange(len(mask)), y), axis=i)
    assert (above <= bounds + 1e-9).all()


def test_most_states_of_a_potts_grid_are_replaced():
    rng = np.random.default_rng(0)
    shade = ss.Discrete.array("shade", (6, 6), states=4)
    net = ss.MarkovNet.potts(shade, 0.5, log_values=rng.normal(size=(6, 6, 4)))
    wiring, exact = Wiring.of(net.problem()), ss.map_assignment(net)
    mapping = Mapping.improving(wiring, exact.codes, np.zeros(int(wiring.wires.messages[-1])), is_strict=True)
    assert mapping.moved.sum() > 0.8 * 3 * 36
