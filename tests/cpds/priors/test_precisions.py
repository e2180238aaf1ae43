"""Roots of precision matrices, against the matrices themselves."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors.precisions import precisions_of, root_of, spreads, upper_root
from sepset.errors import ModelError


def test_roots_multiply_back():
    wide = np.array([[1e300, 1e0], [1e0, 1e-290]])
    np.testing.assert_allclose(root_of("It", wide).T @ root_of("It", wide), wide)


def test_spreads_are_quadratic_forms():
    rng = np.random.default_rng(1)
    base, z = rng.normal(size=(5, 3)), rng.normal(size=(4, 2, 3))
    precision = base.T @ base
    expected = np.einsum("nij,jk,nlk->nil", z, np.linalg.inv(precision), z)
    np.testing.assert_allclose(spreads(root_of("It", precision), z), expected)


def test_what_is_no_precision_is_refused():
    for matrix, why in (
        ([[1.0, 2.0], [2.0, 1.0]], "least eigenvalue"),
        ([[1.0, 2.0], [0.0, 1.0]], "symmetric"),
        ([[np.nan]], "finite"),
        ([[0.0]], "diagonal holds 0"),
    ):
        with pytest.raises(ModelError, match=why):
            root_of("It", np.array(matrix))
    with pytest.raises(ModelError, match="3 coefficients need as many rows"):
        precisions_of("It", [1.0, 2.0], 3)
    assert precisions_of("It", [1.0, 2.0], 2).tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_upper_roots_have_the_same_squares():
    root = np.random.default_rng(2).normal(size=(4, 4))
    upper = upper_root(root)
    np.testing.assert_allclose(upper.T @ upper, root.T @ root)
    assert (np.tril(upper, -1) == 0).all()
    assert (np.diagonal(upper) > 0).all()
