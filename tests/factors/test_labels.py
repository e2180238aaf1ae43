"""How scopes are written."""

from __future__ import annotations

import numpy as np

from sepset.factors.labels import conditional, label, short
from sepset.factors.table import Table
from sepset.variables.variable import Discrete, Real

A, B = Discrete("A", 2), Discrete("B", ("x", "<y>", "z"))


def test_short_reprs():
    assert short(Table((A, B), np.ones((2, 3)))) == "Table(A[2], B[3])"
    assert repr(Table((A, B), np.arange(6) / 4)) == "Table(A[2], B[3]; 0 0.25 0.5, 0.75 1 1.25)"
    assert repr(Table((), [1])) == "Table(; 1)"
    many = Table([Discrete(f"v{i}", 1) for i in range(12)], [1])
    assert repr(many) == "Table(" + ", ".join(f"v{i}[1]" for i in range(8)) + ", ... 12 variables; 1)"
    assert label(Real("r")) == "r"
    assert conditional((A,), ()) == "Conditional(A[2])"
    assert conditional((A,), (Real("r"),), "Linear") == "Linear(A[2] | r)"
