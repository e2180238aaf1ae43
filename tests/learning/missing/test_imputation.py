"""Imputation as a user meets it: frames in, datasets out, and what multiple imputation restores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sepset as ss
from sepset.learning.missing.imputation import impute
from sepset.learning.missing.mechanisms import MAR, Hiding, hide_cells
from sepset.learning.missing.pooling import pool_estimates

RAIN, WET = ss.Discrete("rain", (False, True)), ss.Discrete("wet", (False, True))
NET = ss.BayesNet(ss.TableCPD(RAIN, [0.8, 0.2]), ss.TableCPD(WET, [[0.9, 0.1], [0.2, 0.8]], given=RAIN))
FRAME = {"rain": [None, None, True], "wet": [True, False, None]}


@pytest.mark.parametrize("make", [pa.table, dict, pd.DataFrame, pl.DataFrame, lambda f: ss.Dataset(f, [RAIN, WET])])
def test_any_frame(make):
    found = impute(NET, make(FRAME)).dataset
    assert found["rain"].tolist() == [True, False, True]
    assert found["wet"].tolist() == [True, False, True]


def test_other_columns_are_left_out_and_hidden_ones_are_filled_on_request():
    rows = {"wet": [True, False], "note": ["x", "y"]}
    assert impute(NET, rows).dataset.variables.names == ("wet",)
    assert impute(NET, rows, variables=["rain", "wet"]).dataset["rain"].tolist() == [True, False]


def test_an_empty_column_is_filled():
    found = impute(NET, ss.Dataset.from_codes([RAIN, WET], np.array([[-1, 1], [-1, 0]]))).dataset
    assert found["rain"].tolist() == [True, False]


def test_weights_and_rows_stay_in_place():
    data = ss.Dataset(FRAME, [RAIN, WET], weights=[1.0, 2.0, 3.0])
    found = impute(NET, data).dataset
    assert found.weights.tolist() == [1.0, 2.0, 3.0]
    assert impute(NET, data[:0]).dataset.num_rows == 0


def test_complete_data_is_itself():
    data = NET.sample(20, seed=0)
    for kind in ("mode", "mean", "map", "draw"):
        assert impute(NET, data, kind=kind).dataset.equals(data)


def test_copies_are_independent_and_reproducible():
    data = ss.Dataset.from_codes([RAIN, WET], np.full((50, 2), -1))
    first, second = impute(NET, data, kind="draw", copies=2, seed=4).datasets
    assert first.is_complete
    assert not first.equals(second)
    again = impute(NET, data, kind="draw", copies=2, seed=4, threads=2).datasets
    assert first.equals(again[0])
    assert second.equals(again[1])
    assert impute(NET, data, kind="draw", seed=4).dataset.equals(
        impute(NET, data, kind="draw", copies=1, seed=4).datasets[0]
    )


def test_one_model_a_copy():
    dry = NET.with_cpds(ss.TableCPD(RAIN, [1.0, 0.0]))
    pour = NET.with_cpds(ss.TableCPD(RAIN, [0.0, 1.0]))
    found = impute([dry, pour], {"rain": [None, None], "wet": [True, False]}, kind="draw", copies=2).datasets
    assert [copy["rain"].tolist() for copy in found] == [[False, False], [True, True]]


def test_a_markov_network():
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    net = ss.MarkovNet(ss.Table((a, b), [[9.0, 1.0], [1.0, 4.0]]))
    assert impute(net, {"a": [None, None], "b": [0, 1]}).dataset["a"].tolist() == [0, 1]


def test_multiple_imputation_restores_what_single_imputation_shrinks():
    """Under MAR the mean of complete cases is biased; draws pooled by Rubin's rules cover the truth."""
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, covariance=1.0), ss.LinearGaussian(y, 1.0, coefficients=2.0, covariance=1.0, given=x)
    )
    data = hide_cells(
        net.sample(4000, seed=0), MAR({"y": Hiding(lambda x: 1 / (1 + np.exp(-2 * x)), given="x")}), seed=1
    )
    copies = impute(net, data, kind="draw", copies=10, seed=2).datasets
    values = [copy.values("y") for copy in copies]
    pooled = pool_estimates([v.mean() for v in values], [v.var(ddof=1) / len(v) for v in values])
    low, high = pooled.interval(0.999)
    assert low < 1.0 < high
    assert np.nanmean(data.values("y")) < 0.2
    assert np.mean([v.var() for v in values]) == pytest.approx(5.0, rel=0.1)
    assert impute(net, data, kind="mean").dataset.values("y").var() < 4.8


