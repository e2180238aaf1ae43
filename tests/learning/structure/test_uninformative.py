"""Columns from which no structure can be learned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.uninformative import check_informative

NOISE = np.random.default_rng(0).integers(0, 2, 40)


@pytest.mark.parametrize("method", [None, ss.GES(), ss.PC(), ss.FCI(), ss.ExactSearch(), ss.StructuralEM()])
def test_constant_columns_are_refused_by_name(method: object) -> None:
    rows = pd.DataFrame({"a": NOISE, "same": ["x"] * 40, "too": [3] * 40})
    with pytest.raises(ss.errors.DataError, match=r"'same', 'too' is constant: it has one value in all rows.*Drop it"):
        ss.learn_structure(rows, method=method)
    with pytest.raises(ss.errors.DataError, match="'same', 'too'"):
        ss.structure_posterior(rows, method=ss.PartitionMCMC(num_samples=2))


def test_states_that_are_given_are_meant() -> None:
    rows = {"a": NOISE, "same": ["x"] * 40}
    for states in (("x",), ("x", "y")):
        assert ss.learn_structure(rows, variables=[ss.Discrete("same", states)]).graph.num_edges == 0
    assert ss.learn_structure(ss.Dataset(rows)).graph.num_edges == 0
    assert ss.learn_structure(rows, variables=iter([ss.Discrete("same", "xy")])).graph.num_edges == 0


def test_more_states_than_rows_are_refused() -> None:
    with pytest.raises(ss.errors.DataError, match=r"'id' has 1,000 states in 9 rows"):
        ss.learn_structure({"id": [0, 1, 2] * 3, "b": [0, 1, 1] * 3}, variables=[ss.Discrete("id", 1000)])
    with pytest.raises(ss.errors.DataError, match=r"'id' has 40 states in 40 rows.*Drop"):
        ss.learn_structure({"id": [f"user {k}" for k in range(40)], "b": NOISE})


def test_weights_may_be_rows_or_fractions_and_hidden_columns_have_none() -> None:
    """Few distinct rows that stand for many, rows whose weights sum to one, and columns without a cell are no error."""
    values = [ss.Discrete("a", 8), ss.Discrete("b", 2)]
    few = Columns.of({"a": [0, 1], "b": [0, 1]}, variables=values, weights=[20, 30])
    check_informative(few, None, values)
    shares = Columns.of({"a": [0, 1] * 5, "b": [0, 1] * 5}, variables=values, weights=[0.1] * 10)
    check_informative(shares, None, values)
    hidden = Columns.of({"b": [0, 1]}, variables=values, missing="available", hidden=True)
    check_informative(hidden, None, values)
    with pytest.raises(ss.errors.DataError, match="8 states in 2 rows"):
        check_informative(Columns.of({"a": [0, 1], "b": [0, 1]}, variables=values), None, values)
