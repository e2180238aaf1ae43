"""All pairs of variables through an engine."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.errors import NotApplicable, ScopeError


@pytest.mark.parametrize("given", [{}, {"xray": "yes"}, {"dysp": "yes", "asia": "no"}])
def test_every_pair_is_its_own_query(given):
    asia = ss.datasets.load("asia")
    engine = ss.prepare(asia)
    pairs = engine.pairwise_marginals(given=given)
    assert len(pairs) == 28
    assert len(list(pairs)) == 28
    for first, second in pairs:
        expected = ss.query(asia, [first, second], given=given, method=ss.BruteForce()).values
        np.testing.assert_allclose(pairs[first, second].values, expected, atol=1e-12)
        np.testing.assert_allclose(pairs[second, first].values, expected.T, atol=1e-12)


def test_variables_serve_as_names():
    asia = ss.datasets.load("asia")
    pairs = ss.prepare(asia).pairwise_marginals()
    assert (pairs[asia["lung"], asia["xray"]].values == pairs["lung", "xray"].values).all()
    assert repr(pairs) == "Pairs(8 variables)"


def test_bad_pairs_are_refused():
    pairs = ss.prepare(ss.datasets.load("asia")).pairwise_marginals(given={"xray": "yes"})
    with pytest.raises(ScopeError, match="twice"):
        pairs["xray", "xray"]
    with pytest.raises(ScopeError, match="Did you mean 'lung'"):
        pairs["lungs", "smoke"]
    with pytest.raises(ScopeError, match="Did you mean 'lung'"):
        pairs["xray", "lungs"]
    for wrong in ("lung", ("lung", "smoke", "asia"), ("lung", 3), 3):
        with pytest.raises(ScopeError, match="A pair of variables was expected"):
            pairs[wrong]


@pytest.mark.parametrize("given", [{}, {"xray": "yes"}])
def test_what_is_no_pair_is_absent(given):
    pairs = ss.prepare(ss.datasets.load("asia")).pairwise_marginals(given=given)
    assert ("smoke", "xray") in pairs
    for absent in (("lungs", "smoke"), ("xray", "lungs"), ("xray", "xray"), "lung"):
        assert absent not in pairs
        assert pairs.get(absent) is None


def test_methods_without_a_tree_say_so():
    with pytest.raises(NotApplicable, match="Use CliqueTree"):
        ss.prepare(ss.datasets.load("asia"), method=ss.BruteForce()).pairwise_marginals()
