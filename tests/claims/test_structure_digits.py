"""Gaussian scores and tests keep their digits: shifted, tiny, huge and collinear columns against exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import multigammaln

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer

ST = ss.structure
NAMES = "abcd"
Matrix = list[list[Fraction]]


class Exact:
    """Means and scatter of weighted rows in rationals."""

    def __init__(self, columns: list[Any], weights: Any) -> None:
        mass = [Fraction(float(w)) for w in weights]
        rows = [[Fraction(float(x)) for x in column] for column in columns]
        self.total = sum(mass)
        self.means = [sum(w * x for w, x in zip(mass, c, strict=True)) / self.total for c in rows]
        off = [[x - m for x in c] for c, m in zip(rows, self.means, strict=True)]
        self.scatter = [[sum(w * x * y for w, x, y in zip(mass, a, b, strict=True)) for b in off] for a in off]

    def minor(self, rows: list[int], columns: list[int]) -> Fraction:
        return determinant([[self.scatter[i][j] for j in columns] for i in rows])

    def bic(self, child: int, parents: list[int]) -> float:
        n = float(self.total)
        family = [*parents, child]
        residual = self.minor(family, family) / self.minor(parents, parents)
        return -n / 2 * (math.log(2 * math.pi) + log(residual) - math.log(n) + 1) - math.log(n) / 2 * (len(parents) + 2)

    def bge(self, chosen: list[int], mean: float) -> float:
        """By the formula, with the matrix written out."""
        n, size, total = len(NAMES), len(chosen), float(self.total)
        if not size:
            return 0.0
        degrees, scale = 2 + size, Fraction(1, 2)
        factor = self.total / (self.total + 1)
        offset = [self.means[i] - Fraction(mean) for i in chosen]
        matrix = [[self.scatter[i][j] for j in chosen] for i in chosen]
        for i, x in enumerate(offset):
            matrix[i] = [cell + factor * x * y for cell, y in zip(matrix[i], offset, strict=True)]
            matrix[i][i] += scale
        found = size / 2 * math.log(1 / (total + 1)) - size * total / 2 * math.log(math.pi)
        found += multigammaln((total + degrees) / 2, size) - multigammaln(degrees / 2, size)
        assert degrees == (n + 2) - n + size
        return float(found + degrees / 2 * size * log(scale) - (total + degrees) / 2 * log(determinant(matrix)))

    def fisher_z(self, x: int, y: int, given: list[int]) -> float:
        """The partial correlation is a ratio of minors."""
        own = self.minor([x, *given], [x, *given]) * self.minor([y, *given], [y, *given])
        across = self.minor([x, *given], [y, *given])
        square, sign = float(across**2 / own), 1 if across > 0 else -1
        return sign * math.sqrt(float(self.total) - len(given) - 3) * math.atanh(math.sqrt(square))


def determinant(matrix: Matrix) -> Fraction:
    rows, found = [row[:] for row in matrix], Fraction(1)
    for i in range(len(rows)):
        found *= rows[i][i]
        for r in range(i + 1, len(rows)):
            share = rows[r][i] / rows[i][i]
            rows[r] = [a - share * b for a, b in zip(rows[r], rows[i], strict=True)]
    return found


def log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def cases() -> list[tuple[str, list[Any], Any]]:
    rng = np.random.default_rng(0)
    a, d, e, f = rng.normal(size=(4, 30))
    b, one = a + e, np.ones(30)
    c, some = b - a + f, rng.integers(0, 4, 30).astype(float)
    return [
        ("plain", [a, b, c, d], one),
        ("weighted", [a, b, c, d], some),
        *((f"shifted by {s:g}", [a + s, b, c - s, d], one) for s in (1e6, 1e12, 1e14)),
        *((f"scaled by {s:g}", [a * s, b, c / s, d], some) for s in (1e-70, 1e70, 1e140)),
        ("shifted and scaled", [a * 1e-30 + 1e-22, b * 1e40 + 1e50, c, d + 1e10], some),
        ("nearly collinear", [a, b, a + b + 0.01 * c, d], one),
        ("nearly collinear and shifted", [a + 1e6, b, a + b + 0.01 * c - 1e5, d], one),
        ("with an outlier", [np.append(a[:-1], 1e9), b, c, d], one),
        ("with nonsense of no weight", [np.append(1e100, a[1:]), b, c, d], np.append(0.0, one[1:])),
    ]


@pytest.mark.parametrize(("columns", "weights"), [case[1:] for case in cases()], ids=[case[0] for case in cases()])
def test_scores_and_tests_against_rationals(columns: list[Any], weights: Any) -> None:
    exact, rows = Exact(columns, weights), dict(zip(NAMES, columns, strict=True))
    data = Columns.of(rows, weights=weights)
    for child, parents in ((0, ()), (1, (0,)), (2, (0, 1)), (3, (0, 1, 2)), (2, (0, 1, 3))):
        expected = exact.bic(child, list(parents))
        assert ss.BIC().family(child, parents, data) == pytest.approx(expected, rel=1e-11, abs=1e-9)
        if parents:
            added = Scorer(data, ss.BIC()).additions(child, parents[:-1])[parents[-1]]
            assert added == pytest.approx(expected, rel=1e-11, abs=1e-9)
        for mean in (None, 0.5):
            known = exact if mean is not None else centered(exact)
            family = known.bge([*parents, child], mean or 0.0) - known.bge(list(parents), mean or 0.0)
            assert ST.BGe(mean=mean).family(child, parents, data) == pytest.approx(family, rel=1e-10, abs=1e-9)
    for x, y, given in ((0, 1, ()), (0, 2, (1,)), (2, 3, (0, 1))):
        z = exact.fisher_z(x, y, list(given))
        asked: dict[str, Any] = {
            "between": (NAMES[x], NAMES[y]),
            "given": [NAMES[k] for k in given],
            "weights": weights,
        }
        found = ST.independence_test(rows, test=ST.FisherZ(), **asked)
        assert found.statistic == pytest.approx(z, rel=1e-9, abs=1e-10)
        ratio = ST.independence_test(rows, test=ST.ConditionalGaussianTest(), **asked).statistic
        correlation = math.tanh(z / math.sqrt(float(exact.total) - len(given) - 3))
        assert ratio == pytest.approx(-float(exact.total) * math.log1p(-(correlation**2)), rel=1e-7, abs=1e-8)


def centered(exact: Exact) -> Exact:
    """The same rows about their means."""
    found = object.__new__(Exact)
    found.total, found.scatter, found.means = exact.total, exact.scatter, [Fraction(0)] * len(exact.means)
    return found


METHODS: list[Any] = [
    ss.HillClimb(), ss.GES(), ss.ExactSearch(), ss.ChowLiu(), ST.Forest(), ss.PC(test=ST.FisherZ()),
    ss.PC(test=ST.ConditionalGaussianTest()), ss.FCI(test=ST.FisherZ()), ss.GraphicalLasso(),
    ST.NeighborhoodSelection(), ST.MMHC(candidates=ST.MMPC(test=ST.FisherZ())),
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS, ids=lambda m: repr(m)[:40])
def test_where_numbers_are_counted_from_means_nothing(method: Any) -> None:
    """Shifts without rounding: numbers in steps of 1/4096, shifted by powers of two up to 5e11."""
    rng = np.random.default_rng(4)
    steps = np.round(rng.normal(size=(5, 120)) * 4096) / 4096
    rows = {"a": steps[0], "b": steps[0] + steps[1], "c": steps[2], "d": steps[1] - steps[2] + steps[3], "e": steps[4]}
    moved = {
        name: x + shift for (name, x), shift in zip(rows.items(), (2.0**39, 0, -(2.0**39), 2.0**20, 1), strict=True)
    }
    one, other = (ss.learn_structure(data, method=method) for data in (rows, moved))
    assert one.graph == other.graph
    assert len(one.graph.edges if hasattr(one.graph, "edges") else one.graph.directed) > 0
    assert one.score == pytest.approx(other.score, rel=1e-11, nan_ok=True)
