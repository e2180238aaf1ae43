r"""The mean and centered sum of squares of one column in each context, in two passes: no division by row.

$$\bar x = \tfrac1W \sum_m w_m x_m, \qquad
S = \sum_m w_m (x_m - \bar x)^2 - \tfrac1W \bigl(\textstyle\sum_m w_m (x_m - \bar x)\bigr)^2$$

The correction, zero except for rounding, also corrects the mean (Chan, Golub & LeVeque 1983).
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.kernels.kernel import kernel


@kernel
def column_moments(
    places: Ints, column: Floats, weights: Floats, counts: Floats, means: Floats, squares: Floats
) -> None:
    """Fill the moments (initially zero) of the contexts at `places`; a single weight applies to every row."""
    same = len(weights) == 1
    for row in range(len(column)):
        weight = weights[0] if same else weights[row]
        counts[places[row]] += weight
        if weight > 0.0:
            means[places[row]] += weight * column[row]
    for context in range(len(counts)):
        if counts[context] > 0.0:
            means[context] /= counts[context]
    rest = np.zeros(len(counts), np.float64)
    for row in range(len(column)):
        weight, context = (weights[0] if same else weights[row]), places[row]
        if weight > 0.0:
            apart = column[row] - means[context]
            rest[context] += weight * apart
            squares[context] += weight * apart * apart
    for context in range(len(counts)):
        if counts[context] > 0.0:
            shift = rest[context] / counts[context]
            means[context] += shift
            squares[context] = max(squares[context] - shift * rest[context], 0.0)
