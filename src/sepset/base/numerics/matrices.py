"""Large matrices, their products and triangular factors, made in parts between which Ctrl-C and the time are heeded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.threads import abandonable, require_time

OPERATIONS = 1 << 28
"""The multiplications of one part, which take less than a tenth of a second."""

ENTRIES = 1 << 20
"""The entries of one part: to write them takes as long where there are few multiplications for each."""

PANEL = 128
"""The columns of a triangular factor that are made at once."""

T = TypeVar("T")


def parts(count: int, operations: float, entries: float) -> Iterator[slice]:
    """Consecutive parts of a number of rows, each of which takes only moments.

    Args:
        count: the number of rows.
        operations: the multiplications of a row.
        entries: the entries that a row writes.

    >>> [(part.start, part.stop) for part in parts(5, 2.0**27, 10.0)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, int(min(OPERATIONS / max(operations, 1.0), ENTRIES / max(entries, 1.0))))
    for first in range(0, count, step):
        require_time()
        yield slice(first, min(first + step, count))


def decomposed(call: Callable[[], T], shape: tuple[int, ...]) -> T:
    """The result of a call that decomposes a matrix of a shape; a long one is left behind at an interrupt.

    >>> decomposed(lambda: np.linalg.eigvalsh(np.eye(2)), (2, 2)).tolist()
    [1.0, 1.0]
    """
    least = float(min(shape, default=0))
    return call() if least**2 * max(shape, default=0) <= OPERATIONS else abandonable(call)


def full(shape: tuple[int, int], value: float) -> Floats:
    """A matrix of one number.

    >>> full((1, 2), 0.5).tolist()
    [[0.5, 0.5]]
    """
    out = np.empty(shape)
    for part in parts(len(out), 0.0, shape[1]):
        out[part] = value
    return out


def product(left: Floats, right: Floats) -> Floats:
    """The product of two matrices.

    >>> product(np.array([[1.0, 2.0]]), np.eye(2)).tolist()
    [[1.0, 2.0]]
    """
    rows, columns = len(left), right.shape[1]
    if rows * columns * max(len(right), 1) <= OPERATIONS and rows * columns <= ENTRIES:
        return np.asarray(left @ right)
    out = np.empty((rows, columns))
    for part in parts(rows, len(right) * columns, columns):
        np.matmul(left[part], right, out=out[part])
    return out


def squares(rows: Floats) -> Floats:
    r"""The products $A A^\top$ of all pairs of rows: a symmetric matrix.

    >>> squares(np.array([[1.0, 2.0], [3.0, 0.0]])).tolist()
    [[5.0, 3.0], [3.0, 9.0]]
    """
    count, length = rows.shape
    if count * count * max(length, 1) <= OPERATIONS and count * count <= ENTRIES:
        return np.asarray(rows @ rows.T)
    out = np.empty((count, count))
    for part in parts(count, length * count, count):
        out[part, : part.start] = rows[part] @ rows[: part.start].T
        out[part, part] = rows[part] @ rows[part].T
        out[: part.start, part] = out[part, : part.start].T
    return out


def cholesky(matrix: Floats) -> Floats:
    r"""The lower triangle $L$ with $L L^\top$ the given matrix; `LinAlgError` if that is not positive definite.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 2.0]])).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    size = len(matrix)
    if size**3 <= 3 * OPERATIONS:
        return np.asarray(np.linalg.cholesky(matrix))
    found = np.zeros((size, size))
    for first in range(0, size, PANEL):
        last = min(first + PANEL, size)
        left = matrix[first:, first:last] - product(found[first:, :first], found[first:last, :first].T)
        corner = np.linalg.cholesky(left[: last - first])
        found[first:last, first:last] = corner
        found[last:, first:last] = np.linalg.solve(corner, left[last - first :].T).T
    return found


def inverse_from(factor: Floats) -> Floats:
    r"""The inverse of $L L^\top$, from the lower triangle $L$: a symmetric matrix.

    >>> inverse_from(np.array([[2.0, 0.0], [0.0, 0.5]])).tolist()
    [[0.25, 0.0], [0.0, 4.0]]
    """
    size = len(factor)
    found = np.zeros((size, size))
    for first in range(0, size, PANEL):
        last = min(first + PANEL, size)
        corner = np.linalg.inv(factor[first:last, first:last])
        found[first:last, first:last] = corner
        found[first:last, :first] = -corner @ product(factor[first:last, :first], found[:first, :first])
    return squares(found.T)


def triangle(rows: Floats) -> Floats:
    """A square matrix with the products of these rows.

    >>> np.abs(triangle(np.array([[3.0], [4.0]]))).tolist()
    [[5.0]]
    """
    found = np.asarray(decomposed(lambda: np.linalg.qr(rows, mode="r"), rows.shape))
    return np.concatenate([found, np.zeros((rows.shape[1] - len(found), rows.shape[1]))])
