"""Sums of logarithms against plain sums, and at infinity."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.base.logarithms import LN2, LOG_2PI, log_sum


@given(st.lists(st.floats(-1e5, 1e5), min_size=1, max_size=6))
def test_log_sum_neither_over_nor_underflows(logs):
    top = max(logs)
    expected = top + np.log(sum(np.exp(v - top) for v in logs))
    assert float(log_sum(np.array(logs), 0)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_infinite_logarithms():
    assert float(log_sum(np.array([np.inf, 0.0]), 0)) == np.inf
    rows = np.array([[-np.inf, -np.inf], [0.0, -np.inf], [-1e4, -1e4]])
    assert log_sum(rows, 1).tolist() == [-np.inf, 0.0, pytest.approx(-1e4 + math.log(2))]
    assert log_sum(rows, -1).tolist() == log_sum(rows, 1).tolist()
    assert log_sum(np.zeros((3, 0)), 1).tolist() == [-np.inf] * 3


def test_constants():
    assert math.exp(LN2) == pytest.approx(2.0, rel=1e-15)
    assert math.exp(LOG_2PI) == pytest.approx(2.0 * math.pi, rel=1e-15)
