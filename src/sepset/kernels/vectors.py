"""Products of panels on the vector registers of the processor, as the functions that compiled kernels call.

As Python they are what they compute; `kernels.vectorcode` is the machine code that kernels are compiled with. A panel
is a few rows of one operand times a few vectors of another, whose sums all stay in registers: each number that is read
then takes part in many products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LANES = 8
"""Numbers of a vector; on processors with shorter registers it is several of them."""

ROWS, VECTORS = 8, 2
"""Rows and vectors of a panel in Python; compiled kernels have those that the registers have room for."""


def panel_rows() -> int:
    """The largest number of rows of a panel, which is even."""
    return ROWS


def panel_vectors() -> int:
    """The largest number of vectors of a panel."""
    return VECTORS


def panel_product(
    w: Any,
    start: int,
    rows: Any,
    row: int,
    inner: Any,
    first: int,
    v: Any,
    place: int,
    steps: Any,
    begin: int,
    depth: int,
    out: Any,
    target: int,
    places: Any,
    to: int,
    columns: Any,
    column: int,
    next_start: int,
    next_row: int,
    next_target: int,
    next_to: int,
    next_column: int,
    size: int,
    vectors: int,
    lanes: int,
    maximize: bool,
    adds: bool,
) -> None:
    r"""A panel of the sums $d_{ij} = \bigoplus_k w_{ik} v_{kj}$, or of maxima, each row written to `out`.

    Args:
        w, start, rows, row: the entry of row i and term k is `w[start + rows[row + i] + inner[first + k]]`.
        inner, first, depth: the places of the terms in `w`, the first, and their number, at least one.
        v, place, steps, begin: vector j of term k begins at `v[place + steps[begin + k] + LANES * j]`.
        out, target, places, to, columns, column: vector j of row i begins at
            `out[target + places[to + i] + columns[column + j]]`; vectors may have common columns.
        next_start, next_row, next_target, next_to, next_column: the same of the next rows and of the next panel, which
            are brought from memory meanwhile.
        size: the number of rows: `panel_rows`, or half of them.
        vectors: the number of vectors, at most `panel_vectors`.
        lanes: the numbers of a vector that are read and written: `LANES`, or fewer if there is one vector and nothing
            is added.
        adds: whether what `out` has is another term; then vectors have no common columns.
    """
    used = np.arange(lanes)
    read = steps[begin : begin + depth, None, None] + LANES * np.arange(vectors)[:, None] + used
    for i in range(size):
        factors = w[start + rows[row + i] + inner[first : first + depth]]
        products = factors[:, None, None] * v[place + read]
        found = products.max(axis=0) if maximize else products.sum(axis=0)
        written = target + places[to + i] + columns[column : column + vectors, None] + used
        if adds:
            found = np.maximum(out[written], found) if maximize else out[written] + found
        out[written] = found


def copy_vectors(w: Any, place: int, out: Any, to: int, vectors: int) -> None:
    """Copy a few vectors, at most `panel_vectors`."""
    out[to : to + LANES * vectors] = w[place : place + LANES * vectors]


def turn_vectors(
    w: Any, place: int, columns: Any, begin: int, out: Any, to: int, targets: Any, first: int, step: int, unit: int
) -> None:
    """Copy a square, whose columns are vectors in one array, so that its rows are vectors in another one.

    Args:
        w, place, columns, begin: column j begins at `w[place + columns[begin + j]]`.
        out, to, targets, first, step: row i begins at `out[to + targets[first + i * step]]`.
        unit: how many neighbors are one entry of the square: 1, 2 or 4; a side has `LANES // unit` entries.
    """
    side = LANES // unit
    for i in range(side):
        read = place + columns[begin : begin + side, None] + unit * i + np.arange(unit)
        start = to + targets[first + i * step]
        out[start : start + LANES] = np.ravel(w[read])
