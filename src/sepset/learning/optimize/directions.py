r"""Ascent directions from the slope and from recent steps: quasi-Newton, conjugate, steepest; and around kinks.

A Laplace prior takes $\lambda_i |x_i|$ off the objective, which has a kink at zero: there the ascent direction is the
slope as far as it is steeper than the kink, and a step ends at zero rather than cross it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.inference.checkpoint import tagged
from sepset.learning.optimize.linesearch import FLATTENING


@tagged("curvature")
@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    r"""Recent steps $s$ and gradient differences $y$, oldest first, about a diagonal guess of the curvature.

    Limited-memory quasi-Newton directions come from them.

    >>> one = Curvature().updated(np.array([1.0]), np.array([4.0]), 5)
    >>> one.direction(np.array([8.0]), np.array([1.0])).tolist()
    [2.0]
    """

    pairs: tuple[tuple[Floats, Floats], ...] = field(default=(), repr=False)

    def updated(self, step: Floats, fall: Floats, keep: int) -> Curvature:
        """With one pair more, where the objective bends down along it; at most `keep`."""
        if not step @ fall > 1e-12 * np.linalg.norm(step) * np.linalg.norm(fall):
            return self
        return Curvature((*self.pairs, (step, fall))[-keep:])

    def direction(self, slope: Floats, scale: Floats) -> Floats:
        """The ascent direction: the slope times the inverse curvature, which begins as the diagonal `scale`.

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


class Directions(NamedTuple):
    """One way to choose directions.

    Attributes:
        ahead: the direction, given recent steps with the gradient differences, the slope, and a diagonal guess of the
            inverse curvature.
        memory: the number of steps it uses; None for as many as asked for.
        flattening: the largest share of the slope that its line searches may leave.
    """

    ahead: Callable[[Curvature, Floats, Floats], Floats]
    memory: int | None
    flattening: float


def conjugate(ahead: Floats, step: Floats, fall: Floats) -> Floats:
    r"""A direction conjugate to the last step $s$, along which the slope fell by $y$.

    $$d = a + \beta s, \qquad \beta = \max(0, -a^\top y / s^\top y)$$

    Args:
        ahead: $a$, the (scaled) slope, or any step that rises, such as that of EM.

    Reference: Hestenes & Stiefel (1952); after an exact line search it is that of Polak & Ribiere.

    >>> conjugate(np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.array([2.0, -1.0])).tolist()
    [0.5, 1.0]
    """
    bend = float(step @ fall)
    return ahead + max(0.0, -float(ahead @ fall) / bend) * step if bend > 0 else ahead


def _conjugate(memory: Curvature, slope: Floats, scale: Floats) -> Floats:
    return conjugate(scale * slope, *memory.pairs[-1]) if memory.pairs else scale * slope


DIRECTIONS: Mapping[str, Directions] = {
    "lbfgs": Directions(Curvature.direction, None, FLATTENING),
    "conjugate": Directions(_conjugate, 1, 0.3),
    "steepest": Directions(lambda memory, slope, scale: scale * slope, 0, 0.5),
}
"""The directions by name."""


def steepest(x: Floats, slope: Floats, kinks: Floats) -> Floats:
    r"""The slope of $f(x) - \sum_i \lambda_i |x_i|$; at a kink the part of the slope that is steeper than it.

    Args:
        slope: of $f$.
        kinks: $\lambda$.

    Reference: Andrew & Gao (2007), Scalable training of L1-regularized log-linear models.

    >>> steepest(np.array([1.0, 0.0, 0.0]), np.array([2.0, 0.5, -3.0]), np.ones(3)).tolist()
    [1.0, 0.0, -2.0]
    """
    at_kink = np.sign(slope) * np.maximum(np.abs(slope) - kinks, 0.0)
    return np.where(x == 0.0, at_kink, slope - kinks * np.sign(x))


def within(direction: Floats, slope: Floats, kinks: Floats) -> Floats:
    """The direction without coordinates that have a kink and would go against the slope.

    >>> within(np.array([1.0, -2.0]), np.array([1.0, 1.0]), np.array([0.0, 0.5])).tolist()
    [1.0, 0.0]
    """
    return np.where((kinks == 0.0) | (direction * slope > 0.0), direction, 0.0)


def stopped(x: Floats, slope: Floats, kinks: Floats, ahead: Floats) -> Floats:
    """The point ahead, with coordinates that would cross a kink stopped on it.

    >>> stopped(np.array([1.0, 0.0]), np.array([-1.0, 1.0]), np.ones(2), np.array([-0.5, 2.0])).tolist()
    [0.0, 2.0]
    """
    side = np.where(x == 0.0, np.sign(slope), np.sign(x))
    return np.where((kinks > 0.0) & (ahead * side <= 0.0), 0.0, ahead)
