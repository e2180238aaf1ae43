"""Limited-memory quasi-Newton directions: what recent steps tell of the curvature."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.inference.checkpoint import tagged


@tagged("curvature")
@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    r"""Pairs of steps $s$ and falls of the slope $y$, oldest first, about a diagonal guess of the curvature.

    >>> one = Curvature().updated(np.array([1.0]), np.array([4.0]), 5)
    >>> one.direction(np.array([8.0]), np.array([1.0])).tolist()
    [2.0]
    """

    pairs: tuple[tuple[Floats, Floats], ...] = field(default=(), repr=False)

    def updated(self, step: Floats, fall: Floats, keep: int) -> Curvature:
        """With one pair more, where it tells of a hill; at most `keep`."""
        if not step @ fall > 1e-12 * np.linalg.norm(step) * np.linalg.norm(fall):
            return self
        return Curvature((*self.pairs, (step, fall))[-keep:])

    def direction(self, slope: Floats, scale: Floats) -> Floats:
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
