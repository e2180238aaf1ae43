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


def regression(columns, child, parents):
    """Least squares of a column on others: slopes, intercept and the residual sum of squares."""
    named = {name: fractions(columns[name]) for name in (*parents, child)}
    means = {name: sum(column) / len(column) for name, column in named.items()}
    apart = {name: column - means[name] for name, column in named.items()}
    inner = np.array([[sum(apart[p] * apart[q]) for q in parents] for p in parents], dtype=object)
    cross = np.array([[sum(apart[p] * apart[child])] for p in parents], dtype=object)
    slopes = solved(inner, cross)[0][:, 0] if len(parents) else np.array([], dtype=object)
    left = apart[child] - sum((b * apart[p] for b, p in zip(slopes, parents, strict=True)), Fraction(0))
    start = means[child] - sum((b * means[p] for b, p in zip(slopes, parents, strict=True)), Fraction(0))
    return slopes, start, sum(left * left)


def hard_columns(seed, kind):
    """Thirty rows of three columns: far from zero, similar parents, little noise, any units, or most of these."""
    rng = np.random.default_rng([seed, 41])
    a, b, noise = rng.normal(size=(3, 30))
    small = 10.0 ** rng.uniform(-6.5, -4, 2)
    b = a + small[0] * b if kind in ("similar", "all") else b
    y = 2.0 * a - b + (small[1] * noise if kind in ("tight", "all") else noise)
    away, units = {"far": 1e9, "all": 1e5}.get(kind, 0.0), (1e-30, 1e30, 1e20) if kind == "units" else (1.0, 1.0, 1.0)
    return {name: u * (column + away) for name, column, u in zip("aby", (a, b, y), units, strict=True)}


HARD_KINDS = ("plain", "far", "similar", "tight", "units", "all")
