"""Layers of ordered states: one cut for convex costs of any number of states."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.factors.potentials import TruncatedLinear, TruncatedQuadratic
from sepset.inference.assignment import assign
from sepset.inference.map.layers import Layers
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.universe import Universe
from support.blocks import in_blocks
from support.wired import best_value, task_of

CONVEX = [TruncatedLinear(0.7), TruncatedQuadratic(0.4), TruncatedLinear(0.0), TruncatedQuadratic(0.1)]


def submodular_table(rng, shape):
    """Log values with second differences >= 0: minus a sum of two functions and of minus a distribution function."""
    mass = rng.gamma(0.5, size=shape) * (rng.random(shape) < 0.6)
    return mass.cumsum(axis=0).cumsum(axis=1) + rng.normal(size=(shape[0], 1)) + rng.normal(size=shape[1])


def random_ordered(rng, *, impossible=0.0, turned=True):
    n = int(rng.integers(0, 5))
    cards = rng.integers(1, 5, n) if rng.random() < 0.7 else np.full(n, 3)
    reverse = rng.random(n) < 0.5 * turned
    variables = [ss.Discrete(f"v{i}", int(card)) for i, card in enumerate(cards)]
    blocks = []
    for i, card in enumerate(cards):
        logs = np.where(rng.random(card) < impossible, -np.inf, rng.normal(size=card))
        blocks.append(FactorBlock([[i]], (int(card),), values=logs, space="log"))
    for i, j in itertools.permutations(range(n), 2):
        if rng.random() < 0.5:
            continue
        shape = int(cards[i]), int(cards[j])
        if shape[0] == shape[1] and reverse[i] == reverse[j] and rng.random() < 0.4:
            blocks.append(FactorBlock([[i, j]], shape, values=CONVEX[rng.integers(len(CONVEX))]))
            continue
        logs = submodular_table(rng, shape)
        logs[rng.random(shape[0]) < impossible / 2] = -np.inf
        logs[:, rng.random(shape[1]) < impossible / 2] = -np.inf
        logs = logs[:: -1 if reverse[i] else 1, :: -1 if reverse[j] else 1]
        blocks.append(FactorBlock([[i, j]], shape, values=np.ascontiguousarray(logs), space="log"))
    return Wiring.of(Problem(Universe(variables), tuple(blocks)))


@in_blocks("seed", range(150))
def test_energies_of_layers_are_those_of_the_model(seed):
    rng = np.random.default_rng(seed)
    wiring = random_ordered(rng, impossible=0.2 * (seed % 2))
    layers = Layers.of(wiring, ss.MinCut())
    assert layers.energy.is_submodular
    for codes in itertools.product(*(range(int(card)) for card in wiring.plugs.cards)):
        codes = np.array(codes, np.int64)
        above = layers.above(codes)
        np.testing.assert_array_equal(layers.codes(above), codes)
        assert layers.energy.value(above.astype(np.int64)) == pytest.approx(-wiring.log_value(codes), abs=1e-9)


@in_blocks("seed", range(300))
def test_cuts_are_best_assignments(seed):
    rng = np.random.default_rng([seed, 1])
    wiring = random_ordered(rng, impossible=0.25 * (seed % 3 == 0))
    if best_value(wiring) == -np.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            assign(ss.MinCut(), task_of(wiring))
        return
    found = assign(ss.MinCut(), task_of(wiring))
    assert found.log_values[0] == pytest.approx(best_value(wiring), abs=1e-9)
    assert found.guarantee is ss.Guarantee.EXACT
    assert found.certificate.check()


def test_costs_that_are_not_convex_are_refused_by_name():
    rng = np.random.default_rng(2)
    level = ss.Discrete.array("level", (4,), states=4)
    for kind in (ss.potentials.Potts(1.0), ss.potentials.TruncatedLinear(1.0, 2.0)):
        block = FactorBlock([[0, 1], [1, 2]], (4, 4), values=kind)
        net = ss.MarkovNet(
            FactorBlock([[i] for i in range(4)], (4,), values=rng.random((4, 4))), block, variables=[level]
        )
        with pytest.raises(ss.errors.NotApplicable, match=r"factor 4 over 'level\[0\]' and 'level\[1\]' is not submod"):
            ss.map_assignment(net, method=ss.MinCut())


def test_orders_that_contradict_each_other_are_refused():
    a, b, c = (ss.Discrete(n, 3) for n in "abc")
    table = -np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    parts = [ss.Table(pair, np.exp(-table)) for pair in ((a, b), (b, c), (a, c))]
    with pytest.raises(ss.errors.NotApplicable, match="contradicts other factors in every order"):
        ss.map_assignment(ss.MarkovNet(*parts), method=ss.MinCut())
    hard = np.ones((3, 3))
    hard[0, 2] = 0.0
    with pytest.raises(ss.errors.NotApplicable, match="has single impossible pairs of states"):
        ss.map_assignment(ss.MarkovNet(ss.Table((a, b), hard)), method=ss.MinCut())


def test_graphs_too_large_for_memory_are_refused_before_they_are_built():
    two = [ss.Discrete(name, 60_000) for name in "ab"]
    net = ss.MarkovNet(FactorBlock([[0, 1]], (60_000, 60_000), values=TruncatedQuadratic(1.0)), variables=two)
    with pytest.raises(ss.errors.TooLarge, match="Use TRWS"):
        ss.map_assignment(net, method=ss.MinCut())


def test_wide_grids_agree_with_message_passing():
    rng = np.random.default_rng(4)
    level = ss.Discrete.array("level", (12, 12), states=6)
    logs = rng.normal(size=(144, 6))
    smooth = FactorBlock(level.grid_edges().pairs, (6, 6), values=TruncatedLinear(0.6))
    net = ss.MarkovNet(FactorBlock(np.arange(144)[:, None], (6,), values=logs, space="log"), smooth, variables=[level])
    exact, bound = ss.map_assignment(net, method=ss.MinCut()), ss.map_assignment(net, method=ss.TRWS())
    assert bound.log_value - 1e-9 <= exact.log_value <= bound.bound + 1e-9
    assert exact.bound == exact.log_value
    assert ss.map_assignment(net, method=ss.inference.AutomaticSearch()).info["search"] == "MinCut"


@pytest.mark.parametrize("penalty", [1e6, 1e9, 1e12])
def test_small_costs_next_to_large_penalties_count(penalty):
    costs, alone = 2e-13 * penalty * np.abs(np.subtract.outer(range(3), range(3))), 2e-13 * penalty * np.arange(3) / 10
    costs[0, 2] = costs[2, 0] = penalty
    a, b = ss.Discrete("a", 3), ss.Discrete("b", 3)
    net = ss.MarkovNet.pairwise_energies({a: 3.0 * alone, b: alone[::-1]}, {(a, b): costs})
    best = (costs + 3.0 * alone[:, None] + alone[::-1]).min()
    assert -ss.map_assignment(net, method=ss.MinCut()).log_value == pytest.approx(best, rel=1e-9, abs=0.0)
