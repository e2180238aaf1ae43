import math
import pickle

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sepset.data import Dataset
from sepset.errors import DataError, ScopeError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, Vector
from support.random_rows import datasets, tables
from support.terminal import printed

grade = Discrete("grade", ("A", "B", "C"))
honest = Discrete("honest", (False, True))
score = Real("score")


@pytest.fixture
def rows():
    return Dataset(
        {"grade": ["B", None, "A"], "honest": [True, False, None], "score": [1.5, None, 2.0]}, [grade, honest, score]
    )


def same(a: object, b: object) -> bool:
    return a is b if a is None or b is None else a == b and isinstance(a, bool) is isinstance(b, bool)


@given(tables())
def test_cells_come_back(table):
    variables, columns = table
    dataset = Dataset(columns, variables)
    size = len(next(iter(columns.values()), []))
    assert dataset.num_rows == len(dataset) == size
    found = list(dataset.rows())
    for i in range(size):
        assert list(found[i]) == list(columns)
        assert all(same(found[i][name], columns[name][i]) for name in columns)
        assert dataset.row(i) == found[i]
    absent = {name: sum(cell is None for cell in cells) for name, cells in columns.items()}
    assert dataset.num_missing == absent
    assert dataset.is_complete is (not any(absent.values()))


@given(datasets(), st.data())
def test_rows_are_chosen_as_from_a_list(dataset, data):
    listed = list(dataset.rows())
    start, stop = data.draw(st.tuples(st.integers(-8, 8), st.integers(-8, 8)))
    assert list(dataset[start:stop].rows()) == listed[start:stop]
    assert list(dataset[::-1].rows()) == listed[::-1]
    assert list(dataset.head(2).rows()) == listed[:2]
    if listed:
        places = data.draw(st.lists(st.integers(-len(listed), len(listed) - 1)))
        assert list(dataset.take(places).rows()) == [listed[p] for p in places]
    mask = data.draw(st.lists(st.booleans(), min_size=len(listed), max_size=len(listed)))
    assert list(dataset.take(np.array(mask, bool)).rows()) == [r for r, m in zip(listed, mask, strict=True) if m]


@given(datasets())
def test_copies_are_equal(dataset):
    for other in (
        pickle.loads(pickle.dumps(dataset)),
        Dataset(dataset),
        Dataset(dataset, dataset.variables),
        Dataset.from_codes(dataset.variables, {v.name: dataset.column(v) for v in dataset.variables}),
        dataset[:1].concat(dataset[1:]),
        dataset.select(dataset.variables),
    ):
        assert dataset.equals(other)
        assert other.num_rows == dataset.num_rows
        assert not any(other.column(v).flags.writeable for v in other.variables)


def test_columns(rows):
    assert rows.codes("grade").tolist() == [1, -1, 0]
    assert rows.codes(grade).dtype == np.int8
    assert rows.states("grade").tolist() == ["B", None, "A"]
    assert rows["honest"].tolist() == [True, False, None]
    np.testing.assert_array_equal(rows.values(score), [1.5, np.nan, 2.0])
    np.testing.assert_array_equal(rows["score"], rows.column("score"))
    assert rows.variables == Universe([grade, honest, score])


def test_columns_of_the_wrong_kind_or_name(rows):
    with pytest.raises(ScopeError, match=r"no codes. Use values\('score'\)"):
        rows.codes("score")
    with pytest.raises(ScopeError, match=r"Use states\('grade'\)"):
        rows.values("grade")
    with pytest.raises(ScopeError, match="Did you mean 'grade'"):
        rows.column("grad")
    with pytest.raises(ScopeError, match="share one name"):
        rows.codes(Discrete("grade", ("A", "B")))


def test_matrix(rows):
    matrix = rows.matrix(["honest", "grade"])
    assert (matrix.tolist(), matrix.dtype) == ([[1, 1], [0, -1], [-1, 0]], np.int8)
    assert matrix.flags.c_contiguous
    wide = Dataset.from_codes([grade, Discrete("w", 300)], np.array([[0, 299]]))
    assert (wide.matrix().dtype, wide.matrix().tolist()) == (np.int16, [[0, 299]])
    assert rows.matrix([]).shape == (3, 0)
    with pytest.raises(ScopeError, match="score"):
        rows.matrix()


