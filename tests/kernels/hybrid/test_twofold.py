"""Numbers of two floats, against fractions; and the sweep with them, compiled and as plain Python."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sepset.inference.gaussian.conditioning import CompletedRows, Groups, Spread, TwofoldSpread
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.kernels.hybrid import twofold
from sepset.kernels.kernel import Kernel
from support.exact_gaussians import cancelling_lines, joint_of, network, random_findings


def as_written(kernel):
    """The function of a kernel that only kernels call."""
    return kernel.function if isinstance(kernel, Kernel) else kernel.py_func


@pytest.mark.parametrize("name", ["add", "multiply", "divide"])
def test_arithmetic_with_thirty_digits(name, monkeypatch):
    for inner in ("add", "multiply", "divide"):
        monkeypatch.setattr(twofold, inner, as_written(getattr(twofold, inner)))
    rng, operation = np.random.default_rng(0), getattr(twofold, name)
    for _ in range(500):
        a, b = (rng.normal(size=2) * 10.0 ** rng.uniform(-20, 20, 2)).tolist()
        low_a, low_b = (1e-17 * rng.normal() * a, 1e-17 * rng.normal() * b)
        exact_a, exact_b = Fraction(a) + Fraction(low_a), Fraction(b) + Fraction(low_b)
        expected = {"add": exact_a + exact_b, "multiply": exact_a * exact_b, "divide": exact_a / exact_b}[name]
        found = sum(map(Fraction, operation(a, low_a, b, low_b)))
        assert abs(found - expected) <= Fraction(1e-30) * abs(expected)


@pytest.mark.parametrize("seed", range(8))
def test_compiled_and_plain(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    lines = cancelling_lines(rng, 6)
    found = random_findings(rng, joint_of(lines), 3)
    coordinates = Coordinates.of(network(lines).problem())
    values = np.full((1, 6), np.nan)
    for place, value in found.items():
        values[0, coordinates.column(place)] = value
    groups = Groups.of(coordinates, ~np.isnan(values), np.isnan(values), np.zeros((1, 0), np.int64))
    only = np.zeros(1, np.int64)

    def computed():
        made = TwofoldSpread.of(coordinates, groups, only)
        return made.loadings.sum(axis=0), made.noise.sum(axis=0), *made.completed(coordinates, values, only)

    compiled = computed()
    for name in ("add", "multiply", "divide", "_measure", "spread_twofold", "fill_twofold"):
        monkeypatch.setattr(twofold, name, as_written(getattr(twofold, name)))
    for one, other in zip(compiled, computed(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_they_agree_with_single_floats_if_nothing_cancels():
    rng = np.random.default_rng(5)
    lines = cancelling_lines(rng, 5, most=100.0)
    coordinates, values = Coordinates.of(network(lines).problem()), rng.normal(size=(1, 5))
    values[0, [0, 2]] = np.nan
    groups = Groups.of(coordinates, ~np.isnan(values), np.isnan(values), np.zeros((1, 0), np.int64))
    only = np.zeros(1, np.int64)
    plain, twice = Spread.of(coordinates, groups), TwofoldSpread.of(coordinates, groups, only)
    np.testing.assert_allclose(plain.noise, twice.noise[0], rtol=1e-9)
    np.testing.assert_allclose(plain.variance, twice.variance[0], rtol=1e-9)
    rows = CompletedRows.given(coordinates, plain, values, only)
    np.testing.assert_allclose(rows.values, twice.completed(coordinates, values, only)[0], rtol=1e-9)
