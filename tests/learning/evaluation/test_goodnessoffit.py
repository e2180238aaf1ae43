"""Goodness of fit: exact moments against written-out joints, and p-values that mean what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sepset.cpds.kerneldensity import KernelCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError
from sepset.graphs.graph import DAG
from sepset.learning.evaluation.goodnessoffit import (
    GoodnessOfFitResult,
    goodness_of_fit,
    mean_log_loss,
)
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real

TRUTH = BayesNet.random(DAG.parse("a -> b <- c; b -> d"), states=3, seed=5)


def test_p_values_are_uniform_under_the_truth():
    p = [goodness_of_fit(TRUTH, TRUTH.sample(40, seed=1000 + s), num_draws=39, seed=s).p_value for s in range(150)]
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_other_data_do_not_fit():
    other = BayesNet.random(TRUTH.dag, states=3, seed=6)
    found = goodness_of_fit(TRUTH, other.sample(200, seed=0), num_draws=99)
    assert found.p_value == 0.02
    assert abs(found.z_score) > 3


def test_simulated_figures_have_the_exact_mean_and_deviation():
    found = goodness_of_fit(TRUTH, TRUTH.sample(50, seed=0), num_draws=400, seed=1)
    assert abs(found.draws.mean() - found.expected) < 5 * found.deviation / math.sqrt(400)
    assert found.draws.std(ddof=1) == pytest.approx(found.deviation, rel=5 / math.sqrt(800))


def frequencies(data: Dataset) -> BayesNet:
    counts = np.bincount(data.codes("x"), minlength=4) + 0.0
    return BayesNet(TableCPD(Discrete("x", 4), counts / counts.sum()))


def entropy_of_rows(data: Dataset) -> float:
    """The log-loss of frequencies on the rows they were counted from."""
    p = np.bincount(data.codes("x"), minlength=4) / len(data)
    return -float(p[p > 0] @ np.log(p[p > 0]))


def test_refitting_judges_each_simulation_by_its_own_model():
    drawn = []

    def figure(model, data):
        drawn.append(data)
        return mean_log_loss(model, data)

    rows = BayesNet(TableCPD(Discrete("x", 4), [0.1, 0.2, 0.3, 0.4])).sample(25, seed=0)
    found = goodness_of_fit(frequencies(rows), rows, statistic=figure, num_draws=30, refit=frequencies)
    np.testing.assert_allclose([found.statistic, *found.draws], [entropy_of_rows(data) for data in drawn])
    without = goodness_of_fit(frequencies(rows), rows, num_draws=30)
    assert without.draws.mean() > found.draws.mean()  # models of other rows do worse than those of their own
    assert without.z_score == pytest.approx(0.0, abs=1e-9)  # on its own rows the loss is the entropy: no test at all


def test_refitted_models_of_the_right_form_are_seldom_refused():
    truth = BayesNet(TableCPD(Discrete("x", 4), [0.1, 0.2, 0.3, 0.4]))
    p = []
    for seed in range(40):
        data = truth.sample(60, seed=seed)
        found = goodness_of_fit(frequencies(data), data, num_draws=19, seed=seed, refit=frequencies)
        p.append(found.p_value)
    assert np.mean(np.array(p) <= 0.1) < 0.1 + 5 * math.sqrt(0.09 / 40)


def test_missing_cells_are_missing_in_simulations():
    rows = TRUTH.sample(30, seed=2)
    codes = rows.matrix().copy()
    codes[np.random.default_rng(0).random(codes.shape) < 0.3] = -1
    holes = Dataset.from_codes(TRUTH.variables, codes)
    seen = []

    def count(model, data):
        seen.append(sum(data.num_missing.values()))
        return mean_log_loss(model, data)

    found = goodness_of_fit(TRUTH, holes, statistic=count, num_draws=5)
    assert set(seen) == {int((codes < 0).sum())}
    assert math.isnan(found.z_score)
    weighted = goodness_of_fit(TRUTH, rows.with_weights(np.arange(30)), num_draws=5)
    assert math.isnan(weighted.expected)


def test_continuous_models_are_simulated():
    net = BayesNet(LinearGaussian(Real("x"), 1.0, covariance=4.0))
    found = goodness_of_fit(net, {"x": np.random.default_rng(0).normal(1.0, 2.0, 50)}, num_draws=99)
    assert found.p_value > 0.02
    assert found.expected == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 4.0))
    assert found.deviation == pytest.approx(math.sqrt(0.5 / 50))
    assert goodness_of_fit(net, {"x": np.random.default_rng(0).normal(9.0, 2.0, 50)}, num_draws=99).p_value == 0.02


def test_kernel_densities_are_simulated_alone():
    net = BayesNet(KernelCPD(Real("x"), {"x": [0.1, 0.4, 1.5]}))
    assert math.isnan(goodness_of_fit(net, net.sample(20, seed=0), num_draws=9).expected)


def test_deterministic_and_pictured():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    first, second = (goodness_of_fit(TRUTH, TRUTH.sample(20, seed=1), num_draws=19, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.draws, second.draws)
    axes = first.plot(plt.figure().gca())
    assert axes.get_xlabel() == "mean log-loss (nats)"
    plt.close("all")
    from rich.console import Console

    console = Console(record=True)
    console.print(first)
    assert "p-value" in console.export_text()
    with pytest.raises(ArgumentError, match="num_draws"):
        goodness_of_fit(TRUTH, TRUTH.sample(3), num_draws=0)


def test_ties_are_two_sided():
    assert GoodnessOfFitResult(0.0, np.zeros(9)).p_value == 1.0
    assert GoodnessOfFitResult(1.0, np.zeros(9)).p_value == 0.2


def test_no_rows_that_count_are_refused():
    net = BayesNet(TableCPD(Discrete("a"), [0.5, 0.5]))
    for rows in ({"a": []}, Dataset({"a": [0, 1]}, net.variables, weights=[0, 0])):
        with pytest.raises(DataError, match="rows that count"):
            goodness_of_fit(net, rows, num_draws=3)
