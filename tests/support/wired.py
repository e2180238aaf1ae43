"""Random discrete problems of every kind of block, for what runs on wired models."""

from __future__ import annotations

import numpy as np

from sepset.factors.block import FactorBlock, Single
from sepset.factors.potentials import AllDifferent, AtLeastOne, Parity, Potts, TruncatedLinear, TruncatedQuadratic
from sepset.factors.table import Table
from sepset.problem import Problem
from sepset.variables.universe import Variables
from sepset.variables.variable import Discrete

PAIRS = [Potts(1.3), Potts(-0.4), TruncatedLinear(0.7, 1.5), TruncatedLinear(-0.2), TruncatedQuadratic(0.3, 2.0)]


def random_problem(rng: np.random.Generator) -> Problem:
    """Tables, shared tables, named potentials and single factors, with zeros."""
    cards = rng.integers(1, 4, rng.integers(0, 7)).tolist()
    variables = [Discrete(f"v{i}", card) for i, card in enumerate(cards)]
    blocks = []
    for _ in range(rng.integers(0, 8)):
        arity = int(rng.integers(0, min(4, len(cards)) + 1))
        scope = rng.permutation(len(cards))[:arity].tolist()
        blocks.append(block_over(scope, [cards[v] for v in scope], variables, rng))
    return Problem(Variables(variables), tuple(blocks))


def block_over(scope, shape, variables, rng):
    values = rng.gamma(1.0, size=shape) * (rng.random(shape) > 0.2)
    if len(shape) == 2 and shape[0] == shape[1] and rng.random() < 0.6:
        return FactorBlock([scope], shape, PAIRS[rng.integers(len(PAIRS))])
    if shape and set(shape) == {2} and rng.random() < 0.6:
        return FactorBlock([scope], shape, [Parity(), AtLeastOne(), AllDifferent()][rng.integers(3)])
    if rng.random() < 0.5:
        return Single(Table([variables[v] for v in scope], values), scope)
    return FactorBlock(np.array([scope, scope], np.int64).reshape(2, -1), shape, values)
