"""The best assignments are kept in order."""

import numpy as np

from sepset.kernels.map.branching import level, record


def test_records_are_in_decreasing_order():
    rng = np.random.default_rng(0)
    values, found = np.full(4, -np.inf), np.zeros(8, np.int64)
    given = rng.integers(0, 9, 20).astype(float)
    for number, value in enumerate(given):
        if value > level(values[-1]):
            record(value, np.array([number, int(value)]), values, found)
    np.testing.assert_array_equal(values, np.sort(given)[::-1][:4])
    np.testing.assert_array_equal(found.reshape(4, 2)[:, 1], values.astype(int))
    assert len(set(found.reshape(4, 2)[:, 0].tolist())) == 4
    assert level(-np.inf) == -np.inf
