"""Priors are checked values."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors import Dirichlet, Normal
from sepset.errors import ModelError


def test_pseudo_counts_broadcast():
    assert Dirichlet(2).pseudo_counts((2, 2)).tolist() == [[2, 2], [2, 2]]
    assert Dirichlet([1, 3]).pseudo_counts((2, 2)).tolist() == [[1, 3], [1, 3]]
    assert Dirichlet([[1, 2], [3, 4]]).pseudo_counts((2, 2)).tolist() == [[1, 2], [3, 4]]
    assert Dirichlet([1, 2, 3, 4]).pseudo_counts((2, 2)).tolist() == [[1, 2], [3, 4]]


def test_pseudo_counts_of_the_wrong_shape_are_refused():
    with pytest.raises(ModelError, match=r"\(3,\) do not fit 2 contexts by 2 states"):
        Dirichlet([1, 2, 3]).pseudo_counts((2, 2))


@pytest.mark.parametrize("alpha", [-1, np.nan, np.inf, [1, -2]])
def test_pseudo_counts_are_finite_and_not_negative(alpha):
    with pytest.raises(ModelError, match="finite pseudo-counts"):
        Dirichlet(alpha)


def test_dirichlets_are_read_only_and_print():
    prior = Dirichlet([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        prior.alpha[0] = 3
    assert repr(prior) == "Dirichlet([1.0, 2.0])"


@pytest.mark.parametrize("scale", [0, -1, np.inf])
def test_normal_needs_a_positive_scale(scale):
    with pytest.raises(ModelError, match="scale > 0"):
        Normal(scale)
