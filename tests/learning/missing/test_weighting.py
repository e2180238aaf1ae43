"""Inverse-probability weights against plain frequencies, a numeric maximizer, and the truth they should restore."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

import sepset as ss
from sepset.learning.missing.mechanisms import MAR, Hiding, hide_cells
from sepset.learning.missing.weighting import inverse_probability_weights
from support.tolerances import EXACT


@given(st.integers(1, 80), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40, deadline=None)
def test_weights_are_one_over_the_share_of_complete_rows(num_rows, seed, weighted):
    rng = np.random.default_rng(seed)
    v, w, z = ss.Discrete("v", 2), ss.Discrete("w", 3), ss.Discrete("z", 2)
    codes = np.stack(
        [rng.integers(0, 2, num_rows), rng.integers(0, 3, num_rows), rng.integers(-1, 2, num_rows)], axis=1
    )
    codes[np.unique(codes[:, :2], axis=0, return_index=True)[1], 2] = 0  # every joint state has a complete row
    share = rng.random(num_rows) + 0.1 if weighted else None
    data = ss.Dataset.from_codes([v, w, z], codes, weights=share)
    found = inverse_probability_weights(data, "z", given=["v", "w"])
    own = np.ones(num_rows) if share is None else share
    for row in range(num_rows):
        same = (codes[:, :2] == codes[row, :2]).all(axis=1)
        chance = own[same & (codes[:, 2] >= 0)].sum() / own[same].sum()
        assert found.probabilities[row] == pytest.approx(chance, abs=EXACT)
        assert found.weights[row] == pytest.approx(own[row] / chance if codes[row, 2] >= 0 else 0.0, rel=EXACT)
    assert found.weights.sum() == pytest.approx(own.sum(), rel=1e-10)


def test_logistic_regression_maximizes_its_likelihood():
    rng = np.random.default_rng(0)
    x, d = rng.standard_normal(400) * 3 + 5, rng.integers(0, 3, 400)
    seen = rng.random(400) < 1 / (1 + np.exp(-(0.5 * x - 2 + 0.7 * (d == 2))))
    data = ss.Dataset.from_codes(
        [ss.Real("x"), ss.Discrete("d", 3), ss.Discrete("z", 2)], {"x": x, "d": d, "z": np.where(seen, 1, -1)}
    )
    found = inverse_probability_weights(data, "z", given=["x", "d"])
    design = np.stack([np.ones(400), x, d == 1, d == 2], axis=1).astype(float)

    def loss(beta):
        return np.logaddexp(0, np.where(seen, -1, 1) * (design @ beta)).sum()

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert found.probabilities == pytest.approx(1 / (1 + np.exp(-design @ best.x)), abs=1e-5)


def test_the_mean_of_a_column_missing_at_random_is_restored():
    rng = np.random.default_rng(1)
    v = rng.integers(0, 2, 20_000)
    data = ss.Dataset.from_codes([ss.Discrete("v"), ss.Real("z")], {"v": v, "z": v + rng.standard_normal(20_000)})
    hidden = hide_cells(data, MAR({"z": Hiding([0.1, 0.8], given="v")}), seed=2)
    found = inverse_probability_weights(hidden, "z", given="v")
    z = np.nan_to_num(hidden.values("z"))
    error = 5 * np.sqrt(1.25 / found.effective_sample_size)
    assert found.weights @ z / found.weights.sum() == pytest.approx(0.5, abs=error)
    assert abs(np.nanmean(hidden.values("z")) - 0.5) > 0.2
    assert found.effective_sample_size < found.is_complete.sum()
    assert repr(found).startswith("CaseWeights(")


def test_complete_and_empty_data():
    rows = ss.Dataset({"v": ["a", "b"], "x": [0.5, 1.5]})
    for form in ("table", "logistic"):
        assert inverse_probability_weights(rows, "x", given="v", form=form).weights.tolist() == [1.0, 1.0]
    assert inverse_probability_weights(rows[:0], "x", given="v").effective_sample_size == 0.0
    assert inverse_probability_weights(rows, [], given=[]).weights.tolist() == [1.0, 1.0]


def test_what_is_refused():
    rows = {"v": ["a", "a", "b"], "z": ["x", "y", None]}
    with pytest.raises(ss.errors.DataError, match="v='b'"):
        inverse_probability_weights(rows, "z", given="v")
    with pytest.raises(ss.errors.DataError, match="certainty"):
        inverse_probability_weights(rows, "z", given="v", form="logistic")
    with pytest.raises(ss.errors.DataError, match="'z'"):
        inverse_probability_weights(rows, "v", given="z")
    with pytest.raises(ss.errors.NotApplicable, match="real"):
        inverse_probability_weights({"x": [0.5, 1.5], "z": ["x", None]}, "z", given="x", form="table")
    with pytest.raises(ss.errors.ArgumentError, match="'tree'"):
        inverse_probability_weights(rows, "z", given="v", form="tree")