def test_matrix_over_many_blocks():
    codes = np.random.default_rng(0).integers(-1, 3, (10_001, 3))
    variables = [Discrete(name, 3) for name in "abc"]
    np.testing.assert_array_equal(Dataset.from_codes(variables, codes).matrix(), codes)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ({"grade": [0, 3]}, "codes 0 to 2, and -1 for missing; found 3 in row 1"),
        ({"grade": [-2]}, "found -2 in row 0"),
        ({"grade": [0.5]}, "integer codes; found shape .* type float64"),
        ({"grade": [[0]]}, "one column"),
        ({"grades": [0]}, "without codes: 'grade'; unknown: 'grades'"),
        (np.zeros((2, 2), int), "has 1 columns"),
        (np.zeros(2, int), r"shape \(2,\)"),
    ],
)
def test_codes_are_checked(codes, message):
    with pytest.raises(DataError, match=message):
        Dataset.from_codes([grade], codes)


def test_codes_of_several_lengths_and_kinds():
    with pytest.raises(DataError, match="lengths 1, 2"):
        Dataset.from_codes([grade, score], {"grade": [0], "score": [1.0, 2.0]})
    with pytest.raises(DataError, match="takes one column of numbers"):
        Dataset.from_codes([score], {"score": ["a"]})
    with pytest.raises(DataError, match="dimensions"):
        Dataset.from_codes([Vector("p", 2)], {"p": [1.0]})
    assert Dataset.from_codes([score], np.array([[1.0], [2.0]])).values("score").tolist() == [1.0, 2.0]
    assert Dataset.from_codes([grade], {"grade": []}).num_rows == 0


def test_codes_are_copied():
    codes = np.zeros((2, 1), np.int8)
    dataset = Dataset.from_codes([grade], codes)
    codes[:] = 2
    assert dataset.codes("grade").tolist() == [0, 0]


def test_frames_are_copied():
    numbers, states = np.array([1.0, 2.0]), np.array([0, 1])
    dataset = Dataset({"x": numbers, "s": states})
    numbers[:], states[:] = 9.0, 9
    assert list(dataset.rows()) == [{"x": 1.0, "s": 0}, {"x": 2.0, "s": 1}]


def test_immutable(rows):
    with pytest.raises(AttributeError, match="immutable"):
        rows.num_rows = 4
    with pytest.raises(ValueError, match="read-only"):
        rows.codes("grade")[0] = 2


def test_rows_outside(rows):
    assert rows.row(-1) == {"grade": "A", "honest": None, "score": 2.0}
    with pytest.raises(DataError, match="3 rows, counted from 0; no row 3"):
        rows.row(3)
    with pytest.raises(DataError, match="no row 7"):
        rows.take([0, 7])
    with pytest.raises(DataError, match="whole numbers or a mask"):
        rows.take([0.5])
    with pytest.raises(DataError, match="one entry per row"):
        rows.take(np.array([True]))


def test_select(rows):
    assert rows.select(["score", grade]).variables == Universe([score, grade])
    with pytest.raises(ScopeError, match=r"Use select\(\['grade'\]\)"):
        rows.select("grade")


def test_concat(rows):
    turned = rows.select(["score", "honest", "grade"])
    assert list(rows.concat(turned, rows).rows()) == list(rows.rows()) * 3
    assert rows.concat().equals(rows)
    with pytest.raises(DataError, match=r"these differ: .*honest"):
        rows.concat(rows.select(["grade", "score"]))


def test_equals(rows):
    assert not rows.equals(rows[:2])
    assert not rows.equals(rows.select(["score", "honest", "grade"]))
    assert not rows.equals(rows.take([1, 0, 2]))
    integers = Dataset({"honest": [1]}, [Discrete("honest", (0, 1))])
    assert not integers.equals(Dataset({"honest": [True]}, [honest]))


def test_rebinding_to_other_variables(rows):
    turned = Dataset(rows, [Discrete("grade", ("C", "B", "A"))])
    assert turned.codes("grade").tolist() == [1, -1, 2]
    with pytest.raises(DataError, match="unknown state 'B'"):
        Dataset(rows, [Discrete("grade", ("A", "C"))])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_by_their_path(tmp_path, suffix):
    frame = pd.DataFrame({"coin": ["head", "tail", None], "score": [0.5, 1.5, 2.5], "times": [1.0, 2.0, 0.5]})
    path = tmp_path / f"rows.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    variables = [Discrete("coin", ("tail", "head")), Real("score")]
    assert Dataset(path).equals(Dataset(frame))
    assert Dataset(str(path), variables).equals(Dataset(frame, variables))
    for chosen in (None, variables):
        weighed = Dataset(path, chosen, weights="times")
        assert weighed.weights.tolist() == [1.0, 2.0, 0.5]
        assert weighed.variables.names[:2] == ("coin", "score")
    with pytest.raises(DataError, match=r"rows\.\w+: No column for variable 'absent'"):
        Dataset(path, [Discrete("absent")])
    assert Dataset(path, [Discrete("absent")], missing_columns="allow").num_missing == {"absent": 3}


