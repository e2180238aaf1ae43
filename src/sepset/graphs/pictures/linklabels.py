"""The places of edges' labels: next to their curve, clear of boxes, of other edges and of one another if possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.graphs.layered.routes import Curve, Point, sampled
from sepset.graphs.pictures.textsize import text_width

FRACTIONS = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
"""Where along its edge a label may be, the best first."""

ASIDE, RISE, HEIGHT = 4.0, 3.5, 11.0
"""The distance of a label from its edge, its baseline below the point of the edge, and its height."""

TOUCH = 2.0
"""The distance at which a label is too near to the line of an edge, which has a width."""

HEAD_WIDTH, HEAD_LENGTH = 8.0, 11.0
"""The width and length of the largest arrowhead, which labels leave free at the end of every edge."""


class Rectangle(NamedTuple):
    """A rectangle by its sides."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Rectangle) -> float:
        """The area that two rectangles share.

        >>> Rectangle(0, 0, 2, 2).overlap(Rectangle(1, 1, 3, 3))
        1
        """
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across * down if across > 0 and down > 0 else 0.0

    def num_inside(self, points: Floats) -> int:
        """The number of points inside."""
        x, y = points[:, 0], points[:, 1]
        return int(((x > self.left) & (x < self.right) & (y > self.top) & (y < self.bottom)).sum())


def label_places(
    labels: Sequence[str], curves: Sequence[Curve], boxes: Sequence[tuple[float, float, float, float]], *, size: float
) -> list[Point | None]:
    """The left end of the baseline of each edge's label; None for edges without one.

    Each label takes the first of its places that is free, or else the one that hides least.

    Args:
        labels: the label of each edge; empty for none.
        curves: of the edges.
        boxes: the center, width and height of each box.
        size: of the letters.

    >>> label_places(["yes", ""], [[(0.0, 0.0), (0.0, 10.0), (0.0, 20.0), (0.0, 30.0)]] * 2, [], size=10.0)
    [(4.0, 18.5), None]
    """
    if not any(labels):
        return [None] * len(labels)
    taken = [Rectangle(x - w / 2.0, y - h / 2.0, x + w / 2.0, y + h / 2.0) for x, y, w, h in boxes]
    taken += [_head(points) for points in curves if len(points)]
    paths = [np.array(sampled(points, 48)) for points in curves]
    found: list[Point | None] = []
    for label, path in zip(labels, paths, strict=True):
        if not label:
            found.append(None)
            continue
        places = list(_candidates(path, text_width(label, size)))
        best = min(places, key=lambda place: _cost(place, taken, paths))
        taken.append(best)
        found.append((best.left, best.bottom - HEIGHT / 2.0 + RISE))
    return found


def _head(points: Curve) -> Rectangle:
    """The place of an arrowhead at the end of a curve."""
    (x, y), near = points[-1], points[-2]
    back = y - HEAD_LENGTH if near[1] <= y else y + HEAD_LENGTH
    return Rectangle(x - HEAD_WIDTH / 2.0, min(y, back), x + HEAD_WIDTH / 2.0, max(y, back))


def _candidates(path: Floats, width: float) -> Iterator[Rectangle]:
    """The places to the right and to the left of points along the path."""
    for fraction in FRACTIONS:
        x, y = path[round(fraction * (len(path) - 1))].tolist()
        for far in (ASIDE, 2.0 * ASIDE, 3.0 * ASIDE):
            for left in (x + far, x - far - width):
                yield Rectangle(left, y - HEIGHT / 2.0, left + width, y + HEIGHT / 2.0)


def _cost(place: Rectangle, taken: Sequence[Rectangle], paths: Sequence[Floats]) -> float:
    """The area of boxes and labels that a label would hide, and the edges that it would be on or touch."""
    left, top, right, bottom = place
    near = Rectangle(left - TOUCH, top - TOUCH, right + TOUCH, bottom + TOUCH)
    return sum(map(place.overlap, taken)) + 4.0 * sum(near.num_inside(path) for path in paths)
