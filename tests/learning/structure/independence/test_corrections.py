"""Corrections for many tests: published levels, definitions, and simulated error rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from sepset.errors import ArgumentError
from sepset.learning.structure.independence.corrections import BenjaminiHochberg, Bonferroni, Holm, Sidak

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_levels_of_one_test():
    assert Bonferroni().level_of_each(0.05, 100) == pytest.approx(5e-4)
    assert Bonferroni().level_of_each(0.05, 1000) == pytest.approx(5e-5)
    assert Sidak().level_of_each(0.05, 100) == pytest.approx(5.12801e-4, abs=5e-10)
    assert Sidak().level_of_each(0.05, 1000) == pytest.approx(5.12920e-5, abs=5e-11)


@given(P_VALUES)
def test_step_procedures_by_definition(p_values):
    p = np.array(p_values)
    order, n = np.argsort(p, kind="stable"), len(p)
    holm, level = Holm().adjusted(p), 0.05
    rejected = set()
    for k, place in enumerate(order.tolist()):
        if p[place] > level / (n - k):
            break
        rejected.add(place)
    assert rejected == {k for k in range(n) if holm[k] <= level} or np.isclose(holm, level).any()
    np.testing.assert_allclose(BenjaminiHochberg().adjusted(p), stats.false_discovery_control(p))


@given(P_VALUES)
def test_corrections_are_in_order_of_caution(p_values):
    bonferroni, sidak, holm, hochberg = (
        c.adjusted(p_values) for c in (Bonferroni(), Sidak(), Holm(), BenjaminiHochberg())
    )
    slack = 1 + 1e-12
    assert (sidak <= bonferroni * slack + 1e-15).all()
    assert (holm <= bonferroni * slack).all()
    assert (hochberg <= holm * slack).all()
    assert (hochberg >= np.array(p_values) / slack).all()
    for adjusted in (bonferroni, sidak, holm, hochberg):
        assert ((adjusted >= 0) & (adjusted <= 1)).all()
        assert (np.diff(adjusted[np.argsort(p_values)]) >= 0).all()


def test_family_wise_error_in_simulation():
    p = np.random.default_rng(0).random((4000, 20))
    for correction in (Bonferroni(), Sidak(), Holm()):
        share = np.mean([correction.adjusted(row).min() <= 0.05 for row in p])
        assert share == pytest.approx(0.05, abs=0.011)


def test_no_tests_and_bad_ones():
    for correction in (Bonferroni(), Sidak(), Holm(), BenjaminiHochberg()):
        assert correction.adjusted([]).shape == (0,)
        with pytest.raises(ArgumentError):
            correction.adjusted([1.5])
    with pytest.raises(ArgumentError):
        Bonferroni().level_of_each(1.5, 3)
