"""Rectangles packed in rows: the parts of a picture side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

ASPECT = 1.6
"""The wanted ratio of width to height."""


def packed(sizes: Sequence[tuple[float, float]], gap: float) -> tuple[list[tuple[float, float]], float, float]:
    """The left upper corner of each rectangle, and the width and height of all; the tallest come first.

    >>> packed([(2.0, 1.0), (4.0, 3.0), (1.0, 1.0)], 1.0)
    ([(0.0, 4.0), (0.0, 0.0), (3.0, 4.0)], 4.0, 5.0)
    """
    area = sum((w + gap) * (h + gap) for w, h in sizes)
    limit = max([math.sqrt(ASPECT * area), *(w for w, _ in sizes)])
    corners = [(0.0, 0.0)] * len(sizes)
    x = y = row = width = 0.0
    for k in sorted(range(len(sizes)), key=lambda k: (-sizes[k][1], -sizes[k][0], k)):
        w, h = sizes[k]
        if x and x + w > limit:
            x, y, row = 0.0, y + row + gap, 0.0
        corners[k] = (x, y)
        row, width = max(row, h), max(width, x + w)
        x += w + gap
    return corners, width, y + row
