r"""Stochastic gradient ascent: a small step after each mini-batch, by its slope.

$$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \quad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2, \quad
x \leftarrow x + \rho_k\, \hat m / (\sqrt{\hat v} + \varepsilon)$$

Rates $\rho_k$ fall with the passes, so that the noise of the batches averages out.

Reference: Robbins & Monro (1951); Kingma & Ba (2015), algorithm 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats

FIRST, SECOND, SMALLEST = 0.9, 0.99, 1e-8
"""The decay of the mean slope and of the mean square, and the constant that bounds steps where both vanish."""

COOLING = 0.9
"""The power of the number of passes by which rates fall."""


class SlopeMoments(NamedTuple):
    """Running means of the slope and of its square.

    Attributes:
        steps: the number of slopes so far.
        first, second: their sums, later ones counting more.

    >>> SlopeMoments.none(1).updated(np.array([2.0])).slope.round(12).tolist()
    [2.0]
    """

    steps: int
    first: Floats
    second: Floats

    @classmethod
    def none(cls, size: int) -> SlopeMoments:
        """Before the first slope."""
        return cls(0, np.zeros(size), np.zeros(size))

    def updated(self, slope: Floats) -> SlopeMoments:
        """With one slope more."""
        first = FIRST * self.first + (1.0 - FIRST) * slope
        return SlopeMoments(self.steps + 1, first, SECOND * self.second + (1.0 - SECOND) * slope**2)

    @property
    def slope(self) -> Floats:
        """The mean slope."""
        return np.asarray(self.first / (1.0 - FIRST**self.steps))

    def lengths(self, rate: float) -> Floats:
        """The step length per unit of the mean slope."""
        return np.asarray(rate / (np.sqrt(self.second / (1.0 - SECOND**self.steps)) + SMALLEST))


def shrunk(x: Floats, by: Floats) -> Floats:
    r"""The point moved toward zero by this much in each coordinate, but not beyond.

    >>> shrunk(np.array([2.0, -0.5, 1.0]), np.array([0.5, 1.0, 0.0])).tolist()
    [1.5, -0.0, 1.0]
    """
    return np.asarray(np.sign(x) * np.maximum(np.abs(x) - by, 0.0))
