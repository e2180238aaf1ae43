"""Functions of one argument and their derivatives, against differences."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.buckets.causes import FIRST, REST, value_at
from sepset.kernels.buckets.shares import curved


@pytest.mark.parametrize("kind", [REST, FIRST])
@pytest.mark.parametrize("s", [-30.0, -3.0, -0.71, -0.69, -0.01])
def test_derivatives_are_those_of_differences(kind, s):
    step = 1e-4 * abs(s)
    value, slope, bend = curved(kind, s)
    assert value == pytest.approx(value_at(kind, s), rel=1e-13)
    assert slope == pytest.approx(
        (value_at(kind, s + step) - value_at(kind, s - step)) / (2 * step), rel=1e-5, abs=1e-11
    )
    ends = curved(kind, s + step)[1] - curved(kind, s - step)[1]
    assert bend == pytest.approx(ends / (2 * step), rel=1e-5, abs=1e-11)


def test_slopes_far_away_keep_their_digits():
    assert curved(REST, -50.0)[1] == pytest.approx(-np.exp(-50.0), rel=1e-13)
    assert curved(FIRST, -50.0)[1] == pytest.approx(-np.exp(-50.0), rel=1e-13)
    assert curved(FIRST, 50.0)[1] == pytest.approx(-1.0)
