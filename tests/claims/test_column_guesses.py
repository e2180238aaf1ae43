"""What a column is taken for does not depend on who read it, and nothing doubtful is taken for granted in silence."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

import sepset as ss

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ASKED = "refused, with a word about variables="
CELLS = {"a": [1, 0, None, 1, 0, 1], "b": list("xyxyxx")}


def kinds(edges: str, data: object, method: ss.learning.LearningMethod | None = None) -> dict[str, str] | str:
    """The kind of each variable's CPD, or that the user was asked to say what they are."""
    try:
        model = ss.fit(ss.DAG.parse(edges), data, method).model
    except ss.SepsetError as error:
        return ASKED if "variables=" in str(error) else str(error)
    return {cpd.child.name: type(cpd).__name__ for cpd in model.cpds}


@pytest.fixture
def path(tmp_path):
    """The cells as a file, in which the missing one is empty."""
    lines = [f"{'' if a is None else a},{b}" for a, b in zip(CELLS["a"], CELLS["b"], strict=True)]
    (tmp_path / "cells.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    return tmp_path / "cells.csv"


READERS = {
    "mapping": lambda path: CELLS,
    "file": lambda path: path,
    "polars": lambda path: pl.DataFrame(CELLS),
    "polars file": pl.read_csv,
    "pandas with Int64": lambda path: pd.read_csv(path, dtype={"a": "Int64"}),
    "pandas": lambda path: pd.DataFrame(CELLS),
    "pandas file": pd.read_csv,
    "dask": lambda path: pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame(CELLS), npartitions=2),
    "lazy polars": lambda path: pl.LazyFrame(CELLS),
    "lazy polars of floats": lambda path: pl.LazyFrame({**CELLS, "a": [1.0, 0.0, np.nan, 1.0, 0.0, 1.0]}),
    "arrow": lambda path: pl.DataFrame(CELLS).to_arrow(),
    "relation": lambda path: duckdb.from_df(pd.DataFrame(CELLS)),
    "parquet": lambda path: _parquet(path.with_suffix(".parquet")),
}


def _parquet(path):
    """The cells as pandas writes them: floats, the missing one NaN."""
    pd.DataFrame(CELLS).to_parquet(path)
    return path


each_reader = pytest.mark.parametrize(
    "reader",
    [pytest.param(read, id=name) for name, read in READERS.items()],
)


@each_reader
def test_the_same_rows_give_the_same_kind_of_network(reader, path):
    assert kinds("b -> a", reader(path), ss.EM()) in ({"a": "TableCPD", "b": "TableCPD"}, ASKED)


def test_a_missing_cell_of_a_leaf_does_not_change_its_frequencies(path):
    """A row in which a leaf is missing says nothing about it: a is 1 in two of three rows with x, one of two with y."""
    model = ss.fit(ss.DAG.parse("b -> a"), path, ss.EM()).model
    assert ss.query(model, "a", given={"b": "x"})[1] == pytest.approx(2 / 3, abs=1e-3)
    assert ss.query(model, "a", given={"b": "y"})[1] == pytest.approx(1 / 2, abs=1e-3)


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param({"x": [1, 1, 0, 0, None, 1], "y": [0, 1, 0, None, 1, 1]}, id="both"),
        pytest.param({"x": [1, 1, 0, 0, 1, 0], "y": [0, 1, 0, None, 1, 1]}, id="child"),
    ],
)
def test_columns_of_zeros_and_ones_with_missing_cells(cells):
    assert kinds("x -> y", pd.DataFrame(cells), ss.EM()) in ({"x": "TableCPD", "y": "TableCPD"}, ASKED)


def test_a_parent_of_zeros_and_ones_with_a_missing_cell():
    cells = pd.DataFrame({"x": [1, 1, 0, 0, None], "y": list("abaab")})
    assert kinds("x -> y", cells, ss.EM()) in ({"x": "TableCPD", "y": "TableCPD"}, ASKED)


def test_a_sparse_column_of_whole_numbers_has_states():
    cells = pd.DataFrame({"a": pd.arrays.SparseArray([1, 0, 0, 1, 0, 1]), "b": list("xyxyxx")})
    assert kinds("b -> a", cells) in ({"a": "TableCPD", "b": "TableCPD"}, ASKED)


def test_a_column_of_fractions_is_real():
    rng = np.random.default_rng(0)
    cells = pd.DataFrame({"x": rng.normal(size=50), "y": rng.normal(size=50)})
    assert kinds("x -> y", cells) == {"x": "LinearGaussian", "y": "LinearGaussian"}


