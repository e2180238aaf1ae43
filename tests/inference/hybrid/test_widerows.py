"""Rows about more numbers than a sweep takes, against the sweep."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs


def chain(num):
    """Numbers that follow one another, and a measurement of every third."""
    x = [ss.Real(f"x{i}") for i in range(num)]
    made = [ss.LinearGaussian(x[0], 1.0, covariance=2.0)]
    for i in range(1, num):
        made.append(ss.LinearGaussian(x[i], 0.1, coefficients=[0.8], covariance=0.5, given=x[i - 1]))
    for i in range(0, num, 3):
        made.append(ss.LinearGaussian(ss.Real(f"y{i}"), 0.0, coefficients=[2.0], covariance=0.1, given=x[i]))
    return ss.BayesNet(*made)


def test_rows_share_an_elimination(monkeypatch):
    """Rows with different observed sets, a broken relation among them, and all targets or one."""
    rng = np.random.default_rng(3)
    rows = {n: rng.normal(size=9).tolist() for n in ("y0", "x5", "y9")}
    rows["x5"][2:5] = rows["y9"][4:6] = [None] * 3
    rows["y9"] = rows["y9"][:9]
    swept = [ss.predict(chain(12), rows, targets=t) for t in (["x2"], None)]
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 1)
    for targets, known in zip((["x2"], None), swept, strict=True):
        found = ss.predict(chain(12), rows, targets=targets)
        frames = [answer.to_frame("pandas") for answer in (found, known)]
        assert list(frames[0].columns) == list(frames[1].columns)
        assert frames[0].to_numpy(float) == pytest.approx(frames[1].to_numpy(float), rel=1e-10, abs=1e-12, nan_ok=True)
