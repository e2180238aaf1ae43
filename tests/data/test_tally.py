from __future__ import annotations

import numpy as np
import pytest

from sepset.data.dataset import Dataset
from sepset.data.tally import tally
from sepset.errors import ArgumentError
from sepset.variables.variable import Discrete

A, B, WIDE = Discrete("a", 3), Discrete("b", 2), Discrete("wide", 200)


@pytest.mark.parametrize("num_rows", [0, 1, 5, 2047, 2048, 2049, 40_003])
@pytest.mark.parametrize("scope", [(A,), (B, A), (A, WIDE), (WIDE, B, A)])
def test_counts_across_tiles(num_rows, scope):
    rng = np.random.default_rng(num_rows)
    codes = {v.name: rng.integers(0, v.num_states, num_rows) for v in (A, B, WIDE)}
    rows = Dataset.from_codes([A, B, WIDE], codes)
    shape = [v.num_states for v in scope]
    expected = np.zeros(shape)
    np.add.at(expected, tuple(codes[v.name] for v in scope), 1)
    weights = rng.integers(0, 8, num_rows) / 4
    weighted = np.zeros(shape)
    np.add.at(weighted, tuple(codes[v.name] for v in scope), weights)
    np.testing.assert_array_equal(tally(rows, [scope, (B,)], None)[0].reshape(shape), expected)
    np.testing.assert_array_equal(tally(rows, [(B,), scope], weights)[1].reshape(shape), weighted)


def test_no_scopes():
    assert tally(Dataset.from_codes([A], {"a": [0, 1]}), [], None, threads=4) == []


def test_threads_are_counted():
    rows = Dataset.from_codes([A], {"a": [0, 1]})
    assert tally(rows, [(A,)], None, threads=None)[0].tolist() == [1, 1, 0]
    for threads in (0, -1, True, 1.5):
        with pytest.raises(ArgumentError, match="at least 1"):
            tally(rows, [(A,)], None, threads=threads)
