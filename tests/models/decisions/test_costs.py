"""Decisions of smallest expected cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import ArgumentError
from sepset.models.decisions.costs import DECLINED, cost_threshold, least_cost_action


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 100))
def test_the_threshold_is_the_decision_of_least_expected_cost(false_positive, false_negative, percent):
    p = percent / 100
    if abs(p - cost_threshold(false_positive, false_negative)) < 1e-9:
        return
    costs = [[0, false_positive], [false_negative, 0]]  # states no and yes; actions leave and act
    acts = least_cost_action([[1 - p, p]], costs)[0] == 1
    assert acts == (p > cost_threshold(false_positive, false_negative))


def test_the_most_probable_state_by_default():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    np.testing.assert_array_equal(least_cost_action(p), p.argmax(axis=1))


def test_declining_is_for_the_unsure():
    p = np.random.default_rng(1).dirichlet(np.ones(3), 200)
    found = least_cost_action(p, decline=0.3)
    np.testing.assert_array_equal(found == DECLINED, 1 - p.max(axis=1) > 0.3)


def test_junk_is_discarded_only_when_nearly_sure():
    threshold = cost_threshold(99, 1)
    for p in (0.98, 0.995):
        assert (least_cost_action([[1 - p, p]], [[0, 99], [1, 0]])[0] == 1) == (p > threshold)


def test_bad_costs_are_refused():
    with pytest.raises(ArgumentError, match="not both zero"):
        cost_threshold(0, 0)
    with pytest.raises(ArgumentError, match="a row for each of 2 states"):
        least_cost_action([[0.5, 0.5]], [[1.0, 2.0]])
