"""The kernels do the same compiled and as plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference.gaussian.conditioning import CompletedRows, Groups
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.kernels.hybrid import conditioning

KERNELS = ("spread", "_load", "_measure", "fill", "_correct", "add_moments", "add_spreads", "_covariance", "disturb")


def completed(seed):
    rng = np.random.default_rng(seed)
    d = ss.Discrete("d", 2)
    x = [ss.Real(f"x{i}") for i in range(5)]
    cpds = [ss.TableCPD(d, [0.5, 0.5])]
    for i in range(5):
        cpds.append(
            ss.LinearGaussian(
                x[i],
                rng.normal(size=2),
                coefficients=rng.normal(size=(2, 1, i)) if i else None,
                covariance=rng.random(2) * (rng.random(2) < 0.8),
                given=x[:i],
                by=d,
            )
        )
    coordinates = Coordinates.of(ss.BayesNet(*cpds).problem())
    values = rng.normal(size=(10, 5))
    values[rng.random(values.shape) < 0.5] = np.nan
    groups = Groups.of(coordinates, ~np.isnan(values), np.isnan(values), rng.integers(2, size=(10, 1)))
    made = CompletedRows.of(coordinates, groups, values, np.arange(10))
    moments = np.zeros(int(coordinates.layout[2][-1]))
    made.add_moments(coordinates, rng.random(10), moments)
    drawn = made.drawn(np.arange(10), np.random.default_rng(1))
    return made.values, made.log_density, made.exact, made.spread.loadings, made.spread.noise, moments, drawn


@pytest.mark.parametrize("seed", range(5))
def test_compiled_and_plain(seed, monkeypatch):
    compiled = completed(seed)
    for name in KERNELS:
        kernel = getattr(conditioning, name)
        monkeypatch.setattr(conditioning, name, getattr(kernel, "py_func", kernel))
    for one, other in zip(compiled, completed(seed), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_a_number_that_rounding_made_moves_nothing():
    """Loadings that cancel are zero, so that what follows without noise is seen to."""
    a, b, s, t = (ss.Real(n) for n in "abst")
    net = ss.BayesNet(
        ss.LinearGaussian(a, 0.0, covariance=0.3),
        ss.LinearGaussian(b, 0.0, covariance=0.7),
        ss.LinearGaussian(s, 0.0, coefficients=[[0.1, 0.7]], covariance=0.0, given=[a, b]),
        ss.LinearGaussian(t, 0.0, coefficients=[[0.3, 2.1]], covariance=0.0, given=[a, b]),
    )
    coordinates = Coordinates.of(net.problem())
    values = np.array([[np.nan, np.nan, 1.0, 3.0]])
    groups = Groups.of(coordinates, ~np.isnan(values), np.isnan(values), np.zeros((1, 0), np.int64))
    found = CompletedRows.of(coordinates, groups, values, np.zeros(1, np.int64))
    assert found.exact.tolist() == [1]
    assert found.spread.variance[0, 3] == 0.0
    assert np.isfinite(found.log_density[0])
