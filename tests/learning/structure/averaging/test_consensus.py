"""Thresholds and consensus graphs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.errors import ArgumentError
from sepset.graphs.graph import DAG
from sepset.learning.structure.averaging.consensus import consensus_graph, data_driven_threshold


def distance(strengths, share):
    """The area between the distribution functions of the strengths and of zeros and ones, on a fine grid."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    own = np.searchsorted(np.sort(strengths), grid, side="right") / len(strengths)
    return np.abs(own - share).mean()


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_thresholds(size, seed):
    strengths = np.random.default_rng(seed).beta(0.5, 0.5, size)
    found = data_driven_threshold(strengths)
    share = (strengths <= found).mean() if found > 0 else 0.0
    every = [distance(strengths, k / size) for k in range(size + 1)]
    assert distance(strengths, share) == pytest.approx(min(every), abs=1e-3)


def test_no_pairs():
    assert data_driven_threshold(np.zeros(0)) == 0.5
    assert consensus_graph("a", np.zeros((1, 1))) == DAG(["a"])


def test_no_cycles():
    edges = np.array([[0.0, 0.9, 0.1], [0.1, 0.0, 0.8], [0.7, 0.2, 0.0]])
    assert set(consensus_graph("abc", edges, threshold=0.5).edges) == {("a", "b"), ("b", "c")}
    with pytest.raises(ArgumentError, match="threshold= is a finite number"):
        consensus_graph("abc", edges, threshold=-1)
