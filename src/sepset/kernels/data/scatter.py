r"""Means and centered sums of squares of each context, one row at a time (Welford 1962; West 1979 for weights).

$$\bar x \leftarrow \bar x + \tfrac{w}{W} (x - \bar x), \qquad
S \leftarrow S + w (1 - \tfrac{w}{W}) (x - \bar x)(x - \bar x)^\top$$
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.kernels.kernel import kernel


@kernel
def add_rows(places: Ints, rows: Floats, weights: Floats, counts: Floats, means: Floats, scatters: Floats) -> None:
    """Add `rows[row, variable]` with their weights to the moments of the contexts at `places`."""
    size = rows.shape[1]
    delta = np.empty(size, np.float64)
    for row in range(len(rows)):
        context, weight = places[row], weights[row]
        if weight == 0.0:
            continue
        counts[context] += weight
        share = weight / counts[context]
        for i in range(size):
            delta[i] = rows[row, i] - means[context, i]
            means[context, i] += share * delta[i]
        rest = weight * (1.0 - share)
        for i in range(size):
            for j in range(i + 1):
                scatters[context, i, j] += rest * delta[i] * delta[j]
