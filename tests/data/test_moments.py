"""Moments against NumPy in high precision, on ill-conditioned data, in any chunks and on every engine."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.data.dataset import Dataset
from sepset.data.moments import Moments
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real, Vector

X, Y, Z = Real("x"), Real("y"), Real("z")
K, L = Discrete("k", ("a", "b", "c")), Discrete("l", (0, 1))


def exact(columns, weights=None):
    """Count, mean and scatter in rational arithmetic."""
    rows = [[Fraction(float(value)) for value in row] for row in np.asarray(columns).T]
    weight = [Fraction(float(w)) for w in (np.ones(len(rows)) if weights is None else weights)]
    size, total = len(columns), sum(weight)
    if not total:
        return 0.0, np.zeros(size), np.zeros((size, size))
    mean = [sum(w * row[i] for w, row in zip(weight, rows, strict=True)) / total for i in range(size)]
    scatter = [
        [
            float(sum(w * (row[i] - mean[i]) * (row[j] - mean[j]) for w, row in zip(weight, rows, strict=True)))
            for j in range(size)
        ]
        for i in range(size)
    ]
    return float(total), np.array([float(m) for m in mean]), np.array(scatter)


def assert_moments(moments, columns, weights=None, places=None, rtol=1e-9):
    """Every context's moments are the exact ones of its rows."""
    columns, shape = np.asarray(columns), moments.count.shape
    for context in itertools.product(*map(range, shape)):
        rows = (
            np.ones(columns.shape[1], bool)
            if places is None
            else np.all([p == c for p, c in zip(places, context, strict=True)], axis=0)
        )
        count, mean, scatter = exact(columns[:, rows], None if weights is None else np.asarray(weights)[rows])
        np.testing.assert_allclose(moments.count[context], count, rtol=1e-12)
        # Each sum and each merge rounds numbers as large as the largest; where they cancel, the mean is no larger.
        rounding = (rows.sum() + 4) * np.finfo(float).eps * np.abs(columns[:, rows]).max(axis=1, initial=0.0)
        assert np.all(np.abs(moments.mean[context] - mean) <= rounding)
        scale = np.sqrt(np.outer(np.diag(scatter), np.diag(scatter)))
        assert np.all(np.abs(moments.scatter[context] - scatter) <= rtol * scale + 1e-300)


def sample(seed, num_rows, mean=0.0):
    rng = np.random.default_rng(seed)
    x = mean + rng.normal(size=num_rows)
    return {
        "x": x,
        "y": 0.5 * x + rng.normal(size=num_rows),
        "k": rng.integers(0, 3, num_rows),
        "l": rng.integers(0, 2, num_rows),
    }


def dataset(cells):
    return Dataset.from_codes([X, Y, K, L], cells)


@pytest.mark.parametrize("mean", [0.0, 1e9, -1e12])
def test_a_large_mean_keeps_the_variance(mean):
    cells = sample(0, 40_000, mean)
    moments = Moments.of(dataset(cells), [X, Y])
    x = cells["x"] - cells["x"][0]  # exact: the numbers are close to each other
    np.testing.assert_allclose(moments.covariance[0, 0], x.var(), rtol=1e-7)
    raw = (cells["x"] ** 2).mean() - cells["x"].mean() ** 2
    assert mean == 0 or abs(raw - x.var()) > 1  # what the printed sums would give


@pytest.mark.parametrize("mean", [0.0, 1e9])
def test_moments_are_exact_to_rounding(mean):
    cells = sample(1, 150, mean)
    weights = np.arange(150) % 4 / 2
    rows, columns = dataset(cells), [cells["x"], cells["y"]]
    assert_moments(Moments.of(rows, [X, Y]), columns, rtol=1e-6)
    assert_moments(Moments.of(rows, [X, Y], weights=weights), columns, weights, rtol=1e-6)
    places = [cells["k"], cells["l"]]
    assert_moments(Moments.of(rows, [X, Y], given=(K, L)), columns, None, places, rtol=1e-6)
    assert_moments(Moments.of(rows, ["x", "y"], given=["k", "l"], weights=weights), columns, weights, places, rtol=1e-6)


finite = st.floats(-1e6, 1e6, width=32)
rows_of_numbers = st.lists(st.tuples(finite, finite, st.integers(0, 2), st.integers(0, 3)), max_size=25)


def from_tuples(rows):
    x, y, k, weights = (np.array([row[i] for row in rows], float) for i in range(4))
    data = Dataset.from_codes([X, Y, K], {"x": x, "y": y, "k": k.astype(int)}, weights=weights)
    return data, [x, y], weights, [k.astype(int)]


