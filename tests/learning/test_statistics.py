"""Statistics are pooled by block; fast paths, and rows that stay where they are, count what plain ones do."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.api.learning import fit
from sepset.cpds.counts import Configurations
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.data.dataset import Dataset
from sepset.data.moments import Moments
from sepset.data.scatter import Scatters
from sepset.errors import DataError
from sepset.graphs.graph import DAG
from sepset.learning import statistics
from sepset.learning.estimation.estimators import MLE
from sepset.learning.statistics import Statistics
from sepset.learning.task import Task
from sepset.models.defaults import template_of
from sepset.variables.variable import Discrete, Real, Vector
from support import random_models
from support.blocks import in_blocks


@in_blocks("seed", range(10))
def test_as_each_cpd_counts_for_itself(seed):
    rng = np.random.default_rng(seed)
    net = random_models.structured_net(rng).model
    data = net.sample(50, seed)
    weights = rng.random(50)
    stats = Statistics.of(Task(net, data, weights=weights), "MLE")
    columns = {v: data.column(v) for v in net.variables}
    assert stats.num_rows == pytest.approx(weights.sum())
    for pool in stats.blocks.values():
        expected = pool.cpds[0].statistics(columns, weights)
        if isinstance(expected, Configurations):
            np.testing.assert_array_equal(pool.total.codes, expected.codes)
            np.testing.assert_allclose(pool.total.counts, expected.counts)
        else:
            np.testing.assert_allclose(pool.total, expected)
    expected = float(weights @ net.log_probability(data))
    assert stats.log_likelihood(net) == pytest.approx(expected, abs=1e-9)


def test_rows_without_weight_do_not_count_against_a_model():
    from sepset.cpds.noisy import NoisyOr
    from sepset.cpds.table import TableCPD
    from sepset.models.bayesnet import BayesNet
    from sepset.variables.variable import Discrete

    a, c = Discrete("a"), Discrete("c")
    net = BayesNet(TableCPD(a, [0.5, 0.5]), NoisyOr(c, {a: 0.5}))
    stats = Statistics.of(Task(net, {"a": [0, 1], "c": [1, 1]}, weights=[0.0, 1.0]), "MLE")
    assert stats.log_likelihood(net) == pytest.approx(np.log(0.25))


def test_real_columns_are_centered():
    from sepset.graphs.graph import DAG
    from sepset.models.defaults import template_of

    rows = {"x": [0.5, 1.5, 5.5]}
    stats = Statistics.of(Task(template_of(DAG.parse("x"), rows), rows), "MLE")
    (pool,) = stats.blocks.values()
    assert isinstance(pool.total, Scatters)
    assert pool.total.contexts[0].products.tolist() == [[14.0]]
    with pytest.raises(DataError, match="MLE needs complete data"):
        Statistics.of(Task(stats.template, {"x": [1.0, None]}), "MLE")


def test_nearly_perfect_lines_have_the_likelihood_of_their_rows():
    """What they leave over is a small difference of large sums, so the rows themselves are asked."""
    from sepset.api.learning import fit
    from sepset.graphs.graph import DAG

    rng = np.random.default_rng(0)
    x = 3.0 * rng.normal(size=1000)
    rows = {"x": x, "y": x + 1e-6 * rng.normal(size=1000)}
    found = fit(DAG.parse("x -> y"), rows)
    assert found.log_likelihood == pytest.approx(float(found.model.log_probability(rows).sum()), rel=1e-12)


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
    monkeypatch.setattr("sepset.data.filecolumns.LARGEST", 0)  # as for a file that is too large to be read as a whole
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


@in_blocks("seed", range(6))
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
    monkeypatch.setattr(
        Moments, "of", classmethod(lambda cls, *args, **named: asked.append(args[1]) or original(cls, *args, **named))
    )
    k = Discrete("k", ("a", "b", "c"))
    lines = [LinearGaussian(Real(name), covariance=np.ones(3), by=k) for name in "xyz"]
    for widest, num_asked in ((statistics.WIDEST, 1), (2, 2), (1, 3)):
        asked.clear()
        monkeypatch.setattr(statistics, "WIDEST", widest)
        found, total = statistics.stored_statistics(lines, pl.LazyFrame(rows), None)
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
    assert net.cpds[0].parameters.stored is None
    assert LinearGaussian(Vector("p", 2), covariance=np.eye(2)).parameters.stored is None
    rows = {"x": [0.0, 1.0, 3.0]}
    assert fit(net, pl.LazyFrame(rows)).log_likelihood == pytest.approx(fit(net, rows, MLE()).log_likelihood)