def test_absent_columns_only_when_allowed():
    with pytest.raises(DataError, match="No column for variable 'honest'"):
        Dataset({"grade": ["A"]}, [grade, honest])
    assert Dataset({"grade": ["A"]}, [grade, honest], missing_columns="allow").row(0) == {"grade": "A", "honest": None}


def test_variable_arrays_bind_by_element():
    pixel = Discrete.array("pixel", (1, 2), states=("paper", "ink"))
    dataset = Dataset({"pixel[0,1]": ["ink"], "pixel[0,0]": ["paper"]}, [pixel])
    assert dataset.matrix().tolist() == [[0, 1]]
    assert dataset.states(pixel[0, 1]).tolist() == ["ink"]


FRAMES = {
    "mapping": lambda columns: columns,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": lambda columns: duckdb.connect().from_arrow(pa.table(columns)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_inference_is_the_same_for_every_library(kind):
    columns = {"s": ["b", "a", None], "i": [5, 3, 5], "t": [True, False, True], "r": [0.5, None, 1.0]}
    dataset = Dataset(FRAMES[kind](columns))
    assert dataset.variables == Universe(
        [Discrete("s", ("a", "b")), Discrete("i", (3, 5)), Discrete("t", (False, True)), Real("r")]
    )
    assert list(dataset.rows()) == [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_empty():
    nothing = Dataset({})
    assert (nothing.num_rows, len(nothing.variables), nothing.matrix().shape) == (0, 0, (0, 0))
    unlabelled = Dataset.from_codes([], np.zeros((3, 0), int))
    assert (unlabelled.num_rows, list(unlabelled.rows()), unlabelled.is_complete) == (3, [{}, {}, {}], True)
    assert Dataset(unlabelled).num_rows == 3


def test_repr(rows):
    assert repr(rows) == "Dataset(3 rows, 3 variables: 'grade', 'honest', 'score')"
    assert repr(Dataset({})) == "Dataset(0 rows, 0 variables)"
    assert repr(Dataset({str(i): [i] for i in range(9)})).endswith("'5', ...)")


def test_few_whole_floats_are_states_unless_the_variables_say_otherwise():
    frame = pd.DataFrame({"x": [1, None, 2]})
    found = Dataset(frame)
    assert found.variables == Universe([Discrete("x", (1, 2))])
    assert "Column 'x' holds whole numbers as floats" in found.notes[0]
    assert "variables=[Real('x')]" in found.notes[0]
    for part in (found[:1], found.take([0]), found.select(["x"]), found.with_weights([1, 2, 3]), Dataset(found)):
        assert part.notes == found.notes
    assert found.notes[0] in found._repr_html_().replace("&#x27;", "'")
    assert Dataset(frame, [Real("x")]).notes == ()
    assert Dataset(frame, [Discrete("x", (1, 2))]).codes("x").tolist() == [0, -1, 1]
    assert Dataset(frame.astype("Int64")).variables == Universe([Discrete("x", (1, 2))])
    assert math.isnan(Dataset(frame, [Real("x")]).values("x")[1])


@pytest.fixture
def weighed():
    return Dataset({"a": ["x", "y", "x", "z"], "w": [0.5, 1.0, 0.0, 2.0]}, weights="w")


def test_weights_by_name(weighed):
    assert weighed.variables.names == ("a",)
    assert (weighed.weights.tolist(), weighed.total_weight) == ([0.5, 1, 0, 2], 3.5)
    assert repr(weighed) == "Dataset(4 rows of weight 3.5, 1 variable: 'a')"
    with pytest.raises(DataError, match=r"No column 'v'; columns are 'a'"):
        Dataset({"a": ["x", "y"]}, weights="v")
    with pytest.raises(DataError, match="Column 'a': row 0 holds 'x'"):
        Dataset({"a": ["x", "y"], "b": [1, 2]}, weights="a")
    lazy = pl.LazyFrame({"a": ["x", "y"], "b": [1, 2], "w": [1.0, 3.0]})
    assert Dataset(lazy, [Discrete("a", ("x", "y"))], weights="w").weights.tolist() == [1, 3]


def test_weights_follow_their_rows(weighed):
    assert weighed[1:3].weights.tolist() == [1, 0]
    assert weighed.head(1).weights.tolist() == [0.5]
    assert weighed.take([3, 0]).weights.tolist() == [2, 0.5]
    assert weighed.take(np.array([True, False, False, True])).weights.tolist() == [0.5, 2]
    assert weighed.select(["a"]).weights.tolist() == weighed.weights.tolist()
    assert Dataset(weighed, weighed.variables).weights.tolist() == weighed.weights.tolist()
    assert Dataset(weighed, weighed.variables, weights=[1, 1, 1, 2]).weights.tolist() == [1, 1, 1, 2]
    assert pickle.loads(pickle.dumps(weighed)).equals(weighed)


def test_concat_counts_rows_without_weights_once(weighed):
    bare = weighed.with_weights(None)
    assert bare.weights is None
    assert weighed.concat(bare).weights.tolist() == [0.5, 1, 0, 2, 1, 1, 1, 1]
    assert bare.concat(bare).weights is None
    assert bare.total_weight == 4


def test_weights_take_part_in_equality(weighed):
    bare = weighed.with_weights(None)
    assert not weighed.equals(bare)
    assert not bare.equals(weighed)
    assert not weighed.equals(weighed.with_weights([1, 1, 1, 1]))
    assert weighed.equals(bare.with_weights(weighed.weights))


def test_codes_with_weights():
    weighed = Dataset.from_codes([Discrete("a")], {"a": [0, 1]}, weights=[1, 2])
    assert weighed.total_weight == 3
    with pytest.raises(DataError, match="row 0"):
        Dataset.from_codes([Discrete("a")], {"a": [0]}, weights=[-1])


def test_a_terminal_shows_the_first_rows_and_the_size():
    text = printed(Dataset({"[bold]coin": ["head", None] * 10}))
    assert "20 rows" in text
    assert "[bold]coin" in text
    assert text.count("head") == 4


def test_a_notebook_shows_escaped_names_and_a_part():
    html = Dataset({f"<b>{i}": ["<script>"] for i in range(20)})._repr_html_()
    assert "<script>" not in html
    assert "&lt;b&gt;0" in html
    assert "&lt;b&gt;16" not in html
    assert "first 16 of 20 columns" in html


def test_datasets_without_columns_show_their_size():
    assert "0 rows" in printed(Dataset({}))
    assert "0 rows" in Dataset({})._repr_html_()


def test_complete_cells():
    holed = Dataset({"a": ["x", "y", None], "c": ["k", "k", "k"], "r": [1.0, 2.0, np.nan], "s": [4.5, 4.5, 4.5]})
    holed.require_complete("Fitting", ["c", "s"])
    holed[:2].require_complete("Fitting")
    with pytest.raises(DataError, match=r"Fitting needs complete data; column 'a' misses one cell \(first in row 2\)"):
        holed.require_complete("Fitting")
    with pytest.raises(DataError, match="column 'r' misses one cell"):
        holed.require_complete("Fitting", ["r"])


@given(tables())
def test_a_dataset_of_a_dataset_infers_nothing_again(table):
    variables, columns = table
    once = Dataset(columns, variables)
    assert Dataset(once).equals(once)
    assert Dataset(once).variables == once.variables


def test_measured_whole_numbers_stay_measured():
    measured = Dataset({"score": [1.0, 2.0, 2.0]}, [score])
    assert Dataset(measured).variables[0] == score
    guessed = Dataset({"score": [1.0, 2.0, 2.0], "w": [1.0, 2.0, 1.0]})
    again = Dataset(guessed, weights="w")
    assert again.variables.names == ("score",)
    assert again.variables[0] == guessed.variables["score"]


def test_a_dataset_without_columns_keeps_its_rows():
    bare = Dataset({"score": [1.0, 2.0, 2.0]}, [score]).select([])
    bound = Dataset(bare, [score, grade], missing_columns="allow")
    assert bound.num_rows == 3
    assert bound.num_missing == {score.name: 3, grade.name: 3}
