"""Whole costs move between functions, and a trail takes every change back."""

import numpy as np

from sepset.kernels.kernel import kernel
from sepset.kernels.map.costs import FORBIDDEN, HEIGHT, LEVEL, LOWER, gather, minima, put, remove, settle, undo
from support.blocks import in_blocks
from support.cost_networks import assignments, is_live, moved_cost, random_costs


@kernel(borrows=True)
def find_minima(network, state, f, apart, axis):
    gather(network, state, f, apart)
    minima(network, state, f, axis)


@kernel(borrows=True)
def settle_it(network, state, i):
    settle(network, state, i)


@kernel(borrows=True)
def remove_it(network, state, i, place):
    remove(network, state, i, place)


@kernel(borrows=True)
def put_it(state, cell, value):
    put(state, cell, value)


@kernel(borrows=True)
def undo_all(network, state):
    undo(network, state, 0)


@in_blocks("seed", range(20))
def test_minima_of_functions_by_enumeration(seed):
    costs, _ = random_costs(np.random.default_rng(seed))
    net, state = costs.network, costs.state()
    for s in range(len(net.scope)):
        f = int(net.owner[s])
        for apart in (-1, s):
            find_minima(net, state, f, apart, s - int(net.starts[f]))
            wanted = np.full(int(net.states[net.scope[s] + 1] - net.states[net.scope[s]]), FORBIDDEN)
            for codes in assignments(costs):
                slots = range(net.starts[f], net.starts[f + 1])
                value = int(net.tables[net.places[f] + sum(int(net.steps[t]) * codes[net.scope[t]] for t in slots)])
                lent = [t for t in slots if apart >= 0 and t != apart]
                value += sum(int(state.cells[net.states[net.scope[t]] + codes[net.scope[t]]]) for t in lent)
                wanted[codes[net.scope[s]]] = min(wanted[codes[net.scope[s]]], value)
            assert state.least[: len(wanted)].tolist() == wanted.tolist()


@in_blocks("seed", range(20))
def test_nodes_keep_costs_and_changes_are_taken_back(seed):
    rng = np.random.default_rng([5, seed])
    costs, _ = random_costs(rng)
    net, state = costs.network, costs.state()
    state.numbers[LEVEL] = 1
    before = [np.array(a) for a in (state.cells, state.live, state.left)]
    original = {codes: moved_cost(costs, state, codes)[0] for codes in assignments(costs)}
    for i in rng.permutation(len(state.left)):
        settle_it(net, state, i)
        if state.left[i] > 1:
            remove_it(net, state, i, net.states[i] + int(np.flatnonzero(state.live[net.states[i] :])[0]))
    put_it(state, len(state.cells) - 1, 7)
    put_it(state, len(state.cells) - 1, int(before[0][-1]))
    for codes, cost in original.items():
        if cost < FORBIDDEN and is_live(costs, state, codes):
            assert moved_cost(costs, state, codes)[0] == cost
    assert state.numbers[LOWER] <= min(original.values())
    undo_all(net, state)
    for found, wanted in zip((state.cells, state.live, state.left), before, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert state.numbers[HEIGHT] == 0
