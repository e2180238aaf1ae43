r"""Faster EM: steps further along its path, taken where they rise at least as much as a step would.

An M-step from $\theta$ to $\theta'$ raises the objective by at least

$$E_{\theta}[\log P(\mathcal D, \mathcal H \mid \theta')] - E_{\theta}[\log P(\mathcal D, \mathcal H \mid \theta)],$$

which needs no further E-step. A proposal that does not rise as much is dropped for the step itself; so the objective
never falls, and a run that ends by its tolerance ends where EM would.

Reference: McLachlan & Krishnan (2008), The EM Algorithm and Extensions, chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.learning.blocks import FlatStatistics
from sepset.learning.incomplete.run import EMTask, Iterate
from sepset.learning.optimize.directions import conjugate, within
from sepset.learning.optimize.objective import FAILURES
from sepset.models.bayesnet import BayesNet

SMALLEST_SHARE = 0.1
"""The smallest share of an expected count that an extrapolation keeps."""

LARGEST_RATE = 0.99
"""The largest rate of convergence that an extrapolation of single statistics assumes."""

FLATTENING = 0.3
"""The largest share of the slope that may remain after a step along a conjugate direction."""


class Acceleration(Protocol):
    """A way to go further than a step of EM."""

    def proposed(self, task: EMTask, state: Iterate, made: BayesNet) -> Iterate | None:
        """An iterate beyond the network that the M-step made; None where earlier steps do not determine one."""

    def remembered(self, task: EMTask, state: Iterate, made: BayesNet) -> tuple[Any, ...]:
        """The memory of a plain step from an iterate to the network that the M-step made."""


def accelerated(acceleration: Acceleration, task: EMTask, state: Iterate, made: BayesNet) -> Iterate:
    """The proposed iterate, if it rises at least as much as EM is known to; otherwise that of the M-step."""
    blocks = task.expectation.blocks
    score = [blocks.score(m, state.statistics) + blocks.log_prior(m, task.terms) for m in (state.model, made)]
    found = acceleration.proposed(task, state, made)
    if found is not None and found.objective >= state.objective + max(score[1] - score[0], 0.0):
        return found
    return task.evaluate(made, memory=acceleration.remembered(task, state, made))


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """Every third step extrapolates the statistics of the last three iterates.

    Attributes:
        path: statistics extrapolated from three, or None where they do not determine a direction.
    """

    path: Callable[[FlatStatistics, FlatStatistics, FlatStatistics], FlatStatistics | None]

    def proposed(self, task: EMTask, state: Iterate, made: BayesNet) -> Iterate | None:
        """The iterate that the M-step makes from extrapolated statistics."""
        if len(state.memory) < 2:
            return None
        before, between = state.memory
        target = self.path(before, between, state.statistics)
        if target is None:
            return None
        try:
            return task.evaluate(task.maximize(state.model, _positive(target, state)))
        except FAILURES:
            return None

    def remembered(self, task: EMTask, state: Iterate, made: BayesNet) -> tuple[FlatStatistics, ...]:
        """The statistics of the last two iterates."""
        return (*(state.memory if len(state.memory) < 2 else ()), state.statistics)


def _positive(target: FlatStatistics, state: Iterate) -> FlatStatistics:
    """Statistics whose positive counts stay positive; matrices of moments are checked where they are used."""
    pairs = zip(target, state.statistics, strict=True)
    return tuple(np.maximum(t, SMALLEST_SHARE * s) if s.ndim == 1 else t for t, s in pairs)


@dataclass(frozen=True, slots=True)
class ConjugateSteps:
    """Every step is that of EM made conjugate to the last one, with a line search.

    Reference: Jamshidian & Jennrich (1993), Conjugate gradient acceleration of the EM algorithm.
    """

    def proposed(self, task: EMTask, state: Iterate, made: BayesNet) -> Iterate | None:
        """The end of a line search along the conjugate direction, or along the step itself where that does not rise."""
        objective = task.objective
        slope, ahead = objective.steepest(state), objective.vector.pack(made) - objective.vector.pack(state.model)
        direction = ahead
        if state.memory:
            step, before = state.memory
            direction = within(conjugate(ahead, step, before - objective.slope(state)), slope, objective.kinks)
        if not slope @ direction > 0:
            direction = ahead
        found = objective.search(state, slope, direction, FLATTENING)
        return None if found is None else replace(found, memory=self.remembered(task, state, found.model))

    def remembered(self, task: EMTask, state: Iterate, made: BayesNet) -> tuple[Floats, Floats]:
        """The step, and the slope before it."""
        objective = task.objective
        return objective.vector.pack(made) - objective.vector.pack(state.model), objective.slope(state)


def squarem(before: FlatStatistics, between: FlatStatistics, now: FlatStatistics) -> FlatStatistics | None:
    r"""Statistics further along the path of the last three, or None where they do not determine a direction.

    $$s' = s_0 - 2\alpha r + \alpha^2 v, \qquad r = s_1 - s_0, \; v = s_2 - s_1 - r, \; \alpha = -\|r\| / \|v\|$$

    Reference: Varadhan & Roland (2008), scheme S3.

    >>> squarem((np.array([0.0]),), (np.array([0.5]),), (np.array([0.75]),))[0].tolist()
    [1.0]
    """
    r = [b - a for a, b in zip(before, between, strict=True)]
    v = [c - b - d for b, c, d in zip(between, now, r, strict=True)]
    length = [float(np.sqrt(sum((part**2).sum() for part in parts))) for parts in (r, v)]
    if length[1] == 0.0 or length[0] <= length[1]:
        return None
    alpha = -length[0] / length[1]
    return tuple(a - 2.0 * alpha * d + alpha**2 * e for a, d, e in zip(before, r, v, strict=True))


def aitken(before: FlatStatistics, between: FlatStatistics, now: FlatStatistics) -> FlatStatistics | None:
    r"""The limits that three successive statistics approach at a steady rate, each statistic by itself.

    $$s' = s_2 + \frac{\rho}{1 - \rho}\,(s_2 - s_1), \qquad
    \rho = \frac{s_2 - s_1}{s_1 - s_0} \text{ within } [0, 0.99]$$

    Reference: Aitken (1926); Laird, Lange & Stram (1987) for EM.

    >>> aitken((np.array([0.0]),), (np.array([0.5]),), (np.array([0.75]),))[0].tolist()
    [1.0]
    """
    return tuple(_limit(*parts) for parts in zip(before, between, now, strict=True))


def _limit(before: Floats, between: Floats, now: Floats) -> Floats:
    first, second = between - before, now - between
    rate = np.divide(second, first, out=np.zeros(np.shape(now)), where=first != 0.0)
    rate = np.clip(rate, 0.0, LARGEST_RATE)
    return np.asarray(now + rate / (1.0 - rate) * second)


ACCELERATIONS: Mapping[str, Acceleration] = {
    "squarem": Extrapolation(squarem),
    "aitken": Extrapolation(aitken),
    "conjugate": ConjugateSteps(),
}
"""The accelerations by name."""
