"""Features: functions and arrays, their factors, and their errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.errors import ModelError, ScopeError
from sepset.models.features import Feature
from sepset.variables.variable import Discrete

a, b = Discrete("a", ("x", "y")), Discrete("b", (1, 2, 3))


def test_functions_see_states():
    feature = Feature((a, b), lambda name, number: number if name == "y" else -1, name="count")
    assert feature.values.tolist() == [[-1, -1, -1], [1, 2, 3]]
    assert repr(feature) == "Feature(count: a, b)"
    assert not feature.values.flags.writeable
    factor = feature.factor(0.5)
    assert factor.value({"a": "y", "b": 3}) == pytest.approx(math.exp(1.5))


def test_arrays_flat_or_shaped():
    shaped = Feature((a, b), np.arange(6).reshape(2, 3))
    assert (Feature((a, b), np.arange(6)).values == shaped.values).all()
    assert Feature((), 2.5).values.tolist() == 2.5
    assert repr(Feature(a, [0, 1])) == "Feature(a)"


def test_refusals():
    with pytest.raises(ModelError, match=r"shape \(2, 3\)"):
        Feature((a, b), [1, 2])
    with pytest.raises(ModelError, match="finite"):
        Feature(a, [0, math.inf])
    with pytest.raises(ScopeError, match="twice"):
        Feature((a, a), np.ones((2, 2)))