def test_rows_that_are_wholly_missing_get_the_marginals():
    data = ss.Dataset.from_codes([RAIN, WET], np.full((20_000, 2), -1))
    assert set(impute(NET, data[:5]).dataset["wet"].tolist()) == {False}
    drawn = impute(NET, data, kind="draw", seed=3).dataset
    both = drawn.codes("rain") * 2 + drawn.codes("wet")
    shares = np.bincount(both, minlength=4) / len(both)
    assert shares == pytest.approx([0.72, 0.08, 0.04, 0.16], abs=4 * np.sqrt(0.25 / len(both)))


def mixed_net():
    d, x, y = ss.Discrete("d", ("low", "high")), ss.Real("x"), ss.Real("y")
    return ss.BayesNet(
        ss.TableCPD(d, [0.25, 0.75]),
        ss.LinearGaussian(x, [-1.0, 2.0], covariance=[1.0, 0.25], by=d),
        ss.LinearGaussian(y, 0.5, coefficients=2.0, covariance=1.0, given=x),
    )


def test_wholly_missing_rows_of_mixed_networks():
    """Modes and means are those of the network: P(high) = 3/4, E x = 5/4, E y = 3."""
    empty = {"d": [None], "x": [None], "y": [None]}
    found = impute(mixed_net(), empty, kind="mean").dataset
    assert found["d"].tolist() == ["high"]
    assert [*found["x"].tolist(), *found["y"].tolist()] == pytest.approx([1.25, 3.0], rel=1e-12)
    assert impute(mixed_net(), empty, kind="map").dataset["x"].tolist() == pytest.approx([2.0])
    drawn = impute(mixed_net(), {name: [None] * 20_000 for name in empty}, kind="draw", seed=1).dataset
    assert drawn.values("x").mean() == pytest.approx(1.25, abs=0.05)
    # Var x = E Var + Var E = 0.25 * 1 + 0.75 * 0.25 + 9 * 3/16, and Var y = 4 Var x + 1
    assert drawn.values("x").var() == pytest.approx(2.125, rel=0.05)
    assert drawn.values("y").var() == pytest.approx(9.5, rel=0.05)


@pytest.mark.parametrize("kind", ["mode", "mean", "map", "draw"])
def test_impossible_rows_are_named(kind):
    """A row that the network excludes has no posterior, whatever is asked of it; complete ones need none."""
    sure = NET.with_cpds(ss.TableCPD(WET, [[1.0, 0.0], [0.0, 1.0]], given=RAIN))
    cloud = ss.Discrete("cloud")
    net = ss.BayesNet(*sure.cpds, ss.TableCPD(cloud, [0.5, 0.5]))
    rows = {"rain": [False, True, False], "wet": [False, False, True], "cloud": [None, 1, None]}
    with pytest.raises(ss.ImpossibleEvidence, match=r"1 of 3 rows .*rows 2, counted from 0"):
        impute(net, rows, kind=kind).dataset


