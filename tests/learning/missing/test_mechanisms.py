"""Masks are drawn with the probabilities a mechanism names, and from nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.missing.mechanisms import MAR, MCAR, MNAR, Hiding, hide_cells, observability_indicator
from support.tolerances import STANDARD_ERRORS

ROWS = 20_000


def two_columns(seed=0):
    rng = np.random.default_rng(seed)
    a, b = ss.Discrete("a", ("low", "high")), ss.Discrete("b", 3)
    return ss.Dataset.from_codes([a, b], {"a": rng.integers(0, 2, ROWS), "b": rng.integers(0, 3, ROWS)})


def near(share, expected, count):
    return abs(share - expected) <= STANDARD_ERRORS * np.sqrt(max(expected * (1 - expected), 1e-12) / count)


def test_completely_at_random_hides_every_column_alike():
    hidden = hide_cells(two_columns(), MCAR(0.3), seed=1)
    for v in hidden.variables:
        assert near(hidden.is_missing(v).mean(), 0.3, ROWS)
    both = (hidden.mask.all(axis=1)).mean()
    assert near(both, 0.09, ROWS)


def test_columns_may_have_their_own_probability_or_none():
    hidden = hide_cells(two_columns(), MCAR({"b": 0.5}), seed=1)
    assert not hidden.is_missing("a").any()
    assert near(hidden.is_missing("b").mean(), 0.5, ROWS)


@pytest.mark.parametrize("probability", [[0.1, 0.7], {"low": 0.1, "high": 0.7}])
def test_at_random_follows_the_observed_column(probability):
    data = two_columns()
    hidden = hide_cells(data, MAR({"b": Hiding(probability, given="a")}), seed=2)
    for code, chance in enumerate((0.1, 0.7)):
        rows = data.codes("a") == code
        assert near(hidden.is_missing("b")[rows].mean(), chance, rows.sum())


def test_not_at_random_follows_the_hidden_value_and_keeps_what_is_seen():
    data = two_columns()
    hidden = hide_cells(data, MNAR({"b": Hiding([0.0, 0.4, 1.0], given="b")}), seed=3)
    seen = ~hidden.is_missing("b")
    assert (hidden.codes("b")[seen] == data.codes("b")[seen]).all()
    for code, chance in enumerate((0.0, 0.4, 1.0)):
        rows = data.codes("b") == code
        assert near(hidden.is_missing("b")[rows].mean(), chance, rows.sum())


def test_a_function_of_real_columns():
    rng = np.random.default_rng(0)
    data = ss.Dataset({"x": rng.standard_normal(1000), "y": rng.standard_normal(1000)})
    hidden = hide_cells(data, MAR({"y": Hiding(lambda x: (x > 0).astype(float), given="x")}))
    assert (hidden.is_missing("y") == (data.values("x") > 0)).all()


def test_indicators_carry_dropout_on():
    data = two_columns()
    gone = observability_indicator(data.variables["a"])
    hidden = hide_cells(data, MNAR({"a": Hiding(0.3), "b": Hiding({False: 1.0, True: 0.0}, given=gone)}))
    assert (hidden.is_missing("a") == hidden.is_missing("b")).all()
    assert hidden.is_missing("a").any()


def test_missing_cells_stay_missing_and_weights_stay():
    data = ss.Dataset({"coin": ["head", None, "tail"]}, weights=[1, 2, 3])
    kept = hide_cells(data, MCAR(0.0))
    assert kept.equals(data)


def test_draws_are_reproducible():
    assert hide_cells(two_columns(), MCAR(0.2), seed=5).equals(hide_cells(two_columns(), MCAR(0.2), seed=5))
    assert not hide_cells(two_columns(), MCAR(0.2), seed=5).equals(hide_cells(two_columns(), MCAR(0.2), seed=6))


def test_empty_data():
    assert hide_cells(ss.Dataset({}), MCAR(0.2)).num_rows == 0
    assert hide_cells(two_columns()[:0], MCAR(0.2)).num_rows == 0


def test_what_is_refused():
    with pytest.raises(ss.errors.ModelError, match="hidden too"):
        MAR({"a": Hiding([0.1, 0.2], given="a")})
    with pytest.raises(ss.errors.ModelError, match="hidden too"):
        MAR({"a": Hiding(0.1), "b": Hiding([0.1, 0.2], given=observability_indicator(ss.Discrete("a")))})
    with pytest.raises(ss.errors.ModelError, match="given="):
        Hiding(lambda x: x)
    for impossible in (1.5, -0.1):
        with pytest.raises(ss.errors.ModelError, match="between 0 and 1"):
            hide_cells(two_columns(), MCAR(impossible))
    with pytest.raises(ss.errors.ScopeError, match="Did you mean 'a'"):
        hide_cells(two_columns(), MAR({"b": Hiding([0.1, 0.2], given="A")}))
    with pytest.raises(ss.errors.ScopeError):
        hide_cells(two_columns(), MCAR({"c": 0.1}))
    with pytest.raises(ss.errors.DataError, match="row 1"):
        hide_cells({"a": ["x", None], "b": ["u", "v"]}, MAR({"b": Hiding([0.5], given="a")}))
    with pytest.raises(ss.errors.DataError, match="from 0 to 1"):
        hide_cells(two_columns(), MAR({"b": Hiding(lambda a: np.full(ROWS, 2.0), given="a")}))
    with pytest.raises(ss.errors.NotApplicable, match="no table"):
        hide_cells({"x": [0.5, 1.5], "b": ["u", "v"]}, MAR({"b": Hiding([0.1, 0.2], given="x")}))
