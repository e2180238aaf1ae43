r"""Which items go together: mutual information of pairs of items, from their counts.

$$I(X; Y) = \sum_{x, y} \frac{M[x, y]}{M} \log \frac{M \cdot M[x, y]}{M[x]\, M[y]}$$

With the counts of both and of each, all four cells are known; pairs are counted by one sparse product.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from sepset.base.arraytypes import Floats, Ints
from sepset.learning.recommendation.baskets import Baskets

BLOCK = 1 << 22
"""The number of pairs counted at a time."""

SMALLEST = 1e-15
"""Less mutual information is a rounding error."""


def candidates(baskets: Baskets, num_candidates: int, order: Ints | None = None) -> list[Ints]:
    """For each item, the others with which it shares most information, the best first; only those that share some.

    Args:
        baskets: the users' items.
        num_candidates: the largest number for each item.
        order: the position of each item in an order; where it is given, only earlier items are candidates.

    Cost: the squares of the sizes of baskets, and the square of the number of items.
    """
    matrix, counts, total = baskets.matrix.astype(np.float64), baskets.popularity.astype(np.float64), len(baskets)
    n, found = baskets.num_items, list[Ints]()
    width = max(1, BLOCK // max(n, 1))
    for first in range(0, n, width):
        block = np.arange(first, min(first + width, n))
        both = np.asarray((matrix.T @ matrix[:, block]).todense()).T
        shared = information(both, counts[block, None], counts[None, :], float(total))
        shared[np.arange(len(block)), block] = -1.0
        if order is not None:
            shared[order[None, :] >= order[block, None]] = -1.0
        found += [_best(row, num_candidates) for row in shared]
    return found


def information(both: Floats, one: Floats, other: Floats, total: float) -> Floats:
    """The mutual information of pairs in nats, from the numbers of users of both, of the one, and of the other."""
    if total <= 0:
        return np.zeros(np.broadcast_shapes(both.shape, one.shape, other.shape))
    cells = (both, one - both, other - both, total - one - other + both)
    margins = (
        xlogy(one, one),
        xlogy(other, other),
        xlogy(total - one, total - one),
        xlogy(total - other, total - other),
    )
    joint = sum(xlogy(cell, cell) for cell in cells)
    return np.asarray(np.maximum((joint - sum(margins) + xlogy(total, total)) / total, 0.0))


def _best(shared: Floats, size: int) -> Ints:
    """The positions of the largest numbers, equal ones by position."""
    kept = np.flatnonzero(shared > SMALLEST)
    if 0 < size < len(kept):
        least = -np.partition(-shared[kept], size - 1)[size - 1]
        kept = kept[shared[kept] >= least]
    return kept[np.lexsort((kept, -shared[kept]))][:size]
