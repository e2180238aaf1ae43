"""Random small models as plain arrays, with the log value of every assignment by broadcasting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import sepset as ss
from sepset.factors.block import FactorBlock

Part = tuple[tuple[int, ...], np.ndarray]
"""The variables of a factor, and its logarithms."""


@dataclass(frozen=True)
class Case:
    """A model of named factors: numbers of states, and the factors with their logarithms."""

    cards: tuple[int, ...]
    parts: tuple[Part, ...]

    @cached_property
    def logs(self) -> np.ndarray:
        """The log value of every assignment, one axis per variable."""
        total = np.zeros(self.cards)
        for scope, logs in self.parts:
            order = sorted(range(len(scope)), key=lambda axis: scope[axis])
            shape = [self.cards[v] if v in scope else 1 for v in range(len(self.cards))]
            total = total + np.transpose(logs, order).reshape(shape)
        return total

    @property
    def best(self) -> float:
        return float(self.logs.max(initial=-np.inf))

    @cached_property
    def variables(self) -> list[ss.Discrete]:
        return [ss.Discrete(f"v{i}", card) for i, card in enumerate(self.cards)]

    @cached_property
    def net(self) -> ss.MarkovNet:
        """The model, with one block per factor."""
        blocks = [FactorBlock([list(scope)], logs.shape, values=logs, space="log") for scope, logs in self.parts]
        return ss.MarkovNet(*blocks, variables=self.variables)

    def max_marginal(self, *kept: int) -> np.ndarray:
        """The maxima over all variables but some, in their order."""
        out = tuple(v for v in range(len(self.cards)) if v not in kept)
        return np.transpose(self.logs.max(axis=out), np.argsort(np.argsort(kept)))

    def permuted(self, rng: np.random.Generator) -> Case:
        """The same factors in another order, the variables of each in another order too."""
        made = []
        for i in rng.permutation(len(self.parts)):
            scope, logs = self.parts[i]
            order = rng.permutation(len(scope))
            made.append((tuple(scope[axis] for axis in order), np.ascontiguousarray(np.transpose(logs, order))))
        return Case(self.cards, tuple(made))


def random_case(
    rng: np.random.Generator,
    *,
    most: int = 6,
    states: int = 3,
    arity: int = 2,
    zeros: float = 0.0,
    whole: bool = False,
    density: float = 0.5,
) -> Case:
    """A model of single factors and factors of up to `arity` variables, some of one state, often disconnected.

    Args:
        zeros: the share of entries that are zero.
        whole: whether logarithms are small whole numbers, so that there are many ties.
    """
    n = int(rng.integers(1, most + 1))
    cards = tuple(np.where(rng.random(n) < 0.08, 1, rng.integers(2, states + 1, n)).tolist())
    scopes: list[tuple[int, ...]] = [(i,) for i in range(n) if rng.random() < 0.8]
    for size in range(2, min(arity, n) + 1):
        number = int(rng.binomial(math.comb(n, size), density))
        scopes += [tuple(rng.permutation(n)[:size].tolist()) for _ in range(min(number, 2 * n))]
    parts = []
    for scope in scopes:
        shape = [cards[v] for v in scope]
        logs = rng.integers(-2, 3, shape).astype(float) if whole else rng.normal(size=shape)
        parts.append((scope, np.where(rng.random(shape) < zeros, -np.inf, logs)))
    return Case(cards, tuple(parts))