@pytest.mark.parametrize(
    ("name", "column"),
    [
        pytest.param("age", np.random.default_rng(0).integers(18, 90, 2000), id="ages"),
        pytest.param("id", np.arange(2000), id="a number for each row"),
    ],
)
def test_very_many_states_are_noted(name, column):
    cells = pd.DataFrame({name: column, "y": np.random.default_rng(1).choice(["no", "yes"], 2000)})
    assert name in " ".join(ss.fit(ss.DAG.parse(f"{name}; y"), cells).model.notes)


@pytest.mark.parametrize(
    "learned",
    [
        pytest.param(lambda rows: ss.fit(ss.DAG.parse("x -> y"), rows), id="fit"),
        pytest.param(lambda rows: ss.fit(ss.DAG.parse("x -> y"), rows, ss.EM()), id="EM"),
        pytest.param(lambda rows: ss.learn_structure(rows, method=ss.HillClimb()), id="learn_structure"),
        pytest.param(lambda rows: ss.learn_structure(rows, method=ss.HillClimb()).fit(), id="structure and parameters"),
        pytest.param(lambda rows: ss.learn_structure(pl.from_pandas(rows).lazy(), method=ss.HillClimb()), id="lazy"),
        pytest.param(
            lambda rows: ss.learn_structure(rows, method=ss.HillClimb(), variables=[ss.Discrete("y", ("no", "yes"))]),
            id="one variable is known",
        ),
    ],
)
def test_results_of_learning_show_what_was_inferred(learned):
    rng = np.random.default_rng(0)
    found = learned(pd.DataFrame({"x": rng.integers(0, 3, 40).astype(float), "y": rng.choice(["no", "yes"], 40)}))
    (note,) = found.notes
    assert "'x' holds whole numbers as floats" in note
    assert "'x' holds whole numbers" in str(found)


def test_notes_stay_with_rows_that_are_joined_and_collapsed():
    rows = ss.Dataset({"x": [0.0, 1.0, 1.0]})
    other = ss.Dataset({"y": [2.0, 2.0, 3.0]})
    (note,) = rows.notes
    assert rows.collapse().notes == rows.concat(rows).notes == rows.take([0]).notes == (note,)
    assert rows.with_columns(other).notes == (note, *other.notes)


@pytest.mark.parametrize("encoder", ["KBinsDiscretizer", "OrdinalEncoder"])
def test_codes_of_states_in_a_pipeline_have_states(encoder):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    pipeline = pytest.importorskip("sklearn.pipeline")
    sepset_sklearn = pytest.importorskip("sepset.sklearn")
    rng = np.random.default_rng(0)
    if encoder == "KBinsDiscretizer":
        step, cells = preprocessing.KBinsDiscretizer(4, encode="ordinal", strategy="uniform"), rng.normal(size=(200, 3))
    else:
        step, cells = preprocessing.OrdinalEncoder(), rng.choice(["low", "middle", "high"], size=(200, 3))
    fitted = pipeline.make_pipeline(step, sepset_sklearn.BayesNetClassifier()).fit(cells, rng.integers(0, 2, 200))
    assert {type(cpd).__name__ for cpd in fitted[-1].model_.cpds} == {"TableCPD"}


# Laws.

WHOLE = {"few": [2.0, 0.0, 1.0, 2.0], "more": [float(k) for k in range(20)], "parts": [0.5, 1.0, 2.0, 1.0]}


def readings(cells: list[float | None], folder):
    """One column in every library, with and without a name for its type, and as files."""
    pa, duckdb = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    columns = {"x": cells}
    frame = pl.DataFrame(columns)
    frame.write_csv(folder / "x.csv")
    frame.write_parquet(folder / "x.parquet")
    yield columns
    yield {"x": np.array([np.nan if c is None else c for c in cells])}
    yield pd.DataFrame(columns)
    yield pd.DataFrame(columns).astype("Float64")
    yield frame
    yield frame.lazy()
    yield frame.to_arrow()
    yield duckdb.read_parquet(str(folder / "x.parquet"))
    yield folder / "x.csv"
    yield folder / "x.parquet"
    assert pa


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", WHOLE)
def test_a_column_is_the_same_variable_whoever_holds_it(name, missing, tmp_path):
    cells = [*WHOLE[name], *([None] if missing else [])]
    expected = ss.Discrete("x", (0, 1, 2)) if name == "few" else ss.Real("x")
    for source in readings(cells, tmp_path):
        model = ss.fit(ss.DAG.parse("x"), source, ss.EM()).model
        assert model.variables["x"] == expected, type(source)
        assert bool(model.notes) == (name != "parts"), type(source)
        if not isinstance(source, pl.LazyFrame) and "Relation" not in type(source).__name__:
            assert ss.Dataset(source).variables["x"] == expected, type(source)


