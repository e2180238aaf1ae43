"""Instructions by panels over three tensors that lie end to end."""

from __future__ import annotations

import math

import numpy as np

from sepset.kernels.compiled import instructions as columns


def panels(sizes, first, second, result, *, swapped=False):
    """One over axes b (batch), m (rows), k (terms), n (columns) of these sizes, or in groups of letters.

    Args:
        sizes: those of b, m, k and n; each a number, or a list of numbers for axes b0, b1 and so on.
        first, second, result: the axes of each tensor, the slowest first, as letters or as names.
    """
    cards, roles = {}, {}
    for letter, size in zip("bmkn", sizes, strict=True):
        parts = {letter: size} if isinstance(size, int) else {f"{letter}{i}": n for i, n in enumerate(size)}
        cards |= parts
        roles[letter] = list(parts)
    strides = []
    for axes in (first, second, result):
        found, step = {}, 1
        for axis in reversed(axes):
            found[axis], step = step, step * cards[axis]
        strides.append(found)
    order = {"b": 2, "m": 2, "k": 1 if swapped else 0, "n": 2}
    rows, op = [], np.zeros(columns.WIDTH, np.int64)
    for place, letter in enumerate("bnkm" if swapped else "bmkn"):
        axes = sorted(roles[letter], key=lambda axis, by=strides[order[letter]]: -by[axis])
        rows += [[cards[axis], *(found.get(axis, 0) for found in strides)] for axis in axes]
        op[columns.NUM_BATCH + place] = len(axes)
        op[columns.BATCH + place] = math.prod(cards[axis] for axis in axes)
    num = [math.prod(cards[axis] for axis in axes) for axes in (first, second, result)]
    op[[columns.KIND, columns.SWAPPED, columns.ROLES]] = columns.PANELS, int(swapped), 2
    op[[columns.B, columns.DST, columns.SIZE, columns.COUNT]] = num[0], num[0] + num[1], num[2], 2
    op[[columns.TENSOR_A, columns.TENSOR_B, columns.TENSOR_D]] = 0, 1, 2
    loops = [[1, 0, 0, 0], [math.prod(cards.values()), 1, 1, 1]]
    return op, np.array([*loops, *rows], np.int64)
