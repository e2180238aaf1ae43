r"""Information distances between discrete variables, which add up along the paths of a tree.

With $M_{ij} = D_i^{-1/2} P(X_i, X_j) D_j^{-1/2}$, $D_i$ the marginal on the diagonal, and its singular values
$\sigma_1 = 1 \ge \sigma_2 \ge \dots$,

$$d_{ij} = -\sum_{s = 2}^k \log \sigma_s(M_{ij}).$$

If $X_i$ and $X_j$ are independent given $H$ then $M_{ij} = M_{ih} M_{hj}$, and for $k$ states of $H$ the product of the
$k$ singular values is the product of those of both: distances add up. For $k = 2$ they are minus the logarithm of
the maximal correlation.

Reference: Lake (1994), log-determinant distances; Choi, Tan, Anandkumar & Willsky (2011).
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.learning.structure.columns import Columns

INDEPENDENT = 1e-12
"""Singular values below this are zero."""


def information_distance(joint: Floats, num_states: int) -> float:
    """The distance of two variables with a joint table of counts or probabilities; infinite if they are independent.

    Args:
        joint: one axis for each of the two.
        num_states: the number of states of the hidden variables between them.

    >>> round(information_distance(np.array([[0.4, 0.1], [0.1, 0.4]]), 2), 6) == round(-float(np.log(0.6)), 6)
    True
    """
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    kept = joint[np.ix_(rows > 0, columns > 0)]
    scale = np.sqrt(np.outer(rows[rows > 0], columns[columns > 0]))
    if min(kept.shape) < num_states:
        return float(np.inf)
    values = np.linalg.svd(kept / scale, compute_uv=False)[1:num_states]
    return float(np.inf) if (values < INDEPENDENT).any() else max(float(-np.log(values).sum()), 0.0)


def column_distances(columns: Columns, num_states: int) -> Floats:
    """The distances of all pairs of columns, from the rows that observe both."""
    n = len(columns)
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            found[i, j] = found[j, i] = information_distance(columns.joint((j, i)), num_states)
    return found
