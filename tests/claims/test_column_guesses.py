"""What a column is taken for does not depend on who read it, and nothing doubtful is taken for granted in silence."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ASKED = "refused, with a word about variables="
CELLS = {"a": [1, 0, None, 1, 0, 1], "b": list("xyxyxx")}


def guessed(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(strict=True, reason=reason, raises=AssertionError)


IN_SILENCE = "a column of whole numbers with a missing cell becomes Gaussian, in silence"


def kinds(edges: str, data: object, method: ss.LearningMethod | None = None) -> dict[str, str] | str:
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
}
each_reader = pytest.mark.parametrize(
    "reader",
    [
        pytest.param(read, id=name, marks=[guessed(IN_SILENCE)] if name in ("pandas", "pandas file") else [])
        for name, read in READERS.items()
    ],
)


@each_reader
def test_the_same_rows_give_the_same_kind_of_network(reader, path):
    assert kinds("b -> a", reader(path), ss.EM()) in ({"a": "TableCPD", "b": "TableCPD"}, ASKED)


def test_a_missing_cell_of_a_leaf_does_not_change_its_frequencies(path):
    """A row in which a leaf is missing says nothing about it: a is 1 in two of three rows with x, one of two with y."""
    model = ss.fit(ss.DAG.parse("b -> a"), path, ss.EM()).model
    assert ss.query(model, "a", given={"b": "x"})[1] == pytest.approx(2 / 3, abs=1e-3)
    assert ss.query(model, "a", given={"b": "y"})[1] == pytest.approx(1 / 2, abs=1e-3)


@guessed(IN_SILENCE)
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


@guessed("a sparse column of whole numbers becomes Gaussian, in silence")
def test_a_sparse_column_of_whole_numbers_has_states():
    cells = pd.DataFrame({"a": pd.arrays.SparseArray([1, 0, 0, 1, 0, 1]), "b": list("xyxyxx")})
    assert kinds("b -> a", cells) in ({"a": "TableCPD", "b": "TableCPD"}, ASKED)


def test_a_column_of_fractions_is_real():
    rng = np.random.default_rng(0)
    cells = pd.DataFrame({"x": rng.normal(size=50), "y": rng.normal(size=50)})
    assert kinds("x -> y", cells) == {"x": "LinearGaussian", "y": "LinearGaussian"}


@guessed("a column of numbers becomes a variable of very many states, in silence")
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


@guessed("codes of states, which scikit-learn writes as floats, become Gaussian, in silence")
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
