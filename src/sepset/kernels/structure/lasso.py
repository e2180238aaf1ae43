r"""Coordinate descent for problems with an $\ell_1$ penalty: directions of Newton's method, and regressions.

Sparse symmetric matrices are compressed rows: `start`, `members` (ascending), and for each entry `(i, j)` in `twin` the
place of `(j, i)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Floats, Ints
from sepset.kernels.kernel import kernel


@kernel(inline=True)
def shrunken(value: float, by: float) -> float:
    """The value moved toward zero, and zero if it is within that distance."""
    if value > by:
        return value - by
    if value < -by:
        return value + by
    return 0.0


def _direction_work(*args: Any) -> float:
    matrix, members, sweeps = args[0], args[3], args[8]
    return 2.0 * float(len(matrix) * len(members) * sweeps)


@kernel(reassociate=True, work=_direction_work)
def newton_direction(
    matrix: Floats,
    inverse: Floats,
    start: Ints,
    members: Ints,
    twin: Ints,
    gradient: Floats,
    penalties: Floats,
    step: Floats,
    sweeps: int,
    tolerance: float,
    cancel: Bytes,
) -> int:
    r"""Minimize the second-order model of a penalized log-determinant over a sparse symmetric step $D$.

    $$\operatorname{tr} G D + \tfrac12 \operatorname{tr} W D W D + \sum_{ij} \lambda_{ij} |\Theta + D|_{ij}$$

    Args:
        matrix: $\Theta$.
        inverse: $W = \Theta^{-1}$.
        start, members, twin: the entries that are free, the diagonal among them.
        gradient: $G$ at each free entry.
        penalties: $\lambda$ at each free entry.
        step: $D$ at each free entry; zeros at first.
        sweeps: how often the entries are visited.
        tolerance: ends when a sweep changes $D$ relatively less.
        cancel: a flag that ends the work.

    Returns the number of sweeps.
    """
    n = len(matrix)
    product = np.zeros(n)
    for sweep in range(sweeps):
        moved, size = 0.0, 0.0
        for i in range(n):
            if cancel[0]:
                return sweep
            own = inverse[i]
            for k in range(n):
                total = 0.0
                for e in range(start[k], start[k + 1]):
                    total += own[members[e]] * step[e]
                product[k] = total
            for e in range(start[i], start[i + 1]):
                j = members[e]
                if j < i:
                    continue
                other = inverse[j]
                slope = gradient[e]
                for k in range(n):
                    slope += product[k] * other[k]
                curve = own[i] * other[j] + own[j] * own[j] if i != j else own[i] * own[i]
                at = matrix[i, j] + step[e]
                to = shrunken(at - slope / curve, penalties[e] / curve)
                change = to - at
                size += abs(step[e])
                if change == 0.0:
                    continue
                step[e] = step[e] + change if to != 0.0 else -matrix[i, j]
                step[twin[e]] = step[e]
                product[j] += change * own[i]
                if i != j:
                    product[i] += change * own[j]
                moved += abs(change)
        if moved <= tolerance * size:
            return sweep + 1
    return sweeps


def _regression_work(covariance: Floats, *rest: object) -> float:
    return 10.0 * covariance.size * len(covariance)


@kernel(reassociate=True, work=_regression_work)
def lasso_regressions(
    covariance: Floats,
    allowed: Bools,
    penalty: float,
    coefficients: Floats,
    sweeps: int,
    tolerance: float,
    cancel: Bytes,
) -> float:
    r"""Regress each variable on all others with a penalty on absolute coefficients, from covariances $S$ alone.

    $$\tfrac12 \beta^\top S \beta - S_j^\top \beta + \lambda \|\beta\|_1, \quad \beta_j = 0$$

    Args:
        covariance: $S$, with a positive diagonal.
        allowed: which pairs may have a coefficient.
        penalty: $\lambda$.
        coefficients: row $j$ has those of variable $j$: where to start, and the result.
        sweeps: the most visits of each coefficient.
        tolerance: ends when no coefficient moves by more, in units of the response.
        cancel: a flag that ends the work.

    Returns the largest violation of a condition of optimality:
    $|S_{jk} - S_k^\top\beta| \le \lambda$, with equality in the direction of coefficients that are not zero.
    """
    n = len(covariance)
    worst = 0.0
    for j in range(n):
        beta, residual = coefficients[j], covariance[j].copy()
        for m in range(n):
            if beta[m] != 0.0:
                for k in range(n):
                    residual[k] -= beta[m] * covariance[m, k]
        everything = True
        for _ in range(sweeps):
            if cancel[0]:
                return np.inf
            moved = 0.0
            for k in range(n):
                if k == j or not allowed[j, k] or (not everything and beta[k] == 0.0):
                    continue
                to = shrunken(residual[k] + covariance[k, k] * beta[k], penalty) / covariance[k, k]
                change = to - beta[k]
                if change == 0.0:
                    continue
                beta[k] = to
                for m in range(n):
                    residual[m] -= change * covariance[m, k]
                moved = max(moved, change * change * covariance[k, k])
            if moved <= tolerance * tolerance * covariance[j, j]:
                if everything:
                    break
                everything = True
            else:
                everything = False
        for k in range(n):
            if k == j or not allowed[j, k]:
                continue
            if beta[k] == 0.0:
                worst = max(worst, abs(residual[k]) - penalty)
            else:
                worst = max(worst, abs(residual[k] - (penalty if beta[k] > 0.0 else -penalty)))
    return worst
