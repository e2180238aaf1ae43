"""Sparse models of a dozen variables, and their values at all assignments at once."""

from __future__ import annotations

import numpy as np

from sepset.factors.block import FactorBlock
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete


def sparse_wiring(rng, *, n=10, factors=12, zeros=0.1, ties=False):
    """Random functions of two and three variables of one to three states."""
    cards = rng.choice([1, 2, 2, 2, 3], n).tolist()
    blocks = []
    for _ in range(factors):
        scope = rng.permutation(n)[: rng.integers(2, 4)].tolist()
        shape = [cards[v] for v in scope]
        logs = rng.integers(-2, 3, shape).astype(float) if ties else rng.normal(size=shape)
        blocks.append(
            FactorBlock([scope], shape, values=np.where(rng.random(shape) < zeros, -np.inf, logs), space="log")
        )
    variables = [Discrete(f"v{i}", card) for i, card in enumerate(cards)]
    return Wiring.of(Problem(Universe(variables), tuple(blocks)))


def joint(wiring):
    """The log values of all assignments, an axis per variable."""
    cards, n = wiring.plugs.cards.tolist(), wiring.num_variables
    total = np.full(cards, wiring.constant)
    for i in range(n):
        total = total + wiring.logs(i).reshape([-1 if j == i else 1 for j in range(n)])
    for f in range(wiring.num_factors):
        scope = wiring.scope(f)
        table = wiring.table(f).transpose(np.argsort(scope))
        total = total + table.reshape([cards[j] if j in scope else 1 for j in range(n)])
    return total
