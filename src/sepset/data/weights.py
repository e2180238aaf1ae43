"""Row weights: checked once, at the border."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.errors import DataError


def checked_weights(weights: ArrayLike, num_rows: int) -> Floats:
    """A read-only copy of row weights: one a row, finite and not negative; the offending row is named.

    >>> checked_weights([1, 0.5], 2)
    array([1. , 0.5])
    """
    try:
        array = np.array(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"Weights are numbers, one a row; found {weights!r}.") from error
    if array.shape != (num_rows,):
        raise DataError(f"Weights are numbers, one a row; found the shape {array.shape} for {num_rows} rows.")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"Weights are finite and not negative; row {row} has {array[row]}. Drop that row.")
    with np.errstate(over="ignore"):
        if not np.isfinite(array.sum()):
            raise DataError("Weights add up to more than a float holds. Divide them by the largest.")
    array.setflags(write=False)
    return array
