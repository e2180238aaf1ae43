"""Rows of data as a model sees them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.engine.rows import (
    column_names,
    default_targets,
    discrete_targets,
    findings_of,
    is_observed,
    most_probable,
    rows_over,
)
from sepset.errors import DataError
from sepset.variables.universe import Universe

A, B, X = ss.Discrete("a"), ss.Discrete("b", 3), ss.Real("x")


def test_rows_over_variables_miss_what_has_no_column():
    rows = rows_over({"a": [0, None], "other": [1, 2]}, [A, B])
    assert rows.num_missing == {"a": 1, "b": 2}
    assert not is_observed(rows, Universe([A]))
    assert is_observed(rows_over({"a": [0, 1], "b": [None, 2]}, [A, B]), Universe([B, A]), but=B)
    assert rows_over(rows, [B]) is rows
    with pytest.raises(ss.errors.DataError, match=r"columns are 'A', variables 'a', 'b'"):
        rows_over({"A": [0]}, [A, B])


def test_findings_leave_out_other_columns_and_targets():
    variables = Universe([A, B, X])
    found = findings_of({"b": [2, None], "x": [0.5, 1.5], "other": ["p", "q"]}, variables)
    assert (found.positions, found.real_positions) == ((1,), (2,))
    assert found.codes.tolist() == [[2], [-1]]
    assert findings_of({"b": [2, None], "x": [0.5, 1.5]}, variables, without=[1]).positions == ()
    with pytest.raises(ss.errors.DataError, match="No column is a variable of the model"):
        findings_of({"A": [0]}, variables)


def test_names_of_columns_and_default_targets():
    for data in ({"a": [0]}, pd.DataFrame({"a": [0]}), ss.Dataset({"a": [0]})):
        assert column_names(data) == ("a",)
        assert default_targets(Universe([A, B]), data) == [1]
    with pytest.raises(ss.errors.ScopeError, match="nothing to predict by default"):
        default_targets(Universe([A]), {"a": [0]})
    with pytest.raises(ss.errors.DataError, match="A frame of findings was expected; found int"):
        column_names(3)


def test_targets_have_states():
    assert discrete_targets(Universe([A, B, X]), [1, 0]) == (B, A)
    with pytest.raises(ss.errors.NotApplicable, match="'x' are continuous"):
        discrete_targets(Universe([A, B, X]), [2])


def test_the_most_probable_state_of_logarithms_too():
    probabilities = np.array([[0.5, 0.5], [0.2, 0.8], [np.nan, np.nan], [0.0, 1.0]])
    assert most_probable(probabilities).tolist() == [0, 1, -1, 1]
    with np.errstate(divide="ignore"):
        assert most_probable(np.log(probabilities)).tolist() == [0, 1, -1, 1]


RESPELLED = ["Grade", "GRADE", " grade", "grade "]


def asks(model: ss.BayesNet):
    """Questions that take rows."""
    return {
        "predict": lambda rows: ss.predict(model, rows, targets="letter"),
        "predict by default": lambda rows: ss.predict(model, rows),
        "log_probabilities": lambda rows: ss.prepare(model).log_probabilities(rows),
        "evaluate": lambda rows: ss.evaluate(model, rows),
        "classify": lambda rows: ss.classify.Classifier(model, "letter").predict(rows),
        "impute": lambda rows: ss.impute(model, rows),
        "expected counts": lambda rows: ss.learning.expected_counts(model, rows),
        "fit": lambda rows: ss.fit(model, rows, ss.EM()),
    }


@pytest.mark.parametrize("name", RESPELLED)
@pytest.mark.parametrize("question", [*asks(ss.datasets.load("student"))])
def test_a_column_that_would_be_ignored_for_its_spelling_is_refused(question, name):
    ask = asks(ss.datasets.load("student"))[question]
    with pytest.raises(ss.errors.DataError, match=f"There is no column 'grade'. Did you mean '{name}'"):
        ask({name: ["A", "C"], "sat": ["low", "high"]})
    ask({"grade": ["A", "C"], "sat": ["low", "high"], "Note": [1, 2]})


def test_a_respelled_target_is_ignored_as_the_target_is():
    student = ss.datasets.load("student")
    rows = {"grade": ["A", "C"], "letter": ["weak", "weak"]}
    expected = ss.predict(student, rows, targets="letter").probabilities("letter")
    respelled = {"grade": ["A", "C"], "Letter": ["weak", "weak"]}
    np.testing.assert_array_equal(ss.predict(student, respelled, targets="letter").probabilities("letter"), expected)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
def test_files_are_asked_about_as_the_rows_in_them(suffix, tmp_path):
    student, path = ss.datasets.load("student"), tmp_path / f"rows{suffix}"
    rows = ss.missing.hide_cells(ss.sample(student, 30, seed=1), ss.missing.MCAR(0.3), seed=2)
    ss.data.write_dataset(rows, path)
    for source in (path, str(path)):
        found = ss.predict(student, source, targets=["letter", "grade"])
        whole = ss.Dataset(source, student.variables)
        for question, ask in asks(student).items():
            if question != "predict by default":  # every variable has a column
                assert repr(ask(source)) == repr(ask(whole))
        np.testing.assert_array_equal(
            ss.prepare(student).log_probabilities(source), ss.prepare(student).log_probabilities(whole)
        )
        np.testing.assert_array_equal(
            found.probabilities("letter"),
            ss.predict(student, whole, targets=["letter", "grade"]).probabilities("letter"),
        )
    with pytest.raises(ss.errors.FileFormatError, match="no such file"):
        ss.predict(student, tmp_path / "none.csv", targets="letter")


@pytest.mark.parametrize("kind", ["polars", "duckdb", "dask"])
def test_respelled_columns_of_lazy_frames_are_refused_as_those_of_others(kind):
    student = ss.datasets.load("student")
    rows = ss.sample(student, 20, seed=0).to_frame("pandas").astype(str).rename(columns={"grade": "Grade"})
    if kind == "polars":
        lazy = pytest.importorskip("polars").from_pandas(rows).lazy()
    elif kind == "duckdb":
        lazy = pytest.importorskip("duckdb").from_df(rows)
    else:
        lazy = pytest.importorskip("dask.dataframe").from_pandas(rows, npartitions=2)
    asks = (
        lambda: ss.impute(student, lazy),
        lambda: ss.evaluate(student, lazy),
        lambda: ss.fit(student, lazy, ss.EM()),
    )
    for ask in asks:
        with pytest.raises(DataError, match=r"no column 'grade'\. Did you mean 'Grade'"):
            ask()
