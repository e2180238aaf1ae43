"""Values of concave functions, and lists of the best assignments, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.buckets.causes import FIRST, REST, offer, value_at


def test_values_of_one_argument():
    for s in (-50.0, -1.0, -1e-9):
        assert value_at(REST, s) == pytest.approx(np.log(-np.expm1(s)), rel=1e-14)
    for s in (-800.0, -1.0, 0.0, 3.0, 900.0):
        assert value_at(FIRST, s) == pytest.approx(-np.logaddexp(0.0, s), rel=1e-14)


def test_no_assignment_is_listed_twice():
    best, found = np.full(2, -np.inf), np.full(4, -1, np.int64)
    rows = {-3.0: [0, 1], -1.0: [1, 1], -2.0: [1, 0]}
    for value, codes in rows.items():
        offer(value, np.array(codes), best, found)
    assert not offer(-1.0 - 1e-15, np.array([1, 1]), best, found)
    assert (best.tolist(), found.tolist()) == ([-1.0, -2.0], [1, 1, 1, 0])
