"""Decompositions: which auxiliaries are functions, and of what."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.factors.decomposition import Decomposition, defined_last

A, B, S, T = (ss.Discrete(name) for name in "abst")
SAME = np.eye(2)


def test_an_auxiliary_is_defined_by_the_factor_that_has_it_last():
    factors = [ss.Table((A, S), SAME), ss.Table((S, B, T), np.ones((2, 2, 2))), ss.Table((T, A), SAME)]
    assert defined_last(factors, [S, T]) == {S: (A,), T: (S, B)}
    assert defined_last(factors[1:], [S]) == {}


def test_a_decomposition_is_functional_if_all_its_auxiliaries_are_functions():
    factors = (ss.Table((A, S), SAME),)
    assert Decomposition(factors).is_functional
    assert Decomposition(factors, (S,), {S: (A,)}).is_functional
    assert not Decomposition(factors, (S, T), {S: (A,)}).is_functional