def test_what_is_refused():
    with pytest.raises(ss.errors.ArgumentError, match="'best'"):
        impute(NET, FRAME, kind="best")
    with pytest.raises(ss.errors.NotApplicable, match="all the same"):
        impute(NET, FRAME, copies=3)
    with pytest.raises(ss.errors.ArgumentError, match="copies"):
        impute(NET, FRAME, kind="draw", copies=0)
    with pytest.raises(ss.errors.ModelError, match="One model per copy"):
        impute([NET, NET], FRAME, kind="draw", copies=3)
    with pytest.raises(ss.errors.ModelError, match="same variables"):
        impute([NET, ss.BayesNet(NET.cpd("rain"))], FRAME, kind="draw", copies=2)
    with pytest.raises(ss.errors.ModelError, match="Fit one"):
        impute("net.json", FRAME)
    with pytest.raises(ss.errors.DataError, match="No column is a variable"):
        impute(NET, {"x": [1.5]})


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_rows_too(tmp_path, suffix):
    import polars as pl

    frame = pl.DataFrame({"rain": ["yes", None, "no", None], "wet": ["yes", "yes", None, "no"], "other": [1, 2, 3, 4]})
    path = tmp_path / f"rows.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    rain, wet = ss.Discrete("rain", ("no", "yes")), ss.Discrete("wet", ("no", "yes"))
    net = ss.BayesNet(ss.TableCPD(rain, [0.8, 0.2]), ss.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], given=rain))
    for source in (path, str(path)):
        found = impute(net, source).dataset
        assert found.variables.names == ("rain", "wet")
        assert found["rain"].tolist() == ["yes", "yes", "no", "no"]
        assert found["wet"].tolist() == ["yes", "yes", "no", "no"]
        assert len(impute([net, net], source, kind="draw", copies=2).datasets) == 2
    with pytest.raises(ss.errors.DataError, match="No column is a variable"):
        impute(ss.BayesNet(ss.TableCPD(ss.Discrete("snow"), [0.5, 0.5])), path).dataset


def test_bad_seeds_are_named():
    with pytest.raises(ss.errors.ArgumentError, match="seed= is a whole number"):
        impute(NET, FRAME, kind="draw", seed=-1)


D, E, X, Y = ss.Discrete("d", 2), ss.Discrete("e", 3), ss.Real("x"), ss.Real("y")


def test_impossible_rows_are_named_once_whatever_the_copies():
    net = ss.BayesNet(ss.TableCPD(D, [1.0, 0.0]), ss.LinearGaussian(X, [0.0, 1.0], covariance=1.0, by=D))
    rows = {"d": [0, 0, 1], "x": [0.5, 1.5, None]}
    with pytest.raises(ss.ImpossibleEvidence, match="rows 2, counted from 0"):
        ss.impute(net, rows, kind="draw", copies=3).datasets
    coin = ss.BayesNet(ss.TableCPD(D, [1.0, 0.0]), ss.TableCPD(E, np.full(3, 1 / 3)))
    with pytest.raises(
        ss.ImpossibleEvidence, match="1 of 3 rows have missing cells and probability zero: rows 2, counted"
    ):
        ss.impute(coin, {"d": [0, 0, 1], "e": [1, 2, None]}, kind="draw", copies=3).datasets


@pytest.mark.parametrize("kind", ["mode", "mean", "map", "draw"])
def test_relations_without_noise(kind):
    """Without noise there is no precision matrix; such rows are filled all the same."""
    net = ss.BayesNet(
        ss.TableCPD(D, [0.5, 0.5]),
        ss.LinearGaussian(X, [0.0, 4.0], covariance=1.0, by=D),
        ss.LinearGaussian(Y, 1.0, coefficients=2.0, covariance=0.0, given=X),
    )
    data = {"d": [0, 1, 0], "x": [0.5, None, 0.25], "y": [None, 7.0, 1.5]}
    found = ss.impute(net, data, kind=kind).dataset
    assert found.values("y")[0] == pytest.approx(2.0)
    assert found.values("x")[1] == pytest.approx(3.0)


# Frames keep the caller's library, column types, order and index


COLOR, COUNT, FLAG = (
    ss.Discrete("color", ("red", "blue", "green")),
    ss.Discrete("count", 3),
    ss.Discrete("flag", (False, True)),
)
NUMBER = ss.Real("x")
COLORED = ss.BayesNet(
    ss.TableCPD(COLOR, [0.2, 0.3, 0.5]),
    ss.TableCPD(COUNT, [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], given=COLOR),
    ss.TableCPD(FLAG, [[0.9, 0.1], [0.1, 0.9], [0.2, 0.8]], given=COUNT),
    ss.LinearGaussian(NUMBER, [0.5, 1.5, 2.5], covariance=1.0, by=COLOR),
)
COLORS, COUNTS, FLAGS, XS = (
    ["red", None, "blue", None],
    [0, 2, None, None],
    [False, None, True, None],
    [0.25, None, 1.0, None],
)
FULL = {"color": ["red", "green", "blue", "green"], "count": [0, 2, 1, 2], "flag": [False, True, True, True]}


def listed(column):
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)


def check(found, names=FULL):
    for name in names:
        assert listed(found[name] if not isinstance(found, pa.Table) else found.column(name)) == FULL[name]


