"""Counting numbers: convexity, and the bounds of any messages."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.map.dual import bound_of, dual_certificate
from sepset.inference.propagation.counting import convex_split, counting_numbers, dual_messages
from sepset.inference.propagation.passing import Passing, beliefs_of
from sepset.inference.propagation.treeweights import edge_probabilities
from sepset.inference.wiring import Wiring
from sepset.potentials import Potts, over_scopes
from support.blocks import in_blocks
from support.wired import best_value, random_pairs, random_problem


def is_split(wiring, rhos, counts, split):
    own = counting_numbers(wiring, rhos, counts)
    factors = split.factors + np.bincount(wiring.factors, split.slots, minlength=wiring.num_factors)
    variables = split.variables - np.bincount(wiring.plugs.scope, split.slots, minlength=wiring.num_variables)
    assert all((part >= 0).all() for part in split)
    assert factors == pytest.approx(rhos, abs=1e-9)
    assert variables == pytest.approx(own, abs=1e-9)


@in_blocks("seed", range(60))
def test_bethe_numbers_are_convex_with_at_most_one_cycle_each(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    edges = [e for e in itertools.combinations(range(n), 2) if rng.random() < 1.6 / n]
    edges = edges or [(0, 1)]
    net = ss.MarkovNet(over_scopes(edges, Potts(1.0), array=ss.Discrete.array("x", n)))
    wiring = Wiring.of(net.as_written())
    rhos, counts = np.ones(len(edges)), np.ones(n)
    label = list(range(n))
    for i, j in edges:
        label = [label[i] if c == label[j] else c for c in label]
    cycles = [sum(label[i] == c for i, _ in edges) - label.count(c) + 1 for c in set(label)]
    found = convex_split(wiring, rhos, counts)
    assert (found is not None) == (max(cycles) <= 1)
    if found is not None:
        is_split(wiring, rhos, counts, found)


def test_positive_and_tree_numbers_are_convex():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        wiring = random_pairs(rng)
        degrees = np.bincount(wiring.plugs.scope, minlength=wiring.num_variables)
        rhos = rng.gamma(1.0, size=wiring.num_factors)
        counts = np.bincount(wiring.plugs.scope, rhos[wiring.factors], minlength=wiring.num_variables)
        is_split(wiring, rhos, counts + 0.5, convex_split(wiring, rhos, counts + 0.5))
        trees = edge_probabilities(wiring)
        is_split(wiring, trees, np.ones(len(degrees)), convex_split(wiring, trees, np.ones(len(degrees))))


def by_definition(beliefs, split):
    """The sum of the maxima of all beliefs and of their ratios, each times its number."""
    wiring, total = beliefs.wiring, beliefs.wiring.constant + beliefs.log_totals
    for f in range(wiring.num_factors):
        logs, own = wiring.table(f) / beliefs.rhos[f], []
        first = int(wiring.plugs.starts[f])
        for axis, i in enumerate(wiring.scope(f).tolist()):
            shape = [-1 if a == axis else 1 for a in range(logs.ndim)]
            own.append(beliefs.logs[wiring.plugs.states[i] : wiring.plugs.states[i + 1]].reshape(shape))
            at = wiring.wires.messages[first + axis : first + axis + 2]
            logs = logs + own[-1] - beliefs.messages[at[0] : at[1]].reshape(shape)
        total += split.factors[f] * logs.max()
        for axis, each in enumerate(own):
            ratio = np.where(logs > -np.inf, logs - np.where(each > -np.inf, each, 0.0), -np.inf)
            total += split.slots[first + axis] * ratio.max() if split.slots[first + axis] > 0.0 else 0.0
    return total


@in_blocks("seed", range(120))
def test_bounds_hold_for_all_messages(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng)) if seed % 2 else random_pairs(rng, tables=True, zeros=0.1)
    rhos = rng.gamma(2.0, size=wiring.num_factors) + 0.1
    counts = np.bincount(wiring.plugs.scope, rhos[wiring.factors], minlength=wiring.num_variables) + rng.random()
    passing = Passing(0.0, "sequential", True, rhos, counts)
    possible = wiring.consistent
    if possible.constant == -np.inf or not possible.is_possible:
        return
    split, best = convex_split(possible, rhos, counts), best_value(wiring)
    state = rng.normal(size=int(wiring.wires.messages[-1]))
    for _ in range(3):
        beliefs = beliefs_of(passing, wiring, state)
        messages = dual_messages(beliefs, split.slots)
        bound = bound_of(beliefs.wiring, messages)
        assert bound >= best
        assert bound <= by_definition(beliefs, split) + 1e-8
        assert dual_certificate(wiring, messages, bound).check()
        assert not np.isfinite(bound) or not dual_certificate(wiring, messages, bound - 1.0).check()
        state, info = passing.step(beliefs, state, rng)
        if np.isinf(info.objective):
            return
