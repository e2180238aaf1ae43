"""What `fit` takes and what a `FitResult` shows."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

import sepset as ss
from sepset.api.learning import fit
from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError
from sepset.graphs.graph import DAG
from sepset.inference.result import Status
from sepset.learning.estimation.estimators import MLE, Bayes, PosteriorMode
from sepset.learning.fit import FitResult, LearningMethod
from sepset.variables.variable import Discrete

ROWS = {"a": [0, 0, 1, 1, 1], "b": ["x", "y", "y", "y", "x"]}
PAIR = DAG.parse("a -> b")


def test_methods_are_values_with_a_fit():
    assert isinstance(MLE(), LearningMethod)
    for wrong in (MLE, "MLE", 3):
        with pytest.raises(ArgumentError, match="a value such as MLE"):
            fit(PAIR, ROWS, wrong)

    class Own:
        def fit(self, task):
            return FitResult(
                task.template, task.rng.random(), method=self, status=Status.STEP_LIMIT, trace=[-2.0, -1.0]
            )

    found = fit(PAIR, ROWS, Own(), seed=3)
    assert found.log_likelihood == np.random.default_rng(3).random()
    assert found.trace.tolist() == [-2.0, -1.0]
    with pytest.raises(ValueError, match="read-only"):
        found.trace[0] = 0.0


def test_frames_of_every_library_agree():
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    expected = fit(PAIR, ROWS).model.cpd("b").values
    for frame in (pd.DataFrame(ROWS), pl.DataFrame(ROWS), pl.LazyFrame(ROWS), pa.table(ROWS), Dataset(ROWS)):
        np.testing.assert_array_equal(fit(PAIR, frame).model.cpd("b").values, expected)


def test_given_variables_fix_the_states():
    wide = Discrete("a", (0, 1, 2))
    found = fit(PAIR, ROWS, Bayes(BDeu(6)), variables=[wide]).model
    np.testing.assert_allclose(found.cpd("a").values, [4 / 11, 5 / 11, 2 / 11])


@pytest.mark.parametrize("method", [MLE(unseen="uniform"), Bayes(BDeu(3)), PosteriorMode(K2())], ids=repr)
def test_counts_that_were_added_up_are_enough(method):
    asia = ss.datasets.load("asia")
    rows = asia.sample(300, seed=1).with_weights(np.random.default_rng(0).random(300))
    counts = sum(ss.data.Counts.of(part, asia.cpds) for part in (rows[:50], rows[50:120], rows[120:]))
    for structure in (asia, asia.dag):
        found, expected = fit(structure, counts, method), fit(structure, rows, method)
        assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
        assert found.num_rows == pytest.approx(rows.total_weight)
        for mine, other in zip(found.model.cpds, expected.model.cpds, strict=True):
            np.testing.assert_allclose(mine.values, other.values, rtol=1e-12)


def test_counts_serve_structured_cpds_and_update_posteriors():
    a, b, c = (ss.Discrete(n) for n in "abc")
    gate = ss.NoisyOr(c, {a: 0.5, b: 0.5}, leak=0.1)
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [0.3, 0.7]), gate)
    rows = net.sample(200, seed=0)
    counts = ss.data.Counts.of(rows, net.cpds)
    np.testing.assert_allclose(
        fit(net, counts).model.cpd("c").to_table().values, fit(net, rows).model.cpd("c").to_table().values, atol=1e-9
    )
    pair = net.subnetwork("a")
    posterior = fit(pair, rows[:80], Bayes(K2())).posterior
    later = posterior.update(ss.data.Counts.of(rows[80:], pair.cpds))
    whole = fit(pair, rows, Bayes(K2())).posterior
    assert later.log_marginal_likelihood == pytest.approx(whole.log_marginal_likelihood, rel=1e-12)


def test_counts_that_do_not_fit_are_refused():
    counts = ss.data.Counts.of({"a": [0, 1], "b": [0, 1]}, ["a", "b"])
    with pytest.raises(ss.errors.ScopeError, match=r"'A' was not counted; 'a', 'b' were\. Did you mean 'a'"):
        fit(ss.DAG.parse("A"), counts)
    with pytest.raises(ss.errors.ScopeError, match="No family holds 'a', 'b' together"):
        fit(ss.DAG.parse("a -> b"), counts)
    with pytest.raises(ss.errors.DataError, match="weights of their rows already"):
        fit(ss.DAG.parse("a"), counts, weights=[1, 1])
    with pytest.raises(ss.errors.NotApplicable, match="say nothing about LinearGaussian"):
        fit(ss.BayesNet(ss.LinearGaussian(ss.Real("x"), covariance=1.0)), counts)
    other = ss.BayesNet(ss.TableCPD(ss.Discrete("a", (1, 2)), [0.5, 0.5]))
    with pytest.raises(ss.errors.ScopeError, match="was counted; the network has"):
        fit(other, counts)


def test_counts_are_taken_by_the_names_of_states():
    counts = ss.data.Counts.of({"a": [0, 1, 1], "b": [0, 1, 1]}, ["a", "b"])
    turned = ss.BayesNet(ss.TableCPD(ss.Discrete("a", (1, 0)), [0.5, 0.5]))
    assert fit(turned, counts).model.cpd("a").values.tolist() == pytest.approx([2 / 3, 1 / 3])


def test_weights_count_rows():
    twice = fit(PAIR, ROWS, weights=[1, 1, 2, 1, 1]).model.cpd("b").values
    again = fit(PAIR, {"a": [0, 0, 1, 1, 1, 1], "b": ["x", "y", "y", "y", "y", "x"]}).model.cpd("b").values
    np.testing.assert_allclose(twice, again)
    data = Dataset(ROWS, weights=[1, 1, 2, 1, 1])
    np.testing.assert_allclose(fit(PAIR, data).model.cpd("b").values, again)
    with pytest.raises(DataError, match="has row weights"):
        fit(PAIR, data, weights=np.ones(5))


def test_it_prints():
    found = fit(PAIR, ROWS, Bayes(BDeu(2)))
    console = Console(width=150)
    with console.capture() as captured:
        console.print(found)
        console.print(found.posterior)
        console.print(found.coverage)
    text = captured.get()
    for part in ("log-likelihood", "log marginal likelihood", "BDeu", "exact", "3 contexts", "Dirichlet"):
        assert part in text
    assert "<table>" in found._repr_html_()
    assert repr(found).startswith("FitResult(BayesNet(2 variables")


def test_the_trace_is_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    found = FitResult(fit(PAIR, ROWS).model, -1.0, method=MLE(), trace=[-3.0, -2.0, -1.0])
    axes = found.plot()
    assert axes.lines[0].get_ydata().tolist() == [-3.0, -2.0, -1.0]
    assert found.plot(axes) is axes
    plt.close(axes.figure)
