"""The length of a step along a direction: it rises enough and leaves little slope (the strong Wolfe conditions)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats

RISE, FLATTENING = 1e-4, 0.9
"""The share of the predicted rise that a step must achieve, and the share of the slope that it may leave."""

TRIALS = 30
ROUNDING = 1e-16
"""A predicted rise below this share of the value, or of one, is lost in rounding."""


class Place(NamedTuple):
    """Where a search has been: how far along, and value and slope along the direction there."""

    t: float
    value: float
    slope: float


def line_search(
    value: float,
    slope: Floats,
    direction: Floats,
    trial: Callable[[float], tuple[float, Floats]],
    flattening: float = FLATTENING,
) -> float | None:
    r"""The step length $t$ along $d$ with the strong Wolfe conditions, or the best found, or None where none rises.

    $$f(x + t d) \ge f(x) + 10^{-4}\, t\, \nabla f(x)^\top d, \qquad
    |\nabla f(x + t d)^\top d| \le \eta\, \nabla f(x)^\top d$$

    Args:
        value, slope: at $x$.
        trial: value and slope at some distance; a value of -inf is out of bounds.
        flattening: $\eta$; conjugate directions need a small one.

    Reference: Nocedal & Wright, Numerical Optimization, section 3.5.

    >>> line_search(-4.0, np.array([4.0]), np.array([1.0]), lambda t: (-((t - 2) ** 2), np.array([4 - 2 * t])), 0.1)
    2.0
    """
    gain = float(slope @ direction)
    if not gain > 0:
        return None
    low, high, best, t = Place(0.0, value, gain), None, None, 1.0
    for _ in range(TRIALS):
        if t * gain <= ROUNDING * max(abs(value), 1.0) < np.inf:
            break
        new, new_slope = trial(t)
        here = Place(t, new, float(new_slope @ direction))
        if not new >= value + RISE * t * gain:
            high = here._replace(slope=np.nan)
        else:
            best = here if best is None or new > best.value else best
            if abs(here.slope) <= flattening * gain:
                return t
            if here.slope < 0:
                high = here
            else:
                low, t = here, _beyond(low, here)
        t = t if high is None else _between(low, high)
    return None if best is None else best.t


def _beyond(before: Place, here: Place) -> float:
    """Further along, to where the slope would vanish as it does now, within limits."""
    fall = before.slope - here.slope
    ahead = here.slope * (here.t - before.t) / fall if fall > 0 else np.inf
    return here.t + float(np.clip(ahead, 0.5 * here.t, 4.0 * here.t))


def _between(low: Place, high: Place) -> float:
    """Between two places, about where the slope vanishes: by their slopes, or by the values where one fell short."""
    width = high.t - low.t
    if high.slope == high.slope:
        share = low.slope / (low.slope - high.slope)
    else:
        short = low.value + low.slope * width - high.value
        share = 0.5 * low.slope * width / short if 0.0 < short < np.inf else 0.5
    return low.t + float(np.clip(share, 0.1, 0.9)) * width
