"""Noise, bias and variance add up to the mean loss, computed from scratch."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.evaluation.biasvariance import bias_variance
from sepset.learning.evaluation.losses import Brier, ConditionalLogLoss, evaluate
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Real

TRUTH = BayesNet.random(DAG.parse("a -> y <- b"), states={"a": 2, "b": 3, "y": 3}, seed=2)


def learner(pseudo: float, *, parents: bool = True):
    """Tables by plain counting, with or without the parents of y."""

    def learn(data: Dataset) -> BayesNet:
        a, b, y = (TRUTH[n] for n in "aby")
        counts = np.full((2, 3, 3), pseudo)
        np.add.at(counts, tuple(data.codes(n) for n in "aby"), 1.0)
        if not parents:
            counts = np.broadcast_to(counts.sum(axis=(0, 1)), counts.shape)
        rows = counts / counts.sum(axis=2, keepdims=True)
        return BayesNet(TRUTH.cpd("a"), TRUTH.cpd("b"), TableCPD(y, rows, given=(a, b)))

    return learn


def test_the_parts_add_up_to_the_expected_loss():
    test = TRUTH.sample(30, seed=1)
    rng_models = []

    def remember(data):
        rng_models.append(learner(1.0)(data))
        return rng_models[-1]

    for loss, kind in (("brier", Brier("y")), ("log", ConditionalLogLoss("y"))):
        rng_models.clear()
        parts = bias_variance(remember, TRUTH, target="y", test=test, num_rows=40, loss=loss, repeats=12, seed=3)
        expected = 0.0
        for code, state in enumerate(TRUTH["y"].states):
            labeled = Dataset.from_codes(
                test.variables, {n: np.full(30, code) if n == "y" else test.codes(n) for n in test.variables.names}
            )
            p = np.exp(-evaluate(TRUTH, labeled, ConditionalLogLoss("y")).risks.popitem()[1].rows)
            for model in rng_models:
                expected += float(evaluate(model, labeled, kind).risks.popitem()[1].rows @ p) / (30 * 12)
            assert state in TRUTH["y"].states
        assert parts.total == pytest.approx(expected)
        assert min(parts.noise, parts.bias, parts.variance) >= 0


@pytest.mark.parametrize("loss", ["brier", "log"])
def test_too_small_a_model_has_bias_and_more_data_lower_variance(loss):
    def parts(num_rows, parents):
        test = TRUTH.sample(50, seed=1)
        return bias_variance(
            learner(1.0, parents=parents), TRUTH, target="y", test=test, num_rows=num_rows, loss=loss, repeats=30
        )

    few, many, narrow = parts(50, True), parts(2000, True), parts(2000, False)
    assert many.variance < few.variance / 10
    assert narrow.bias > 5 * many.bias
    assert narrow.variance < many.variance
    assert few.noise == many.noise == narrow.noise


def test_labels_count_as_truth_where_there_is_only_data():
    data = TRUTH.sample(200, seed=0)
    parts = bias_variance(learner(1.0), data, target="y", test=data[:40], num_rows=100, repeats=5)
    assert parts.noise == 0.0
    assert parts.bias > parts.variance > 0


def test_zeros_are_infinitely_wrong_in_logarithms():
    parts = bias_variance(learner(1e-300), TRUTH, target="y", test=TRUTH.sample(20, seed=0), num_rows=3, loss="log")
    assert parts.total > 50
    a = TRUTH["a"]
    alone = BayesNet(TableCPD(a, [0.5, 0.5]))

    def wrong(data):
        return BayesNet(TableCPD(a, [1.0, 0.0] if data.codes("a")[0] else [0.0, 1.0]))

    found = bias_variance(wrong, alone, target="a", test={"a": [0]}, num_rows=1, loss="log", repeats=20)
    assert (found.bias, found.variance) == (math.inf, math.inf)


def test_bad_settings_are_refused():
    test = TRUTH.sample(5, seed=0)
    with pytest.raises(ArgumentError, match="'brier', 'log' or 'squared'"):
        bias_variance(learner(1.0), TRUTH, target="y", test=test, num_rows=5, loss="absolute")

    with pytest.raises(ScopeError, match="Use loss='brier'"):
        bias_variance(learner(1.0), TRUTH, target="y", test=test, num_rows=5, loss="squared")

    with pytest.raises(ArgumentError, match="repeats= is a whole number of at least 2"):
        bias_variance(learner(1.0), TRUTH, target="y", test=test, num_rows=5, repeats=1)

    def impossible(data):
        a, b, y = (TRUTH[n] for n in "aby")
        values = np.full((2, 3, 3), 1 / 3)
        return BayesNet(TableCPD(a, [1.0, 0.0]), TRUTH.cpd("b"), TableCPD(y, values, given=(a, b)))

    with pytest.raises(DataError, match="Learn with a prior"):
        bias_variance(impossible, TRUTH, target="y", test=test, num_rows=5)


def test_the_squared_error_of_resampled_rows_adds_up():
    """Labels are the truth, so that there is no noise, and the parts add up to the mean squared error."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    rows = {"x": x, "y": 2.0 * x + rng.normal(size=60)}
    net, learned = BayesNet(*(LinearGaussian(Real(n), covariance=1.0) for n in "xy")), []

    def learn(data):
        learned.append(np.polyfit(data.values("x"), data.values("y"), 1))
        rise, start = learned[-1]
        line = LinearGaussian(Real("y"), start, coefficients={Real("x"): rise}, covariance=1.0, given=Real("x"))
        return net.with_cpds(line)

    found = bias_variance(learn, rows, target="y", test=rows, num_rows=60, loss="squared", repeats=7)
    errors = [(np.polyval(line, x) - rows["y"]) ** 2 for line in learned]
    assert found.noise == 0.0
    assert found.total == pytest.approx(np.mean(errors))
    with pytest.raises(ScopeError, match="Use loss='squared'"):
        bias_variance(learn, rows, target="y", test=rows, num_rows=60)
    with pytest.raises(DataError, match="missing in row 1"):
        bias_variance(learn, rows, target="y", test={"x": [1.0, 2.0], "y": [0.0, None]}, num_rows=60, loss="squared")


def test_predictions_are_compared_where_an_interruption_is_heard(monkeypatch):
    """Those of many training sets and rows are large arrays: the main thread waits for signals meanwhile."""
    where, stack = [], np.stack

    def watched(arrays, **settings):
        where.append(threading.current_thread() is threading.main_thread())
        return stack(arrays, **settings)

    monkeypatch.setattr(np, "stack", watched)
    bias_variance(learner(1.0), TRUTH, target="y", test=TRUTH.sample(9, seed=1), num_rows=20, repeats=2)
    assert where[-1] is False