@pytest.mark.parametrize("unit", ["datetime64[D]", "datetime64[ns]", "timedelta64[s]", "timedelta64[ns]"])
def test_dates_times_and_durations_are_refused_alike(unit):
    column = np.array([1, 2, 3], unit)
    frames = [{"x": column}, {"x": column.astype(unit.replace("[ns]", "[us]")).tolist()}]
    frames += [] if unit.endswith("[D]") else [pd.DataFrame({"x": column})]
    frames += [] if "timedelta64[s]" in unit else [pl.DataFrame({"x": column})]
    for frame in frames:
        with pytest.raises(ss.errors.DataError, match=r"Column 'x' holds datetime\.\w+\(.*Convert the column"):
            ss.Dataset(frame)


STATES = [
    pytest.param(("False", "True"), id="texts of truth values"),
    pytest.param((False, True), id="truth values"),
    pytest.param(("0", "1", "2"), id="texts of numbers"),
    pytest.param((0, 1, 2), id="numbers"),
    pytest.param(("0.5", "1.5"), id="texts of fractions"),
    pytest.param(("None", "some"), id="None"),
    pytest.param(("NA", "yes", "no"), id="NA"),
    pytest.param(("nan", "1"), id="nan beside a number"),
    pytest.param(("null", "True"), id="null beside a truth value"),
    pytest.param(("true",), id="one text of a truth value"),
]


@pytest.mark.parametrize("states", STATES)
def test_rows_written_and_read_by_pandas_fit_their_network(states, tmp_path):
    x, y = ss.Discrete("x", states), ss.Discrete("y", ("a", "b"))
    rows = np.linspace(0.2, 0.8, len(states))
    net = ss.BayesNet(ss.TableCPD(x, rows / rows.sum()), ss.TableCPD(y, np.full((len(states), 2), 0.5), given=x))
    sampled = ss.sample(net, 60, seed=0)
    sampled.to_frame("pandas").to_csv(tmp_path / "rows.csv", index=False)
    read = pd.read_csv(tmp_path / "rows.csv")
    found = ss.Dataset(read, net.variables)
    assert found.states("x").tolist() == sampled.states("x").tolist()
    expected = ss.fit(net, sampled).model.cpd("x").values
    others = () if "nan" in states else lazily_read(tmp_path / "rows.csv")  # which is a number in a column of numbers
    nullable = pd.read_csv(tmp_path / "rows.csv", dtype_backend="numpy_nullable")
    for data in (read, nullable, *others):
        for method in (None, ss.EM()):
            found = ss.fit(net, data, method)
            np.testing.assert_allclose(found.model.cpd("x").values, expected, rtol=0, atol=1e-12)
        if data is read and set(states) & {"None", "NA", "nan", "null"}:
            assert "as missing" in str(found.notes)


def lazily_read(path):
    """The same file in engines that read rows when they are asked for."""
    yield pl.scan_csv(path)
    yield duckdb.read_csv(str(path))
    yield pytest.importorskip("dask.dataframe").read_csv(path)


def test_states_that_pandas_cannot_tell_apart_are_refused(tmp_path):
    """`read_csv` makes the same missing cell of both; the path of the file keeps them apart."""
    variables = [ss.Discrete("x", ("None", "NA")), ss.Discrete("y", ("a", "b"))]
    path = tmp_path / "rows.csv"
    path.write_text("x,y\nNone,a\nNA,b\nNone,b\n")
    with pytest.raises(ss.errors.DataError, match=r"the states 'None', 'NA' as missing.*keep_default_na=False"):
        ss.Dataset(pd.read_csv(path), variables)
    for read in (path, pd.read_csv(path, keep_default_na=False)):
        assert ss.Dataset(read, variables).states("x").tolist() == ["None", "NA", "None"]
    missing = pd.DataFrame({"x": pd.Categorical([None, None], ["None", "NA"]), "y": ["a", "b"]})
    assert ss.Dataset(missing, variables).states("x").tolist() == [None, None]
