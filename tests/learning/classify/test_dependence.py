from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.base.numerics import matrices
from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.learning.classify import dependence
from sepset.learning.classify.dependence import conditional_information
from sepset.variables.variable import Discrete, Real


def plain_information(c, x, y, weights):
    """The definition, cell by cell."""
    total = 0.0
    for cell in set(zip(c, x, y, strict=True)):

        def share(*fixed, cell=cell):
            return sum(w for w, *row in zip(weights, c, x, y, strict=True) if all(row[i] == cell[i] for i in fixed))

        total += share(0, 1, 2) / sum(weights) * math.log(share(0, 1, 2) * share(0) / (share(0, 1) * share(0, 2)))
    return total


def table(seed, num_rows, sizes):
    rng = np.random.default_rng(seed)
    variables = [Discrete(name, size) for name, size in zip("cxyz", sizes, strict=True)]
    return Dataset.from_codes(variables, {v.name: rng.integers(v.num_states, size=num_rows) for v in variables})


@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.tuples(*[st.integers(1, 3)] * 4), st.booleans())
def test_discrete_pairs_are_the_definition(seed, num_rows, sizes, weighted):
    rows = table(seed, num_rows, sizes)
    weights = np.random.default_rng(seed).random(num_rows) + 0.1 if weighted else None
    target, *features = rows.variables
    found = conditional_information(rows, target, features, weights)
    share = np.ones(num_rows) if weights is None else weights
    for i, j in itertools.combinations(range(3), 2):
        expected = plain_information(*(rows.codes(v).tolist() for v in (target, features[i], features[j])), share)
        assert found[i, j] == pytest.approx(expected, abs=1e-12)
        assert found[j, i] == found[i, j]
    assert np.diagonal(found).tolist() == [0.0] * 3


def gaussian_log_likelihood(x):
    """The largest mean log density of a normal on these numbers."""
    return -0.5 * (math.log(2 * math.pi * np.var(x)) + 1)


def mixed(seed, num_rows=60):
    rng = np.random.default_rng(seed)
    c, d = rng.integers(2, size=num_rows), rng.integers(2, size=num_rows)
    x = rng.normal(d, 1.0 + c)
    y = x * (c + 0.5) + rng.normal(size=num_rows)
    variables = [Discrete("c"), Discrete("d"), Real("x"), Real("y")]
    return Dataset.from_codes(variables, {"c": c, "d": d, "x": x, "y": y})


@pytest.mark.parametrize("seed", range(3))
def test_edges_to_reals_are_gains_in_log_likelihood(seed):
    rows = mixed(seed)
    target, *features = rows.variables
    found = conditional_information(rows, target, features)
    c, d, x, y = (rows.column(v) for v in rows.variables)
    steps = lines = 0.0
    for code in (0, 1):
        at = c == code
        steps -= at.mean() * gaussian_log_likelihood(x[at])
        for state in (0, 1):
            both = at & (d == state)
            steps += both.mean() * gaussian_log_likelihood(x[both])
        slope, intercept = np.polyfit(x[at], y[at], 1)
        residual = y[at] - slope * x[at] - intercept
        lines += at.mean() * (gaussian_log_likelihood(residual) - gaussian_log_likelihood(y[at]))
    assert found[0, 1] == pytest.approx(steps, rel=1e-9)
    assert found[1, 2] == pytest.approx(lines, rel=1e-9)
    assert found[0, 2] == found[2, 0]


def test_degenerate_features():
    variables = [Discrete("c"), Discrete("d"), Real("x"), Real("y")]
    columns = {"c": [0, 0, 0, 1, 1], "d": [0, 0, 1, 0, 1], "x": [1.0, 2.0, 3.0, 4.0, 4.0], "y": [2.0] * 5}
    rows = Dataset.from_codes(variables, columns)
    found = conditional_information(rows, rows.variables["c"], list(rows.variables)[1:])
    assert np.isfinite(found).all()
    assert found[0, 2] == found[1, 2] == 0.0
    alone = conditional_information(rows, rows.variables["c"], [rows.variables["x"]])
    assert alone.tolist() == [[0.0]]
    assert conditional_information(rows, rows.variables["c"], []).shape == (0, 0)


def test_more_rows_than_a_chunk():
    rows = table(5, 20_000, (2, 3, 2, 2))
    target, *features = rows.variables
    counts = np.zeros((2, 3, 2))
    np.add.at(counts, tuple(rows.codes(v) for v in (target, features[0], features[1])), 1)
    p = counts / counts.sum()
    parts = p.sum((1, 2), keepdims=True), p.sum(2, keepdims=True), p.sum(1, keepdims=True)
    expected = (p * np.log(p * parts[0] / (parts[1] * parts[2]))).sum()
    assert conditional_information(rows, target, features)[0, 1] == pytest.approx(expected, rel=1e-9)


def test_what_is_refused():
    rows = Dataset.from_codes([Discrete("c"), Discrete("x")], {"c": [0, 1], "x": [0, -1]})
    with pytest.raises(DataError, match="EM"):
        conditional_information(rows, rows.variables["c"], [rows.variables["x"]])
    full = table(0, 3, (2, 2, 2, 2))
    with pytest.raises(DataError, match="zero"):
        conditional_information(full, full.variables["c"], [full.variables["x"]], np.zeros(3))


def test_many_states_are_counted_in_parts(monkeypatch):
    rows = table(3, 40, (2, 3, 2, 4))
    target, *features = rows.variables
    whole = conditional_information(rows, target, features)
    for chunk in (8192, 7):
        monkeypatch.setattr(dependence, "CHUNK", chunk)
        monkeypatch.setattr(dependence, "WHOLE", 0)
        monkeypatch.setattr(matrices, "ENTRIES", 40)
        np.testing.assert_allclose(conditional_information(rows, target, features), whole, atol=1e-14)
