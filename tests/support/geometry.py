"""The geometry of pictures, from the outside: points of curves, crossings, boxes that overlap or are passed through."""

from __future__ import annotations

import itertools

import numpy as np


def points_of(curve, steps=12):
    """Points along cubic Bézier pieces, by de Casteljau's construction."""
    t = np.linspace(0.0, 1.0, steps + 1)[:, None]
    control = np.asarray(curve, dtype=float)
    found = [control[:1]]
    for k in range(0, len(control) - 3, 3):
        row = [np.broadcast_to(p, (steps + 1, 2)) for p in control[k : k + 4]]
        while len(row) > 1:
            row = [(1.0 - t) * p + t * q for p, q in itertools.pairwise(row)]
        found.append(row[0][1:])
    return np.concatenate(found)


def meetings(one, two):
    """Where two polylines cross."""
    a, r = one[:-1, None], np.diff(one, axis=0)[:, None]
    c, s = two[None, :-1], np.diff(two, axis=0)[None]

    def turn(p, q):
        return p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0]

    with np.errstate(divide="ignore", invalid="ignore"):
        t, u = turn(c - a, s) / turn(r, s), turn(c - a, r) / turn(r, s)
    i, j = np.nonzero((t >= 0) & (t < 1) & (u >= 0) & (u < 1))
    return one[i] + t[i, j][:, None] * np.diff(one, axis=0)[i]


def num_crossings(edges, lines, boxes, *, room=6.0):
    """The number of crossings of polylines; those at a box that two edges share do not count.

    Args:
        edges: the two nodes of each edge.
        lines: the points of each edge.
        boxes: for each node its center and size, `(x, y, width, height)`.
        room: how far from a shared box a meeting still is at its end.
    """
    count = 0
    for i, j in itertools.combinations(range(len(edges)), 2):
        one, two = lines[i], lines[j]
        if (one.min(0) > two.max(0)).any() or (two.min(0) > one.max(0)).any():
            continue
        found = meetings(one, two)
        for x, y, width, height in (boxes[node] for node in set(edges[i]) & set(edges[j])):
            away = (abs(found[:, 0] - x) > width / 2 + room) | (abs(found[:, 1] - y) > height / 2 + room)
            found = found[away]
        count += len(found)
    return count


def overlapping(boxes):
    """Pairs of boxes that overlap."""
    return [
        (i, j)
        for (i, a), (j, b) in itertools.combinations(enumerate(boxes), 2)
        if abs(a[0] - b[0]) < (a[2] + b[2]) / 2 - 1e-6 and abs(a[1] - b[1]) < (a[3] + b[3]) / 2 - 1e-6
    ]


def passed_through(edges, lines, boxes):
    """Pairs of an edge and a box that it goes through; of its own boxes it may only touch the border."""
    return [
        (e, node)
        for e, line in enumerate(lines)
        for node, (x, y, width, height) in enumerate(boxes)
        if ((abs(line[:, 0] - x) < width / 2 - 1e-6) & (abs(line[:, 1] - y) < height / 2 - 1e-6)).any()
    ]


def on_border(point, box):
    """Whether a point is on the border of a box."""
    x, y, width, height = box
    across, down = abs(point[0] - x), abs(point[1] - y)
    inside = across <= width / 2 + 1e-6 and down <= height / 2 + 1e-6
    return inside and (abs(across - width / 2) < 1e-6 or abs(down - height / 2) < 1e-6)
