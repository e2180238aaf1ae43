"""Low temperatures: the limits of reweighted beliefs are solutions of the linear program, and max-calibrated."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import assign
from sepset.inference.map.relaxation.temperature import annealed
from sepset.inference.propagation.passing import Passing, propagated
from sepset.inference.propagation.treeweights import edge_probabilities
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import best_value, local_polytope, task_of

UNTIL = ss.Until(steps=1000, tolerance=1e-9)


def _glass(seed, n=4, scale=1.0):
    """All pairs of some bits, and each bit, with random log values."""
    rng = np.random.default_rng(seed)
    bits = [ss.Discrete(f"b{i}") for i in range(n)]
    parts = [ss.Table(b, np.exp(rng.normal(0, 0.3, size=2))) for b in bits]
    parts += [ss.Table(p, np.exp(scale * rng.normal(size=(2, 2)))) for p in itertools.combinations(bits, 2)]
    return ss.MarkovNet(*parts)


def _energy(wiring, beliefs):
    """The expected log value."""
    single = np.exp(beliefs.logs) @ wiring.unary
    return (
        wiring.constant
        + single
        + sum(float((beliefs.factor(f) * wiring.table(f)).sum()) for f in range(wiring.num_factors))
    )


def _beliefs(wiring, temperature, rhos):
    return propagated(Passing(0.5, "sequential", False, rhos), annealed(wiring, temperature), UNTIL)


@pytest.mark.parametrize("seed", range(3))
def test_expected_values_rise_to_the_linear_program_as_the_temperature_falls(seed):
    wiring = Wiring.of(_glass(seed).as_written())
    rhos, best = edge_probabilities(wiring), local_polytope(wiring)
    found = []
    for temperature in (1.0, 0.3, 0.1, 0.03):
        beliefs = _beliefs(wiring, temperature, rhos)
        assert beliefs.has_converged
        found.append(_energy(wiring, beliefs))
        most = 4 * np.log(2)  # the entropy of a convex combination of trees
        assert best - temperature * most - 1e-6 <= found[-1] <= best + 1e-6
    assert (np.diff(found) > -1e-9).all()
    assert found[-1] == pytest.approx(best, abs=0.05)


def test_factors_to_the_power_of_one_over_the_temperature():
    net = _glass(5)
    wiring, temperature = Wiring.of(net.as_written()), 0.4
    powers = ss.MarkovNet(*(ss.Table(t.scope, t.values ** (1 / temperature)) for t in net.factors))
    other = Wiring.of(powers.as_written())
    made = annealed(wiring, temperature)
    for codes in itertools.product(range(2), repeat=4):
        assert made.log_value(codes) == pytest.approx(other.log_value(codes))
        assert made.log_value(codes) == pytest.approx(wiring.log_value(codes) / temperature)
    values = np.array([0.3, 2.0, 1.1])  # (sum of a^(1/T))^T is the largest a in the limit
    assert np.sum(values ** (1 / 0.01)) ** 0.01 == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(3))
def test_zero_temperature_beliefs_are_max_calibrated_and_the_model(seed):
    wiring, temperature = Wiring.of(_glass(seed, scale=0.5).as_written()), 0.05
    rhos = edge_probabilities(wiring)
    beliefs = _beliefs(wiring, temperature, rhos)
    single = [temperature * np.log(beliefs.variable(i)) for i in range(4)]
    pairs = [temperature * np.log(beliefs.factor(f)) for f in range(wiring.num_factors)]
    weights = 1.0 - np.bincount(wiring.plugs.scope, np.repeat(rhos, 2), 4)
    rows = list(itertools.product(range(2), repeat=4))
    total = [
        sum(weights[i] * single[i][x[i]] for i in range(4))
        + sum(rhos[f] * pairs[f][tuple(np.array(x)[wiring.scope(f)])] for f in range(wiring.num_factors))
        for x in rows
    ]
    apart = np.array(total) - [wiring.log_value(x) for x in rows]
    assert np.ptp(apart) < 1e-6  # a reparameterization, up to a constant
    for f, table in enumerate(pairs):
        for axis, i in enumerate(wiring.scope(f).tolist()):
            largest = table.max(axis=1 - axis)
            gap = np.abs((largest - largest.max()) - (single[i] - single[i].max()))
            assert gap.max() <= 2 * temperature * np.log(2) + 1e-6


class _Down(Passing):
    """Messages that begin in favor of the first states."""

    def init(self, task, rng):
        return np.tile([0.0, -10.0], len(task.wiring.plugs.scope))


def test_bethe_limits_need_not_be_the_best_of_the_polytope():
    bits = [ss.Discrete(f"b{i}") for i in range(5)]
    parts = [ss.Table(b, [1.0, np.exp(0.2)]) for b in bits]  # all favor the second state, and each other
    parts += [ss.Table(p, np.exp(np.eye(2))) for p in itertools.combinations(bits, 2)]
    wiring = Wiring.of(ss.MarkovNet(*parts).as_written())
    best, ones = local_polytope(wiring), np.ones(wiring.num_factors)
    assert best == pytest.approx(best_value(wiring))
    for temperature in (0.3, 0.2):
        bethe = propagated(_Down(0.5, "sequential", False, ones), annealed(wiring, temperature), UNTIL)
        assert bethe.has_converged
        assert _energy(wiring, bethe) == pytest.approx(best - 5 * 0.2, abs=0.01)  # all are in the first state
        trees = _Down(0.5, "sequential", False, edge_probabilities(wiring))
        convex = propagated(trees, annealed(wiring, temperature), UNTIL)
        assert _energy(wiring, convex) == pytest.approx(best, abs=0.25)  # convex: one fixed point, whatever the start


@in_blocks("seed", range(25))
def test_reweighted_beliefs_are_decodable_only_if_the_linear_program_is_tight(seed):
    wiring = Wiring.of(_glass(seed, scale=1.0 + (seed % 3)).as_written())
    found = assign(ss.TreeReweighted(until=ss.Until(steps=3000, tolerance=1e-9)), task_of(wiring))
    best, relaxed = best_value(wiring), local_polytope(wiring)
    if found.info["locally_optimal"]:
        assert relaxed == pytest.approx(best, abs=1e-5)
        assert found.log_values[0] == pytest.approx(best, abs=1e-9)
    if relaxed > best + 1e-4:
        assert not found.info["locally_optimal"]
