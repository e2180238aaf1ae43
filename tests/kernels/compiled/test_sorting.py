"""Orders of numbers beside NumPy's stable sort."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.compiled.sorting import ascending
from sepset.kernels.kernel import plain


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 8, 64, 100, 257])
def test_it_is_the_stable_order(size):
    rng = np.random.default_rng(size)
    for keys in (rng.integers(-4, 4, size), rng.normal(size=size), np.zeros(size), np.arange(size)[::-1].copy()):
        expected = np.argsort(keys, kind="stable")
        np.testing.assert_array_equal(ascending(keys), expected)


def test_interpreted_it_is_the_same():
    from sepset.kernels import kernel
    from sepset.kernels.compiled import sorting

    keys = np.array([2.0, -1.0, 2.0, 0.0, -1.0])
    made = next(k for k in kernel._KERNELS if k.function.__module__ == sorting.__name__)
    assert plain(made)(keys).tolist() == [1, 4, 3, 0, 2]
