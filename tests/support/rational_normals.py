"""Linear Gaussian networks in rational arithmetic: moments and divergences without any rounding but of logarithms."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np


def fractions(array):
    """The same numbers as fractions."""
    return np.array([Fraction(float(x)) for x in np.ravel(array)], dtype=object).reshape(np.shape(array))


def solved(matrix, right):
    """The solution of a linear system by Gauss-Jordan elimination, and the determinant of its matrix."""
    n, determinant = len(matrix), Fraction(1)
    rows = [[*a, *b] for a, b in zip(matrix, right, strict=True)]
    for i in range(n):
        pivot = next(r for r in range(i, n) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        determinant *= rows[i][i] if pivot == i else -rows[i][i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n):
            if r != i and rows[r][i]:
                rows[r] = [x - rows[r][i] * y for x, y in zip(rows[r], rows[i], strict=True)]
    return np.array([row[n:] for row in rows], dtype=object), determinant


def moments(net, variables):
    """Mean and covariance by solving x = a + B x + e, coordinates in the order of `variables`."""
    ends = np.cumsum([v.size for v in variables]).tolist()
    at = {v: slice(end - v.size, end) for v, end in zip(variables, ends, strict=True)}
    a, A, C = (fractions(np.zeros(shape)) for shape in (ends[-1], (ends[-1], ends[-1]), (ends[-1], ends[-1])))
    for cpd in net.cpds:
        y, column = at[cpd.child], 0
        a[y], C[y, y] = fractions(cpd.intercept[0]), fractions(cpd.covariance[0])
        for parent in cpd.given:
            A[y, at[parent]] = fractions(cpd.coefficients[0][:, column : column + parent.size])
            column += parent.size
    one = fractions(np.eye(ends[-1]))
    inverse, _ = solved(one - A, one)
    return inverse @ a, inverse @ C @ inverse.T


def conditioned(mean, covariance, found, values):
    """Moments given the numbers at these places, one after the other, and their log density; None if impossible."""
    log_density = 0.0
    for i, x in zip(found, values, strict=True):
        apart, variance = Fraction(float(x)) - mean[i], covariance[i, i]
        if variance:
            odds = float(apart * apart / variance)
            log_density -= 0.5 * (math.log(2 * math.pi) + _log(variance) + odds)
            gain = covariance[:, i] / variance
            mean, covariance = mean + gain * apart, covariance - np.outer(gain, covariance[i])
        elif apart:
            return None
    return mean, covariance, log_density


def _log(number):
    return math.log(number.numerator) - math.log(number.denominator)


def normal_kl(p, q):
    """KL between two normals, from the textbook formula."""
    (m, S), (n, T) = p, q
    ratio, theirs = solved(T, S + np.outer(n - m, n - m))
    _, ours = solved(S, S)
    excess, odds = sum(np.diag(ratio)) - len(m), theirs / ours
    with localcontext(prec=100):
        return float(decimal(excess) + decimal(odds).ln()) / 2


def decimal(number):
    """A fraction with the digits of the context."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def condition(*nets):
    """The largest condition number of a covariance: what rounding one may multiply its inverse's error by."""
    return max(
        np.linalg.cond(c) for net in nets for cpd in net.cpds if not cpd.child.is_discrete for c in cpd.covariance
    )
