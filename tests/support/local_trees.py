"""Trees over columns by enumeration, and the tree learner as it is written down: independent of the library."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

Rows = np.ndarray
"""Rows of codes; the child's are last."""

LeafFunction = Callable[[np.ndarray, float], float]
"""The score of a leaf from the counts of the child's states and the share of joint states that reach it."""


def bdeu_leaf(alpha: float) -> LeafFunction:
    def leaf(counts: np.ndarray, share: float) -> float:
        a = alpha * share / len(counts)
        cells = sum(math.lgamma(a + n) - math.lgamma(a) for n in counts)
        return cells + math.lgamma(alpha * share) - math.lgamma(alpha * share + counts.sum())

    return leaf


def k2_leaf(counts: np.ndarray, share: float) -> float:
    r = len(counts)
    return sum(math.lgamma(1 + n) for n in counts) + math.lgamma(r) - math.lgamma(r + counts.sum())


def penalized_leaf(per_parameter: float) -> LeafFunction:
    def leaf(counts: np.ndarray, share: float) -> float:
        total = counts.sum()
        return sum(n * math.log(n / total) for n in counts if n > 0) - per_parameter * (len(counts) - 1)

    return leaf


def counts_of(rows: Rows, weights: np.ndarray, r: int) -> np.ndarray:
    return np.array([weights[rows[:, -1] == state].sum() for state in range(r)])


def branches(rows: Rows, weights: np.ndarray, axis: int, card: int) -> list[tuple[Rows, np.ndarray]]:
    return [(rows[rows[:, axis] == v], weights[rows[:, axis] == v]) for v in range(card)]


def all_scores(
    rows: Rows, weights: np.ndarray, left: Sequence[int], cards: Sequence[int], leaf: LeafFunction, share: float = 1.0
) -> list[float]:
    """The score of every tree over some columns."""
    found = [leaf(counts_of(rows, weights, cards[-1]), share)]
    for axis in left:
        rest = [other for other in left if other != axis]
        sums = [0.0]
        for some, own in branches(rows, weights, axis, cards[axis]):
            below = all_scores(some, own, rest, cards, leaf, share / cards[axis])
            sums = [a + b for a in sums for b in below]
        found += sums
    return found


def grown_score(
    rows: Rows, weights: np.ndarray, left: Sequence[int], cards: Sequence[int], leaf: LeafFunction, share: float = 1.0
) -> float:
    """The score of the tree that splits anyway and prunes on the way back."""
    own = leaf(counts_of(rows, weights, cards[-1]), share)
    left = [axis for axis in left if cards[axis] > 1]
    if not left or not weights.sum() > 0:
        return own
    first = [
        sum(
            leaf(counts_of(r, w, cards[-1]), share / cards[axis]) for r, w in branches(rows, weights, axis, cards[axis])
        )
        for axis in left
    ]
    axis = left[int(np.argmax(np.array(first) > max(first) - 1.5e-8))]
    rest = [other for other in left if other != axis]
    parts = branches(rows, weights, axis, cards[axis])
    return max(own, sum(grown_score(r, w, rest, cards, leaf, share / cards[axis]) for r, w in parts))
