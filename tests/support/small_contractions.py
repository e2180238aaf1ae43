"""Small tables on ranks with their sums by einsum, and kernels run as plain Python."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from sepset.kernels.kernel import load


class Inputs(NamedTuple):
    """Tables on ascending ranks; every rank is mentioned."""

    cards: list
    scopes: list
    tables: list

    @property
    def ranks(self):
        return tuple(range(len(self.cards)))

    @property
    def rows(self):
        return compressed(self.scopes)

    @property
    def floats(self):
        return np.array(self.cards, dtype=np.float64)


def random_table(rng, cards, scope):
    shape = tuple(cards[r] for r in scope)
    return np.where(rng.random(shape) < 0.2, 0.0, rng.uniform(0.1, 2.0, shape))


def random_inputs(rng, most=6):
    """Scopes of up to three ranks, also empty and equal ones, with one to four states; about a fifth zeros."""
    num = int(rng.integers(0, most + 1))
    cards = rng.integers(1, 5, num).tolist()
    scopes = [tuple(sorted(rng.permutation(num)[: rng.integers(0, 4)].tolist())) for _ in range(rng.integers(0, 8))]
    scopes += [(r,) for r in range(num) if not any(r in scope for scope in scopes)]
    return Inputs(cards, scopes, [random_table(rng, cards, scope) for scope in scopes])


def compressed(rows):
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return start, np.array([m for row in rows for m in row], dtype=np.int64)


def listed(start, members):
    return [tuple(members[i:j].tolist()) for i, j in itertools.pairwise(start)]


def product(tables, scopes, cards, ranks, out, fold=np.sum):
    """The product of all tables over `ranks`, folded to the ranks `out`, ascending."""
    operands = [(np.ones(cards[r]), [r]) for r in ranks]
    operands += [(np.asarray(t), list(s)) for t, s in zip(tables, scopes, strict=True)]
    whole = np.einsum(*(part for pair in operands for part in pair), list(ranks)) if operands else np.ones(())
    return fold(whole, axis=tuple(i for i, r in enumerate(ranks) if r not in out))


def follow(steps, scopes, inputs, fold=np.sum):
    """Every tensor by number: one, the inputs, then what each step says it is."""
    tensors = {0: np.ones(()), **dict(enumerate(inputs.tables, start=1))}
    for d, a, b in steps:
        ranks = sorted({*scopes[a], *scopes[b]})
        pair = [tensors[a], tensors[b]], [scopes[a], scopes[b]]
        tensors[d] = product(*pair, inputs.cards, ranks, scopes[d], fold)
    return tensors


def size_of(scope, cards):
    return math.prod(cards[r] for r in scope)


def uncompile(patch, *modules):
    """Let the kernels of these modules run, and call each other, as Python: where an index too far is an error."""
    load()
    for module in modules:
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                patch.setattr(module, name, value.py_func)
