"""Rows that stay where they are have the statistics of rows in memory."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.configurations import Configurations
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.moments import Scatters
from sepset.data import filerows
from sepset.data.dataset import Dataset
from sepset.data.moments import Moments
from sepset.errors import DataError
from sepset.graphs.graph import DAG
from sepset.learning import stored
from sepset.learning.estimation.estimators import MLE
from sepset.learning.fit import fit
from sepset.learning.statistics import Statistics
from sepset.learning.task import Task, template_of
from sepset.variables.variable import Discrete, Real, Vector
from support import random_models

MIXED = DAG.parse("k -> x; x -> y; k -> y; k -> j; z -> y")


def columns(num_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    k = rng.integers(3, size=num_rows)
    x, z = rng.normal(1e6, 2.0, num_rows) + k, rng.normal(size=num_rows)
    return {
        "k": np.array(["a", "b", "c"])[k].tolist(),
        "j": rng.integers(2, size=num_rows),
        "x": x,
        "y": (x - 1e6) * k - z + rng.normal(size=num_rows),
        "z": z,
        "w": rng.integers(0, 4, size=num_rows).astype(float),
    }


def sources(rows, tmp_path):
    import dask.dataframe as dd
    import duckdb
    import pandas as pd
    import polars as pl

    frame = pd.DataFrame(rows)
    pl.DataFrame(rows).write_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return {
        "polars": pl.LazyFrame(rows),
        "duckdb": duckdb.from_df(frame),
        "dask": dd.from_pandas(frame, npartitions=3),
        "parquet": tmp_path / "rows.parquet",
        "csv": str(tmp_path / "rows.csv"),
    }


@pytest.mark.parametrize("weights", [None, "w"])
def test_mixed_networks_are_fitted_where_the_rows_are(tmp_path, monkeypatch, weights):
    rows = columns()
    template = template_of(MIXED, rows)
    expected = fit(template, Dataset(rows, weights=rows["w"] if weights else None))
    monkeypatch.setattr(filerows, "LARGEST", 0)  # as for a file that is too large to be read as a whole
    monkeypatch.setattr(Task, "dataset", property(lambda self: pytest.fail("the rows were loaded")))
    for name, source in sources(rows, tmp_path).items():
        found = fit(template, source, weights=weights)
        assert found.num_rows == expected.num_rows
        assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-9), name
        for mine, other in zip(found.model.cpds, expected.model.cpds, strict=True):
            if isinstance(mine, LinearGaussian):
                np.testing.assert_allclose(mine.coefficients, other.coefficients, rtol=1e-6)
                np.testing.assert_allclose(mine.covariance, other.covariance, rtol=1e-7)
            else:
                np.testing.assert_array_equal(mine.values, other.values)


def test_real_networks_need_no_counts(tmp_path):
    rows = columns()
    dag = DAG.parse("x -> y <- z")
    expected = fit(dag, {name: rows[name] for name in "xyz"})
    for source in sources(rows, tmp_path).values():
        found = fit(dag, source)
        assert found.num_rows == 200
        assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_every_discrete_cpd_counts_joint_states(seed):
    net = random_models.structured_net(np.random.default_rng(seed)).model
    data = net.sample(60, seed)
    lazy = data.to_frame("polars").lazy()
    inside, outside = (Statistics.of(Task(net, source), "MLE") for source in (data, lazy))
    assert outside.columns == {}
    assert outside.log_likelihood(net) == pytest.approx(float(net.log_probability(data).sum()), abs=1e-9)
    for block, pool in inside.blocks.items():
        other = outside.blocks[block].total
        if isinstance(pool.total, Configurations):
            np.testing.assert_array_equal(other.codes, pool.total.codes)
            np.testing.assert_array_equal(other.counts, pool.total.counts)
        else:
            np.testing.assert_array_equal(other, pool.total)


def test_lines_share_group_bys(monkeypatch):
    import polars as pl

    rows = columns()
    asked = []
    original = Moments.of.__func__
    monkeypatch.setattr(Moments, "of", classmethod(lambda cls, *args: asked.append(args[1]) or original(cls, *args)))
    k = Discrete("k", ("a", "b", "c"))
    lines = [LinearGaussian(Real(name), covariance=np.ones(3), by=k) for name in "xyz"]
    for widest, num_asked in ((stored.WIDEST, 1), (2, 2), (1, 3)):
        asked.clear()
        monkeypatch.setattr(stored, "WIDEST", widest)
        found, total = stored.stored_statistics(lines, pl.LazyFrame(rows), None)
        assert (len(asked), total) == (num_asked, 200.0)
        codes = {k: np.array(["abc".index(state) for state in rows["k"]]), **{Real(n): rows[n] for n in "xyz"}}
        for cpd in lines:
            expected = cpd.scatters(codes)
            assert isinstance(found[cpd], Scatters)
            np.testing.assert_allclose(found[cpd].products, expected.products, rtol=1e-8)


def test_missing_numbers_are_refused_and_em_is_named():
    import polars as pl

    with pytest.raises(DataError, match=r"'y' misses one cell.*EM"):
        fit(DAG.parse("x -> y"), pl.LazyFrame({"x": [1.0, 2.0, 4.0], "y": [1.0, None, 2.0]}))


def test_what_group_bys_do_not_tell_is_loaded():
    import polars as pl

    from sepset.cpds.kerneldensity import KernelCPD
    from sepset.models.bayesnet import BayesNet

    x = Real("x")
    net = BayesNet(KernelCPD(x, {x: np.array([0.0, 1.0])}, width=1.0))
    assert not stored.is_countable(net.cpds[0])
    assert not stored.is_countable(LinearGaussian(Vector("p", 2), covariance=np.eye(2)))
    rows = {"x": [0.0, 1.0, 3.0]}
    assert fit(net, pl.LazyFrame(rows)).log_likelihood == pytest.approx(fit(net, rows, MLE()).log_likelihood)
