r"""Stochastic gradient ascent: a small step after each mini-batch, by its slope.

$$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \quad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2, \quad
x \leftarrow x + \rho_k\, \hat m / (\sqrt{\hat v} + \varepsilon)$$

Rates $\rho_k$ fall with the passes, so that the noise of the batches dies down.

Reference: Robbins & Monro (1951); Kingma & Ba (2015), algorithm 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.learning.incomplete.minibatches import mini_batches
from sepset.learning.incomplete.run import Ascent, Point
from sepset.learning.optimize.unconstrained import Unconstrained

FIRST, SECOND, SMALLEST = 0.9, 0.99, 1e-8
"""How much of the mean slope and of the mean square is kept, and what keeps steps bounded where both vanish."""

COOLING = 0.9
"""Rates fall with this power of the passes."""


def stochastic_pass(task: Ascent, point: Point, size: int, rate: float, rng: np.random.Generator) -> Point:
    """The point after one pass over the rows; its objective adds up what each batch was worth when it was met.

    Args:
        size: how many rows a batch has.
        rate: how far the first steps may go along each coordinate.
    """
    vector = Unconstrained.of(task.expectation.blocks)
    edges, share = vector.edges(task.alphas), 1.0 / task.expectation.weights.sum()
    x, model, statistics, worth = vector.pack(point.model), point.model, point.statistics, 0.0
    moments = Moments(*point.memory) if point.memory else Moments.none(len(x))
    batches = list(mini_batches(task, size, rng))
    for batch in batches:
        statistics, log_likelihood = batch.expect(task, model)
        worth += log_likelihood
        moments = moments.updated(share * vector.slope(model, statistics, task.alphas))
        lengths = moments.lengths(rate * (1.0 + moments.steps / len(batches)) ** -COOLING)
        x = shrunk(x + lengths * moments.slope, share * lengths * edges)
        model = vector.unpack(x)
    return task.at(model, statistics, worth, memory=tuple(moments))


class Moments(NamedTuple):
    """Running means of the slope and of its square.

    Attributes:
        steps: how many slopes there were.
        first, second: their sums, later ones counting more.

    >>> Moments.none(1).updated(np.array([2.0])).slope.round(12).tolist()
    [2.0]
    """

    steps: int
    first: Floats
    second: Floats

    @classmethod
    def none(cls, size: int) -> Moments:
        """Before the first slope."""
        return cls(0, np.zeros(size), np.zeros(size))

    def updated(self, slope: Floats) -> Moments:
        """With one slope more."""
        first = FIRST * self.first + (1.0 - FIRST) * slope
        return Moments(self.steps + 1, first, SECOND * self.second + (1.0 - SECOND) * slope**2)

    @property
    def slope(self) -> Floats:
        """The mean slope."""
        return np.asarray(self.first / (1.0 - FIRST**self.steps))

    def lengths(self, rate: float) -> Floats:
        """How far to go for each unit of the mean slope."""
        return np.asarray(rate / (np.sqrt(self.second / (1.0 - SECOND**self.steps)) + SMALLEST))


def shrunk(x: Floats, by: Floats) -> Floats:
    r"""The point that is nearer to zero by this much in each coordinate, but not beyond.

    >>> shrunk(np.array([2.0, -0.5, 1.0]), np.array([0.5, 1.0, 0.0])).tolist()
    [1.5, -0.0, 1.0]
    """
    return np.asarray(np.sign(x) * np.maximum(np.abs(x) - by, 0.0))
