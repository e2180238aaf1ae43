"""Small networks of whole costs, their costs by enumeration, and models with zeros, ties and loose variables."""

from __future__ import annotations

import itertools

import numpy as np

from sepset.factors.block import FactorBlock
from sepset.inference.map.consistency.functions import CostFunctions
from sepset.inference.map.consistency.wholecosts import WholeCosts
from sepset.inference.wiring import Wiring
from sepset.kernels.kernel import kernel
from sepset.kernels.map.costs import FORBIDDEN, HEIGHT, LOWER
from sepset.kernels.map.softarcs import renewed
from sepset.kernels.map.sweeps import sweep
from sepset.problem import Problem
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete


def random_wiring(rng, *, most=7):
    """Factors of up to four variables in any order, zeros in most models, ties in some, and one-state variables."""
    cards = rng.integers(1, 4, rng.integers(0, most)).tolist()
    zeros, ties = rng.choice([0.0, 0.1, 0.4]), rng.random() < 0.5
    blocks = []
    for _ in range(int(rng.integers(0, 2 * most)) if cards else 0):
        scope = rng.permutation(len(cards))[: rng.integers(1, 5)]
        shape = [cards[v] for v in scope]
        logs = rng.integers(-3, 4, shape).astype(float) if ties else rng.normal(size=shape) * 3
        logs = np.where(rng.random(shape) < zeros, -np.inf, logs)
        blocks.append(FactorBlock([scope.tolist()], shape, values=logs, space="log"))
    variables = [Discrete(f"v{i}", card) for i, card in enumerate(cards)]
    return Wiring.of(Problem(Universe(variables), tuple(blocks)))


def every(wiring):
    """All assignments, one per row."""
    return np.array(list(itertools.product(*(range(int(c)) for c in wiring.plugs.cards))), np.int64)


def ranked(wiring):
    return sorted((wiring.log_value(codes) for codes in every(wiring)), reverse=True)


def random_costs(rng, *, most=6):
    """Whole costs of a random model in which something is possible, and the model's functions."""
    while True:
        functions = CostFunctions.of(random_wiring(rng, most=most))
        if functions.cards and functions.is_possible:
            return WholeCosts.of(functions, np.arange(len(functions.cards))), functions


def moved_cost(costs, state, codes):
    """The cost of an assignment after costs moved, and the least of the terms besides the lower bound."""
    net = costs.network
    terms = [int(state.cells[net.states[i] + x]) for i, x in enumerate(codes)]
    for f in range(len(net.places)):
        slots = range(net.starts[f], net.starts[f + 1])
        table = int(net.tables[net.places[f] + sum(int(net.steps[s]) * codes[net.scope[s]] for s in slots)])
        sent = sum(int(state.cells[net.sent[s] + codes[net.scope[s]]]) for s in slots)
        terms.append(table if table >= FORBIDDEN else table - sent)
    return int(state.numbers[LOWER]) + sum(terms), min(terms)


def is_live(costs, state, codes):
    return all(state.live[costs.network.states[i] + x] for i, x in enumerate(codes))


def assignments(costs):
    return itertools.product(*(range(int(c)) for c in np.diff(costs.network.states)))


@kernel(borrows=True)
def made_consistent(network, state, cancel):
    return renewed(network, state, cancel)


def consistent(costs, state, sweeps, cancel):
    """Sweeps at the root, then propagation for good; whether something is left."""
    is_open = not sweeps or sweep(costs.network, state, costs.loose(), sweeps, cancel)
    is_open = bool(is_open and made_consistent(costs.network, state, cancel))
    state.numbers[HEIGHT] = 0
    return is_open
