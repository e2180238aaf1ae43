"""How scopes are written."""

from __future__ import annotations

import numpy as np

from sepset.factors.labels import conditional, label, short
from sepset.factors.table import Table
from sepset.variables.variable import Discrete, Real

A, B = Discrete("A", 2), Discrete("B", ("x", "<y>", "z"))


def test_short_reprs():
    assert short(Table((A, B), np.ones((2, 3)))) == "Table(A[2], B[3])"
    assert repr(Table((A, B), np.ones((2, 3)))) == "Table(A[2], B[3])"
    assert repr(Table((), [1])) == "Table()"
    many = Table([Discrete(f"v{i}", 1) for i in range(12)], [1])
    assert repr(many) == "Table(" + ", ".join(f"v{i}[1]" for i in range(8)) + ", ... 12 variables)"
    assert label(Real("r")) == "r"
    assert conditional((A,), ()) == "Conditional(A[2])"
    assert conditional((A,), (Real("r"),), "Linear") == "Linear(A[2] | r)"
