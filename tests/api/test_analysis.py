"""The public functions about a posterior say what the engine says."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.api.analysis import sensitivity, value_of_information


@pytest.mark.parametrize("method", [None, ss.VariableElimination()])
def test_functions_are_the_engine_s(method):
    net, given = ss.datasets.load("student"), {"grade": "C"}
    engine = ss.prepare(net)
    mine = sensitivity(net, "intelligence", state="high", given=given, method=method)
    theirs = engine.sensitivity("intelligence", state="high", given=given)
    np.testing.assert_allclose(mine.derivatives, theirs.derivatives)
    values = value_of_information(net, "intelligence", given=given, method=method)
    assert dict(values) == pytest.approx(dict(engine.value_of_information("intelligence", given=given)))
    some = value_of_information(net, "intelligence", candidates=["letter"], given=given, method=method)
    assert list(some) == ["letter"]