@pytest.mark.parametrize(
    "types",
    [
        {"color": "object", "count": "Int64", "flag": "boolean"},
        {"color": "string", "count": "Int8", "flag": "object"},
        {"color": "category", "count": "float64", "flag": "category"},
        {"color": pd.CategoricalDtype(["blue", "green", "red"], ordered=True), "count": "category", "flag": "boolean"},
        {"color": pd.CategoricalDtype(["blue", "green", "red", "pink"]), "count": "float32", "flag": "object"},
        {"color": "string[pyarrow]", "count": "int64[pyarrow]", "flag": "bool[pyarrow]"},
    ],
)
def test_pandas_types_stay(types):
    index = pd.Index([10, 30, 20, 40], name="day")
    columns = {"note": list("wxyz"), "count": COUNTS, "color": COLORS, "flag": FLAGS}
    frame = pd.DataFrame(columns, index=index).astype(types)
    before = frame.copy(deep=True)
    found = impute(COLORED, frame).frame
    check(found)
    assert list(found.columns) == list(frame.columns)
    assert found.index.equals(index)
    assert found["note"].equals(frame["note"])
    for name, kind in types.items():
        if kind != "category":
            assert found[name].dtype == frame[name].dtype
    pd.testing.assert_frame_equal(frame, before)


def test_categories_that_lack_a_state_get_it_at_the_end():
    frame = pd.DataFrame({"color": pd.Categorical(["red", None], ["red"]), "count": [0, 2]})
    found = impute(COLORED, frame).frame
    assert list(found["color"]) == ["red", "green"]
    assert list(found["color"].cat.categories) == ["red", "green"]
    enum = pl.DataFrame({"color": pl.Series(["red", None], dtype=pl.Enum(["red"])), "count": [0, 2]})
    assert impute(COLORED, enum).frame["color"].dtype == pl.Enum(["red", "green"])


@pytest.mark.parametrize(
    "types",
    [
        {"color": pl.String, "count": pl.Int64, "flag": pl.Boolean},
        {"color": pl.Categorical, "count": pl.UInt8, "flag": pl.Boolean},
        {"color": pl.Enum(["green", "red", "blue"]), "count": pl.Float64, "flag": pl.Boolean},
    ],
)
def test_polars_types_stay(types):
    frame = pl.DataFrame(
        [
            pl.Series("note", list("wxyz")),
            *(pl.Series(n, v, dtype=types[n]) for n, v in zip(types, (COLORS, COUNTS, FLAGS), strict=True)),
        ]
    )
    before = frame.clone()
    found = impute(COLORED, frame).frame
    check(found)
    assert found.schema == frame.schema
    assert frame.equals(before)


@pytest.mark.parametrize(
    "types",
    [
        {"color": pa.string(), "count": pa.int64(), "flag": pa.bool_()},
        {"color": pa.large_string(), "count": pa.int8(), "flag": pa.bool_()},
        {"color": pa.dictionary(pa.int8(), pa.string()), "count": pa.float32(), "flag": pa.bool_()},
        {"color": pa.dictionary(pa.int32(), pa.string(), ordered=True), "count": pa.uint16(), "flag": pa.bool_()},
    ],
)
def test_arrow_types_stay(types):
    arrays = [pa.array(v, type=types[n]) for n, v in zip(types, (COLORS, COUNTS, FLAGS), strict=True)]
    table = pa.table([*arrays, pa.array(list("wxyz"))], names=[*types, "note"])
    found = impute(COLORED, pa.concat_tables([table[:2], table[2:]])).frame
    check(found)
    assert found.schema == table.schema
    assert found.column("note").to_pylist() == list("wxyz")


def test_mappings_keep_lists_tuples_and_arrays():
    found = impute(
        COLORED, {"color": COLORS, "count": tuple(COUNTS), "flag": np.array(FLAGS, object), "note": "wxyz"}
    ).frame
    check(found)
    assert [type(found[n]) for n in ("color", "count", "flag")] == [list, tuple, np.ndarray]
    assert found["note"] == "wxyz"


