"""The CPD an intervened variable gets."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.errors import ModelError, NotClosed, StateError
from sepset.factors.gaussian import CanonicalGaussian
from sepset.models.intervention import intervened
from sepset.variables.variable import Discrete, Real

dose = Discrete("dose", ("none", "low", "high"))


def test_states_and_distributions():
    assert intervened(dose, "low").values.tolist() == [0, 1, 0]
    assert intervened(dose, [0.2, 0.3, 0.5]).values.tolist() == [0.2, 0.3, 0.5]
    assert intervened(dose, np.array([0.2, 0.3, 0.5])).values.tolist() == [0.2, 0.3, 0.5]
    assert intervened(dose, {"high": 0.25, "none": 0.75}).values.tolist() == [0.75, 0, 0.25]
    assert intervened(Discrete("b", (False, True)), True).values.tolist() == [0, 1]
    assert intervened(dose, "low").parents == ()


def test_refusals():
    with pytest.raises(StateError, match="Did you mean 'high'"):
        intervened(dose, "hi")
    with pytest.raises(StateError, match="Unknown state b"):
        intervened(dose, b"high")
    with pytest.raises(ModelError, match="leave the variable out"):
        intervened(dose, None)
    with pytest.raises(ModelError, match=r"sums to 0\.9"):
        intervened(dose, [0.2, 0.2, 0.5])
    with pytest.raises(StateError, match="Give a number"):
        intervened(Real("x"), "high")


def test_a_continuous_point_can_be_drawn_but_has_no_density():
    point = intervened(Real("x"), 2.5)
    assert point.sample({}, 3, np.random.default_rng(0)).tolist() == [2.5, 2.5, 2.5]
    with pytest.raises(NotClosed):
        point.factors()[0] * CanonicalGaussian(Real("x"), 1.0, h=0.0)