@given(rows_of_numbers, st.integers(0, 25))
def test_any_chunks_merge_to_the_whole(rows, cut):
    data, columns, weights, places = from_tuples(rows)
    parts = Moments.of(data[:cut], [X, Y], given=K), Moments.of(data[cut:], [X, Y], given=K)
    for moments in (
        Moments.of(data, [X, Y], given=K),
        parts[0] + parts[1],
        parts[1] + parts[0],
        sum(parts),
        parts[0].update(data[cut:]),
    ):
        assert_moments(moments, columns, weights, places)
        assert moments.num_rows == len(rows)
    pooled = (parts[0] + parts[1]).pooled()
    assert_moments(pooled, columns, weights)


@given(rows_of_numbers, rows_of_numbers)
def test_rows_taken_away_again(kept, gone):
    data, columns, weights, places = from_tuples(kept)
    other = from_tuples(gone)[0]
    rest = Moments.of(data.concat(other), [X, Y], given=K) - Moments.of(other, [X, Y], given=K)
    for context in range(3):
        count, mean, scatter = exact(np.array(columns)[:, places[0] == context], weights[places[0] == context])
        np.testing.assert_allclose(rest.count[context], count, atol=1e-9)
        np.testing.assert_allclose(rest.mean[context], mean, atol=1e-6)
        np.testing.assert_allclose(rest.scatter[context], scatter, atol=1.0)  # squares near 1e12 were taken away
    assert rest.num_rows == len(kept)


def test_pooling_some_contexts():
    cells = sample(2, 300, 50.0)
    moments = Moments.of(dataset(cells), [X, Y], given=(K, L))
    columns = [cells["x"], cells["y"]]
    assert_moments(moments.pooled([L]), columns, None, [cells["l"]])
    assert_moments(moments.pooled(["l", "k"]), columns, None, [cells["l"], cells["k"]])
    assert_moments(moments.pooled(), columns)
    with pytest.raises(ScopeError, match="'q' is not among the contexts 'k', 'l'"):
        moments.pooled(["q"])


def test_selecting_variables():
    cells = sample(3, 50)
    moments = Moments.of(dataset(cells), [X, Y], given=K).select(["y"])
    assert_moments(moments, [cells["y"]], None, [cells["k"]])
    assert moments.variables == (Y,)
    with pytest.raises(ScopeError, match="No moments of 'z'"):
        moments.select(["z"])


def test_refusals():
    rows = Dataset({"x": [1.0, np.nan], "y": [1.0, np.inf], "k": ["a", "b"]})
    with pytest.raises(DataError, match=r"column 'x' misses one cell \(first in row 1\). Use EM"):
        Moments.of(rows, ["x"])
    with pytest.raises(DataError, match="Column 'y', row 1: inf"):
        Moments.of(rows, ["y"])
    with pytest.raises(ScopeError, match="Use Counts"):
        Moments.of(rows, ["k"])
    with pytest.raises(ScopeError, match="no states to count"):
        Moments.of(rows, ["y"], given="x")
    with pytest.raises(ScopeError, match="each once"):
        Moments.of(rows, ["y", "y"])
    with pytest.raises(DataError, match="2 dimensions"):
        Moments.of({"y": [1.0]}, [Vector("y", 2)])
    with pytest.raises(ScopeError, match="one or more"):
        Moments.of(rows, [])


def test_taking_away_what_was_not_there():
    few = Moments.of(Dataset({"x": [1.0, 2.0], "k": ["a", "b"]}, [X, K]), X, given=K)
    many = Moments.of(Dataset({"x": [1.0, 2.0, 3.0], "k": ["a", "b", "b"]}, [X, K]), X, given=K)
    with pytest.raises(DataError, match="count of 'x' with k='b' would fall below zero"):
        few - many
    wide = Moments.of({"x": [0.0, 100.0]}, ["x"])
    narrow = Moments.of({"x": [50.0, 50.1, 49.9, 50.0]}, ["x"])
    with pytest.raises(DataError, match="scatter of 'x' would fall below zero"):
        narrow - wide
    with pytest.raises(ScopeError, match="Only moments of the same"):
        few + wide
    with pytest.raises(TypeError):
        few + 3


def test_names_are_measurements_and_whole_numbers_do():
    import polars as pl

    for source in ({"x": [1, 2, 6]}, pl.LazyFrame({"x": [1, 2, 6]})):
        assert Moments.of(source, "x").mean.tolist() == [3]
    with pytest.raises(DataError, match="'x'"):
        Moments.of({"x": ["a", "b"]}, ["x"])


