"""Group-bys that stay in their engine: what comes back, and what is refused."""

from __future__ import annotations

import itertools

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from sepset.data.counts import Counts
from sepset.data.engines import lazy_moments, shared_scopes
from sepset.data.moments import Moments
from sepset.data.sources import rows_of
from sepset.errors import DataError
from sepset.variables.variable import Discrete, Real

A, N, T, F = Discrete("a", ("x", "y")), Discrete("n", (1, 2)), Discrete("t", (False, True)), Discrete("f", (0.5, 1.5))
CELLS = {"a": ["x", "y", "x"], "n": [1, 2, 2], "t": [True, False, True], "f": [0.5, 0.5, 1.5], "w": [0.5, 1.0, 2.0]}


def dask_frame(cells):
    import dask.dataframe as dd
    import pandas as pd

    return dd.from_pandas(pd.DataFrame(cells), npartitions=2)


ENGINES = {
    "polars": pl.LazyFrame,
    "duckdb": lambda cells: duckdb.from_arrow(pl.DataFrame(cells).to_arrow()),
    "dask": dask_frame,
}
engines = pytest.mark.parametrize("engine", ENGINES)
pytestmark = pytest.mark.filterwarnings("default")  # Dask's own


@engines
def test_states_of_every_type(engine):
    counts = Counts.of(ENGINES[engine](CELLS), [(A, (N, T)), F], weights="w")
    expected = np.zeros((2, 2, 2))
    expected[0, 1, 0], expected[1, 0, 1], expected[1, 1, 0] = 0.5, 1, 2
    np.testing.assert_array_equal(counts["a"], expected)
    assert (counts["f"].tolist(), counts.num_rows, counts.total) == ([1.5, 2], 3, 3.5)


@engines
def test_unknown_states_are_named(engine):
    source = ENGINES[engine](CELLS | {"a": ["x", "why", "why"]})
    with pytest.raises(DataError, match=r"Column 'a': unknown state 'why' \(str\).*2 rows hold such values"):
        Counts.of(source, [A])
    with pytest.raises(DataError, match=r"Column 't': unknown state (True|False) \(bool\)"):
        Counts.of(source, [Discrete("t", (0, 1))])


@engines
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, None, 2.0], "Column 'w' misses 1 weights"),
        ([0.5, -1.0, 2.0], "column 'w' holds -1.0"),
        ([0.5, float("inf"), 2.0], "column 'w' holds NaN or infinity"),
    ],
)
def test_bad_weights(engine, weights, message):
    with pytest.raises(DataError, match=message):
        Counts.of(ENGINES[engine](CELLS | {"w": weights}), [A], weights="w")


@engines
def test_no_families_no_rows(engine):
    assert Counts.of(ENGINES[engine](CELLS), []).num_rows == 3
    assert Counts.of(ENGINES[engine](CELLS), [], weights="w").total == 3.5
    empty = pl.LazyFrame(CELLS).filter(pl.col("n") > 5)
    if engine == "polars":
        assert Counts.of(empty, [A, (N, [A])], weights="w").tables[1].tolist() == [[0, 0], [0, 0]]


@engines
def test_names_that_our_own_columns_might_use(engine):
    names = ["rows", "sum", "weight", "key0", "one", "least", "known"]
    variables = [Discrete(name, ("x", "y")) for name in names]
    cells = {name: ["x", "y", "y"] for name in names} | {"w": [1.0, 2.0, 0.5]}
    counts = Counts.of(ENGINES[engine](cells), [*variables, variables], weights="w")
    assert all(counts[name].tolist() == [1, 2.5] for name in names[:-1])
    assert counts.table(names).sum() == 3.5


def test_only_groups_come_back(monkeypatch):
    """No frame with as many rows as the data is ever collected."""
    sizes = []
    from sepset.data import engines

    opened = engines.open_frame
    monkeypatch.setattr(engines, "open_frame", lambda frame: sizes.append(opened(frame).num_rows) or opened(frame))
    rows = pl.LazyFrame({"a": ["x", "y"] * 5000, "n": [1, 2, 2, 1] * 2500})
    for source in (rows, duckdb.from_arrow(rows.collect().to_arrow())):
        Counts.of(source, [A, (N, [A])])
    assert sizes == [4, 4]


def test_text_files_match_states_by_how_they_print(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("n,f,t\n1,0.5,True\n2,.5,true\n1,1.5,false\n")
    counts = Counts.of(file, [(N, [F]), T])
    assert [table.tolist() for table in counts.tables] == [[[1, 1], [1, 0]], [1, 2]]
    file.write_text("n,f,t\n1,0.5,maybe\n")
    with pytest.raises(DataError, match="Column 't': unknown state 'maybe'"):
        Counts.of(file, [T])


@given(st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=4), max_size=12), st.integers(1, 200))
def test_shared_scopes_cover_every_family(families, limit):
    variables = [Discrete(f"v{k}", k % 4 + 1) for k in range(8)]
    scopes = [tuple(variables[k] for k in sorted(family)) for family in families]
    unions = shared_scopes(scopes, limit)
    assert sorted(itertools.chain.from_iterable(places for _, places in unions)) == list(range(len(scopes)))
    for union, places in unions:
        size = np.prod([v.num_states for v in union])
        assert all(set(scopes[place]) <= set(union) for place in places)
        assert size <= max(limit, *(np.prod([v.num_states for v in scopes[place]]) for place in places))


X, K = Real("x"), Discrete("k", ("a", "b", "c"))
ROWS = pl.LazyFrame({"x": [1.0, 3.0, 7.0], "k": ["a", "a", "b"], "w": [1.0, 1.0, 0.0]})


def test_contexts_without_weight_have_no_moments():
    with rows_of(ROWS, [X, K], "w") as rows:
        count, mean, scatter, num_rows = lazy_moments(rows, [X], (K,))
    assert (count.tolist(), num_rows) == ([2, 0, 0], 3)
    assert (mean.ravel().tolist(), scatter.ravel().tolist()) == ([2, 0, 0], [2, 0, 0])


def test_no_rows():
    none = ROWS.filter(pl.col("x") > 10)
    assert Moments.of(none, [X], given=K).count.tolist() == [0, 0, 0]
    assert Moments.of(none, [X]).total == 0
    assert np.all(Moments.of(none, [X], weights="w").scatter == 0)
