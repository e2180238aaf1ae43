"""Slopes multiplied along all paths against powers of the matrix of slopes."""

from __future__ import annotations

import numpy as np

from sepset.kernels.hybrid.ancestry import carry_back, carry_forward


def test_weights_are_sums_over_paths():
    rng = np.random.default_rng(0)
    B = np.tril(rng.standard_normal((6, 6)), -1) * (rng.random((6, 6)) < 0.7)
    parents = [np.flatnonzero(row) for row in B]
    start = np.concatenate([[0], np.cumsum([len(p) for p in parents])])
    slopes = np.concatenate([row[p] for row, p in zip(B, parents, strict=True)])
    weights, sizes = np.zeros((2, 6, 2))
    weights[[5, 3], [0, 1]] = sizes[[5, 3], [0, 1]] = 1.0
    steps, hidden = np.zeros(6, np.int64), np.ones(6, np.bool_)
    carry_back(start, np.concatenate(parents), slopes, hidden, weights, sizes, steps)
    paths = np.linalg.inv(np.eye(6) - B)
    np.testing.assert_allclose(weights.T, paths[[5, 3]], atol=1e-13)
    np.testing.assert_allclose(sizes.T, np.linalg.inv(np.eye(6) - np.abs(B))[[5, 3]], atol=1e-13)
    assert steps[5] == 0 < steps[0]


def test_nothing_goes_through_what_is_observed():
    weights, sizes = np.zeros((2, 3, 1))
    weights[2] = sizes[2] = 1.0
    chain = np.array([0, 0, 1, 2]), np.array([0, 1]), np.array([2.0, 3.0])
    carry_back(*chain, np.array([True, False, True]), weights, sizes, np.zeros(3, np.int64))
    assert weights[:, 0].tolist() == [0.0, 3.0, 1.0]


def test_sizes_add_up_along_hidden_coordinates():
    chain = np.array([0, 0, 1, 2, 4]), np.array([0, 1, 2, 0]), np.array([2.0, 3.0, 0.5, 1.0])
    sizes = np.array([1.0, 1.0, 10.0, 1.0])
    carry_forward(*chain, np.array([True, True, False, True]), sizes)
    assert sizes.tolist() == [1.0, 3.0, 10.0, 7.0]
