r"""The largest likelihood of noisy-or and logistic families, by Newton's method: both are concave.

A noisy-or has $P(\text{off} \mid \mathbf u) = e^{-z}$ with $z = w_0 + \sum_i w_{i, u_i}$ and weights
$w = -\log(1 - \lambda) \ge 0$, so that rows contribute $-z$ or $\log(1 - e^{-z})$. Where a likelihood grows without
bound of the weights, they grow until it stops improving.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats, Ints
from sepset.base.numerics.optimize import softmax

STEPS = 200
"""The most steps of Newton's method."""

ENOUGH = 1e-10
"""The improvement, in nats, below which it ends."""

RIDGE = 1e-10
"""Added to the curvature, as a share of its mean, where rows do not tell weights apart."""

Objective = Callable[[Floats], float]
Slopes = Callable[[Floats], tuple[Floats, Floats]]


def indicators(codes: AnyInts, cards: Sequence[int], off: Sequence[int]) -> Floats:
    """A column of ones, then one for each state of each parent but the one that is off.

    >>> indicators(np.array([[0, 1, 2]]), [3], [1]).tolist()
    [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    """
    parts = [np.ones((codes.shape[1], 1))]
    for column, card, without in zip(codes, cards, off, strict=True):
        states = [state for state in range(card) if state != without]
        parts.append((column[:, None] == np.array(states)[None, :]).astype(np.float64))
    return np.concatenate(parts, axis=1)


def noisy_or_likelihood(features: Floats, is_on: AnyInts, weights: Floats) -> float:
    """The largest log-likelihood of a noisy-or with a leak.

    Args:
        features: as `indicators` gives them.
        is_on: whether the child is on in each row.
        weights: one per row, positive.
    """
    on, off = weights * (is_on == 1), weights * (is_on != 1)

    def value(w: Floats) -> float:
        z = features @ w
        with np.errstate(divide="ignore"):
            return float(np.log(-np.expm1(-z[on > 0])) @ on[on > 0] - off @ z)

    def slopes(w: Floats) -> tuple[Floats, Floats]:
        z = np.maximum(features @ w, 1e-300)
        odds = np.where(on > 0, 1.0 / np.expm1(np.minimum(z, 700.0)), 0.0)
        return features.T @ (on * odds - off), (features.T * (on * odds * (1.0 + odds))) @ features

    return newton(value, slopes, np.full(features.shape[1], 0.1), floor=0.0)


def logistic_likelihood(features: Floats, child: AnyInts, weights: Floats, r: int) -> float:
    """The largest log-likelihood of a logistic CPD with `r` states."""
    if r == 1:
        return 0.0
    is_state = (child[:, None] == np.arange(1, r)).astype(np.float64)
    p = features.shape[1]

    def shares(w: Floats) -> Floats:
        logits = np.zeros((len(features), r))
        logits[:, 1:] = features @ w.reshape(p, r - 1)
        return softmax(logits)

    def value(w: Floats) -> float:
        with np.errstate(divide="ignore"):
            return float(np.log(shares(w)[np.arange(len(child)), child]) @ weights)

    def slopes(w: Floats) -> tuple[Floats, Floats]:
        each = shares(w)[:, 1:]
        slope = features.T @ (weights[:, None] * (is_state - each))
        spread = each[:, :, None] * (np.eye(r - 1) - each[:, None, :]) * weights[:, None, None]
        curvature = np.einsum("ia,icd,ib->acbd", features, spread, features, optimize=True)
        return slope.reshape(-1), curvature.reshape(p * (r - 1), -1)

    return newton(value, slopes, np.zeros(p * (r - 1)))


def newton(value: Objective, slopes: Slopes, start: Floats, floor: float = -np.inf) -> float:
    """The maximum of a concave function, whose arguments are at least `floor`."""
    w, best = start, value(start)
    for _ in range(STEPS):
        slope, curvature = slopes(w)
        free: Ints = np.flatnonzero((w > floor) | (slope > 0))
        inner = curvature[np.ix_(free, free)]
        inner[np.diag_indices(len(free))] += RIDGE * max(float(np.trace(inner)) / max(len(free), 1), 1e-300)
        step = np.zeros(len(w))
        step[free] = np.linalg.lstsq(inner, slope[free], rcond=None)[0]
        w, found = _searched(value, w, step, floor, best)
        if not found > best + ENOUGH:
            return max(found, best)
        best = found
    return best


def _searched(value: Objective, w: Floats, step: Floats, floor: float, best: float) -> tuple[Floats, float]:
    """The first of ever shorter steps that improves; the point itself if none does."""
    share = 1.0
    while share > 1e-10:
        tried = np.maximum(w + share * step, floor)
        found = value(tried)
        if found > best:
            return tried, found
        share /= 2
    return w, best
