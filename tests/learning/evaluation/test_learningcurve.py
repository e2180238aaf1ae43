"""Learning curves: the same rows for all, and what estimation theory says of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.evaluation.learningcurve import LearningCurveResult, learning_curve
from sepset.learning.evaluation.losses import LogLoss, ZeroOne
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

X = Discrete("x", 3)
TRUTH = BayesNet(TableCPD(X, [0.5, 0.3, 0.2]))


def smoothed(pseudo: float):
    def learn(data: Dataset) -> BayesNet:
        counts = np.bincount(data.codes("x"), minlength=3) + pseudo
        return BayesNet(TableCPD(X, counts / counts.sum()))

    return learn


def test_divergence_falls_like_parameters_over_twice_the_rows():
    curve = learning_curve({"one": smoothed(1.0)}, TRUTH, sizes=[250, 1000, 4000], repeats=300, seed=0)
    expected = 2 / (2 * np.array([250, 1000, 4000]))
    np.testing.assert_allclose(curve.mean("one"), expected, rtol=0.25)
    assert curve.slope("one") == pytest.approx(-1.0, abs=0.1)
    assert (curve.spread("one") > 0).all()


def test_raw_counts_can_be_infinitely_far():
    rare = BayesNet(TableCPD(X, [0.99, 0.009, 0.001]))
    curve = learning_curve({"raw": smoothed(0.0), "one": smoothed(1.0)}, rare, sizes=[20, 50], repeats=5)
    assert curve.mean("raw").tolist() == [math.inf, math.inf]
    assert np.isfinite(curve.mean("one")).all()
    assert np.isnan(curve.spread("raw")).all()
    assert math.isnan(curve.slope("raw"))


def test_procedures_see_the_same_growing_rows():
    seen: dict[str, list[Dataset]] = {"a": [], "b": []}

    def watcher(name):
        def learn(data):
            seen[name].append(data)
            return TRUTH

        return learn

    learning_curve({n: watcher(n) for n in seen}, TRUTH, sizes=[30, 10, 20], repeats=2, seed=3)
    assert [len(d) for d in seen["a"]] == [10, 20, 30, 10, 20, 30]
    for one, other in zip(seen["a"], seen["b"], strict=True):
        assert one.equals(other)
    assert seen["a"][2][:10].equals(seen["a"][0])
    assert not seen["a"][0].equals(seen["a"][3])


def test_from_data_the_loss_is_on_rows_set_aside():
    data = TRUTH.sample(400, seed=1)
    curve = learning_curve({"one": smoothed(1.0)}, data, sizes=[10, 300], repeats=4, test=0.25, seed=2)
    assert curve.measure == "log-loss"
    entropy = -sum(p * math.log(p) for p in (0.5, 0.3, 0.2))
    assert curve.mean("one")[1] == pytest.approx(entropy, rel=0.1)
    with pytest.raises(DataError, match="301 rows to learn from were asked for; 300 of 400"):
        learning_curve({"one": smoothed(1.0)}, data, sizes=[301])


def test_measures_of_any_kind():
    curve = learning_curve({"one": smoothed(1.0)}, TRUTH, sizes=[50], measure=ZeroOne("x"), repeats=3)
    assert curve.measure == "0/1 loss of x"
    assert 0.2 < curve.mean("one")[0] < 0.8

    def first(model):
        return float(model.cpd("x").values[0])

    curve = learning_curve({"one": smoothed(1.0)}, TRUTH, sizes=[5000], measure=first, repeats=3)
    assert (curve.measure, curve.mean("one")[0]) == ("first", pytest.approx(0.5, abs=0.05))
    data = TRUTH.sample(100, seed=0)
    assert learning_curve({"one": smoothed(1.0)}, data, sizes=[20], measure=LogLoss()).measure == "log-loss"


def test_seeds_repeat():
    curves = [learning_curve({"one": smoothed(1.0)}, TRUTH, sizes=[10, 20], repeats=3, seed=s) for s in (1, 1, 2)]
    np.testing.assert_array_equal(curves[0].values["one"], curves[1].values["one"])
    assert (curves[0].values["one"] != curves[2].values["one"]).any()


def test_curves_have_pictures_and_tables():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    values = {"a": np.array([[1.0, 0.1], [2.0, 0.2]]), "never": np.full((2, 2), np.inf)}
    curve = LearningCurveResult((10, 100), values, measure="KL")
    axes = curve.plot(plt.figure().gca())
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["a", "never (infinite)"]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    for narrow in (
        [[2.0, 1.9], [2.2, 1.7]],
        [[-3.0, -1.0], [-2.0, 1.0]],
    ):  # a factor of five is not spanned; below zero
        axes = LearningCurveResult((10, 100), {"a": np.array(narrow)}, measure="log-loss").plot(plt.figure().gca())
        assert axes.get_yscale() == "linear"
        assert axes.lines[0].get_ydata().tolist() == np.mean(narrow, axis=0).tolist()
    LearningCurveResult((10, 100), {"never": np.full((2, 2), np.inf)}).plot(plt.figure().gca())
    plt.close("all")
    from rich.console import Console

    console = Console(record=True)
    console.print(curve)
    assert "inf" in console.export_text()
    with pytest.raises(ScopeError, match="Did you mean 'never'"):
        curve.mean("nevr")


def test_bad_settings_are_refused():
    with pytest.raises(ArgumentError, match="sizes= are numbers of rows"):
        learning_curve({"one": smoothed(1.0)}, TRUTH, sizes=[])
    with pytest.raises(ArgumentError, match="come by name"):
        learning_curve({}, TRUTH, sizes=[10])
    with pytest.raises(ArgumentError, match="come by name"):
        learning_curve(smoothed(1.0), TRUTH, sizes=[10])
    with pytest.raises(ArgumentError, match="repeats"):
        learning_curve({"one": smoothed(1.0)}, TRUTH, sizes=[10], repeats=0)


def test_one_repeat_has_no_spread():
    curve = learning_curve({"one": smoothed(1.0)}, BayesNet.random(DAG.parse("x"), states=3), sizes=[10], repeats=1)
    assert math.isnan(curve.spread("one")[0])
