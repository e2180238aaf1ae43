"""Unions of small random models with a planted assignment of positive probability, and their best values."""

from __future__ import annotations

import itertools

import numpy as np

from sepset.factors.block import FactorBlock
from sepset.factors.potentials import AtLeastOne, Parity, Potts, TruncatedLinear
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

NAMED = [Potts(0.7), Potts(-0.5), TruncatedLinear(0.4, 1.5), Parity(), AtLeastOne()]


def planted_union(rng, count, *, most=5, widest=3):
    """The wiring of several models side by side, and where the variables of each one are."""
    cards, planted, blocks, parts = [], [], [], []
    for _ in range(count):
        own = range(len(cards), len(cards) + int(rng.integers(1, most + 1)))
        cards += rng.integers(1, 4, len(own)).tolist()
        planted += [int(rng.integers(c)) for c in cards[own.start :]]
        parts.append(own)
        for _ in range(int(rng.integers(0, 6))):
            scope = rng.permutation(own)[: int(rng.integers(1, min(widest, len(own)) + 1))].tolist()
            blocks.append(_block(rng, scope, [cards[v] for v in scope], [planted[v] for v in scope]))
    variables = Universe([Discrete(f"v{i}", c) for i, c in enumerate(cards)])
    return Wiring.of(Problem(variables, tuple(blocks))), parts


def _block(rng, scope, shape, planted):
    named = NAMED[rng.integers(len(NAMED))]
    is_pair = len(scope) == 2 and shape[0] == shape[1]
    if rng.random() < 0.4 and (
        is_pair if not isinstance(named, Parity | AtLeastOne) else _holds(named, shape, planted)
    ):
        return FactorBlock([scope], shape, values=named)
    logs = rng.integers(-2, 3, shape).astype(float) if rng.random() < 0.5 else rng.normal(size=shape)
    logs = np.where(rng.random(shape) < 0.2, -np.inf, logs)
    logs[tuple(planted)] = 0.0
    return FactorBlock([scope], shape, values=logs, space="log")


def _holds(named, shape, planted):
    if set(shape) != {2}:
        return False
    return sum(planted) % 2 == 0 if isinstance(named, Parity) else sum(planted) > 0


def best_of_parts(wiring, parts):
    """The largest log value, each part by enumeration."""
    codes, total = np.zeros(wiring.num_variables, np.int64), wiring.constant
    scopes = [wiring.scope(f).tolist() for f in range(wiring.num_factors)]
    for own in parts:
        inside = [f for f, scope in enumerate(scopes) if scope[0] in own]
        tables = [wiring.table(f) for f in inside]
        best = -np.inf
        for row in itertools.product(*(range(int(c)) for c in wiring.plugs.cards[own.start : own.stop])):
            codes[own.start : own.stop] = row
            value = sum(wiring.logs(i)[codes[i]] for i in own)
            value += sum(t[tuple(codes[scopes[f]])] for f, t in zip(inside, tables, strict=True))
            best = max(best, value)
        total += best
    return total
