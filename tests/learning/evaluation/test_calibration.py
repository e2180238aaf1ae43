"""Calibration against its definition and scikit-learn, and what correlated features do to naive Bayes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError
from sepset.learning.evaluation.calibration import calibration_curve, reliability_curve
from sepset.learning.evaluation.losses import ConditionalLogLoss, ZeroOne, evaluate
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

C = Discrete("c", ("no", "yes"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=40), st.integers(1, 12))
def test_bins_by_hand(cases, bins):
    p, y = np.array([k / 20 for k, _ in cases]), np.array([b for _, b in cases])
    found = reliability_curve(p, y, bins=bins)
    places = [min(int(x * bins), bins - 1) for x in p]
    error = 0.0
    for place, mean, share, weight in zip(
        sorted(set(places)), found.predicted, found.observed, found.weights, strict=True
    ):
        mine = [m for m, b in enumerate(places) if b == place]
        assert (mean, share, weight) == (pytest.approx(p[mine].mean()), pytest.approx(y[mine].mean()), len(mine))
        error += len(mine) / len(p) * abs(p[mine].mean() - y[mine].mean())
    assert found.expected_error == pytest.approx(error)
    assert found.largest_error == pytest.approx(np.abs(found.gaps).max())


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_curves_agree_with_scikit_learn(strategy):
    sklearn = pytest.importorskip("sklearn.calibration")
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p**2
    theirs = sklearn.calibration_curve(y, p, n_bins=8, strategy=strategy)
    ours = reliability_curve(p, y, bins=8, strategy=strategy)
    np.testing.assert_allclose(ours.observed, theirs[0])
    np.testing.assert_allclose(ours.predicted, theirs[1])


def test_a_true_model_is_calibrated():
    net = BayesNet(
        TableCPD(C, [0.7, 0.3]),
        *(TableCPD(Discrete(f"x{k}"), [[0.8, 0.2], [0.3, 0.7]], given=C) for k in range(4)),
    )
    rows = net.sample(20_000, seed=1)
    for state in (None, "yes"):
        found = calibration_curve(net, rows, target="c", state=state)
        assert found.expected_error < 5 * 0.5 / math.sqrt(20_000 / len(found.weights))


def copied(count: int) -> BayesNet:
    """One feature and its copies, as naive Bayes sees them."""
    return BayesNet(
        TableCPD(C, [0.5, 0.5]), *(TableCPD(Discrete(f"x{k}"), [[0.7, 0.3], [0.3, 0.7]], given=C) for k in range(count))
    )


def test_copied_features_leave_the_labels_right_and_the_posteriors_skewed():
    rng = np.random.default_rng(2)
    c = rng.integers(0, 2, 5000)
    x = np.where(rng.random(5000) < 0.7, c, 1 - c)
    variables = [C, *(Discrete(f"x{k}") for k in range(9))]
    rows = Dataset.from_codes(variables, np.stack([c, *[x] * 9], axis=1))
    one, many = copied(1), copied(9)
    labels = [evaluate(net, rows, ZeroOne("c"))[ZeroOne("c")].mean for net in (one, many)]
    assert labels[0] == labels[1]
    losses = [evaluate(net, rows, ConditionalLogLoss("c")).risks.popitem()[1].mean for net in (one, many)]
    assert losses[1] > 2 * losses[0]
    errors = [calibration_curve(net, rows, target="c").expected_error for net in (one, many)]
    assert errors[0] < 0.02
    assert errors[1] > 0.25


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    p, y, w = rng.random(30), rng.random(30) < 0.5, rng.integers(0, 4, 30)
    repeated = reliability_curve(np.repeat(p, w), np.repeat(y, w), bins=5)
    weighted = reliability_curve(p, y, bins=5, weights=w)
    np.testing.assert_allclose(weighted.observed, repeated.observed)
    assert weighted.expected_error == pytest.approx(repeated.expected_error)


def test_curves_have_pictures():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    found = reliability_curve([0.1, 0.9, 0.4], [0, 1, 0], what="P(c=yes)")
    axes = found.plot(plt.figure().gca(), label="naive Bayes")
    assert axes.lines[-1].get_xdata().tolist() == found.predicted.tolist()
    assert "P(c=yes)" in axes.get_title()
    plt.close("all")
    from rich.console import Console

    console = Console(record=True)
    console.print(found)
    assert "expected calibration error" in console.export_text()


def test_nothing_to_calibrate():
    found = reliability_curve([], [])
    assert math.isnan(found.expected_error)
    assert math.isnan(found.largest_error)


def test_bad_input_is_refused():
    with pytest.raises(DataError, match="between 0 and 1"):
        reliability_curve([1.5], [1])
    with pytest.raises(ArgumentError, match="bins"):
        reliability_curve([0.5], [1], bins=0)
    with pytest.raises(ArgumentError, match="'uniform' or 'quantile'"):
        reliability_curve([0.5], [1], strategy="even")


def test_rows_without_a_prediction_are_left_out_and_counted():
    sure = BayesNet(TableCPD(C, [0.5, 0.5]), TableCPD(Discrete("x"), [[1.0, 0.0], [1.0, 0.0]], given=C))
    found = calibration_curve(sure, {"c": ["no", "no", "yes"], "x": [0, 1, 0]}, target="c")
    assert found.left_out == 1
    assert found.weights.sum() == 2
    assert found.expected_error == pytest.approx(0.0)
    from rich.console import Console

    console = Console(record=True)
    console.print(found)
    assert "1 rows with impossible features" in " ".join(console.export_text().split())


def test_many_rows_of_mixed_weights_keep_their_digits():
    rng = np.random.default_rng(5)
    for weights in (np.ones(300_000), np.concatenate([[1e12], np.full(299_999, 1e-4)])):
        came = rng.random(300_000) < 0.35
        found = reliability_curve(np.full(300_000, 0.35), came, weights=weights)
        assert found.predicted[0] == pytest.approx(0.35, rel=1e-14)
        assert found.observed[0] == pytest.approx(math.fsum(weights * came) / math.fsum(weights), rel=1e-14)
