"""The curves of edges: vertical next to boxes, and smooth between layers, where there are no boxes.

Every curve between two layers has the same vertical progress, so that two of them cross at most once, and only if
their orders above and below differ. A curve is a list of points `p, c, c, p, c, c, p ...` of cubic Bézier pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Point = tuple[float, float]
Curve = list[Point]


class Band(NamedTuple):
    """The vertical extent of a layer."""

    top: float
    bottom: float


def ports(width: float, count: int, gap: float) -> list[float]:
    """Where edges meet a side of a box, relative to its center, from left to right, at most `gap` apart.

    >>> ports(100.0, 3, 13.0), ports(20.0, 3, 13.0)
    ([-13.0, 0.0, 13.0], [-6.0, 0.0, 6.0])
    """
    step = min(gap, 0.6 * width / max(1, count - 1))
    return [step * (k - (count - 1) / 2.0) for k in range(count)]


def curve(xs: Sequence[float], bands: Sequence[Band], ends: tuple[float, float]) -> Curve:
    """The curve through one place in each of several layers, downward.

    Args:
        xs: the horizontal place in each layer.
        bands: the extents of these layers.
        ends: the vertical places of the first and the last point.

    >>> curve([0.0, 2.0], [Band(0.0, 4.0), Band(8.0, 12.0)], (4.0, 8.0))
    [(0.0, 4.0), (0.0, 6.0), (2.0, 6.0), (2.0, 8.0)]
    """
    points: Curve = [(xs[0], ends[0])]
    last = len(xs) - 1
    for k in range(last):
        _straight(points, xs[k], bands[k].bottom)
        y, under = bands[k].bottom, bands[k + 1].top
        middle = (y + under) / 2.0
        if xs[k] == xs[k + 1]:
            _straight(points, xs[k], under)
        else:
            points += [(xs[k], middle), (xs[k + 1], middle), (xs[k + 1], under)]
    _straight(points, xs[last], ends[1])
    return points


def _straight(points: Curve, x: float, y: float) -> None:
    """Go on vertically; a piece that is already vertical becomes longer."""
    at = points[-1][1]
    if y == at:
        return
    if len(points) > 3 and all(p[0] == x for p in points[-4:]):
        at = points[-4][1]
        del points[-3:]
    third = (y - at) / 3.0
    points += [(x, at + third), (x, y - third), (x, y)]


def sampled(points: Sequence[Point], steps: int = 12) -> list[Point]:
    """Points along a curve.

    >>> sampled([(0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0)], 3)
    [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0)]
    """
    found = [points[0]]
    for k in range(0, len(points) - 3, 3):
        p, c, d, q = points[k : k + 4]
        for step in range(1, steps + 1):
            t = step / steps
            u = 1.0 - t
            w = (u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t)
            found.append(tuple(round(w[0] * p[i] + w[1] * c[i] + w[2] * d[i] + w[3] * q[i], 9) for i in (0, 1)))  # type: ignore[arg-type]
    return found