@pytest.mark.parametrize("kind", ["float64", "float32", "Float64"])
def test_numbers_keep_their_width(kind):
    frame = pd.DataFrame({"color": ["red", "red", "blue", "green"], "x": pd.array(XS, dtype="Float64")}).astype(
        {"x": kind}
    )
    found = impute(COLORED, frame, kind="mean").frame
    assert found["x"].dtype == kind
    assert found["x"].tolist() == pytest.approx([0.25, 0.5, 1.0, 2.5])
    arrow = pa.table({"color": ["red", "green"], "x": pa.array([None, 1.0], pa.float32())})
    assert impute(COLORED, arrow, kind="mean").frame.schema == arrow.schema


def test_fractions_among_whole_numbers_are_refused_and_not_cut():
    columns = {"color": ["red", "green"], "x": [1, None]}
    frames = [
        pd.DataFrame(columns).astype({"x": "Int64"}),
        pl.DataFrame(columns),
        pa.table({"color": ["red", "green"], "x": pa.array([1, None], pa.int32())}),
    ]
    for frame in frames:
        with pytest.raises(ss.errors.DataError, match=r"Column 'x': it holds whole numbers, and 2\.5 is not one"):
            impute(COLORED, frame, kind="mean").frame


def test_copies_are_frames_and_agree_with_datasets():
    frame = pl.DataFrame({"color": COLORS, "count": COUNTS, "x": XS})
    found = impute(COLORED, frame, kind="draw", copies=3, seed=5).frames
    rows = ss.impute(COLORED, frame, kind="draw", copies=3, seed=5).datasets
    assert len(found) == 3
    for one, other in zip(found, rows, strict=True):
        assert one["color"].to_list() == other["color"].tolist()
        assert one["x"].to_list() == other["x"].tolist()
        assert one.null_count().sum_horizontal().item() == 0


def test_only_what_is_asked_is_filled_and_nothing_is_added():
    frame = pd.DataFrame({"color": COLORS, "count": pd.array(COUNTS, dtype="Int64")})
    found = impute(COLORED, frame, variables=["count", "flag"]).frame
    assert found["color"].isna().tolist() == [False, True, False, True]
    assert not found["count"].isna().any()
    assert list(found.columns) == ["color", "count"]
    full = pd.DataFrame({"count": [1, 2]})
    pd.testing.assert_frame_equal(impute(COLORED, full).frame, full)


def test_frames_without_rows_or_of_other_kinds():
    empty = pd.DataFrame({"color": pd.Series([], dtype="string")})
    pd.testing.assert_frame_equal(impute(COLORED, empty).frame, empty)
    for strange in (pl.LazyFrame({"color": COLORS}), ss.Dataset({"color": ["red", "green"]}).select(["color"])):
        found = impute(COLORED, strange)
        with pytest.raises(ss.errors.DataError, match=r"Use \.datasets"):
            found.frame
    for strange in ("rows.csv", None):
        with pytest.raises((ss.errors.DataError, ss.errors.FileFormatError)):
            impute(COLORED, strange)
    with pytest.raises(ss.errors.DataError, match="No column is a variable"):
        impute(COLORED, pd.DataFrame({"other": [1]})).frame


def test_one_kind_of_result_whatever_the_number_of_copies():
    one, two = impute(NET, FRAME, kind="draw"), impute(NET, FRAME, kind="draw", copies=2)
    assert type(one) is type(two) is ss.missing.Imputation
    assert (len(one), len(two)) == (1, 2)
    assert [copy.num_rows for copy in two] == [two.datasets[0].num_rows] * 2
    assert one.guarantees == {"values": ss.Guarantee.EXACT}
    assert one.method == ss.CliqueTree()
    assert one.num_filled == sum(value is None for column in FRAME.values() for value in column)
    assert "copies" in one._repr_html_()
    with pytest.raises(ss.errors.ScopeError, match="There are 2 copies"):
        two.dataset
    with pytest.raises(ss.errors.ScopeError, match="There are 2 copies"):
        two.frame


@pytest.mark.parametrize("method", [ss.VariableElimination(), ss.inference.BruteForce()])
@pytest.mark.parametrize("kind", ["mode", "mean", "map"])
def test_any_method_imputes(method, kind):
    found = impute(NET, FRAME, kind=kind, method=method)
    assert found.dataset.equals(impute(NET, FRAME, kind=kind).dataset)
    assert found.method == method
