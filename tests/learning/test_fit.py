"""What `fit` takes and what a `Fit` shows."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

from sepset.cpds.priors import BDeu
from sepset.data.dataset import Dataset
from sepset.errors import DataError, NotApplicable
from sepset.graphs.graph import DAG
from sepset.inference.result import Status
from sepset.learning.fit import Fit, LearningMethod, fit
from sepset.learning.parameters import MLE, Bayes
from sepset.variables import Discrete

ROWS = {"a": [0, 0, 1, 1, 1], "b": ["x", "y", "y", "y", "x"]}
PAIR = DAG.parse("a -> b")


def test_methods_are_values_with_a_fit():
    assert isinstance(MLE(), LearningMethod)
    for wrong in (MLE, "MLE", 3):
        with pytest.raises(NotApplicable, match="a value such as MLE"):
            fit(PAIR, ROWS, wrong)

    class Own:
        def fit(self, task):
            return Fit(task.template, task.rng.random(), method=self, status=Status.STEP_LIMIT, trace=[-2.0, -1.0])

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
        console.print(found.fragmentation)
    text = captured.get()
    for part in ("log-likelihood", "log marginal likelihood", "BDeu", "exact", "3 contexts", "Dirichlet"):
        assert part in text
    assert "<table>" in found._repr_html_()
    assert repr(found).startswith("Fit(BayesNet(2 variables")


def test_the_trace_is_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    found = Fit(fit(PAIR, ROWS).model, -1.0, method=MLE(), trace=[-3.0, -2.0, -1.0])
    axes = found.plot()
    assert axes.lines[0].get_ydata().tolist() == [-3.0, -2.0, -1.0]
    assert found.plot(axes) is axes
    plt.close(axes.figure)
