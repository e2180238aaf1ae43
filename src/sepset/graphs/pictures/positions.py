"""The layout of boxes whose places are given: scaled until none overlap, with edges bent around other boxes.

With centers :math:`(x_i, y_i)` and sizes :math:`(w_i, h_i)`, boxes `i` and `j` are apart if the scale is at least
:math:`min((w_i + w_j) / 2 |x_i - x_j|, (h_i + h_j) / 2 |y_i - y_j|)`; the scale of the picture is the largest of these
over all pairs, and 1 if that is enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.graphs.layered.layout import Layout
from sepset.graphs.layered.routes import Curve, Point

GAP, CLEAR = 16.0, 3.0
"""The least distance between boxes, and between an edge and a box that it passes."""
LONGEST = 10_000.0
"""The largest width or height of a picture with given places."""
MOST_BOXES = 1_000
"""The most boxes whose places are compared."""
WORK, OVERHEAD = 20_000_000, 1_000
"""The comparisons of points with boxes that all edges share in their search for bends, and the cost of each try."""
STEP, MOST_STEPS = 6.0, 400
"""The distance of two points of an edge that are tested, and the most of them."""
BENDS = (0.0, 0.12, -0.12, 0.25, -0.25, 0.4, -0.4, 0.6, -0.6, 0.9, -0.9)
"""How far an edge bends to a side, relative to its length; the first that is free is taken."""
TURNS = (0.5, 0.25, 0.75)
"""Where along an edge it bends most."""


def positioned(
    sizes: Sequence[tuple[float, float]], positions: Sequence[Point], pairs: Sequence[tuple[int, int]]
) -> Layout | None:
    """The layout with the boxes in given places; None if some coincide, or the picture would be too large.

    Args:
        sizes: the width and height of each box.
        positions: the center of each box, in any unit.
        pairs: the numbers of the two boxes that each edge joins.

    >>> found = positioned([(20, 10), (20, 10)], [(0.0, 0.0), (0.0, 100.0)], [(0, 1)])
    >>> found.centers, found.curves[0][0], found.curves[0][-1]
    ([(10.0, 5.0), (10.0, 105.0)], (10.0, 10.0), (10.0, 100.0))
    """
    if not sizes or len(sizes) > MOST_BOXES:
        return None
    extents, places = np.asarray(sizes, np.float64), np.asarray(positions, np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        places = places - places.min(axis=0)
        centers = places * _scale(extents, places)
    if not np.isfinite(centers).all() or centers.max() > LONGEST:
        return None
    boxes = np.concatenate([centers - extents / 2.0, centers + extents / 2.0], axis=1)
    curves = [_route(boxes, a, b, WORK // len(pairs)) for a, b in pairs]
    return _moved(boxes, centers, curves)


def _scale(sizes: Floats, places: Floats) -> float:
    """The scale at which no boxes overlap: 1 if that is large enough and the picture not too large."""
    room = (sizes[:, None] + sizes[None]) / 2.0 + GAP
    apart = np.abs(places[:, None] - places[None])
    needed = (room / apart).min(axis=2)
    np.fill_diagonal(needed, 0.0)
    least = float(needed.max())
    return max(1.0, least) if places.max() <= LONGEST else least


def _route(boxes: Floats, a: int, b: int, work: int) -> Curve:
    """The curve from one box to another that bends least and passes through no box; straight if none is found."""
    straight: Curve = []
    for points in _candidates(boxes[a], boxes[b]):
        straight = straight or points
        is_free, spent = _is_free(points, boxes, a, b)
        work -= spent
        if is_free:
            return points
        if work < 0:
            break
    return straight


def _candidates(start: Floats, end: Floats) -> Iterator[Curve]:
    """Curves between the borders of two boxes, the straight one first."""
    p, q = (start[:2] + start[2:]) / 2.0, (end[:2] + end[2:]) / 2.0
    along = q - p
    side = np.array([-along[1], along[0]])
    for bend in BENDS:
        for turn in TURNS if bend else TURNS[:1]:
            through = p + turn * along + bend * side
            first, last = _border(start, through), _border(end, through)
            yield [_point(z) for z in (first, first + (through - first) * 2 / 3, last + (through - last) * 2 / 3, last)]


def _point(values: Floats) -> Point:
    return float(values[0]), float(values[1])


def _border(box: Floats, toward: Floats) -> Floats:
    """Where the line from the center of a box to a point meets its border."""
    center, half = (box[:2] + box[2:]) / 2.0, (box[2:] - box[:2]) / 2.0
    ray = toward - center
    shares = [abs(r) / h for r, h in zip(ray.tolist(), half.tolist(), strict=True)]
    return np.asarray(center + ray / max(*shares, 1e-9))


def _is_free(points: Curve, boxes: Floats, a: int, b: int) -> tuple[bool, int]:
    """Whether a curve stays outside all boxes: off its own, and clear of the others; and the work to find out."""
    line = _sampled(points)
    margins = np.full((len(boxes), 1), CLEAR)
    margins[[a, b]] = -0.01
    low, high = boxes[:, :2] - margins, boxes[:, 2:] + margins
    near = np.flatnonzero(((line.max(axis=0) >= low) & (line.min(axis=0) <= high)).all(axis=1))
    inside: Bools = ((line[:, None] > low[near]) & (line[:, None] < high[near])).all(axis=2)
    return not inside.any(), OVERHEAD + inside.size


def _sampled(points: Curve) -> Floats:
    """Points along a cubic curve, close enough that none passes a box unseen."""
    control = np.asarray(points)
    length = float(np.hypot(*np.diff(control, axis=0).T).sum())
    t = np.linspace(0.0, 1.0, min(MOST_STEPS, 2 + math.ceil(length / STEP)))[:, None]
    u = 1.0 - t
    return np.asarray(
        u**3 * control[0] + 3.0 * u * u * t * control[1] + 3.0 * u * t * t * control[2] + t**3 * control[3]
    )


def _moved(boxes: Floats, centers: Floats, curves: Sequence[Curve]) -> Layout:
    """The layout with its left upper corner at 0."""
    extremes = [boxes[:, :2], boxes[:, 2:], *map(_sampled, curves)]
    low = np.min([part.min(axis=0) for part in extremes], axis=0)
    high = np.max([part.max(axis=0) for part in extremes], axis=0)
    moved = [[_point(np.asarray(z) - low) for z in points] for points in curves]
    width, height = (high - low).tolist()
    return Layout([_point(z) for z in centers - low], moved, width, height)