def test_scale_and_values():
    moments = Moments.of({"x": [1.0, 3.0]}, ["x"])
    half = moments.scale(0.5)
    assert (half.total, half.mean.tolist(), half.covariance.tolist()) == (1.0, [2.0], [[1.0]])
    with pytest.raises(ArgumentError, match="factor= is a finite number >= 0; found -1"):
        moments.scale(-1)
    with pytest.raises(ValueError, match="read-only"):
        moments.mean[0] = 1
    assert pickle.loads(pickle.dumps(moments)).scatter.tolist() == [[2.0]]
    with pytest.raises(DataError, match="mean holds finite numbers of shape"):
        Moments((X,), (), count=np.ones(()), mean=np.ones(2), scatter=np.ones((1, 1)), num_rows=1)
    assert repr(Moments.of({"x": [1.0], "k": ["a"]}, ["x"], given="k")) == "Moments('x' given 'k', 1 rows)"


def test_empty_contexts_have_no_covariance():
    moments = Moments.of(Dataset({"x": [1.0, 2.0], "k": ["a", "a"]}, [X, K]), X, given=K)
    assert moments.count.tolist() == [2, 0, 0]
    assert np.isnan(moments.covariance[1]).all()
    assert Moments.of(Dataset.from_codes([X], {"x": np.zeros(0)}), X).total == 0
    assert Moments.of({"x": [1.0, 5.0]}, ["x"], weights=[0, 0]).mean.tolist() == [0]


def engines(cells):
    import dask.dataframe as dd
    import duckdb
    import pandas as pd
    import polars as pl

    readable = {"x": cells["x"], "y": cells["y"], "w": np.arange(len(cells["x"])) % 4 / 2}
    readable |= {"k": np.array(K.states)[cells["k"]].tolist(), "l": cells["l"]}
    frame = pl.DataFrame(readable)
    return {
        "polars": frame.lazy(),
        "duckdb": duckdb.from_arrow(frame.to_arrow()),
        "dask": dd.from_pandas(pd.DataFrame(readable), npartitions=3),
        "frame": frame,
    }


@pytest.mark.filterwarnings("default")  # Dask's own
@pytest.mark.parametrize("mean", [3.0, 1e9])
def test_every_engine_gives_the_same_answer(mean, tmp_path):
    cells = sample(4, 120, mean)
    cells["x"] = cells["x"] + cells["k"] * mean  # contexts far apart: one centre for all would cancel
    sources = engines(cells)
    sources["frame"].write_csv(tmp_path / "rows.csv")
    sources["csv"] = tmp_path / "rows.csv"
    columns, places, weights = [cells["x"], cells["y"]], [cells["k"], cells["l"]], np.arange(120) % 4 / 2
    for source in sources.values():
        assert_moments(Moments.of(source, [X, Y]), columns, rtol=1e-6)
        assert_moments(Moments.of(source, [X, Y], given=(K, L)), columns, None, places, rtol=1e-6)
        assert_moments(Moments.of(source, [X, Y], given=(K, L), weights="w"), columns, weights, places, rtol=1e-6)
        assert_moments(Moments.of(source, [X, Y], weights="w"), columns, weights, rtol=1e-6)


@pytest.mark.filterwarnings("default")
def test_refusals_on_every_engine():
    cells = sample(5, 50)
    cells["x"][7] = np.nan
    cells["y"][3] = np.inf
    for name, source in engines(cells).items():
        with pytest.raises(DataError, match=r"'x' (misses one cell|holds NaN)"):
            Moments.of(source, [X])
        with pytest.raises(DataError, match="'y'"):
            Moments.of(source, [Y], given=K)
        if name != "frame":
            with pytest.raises(DataError, match="unknown state 'c'"):
                Moments.of(source, [Real("w")], given=Discrete("k", ("a", "b")))


def test_equal_moments_give_equal_likelihood_at_any_parameters():
    """Definition 17.1 for a Gaussian, with the statistic (1, x, x^2): rows that differ cannot be told apart."""
    one, other = np.array([-3.0, -1.0, 1.0, 3.0]), math.sqrt(5.0) * np.array([-1.0, -1.0, 1.0, 1.0])
    moments = [Moments.of({"x": x}, ["x"]) for x in (one, other)]
    np.testing.assert_allclose(moments[0].mean, moments[1].mean, atol=1e-15)
    np.testing.assert_allclose(moments[0].covariance, moments[1].covariance, rtol=1e-14)
    rng = np.random.default_rng(0)
    for mean, variance in zip(rng.normal(size=5), rng.gamma(2.0, size=5), strict=True):
        net = BayesNet(LinearGaussian(Real("x"), mean, covariance=variance))
        logs = [net.log_probability({"x": x}).sum() for x in (one, other)]
        assert logs[0] == pytest.approx(logs[1], rel=1e-12)
