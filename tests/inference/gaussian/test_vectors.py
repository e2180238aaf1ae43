"""Vectors as regressions of one coordinate on those before it, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sepset.api.questions import query
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.inference.gaussian.vectors import sequential
from sepset.inference.result import Guarantee
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Vector
from support.blocks import in_blocks


def exact(a, B, C):
    """For each coordinate the intercept, the slopes (of the parents, of the coordinates before) and the variance.

    By the definition: $C_{i,<i}$ times the inverse of $C_{<i,<i}$, solved by elimination in fractions.
    """
    found = []
    for i in range(len(a)):
        b = solved([[Fraction(C[j][k]) for k in range(i)] for j in range(i)], [Fraction(C[i][k]) for k in range(i)])
        rest = Fraction(C[i][i]) - sum((b[k] * Fraction(C[i][k]) for k in range(i)), Fraction(0))
        intercept = Fraction(a[i]) - sum((b[k] * Fraction(a[k]) for k in range(i)), Fraction(0))
        slopes = [
            Fraction(B[i][u]) - sum((b[k] * Fraction(B[k][u]) for k in range(i)), Fraction(0)) for u in range(len(B[i]))
        ]
        found.append((intercept, [*slopes, *b], rest))
    return found


def solved(matrix, right):
    """The solution of a symmetric positive definite system of fractions, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def random_vector(rng, size, spread):
    """Parameters whose sizes differ by many powers of ten, with a covariance that is nearly singular or not."""
    a, B = rng.normal(size=size) * 10.0 ** rng.integers(-spread, spread + 1, size), rng.normal(size=(size, 2))
    root = np.tril(rng.normal(size=(size, size)))
    root[np.diag_indices(size)] = 10.0 ** -rng.integers(0, 3, size).astype(float)
    scale = 10.0 ** rng.integers(-3, 4, size)
    C = (root @ root.T) * scale[:, None] * scale
    return a, B * 10.0 ** rng.integers(-spread, spread + 1, (size, 2)), np.tril(C) + np.tril(C, -1).T


@pytest.mark.parametrize("spread", [0, 10, 25])
@in_blocks("seed", range(15))
def test_coordinates_of_a_vector_in_floats_and_in_exact_fractions(seed, spread):
    rng = np.random.default_rng(seed)
    a, B, C = random_vector(rng, int(rng.integers(2, 5)), spread)
    found, wanted = sequential(a[None], B[None], C[None]), exact(a.tolist(), B.tolist(), C.tolist())
    decimals = found.source.decimal(0, 60)
    for i, (intercept, slopes, variance) in enumerate(wanted):
        in_floats = [found.intercept[0, i], *found.slopes[0, i], *found.before[0, i, :i], found.variance[0, i]]
        in_decimals = [decimals.intercepts[i], *decimals.slopes[i], *decimals.before[i], decimals.variances[i]]
        for near, nearer, right in zip(in_floats, in_decimals, [intercept, *slopes, variance], strict=True):
            assert abs(Fraction(float(near)) - right) <= Fraction(1e-12) * abs(right)
            assert abs(Fraction(nearer) - right) <= Fraction(10) ** -30 * abs(right)


def test_the_first_coordinate_keeps_its_parameters_whatever_the_last_one_is():
    C = np.array([[1.0, 3.0, 5.0], [3.0, 30.0, -7.0], [5.0, -7.0, 90.0]])
    found = sequential(np.array([[0.1, 0.2, 1e25]]), np.zeros((1, 3, 0)), C[None])
    assert found.intercept[0, 0] == 0.1
    assert (np.triu(found.before[0]) == 0.0).all()


def test_a_coordinate_that_follows_from_others_has_no_variance():
    C = np.array([[1.0, 2.0], [2.0, 4.0]])
    found = sequential(np.array([[1e20, 3.0]]), np.zeros((1, 2, 0)), C[None])
    assert found.variance.tolist() == [[1.0, 0.0]]
    assert found.source.decimal(0, 60).intercepts[1] == 3 - 2 * 10**20


def two_vectors(seed):
    """$a$, $C$, $b$, $B$, $D$ of `v -> y` and a value of `y`, of sizes up to 30 powers of ten apart."""
    rng = np.random.default_rng(seed)
    size, spread = int(rng.integers(2, 4)), int(rng.choice([3, 10, 30]))

    def covariance(size):
        root = np.tril(rng.normal(size=(size, size)))
        root[np.diag_indices(size)] = rng.uniform(0.3, 1, size)
        scale = 10.0 ** rng.integers(-spread // 2, spread // 2 + 1, size)
        made = (root @ root.T) * scale[:, None] * scale
        return np.tril(made) + np.tril(made, -1).T

    a, C = rng.normal(size=size) * 10.0 ** rng.integers(-spread, spread + 1, size), covariance(size)
    b = rng.normal(size=2) * 10.0 ** rng.integers(-spread, spread + 1, 2)
    B = rng.normal(size=(2, size)) * 10.0 ** rng.integers(-spread // 2, spread // 2 + 1, (2, size))
    D = covariance(2)
    return a, C, b, B, D, b + B @ a + rng.normal(size=2) * np.sqrt(np.diag(B @ C @ B.T + D))


@pytest.mark.parametrize("seed", [2215, 7097, *range(20)])  # of the first two, errors of coordinates add up
def test_means_of_a_vector_given_another_are_exact_or_said_to_be_estimates(seed):
    a, C, b, B, D, value = two_vectors(seed)
    v, y = Vector("v", len(a)), Vector("y", 2)
    net = BayesNet(LinearGaussian(v, a, covariance=C), LinearGaussian(y, b, coefficients=B, covariance=D, given=v))
    answer = query(net, "v", given={"y": value.tolist()})
    if answer.guarantees["marginals"] is not Guarantee.EXACT:
        return
    a, C, b, B, D, value = (np.vectorize(Fraction, otypes=[object])(x) for x in (a, C, b, B, D, value))
    apart = solved((B.dot(C).dot(B.T) + D).tolist(), (value - b - B.dot(a)).tolist())
    mean = a + C.dot(B.T).dot(apart)
    gain = [solved((B.dot(C).dot(B.T) + D).tolist(), row.tolist()) for row in C.dot(B.T)]
    for i, found in enumerate(np.ravel(answer.mean()).tolist()):
        variance = C[i, i] - sum(g * x for g, x in zip(gain[i], C.dot(B.T)[i], strict=True))
        scale = max(mean[i] ** 2, variance)
        assert (Fraction(found) - mean[i]) ** 2 <= Fraction(10) ** -12 * scale
