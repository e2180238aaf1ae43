r"""Pictures that are too wide, made narrower: the items of a layer stay in order, and as near as they can.

$$\min_y \sum_i (y_i - s x_i)^2 \quad\text{with}\quad y_{i+1} - y_i \ge d_{i, i+1}$$

After the distances before each item are subtracted this is isotonic regression, solved by pooling neighbors that are
out of order.

Reference: Barlow, Bartholomew, Bremner & Brunk (1972); Gansner, Koutsofios, North & Vo (1993), section 4.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

Separation = Callable[[int, int], float]


def squeezed(rows: Sequence[Sequence[int]], xs: Sequence[float], *, separation: Separation) -> list[float]:
    """The places of items on axes as narrow as the widest layer allows.

    Args:
        rows: the items of each layer, from left to right.
        xs: where they are.
        separation: the least distance of two neighbors.

    >>> squeezed([[0, 1], [2, 3]], [0.0, 90.0, 40.0, 50.0], separation=lambda a, b: 10.0)
    [0.0, 10.0, 0.0, 10.0]
    """
    widest = max((sum(itertools.starmap(separation, itertools.pairwise(row))) for row in rows), default=0.0)
    spread = max(xs, default=0.0) - min(xs, default=0.0)
    scale = widest / spread if spread > 0 else 1.0
    if scale >= 1.0:
        return list(xs)
    found = list(xs)
    for row in rows:
        before = list(itertools.accumulate(itertools.starmap(separation, itertools.pairwise(row)), initial=0.0))
        level = isotonic([scale * xs[item] - gap for item, gap in zip(row, before, strict=True)])
        for item, value, gap in zip(row, level, before, strict=True):
            found[item] = value + gap
    return found


def isotonic(values: Sequence[float]) -> list[float]:
    """The nearest nondecreasing sequence, in squares.

    >>> isotonic([1.0, 3.0, 2.0, 4.0])
    [1.0, 2.5, 2.5, 4.0]
    """
    blocks: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while blocks and blocks[-1][0] * count > total * blocks[-1][1]:
            more, number = blocks.pop()
            total, count = total + more, count + number
        blocks.append((total, count))
    return [total / count for total, count in blocks for _ in range(count)]
