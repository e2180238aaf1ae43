"""Limited-memory quasi-Newton ascent, one step at a time: directions from recent slopes, and a line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

RISE, FLATTENING = 1e-4, 0.9
"""How much of the promised rise a step must bring, and how much of the slope it may leave."""

TRIALS = 30


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    r"""Pairs of steps $s$ and falls of the slope $y$, oldest first, about a diagonal guess of the curvature.

    >>> one = Curvature().updated(np.array([1.0]), np.array([4.0]), 5)
    >>> one.direction(np.array([8.0]), np.array([1.0])).tolist()
    [2.0]
    """

    pairs: tuple[tuple[Array, Array], ...] = field(default=(), repr=False)

    def updated(self, step: Array, fall: Array, keep: int) -> Curvature:
        """With one pair more, where it tells of a hill; at most `keep`."""
        if not step @ fall > 1e-12 * np.linalg.norm(step) * np.linalg.norm(fall):
            return self
        return Curvature((*self.pairs, (step, fall))[-keep:])

    def direction(self, slope: Array, scale: Array) -> Array:
        """The way up: the slope times the inverse curvature, which begins as the diagonal `scale`.

        Reference: Nocedal & Wright, Numerical Optimization, algorithm 7.4.
        """
        q, alphas = slope.copy(), []
        for s, y in reversed(self.pairs):
            alphas.append(s @ q / (s @ y))
            q = q - alphas[-1] * y
        factor = 1.0
        if self.pairs:
            s, y = self.pairs[-1]
            factor = float(s @ y / (y @ (scale * y)))
        r = factor * scale * q
        for (s, y), alpha in zip(self.pairs, reversed(alphas), strict=True):
            r = r + s * (alpha - y @ r / (s @ y))
        return np.asarray(r)


def line_search(
    value: float, slope: Array, direction: Array, trial: Callable[[float], tuple[float, Array]]
) -> float | None:
    """How far to go along a direction: a step that rises enough and flattens the slope; None where none rises.

    Args:
        trial: the value and the slope at some distance; a value of -inf is out of bounds.

    Reference: Lewis & Overton (2013), Nonsmooth optimization via quasi-Newton methods.
    """
    gain = float(slope @ direction)
    if not gain > 0:
        return None
    low, high, t = 0.0, np.inf, 1.0
    risen: float | None = None
    for _ in range(TRIALS):
        new, new_slope = trial(t)
        if not new >= value + RISE * t * gain:
            high = t
        elif float(new_slope @ direction) > FLATTENING * gain:
            risen, low = t, t
        else:
            return t
        t = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return risen
