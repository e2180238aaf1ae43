"""Predictions of frames: every kind of frame, missing cells, targets, impossible rows, clear refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal

import sepset as ss
from sepset.inference.exact.bruteforce import BruteForce
from support.tolerances import CLOSE

ROWS = {"grade": ["A", "C", None, "A"], "letter": ["strong", "weak", "weak", "strong"], "id": [7, 8, 9, 7]}


@pytest.fixture(scope="module")
def engine():
    return ss.prepare(ss.datasets.load("student"))


def frames():
    pandas = pd.DataFrame(ROWS, index=[10, 20, 30, 40])
    plain = pl.DataFrame(ROWS)
    return {
        "pandas": pandas,
        "categorical": pandas.astype({"grade": "category"}),
        "polars": plain,
        "lazy": plain.lazy(),
        "arrow": pa.table(ROWS),
        "mapping": ROWS,
    }


@pytest.mark.parametrize("kind", list(frames()))
def test_answers_come_in_the_frame_they_were_asked_in(engine, kind):
    frame = frames()[kind]
    found = engine.predict(frame, targets=["intelligence", "sat"])
    for row in range(4):
        given = {name: ROWS[name][row] for name in ("grade", "letter")}
        for target in ("intelligence", "sat"):
            expected = engine.query(target, given=given).values
            np.testing.assert_allclose(found.probabilities(target)[row], expected, atol=CLOSE)
        assert found.log_probability[row] == pytest.approx(float(engine.log_probability(given=given)))
    types = {"mapping": ss.Dataset, "lazy": pl.DataFrame, "categorical": pd.DataFrame}
    assert isinstance(found.states, types.get(kind, type(frame)))
    whole = found.to_frame()
    names = [str(name) for name in (whole.column_names if kind == "arrow" else whole.columns)]
    assert names[:3] == ["intelligence", "sat", "P(intelligence=low)"]
    if kind in ("pandas", "categorical"):
        assert list(found.states.index) == [10, 20, 30, 40]
    assert list(found.dataset["intelligence"]) == ["high", "low", "low", "high"]
    assert_frame_equal(found.to_frame("pandas")[["sat"]].reset_index(drop=True), found.dataset.to_frame()[["sat"]])


def test_a_targets_own_column_is_ignored(engine):
    with_it = engine.predict({"grade": ["A", "B"], "sat": ["low", None]}, targets="sat")
    without = engine.predict({"grade": ["A", "B"]}, targets="sat")
    assert np.array_equal(with_it.probabilities("sat"), without.probabilities("sat"))
    alone = engine.predict({"sat": ["low", "high"]}, targets="sat")
    np.testing.assert_allclose(alone.probabilities("sat"), [[0.725, 0.275]] * 2, atol=CLOSE)


def test_default_targets_have_no_column(engine):
    found = engine.predict({"grade": ["A"], "letter": ["weak"]})
    assert [v.name for v in found.targets] == ["difficulty", "intelligence", "sat"]
    with pytest.raises(ss.errors.ScopeError, match="Every variable has a column"):
        engine.predict(ss.sample(engine.model, 3))
    others = ss.sample(engine.model, 3).select(["difficulty", "grade", "letter"])
    with pytest.raises(ss.errors.ScopeError, match="Every variable has a column or a finding in given="):
        engine.predict(others, given={"sat": ss.Likelihood([0.2, 0.8]), "intelligence": "high"})


def impossible_net():
    a, b = ss.Discrete("a", ("x", "y")), ss.Discrete("b", ("x", "y"))
    return ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [[1.0, 0.0], [0.5, 0.5]], given=a), *_third(b))


def _third(b):
    return (ss.TableCPD(ss.Discrete("c", (1, 2)), [[0.2, 0.8], [0.6, 0.4]], given=b),)


def test_impossible_rows_are_named():
    engine = ss.prepare(impossible_net())
    rows = {"a": ["x", "x", "y", "x"], "b": ["x", "y", "y", "y"]}
    with pytest.raises(ss.ImpossibleEvidence) as error:
        engine.predict(rows, targets=["c"])
    message = str(error.value)
    assert message.startswith("2 of 4 rows have probability zero: 1, 3, counted from 0. Row 1: ")
    assert "a='x', b='y' contradict each other" in message
    assert "on_impossible='null'" in message


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_impossible_rows_are_left_empty(kind):
    engine = ss.prepare(impossible_net())
    rows = {"a": ["x", "x", "y"], "b": ["x", "y", None]}
    found = engine.predict(rows, targets=["c"], on_impossible="null")
    assert found.codes("c").tolist()[1] == -1
    assert found.log_probability[1] == -np.inf
    assert np.isnan(found.probabilities("c")[1]).all()
    frame = found.to_frame(kind)
    column = frame["c"].to_pylist() if kind == "pyarrow" else list(frame["c"])
    assert [column[0], column[2]] == [2, 2]
    assert column[1] is None or column[1] is pd.NA
    assert np.isneginf(engine.log_probabilities(pd.DataFrame(rows))[1])


def test_wrong_questions_are_refused(engine):
    with pytest.raises(ss.errors.ArgumentError, match="on_impossible= is 'raise' or 'null'; found 'drop'"):
        engine.predict(None, targets="sat", on_impossible="drop")
    with pytest.raises(ss.errors.DataError, match=r"columns are 'grad', variables .*\. Did you mean 'grade'\?"):
        engine.predict(pd.DataFrame({"grad": ["A"]}), targets="sat")
    with pytest.raises(ss.errors.DataError, match=r"columns are none, variables 'difficulty'"):
        engine.predict(pd.DataFrame(index=[0, 1]), targets="sat")
    with pytest.raises(ss.errors.DataError, match=r"'grade' 2 times Rename or drop some"):
        engine.predict(pd.DataFrame([["A", "B"]], columns=["grade", "grade"]), targets="sat")
    with pytest.raises(ss.errors.DataError, match="No column is a variable of the model"):
        engine.predict({"x": [1]}, targets="sat")
    with pytest.raises(ss.errors.DataError, match="A frame of findings was expected; found int"):
        engine.predict(3, targets="sat")
    with pytest.raises(ss.errors.DataError, match=r"Row 0 holds \['A', 'B'\] \(list\)"):
        engine.predict({"grade": [["A", "B"]]}, targets="sat")
    with pytest.raises(ss.errors.DataError, match="Row 0: Likelihood on grade has 2 weights"):
        engine.predict({"grade": [ss.Likelihood([0.1, 0.2])]}, targets="sat")
    with pytest.raises(ss.errors.DataError, match="unknown state 'D'"):
        engine.predict({"grade": ["D"]}, targets="sat")
    with pytest.raises(ss.errors.ScopeError, match="Did you mean 'sat'"):
        engine.predict(ROWS, targets="satt")
    with pytest.raises(ss.errors.ScopeError, match="'grade' was not predicted; targets are 'sat'"):
        engine.predict(ROWS, targets="sat").probabilities("grade")
    with pytest.raises(ss.errors.ArgumentError, match="threads= is a whole number"):
        engine.predict(ROWS, targets="sat", threads=0)


def test_no_rows(engine):
    found = engine.predict(pd.DataFrame({"grade": pd.Series([], dtype=object)}), targets=["sat"])
    assert len(found) == 0
    assert found.states.shape == (0, 1)
    assert engine.log_probabilities({"grade": []}).shape == (0,)


def test_undirected_models_have_probabilities():
    net = ss.datasets.load("misconception")
    engine = ss.prepare(net)
    name = net.variables.names[0]
    states = net.variables[0].states
    logs = engine.log_probabilities({name: list(states)})
    assert np.exp(logs).sum() == pytest.approx(1.0)
    assert logs[0] == pytest.approx(float(engine.log_probability(given={name: states[0]})))


def test_one_question_takes_evidence_and_the_other_rows(engine):
    assert float(engine.log_probability(given={"grade": "A"})) == pytest.approx(np.log(0.362))
    np.testing.assert_allclose(np.exp(engine.log_probabilities(pl.DataFrame({"grade": ["A"]}))), [0.362])
    np.testing.assert_allclose(np.exp(engine.log_probabilities(ss.Dataset({"grade": ["A"]}))), [0.362])
    with pytest.raises(ss.errors.ScopeError, match="Evidence is a mapping"):
        engine.log_probability(given=3)
    with pytest.raises(ss.errors.DataError, match="A frame of findings was expected; found int"):
        engine.log_probabilities(3)


def test_other_methods_and_continuous_findings():
    slow = ss.prepare(ss.datasets.load("student"), method=BruteForce())
    np.testing.assert_allclose(
        slow.predict(ROWS, targets="sat").probabilities("sat"),
        ss.prepare(slow.model).predict(ROWS, targets="sat").probabilities("sat"),
        atol=CLOSE,
    )


def test_hybrid_models_take_numbers_and_predict_states():
    """Two classes one standard deviation apart on either side: the posterior is logistic in the number."""
    work, x = ss.Discrete("work", ("bad", "good")), ss.Real("x")
    engine = ss.prepare(
        ss.BayesNet(
            ss.TableCPD(work, [0.5, 0.5]), ss.LinearGaussian(x, [[-1.0], [1.0]], covariance=[[[1.0]], [[1.0]]], by=work)
        )
    )
    numbers = [-0.7, 0.0, None, 0.3, -0.7]
    found = engine.predict({"x": numbers}, targets="work")
    expected = [0.5 if v is None else 1 / (1 + np.exp(-2 * v)) for v in numbers]
    np.testing.assert_allclose(found.probabilities("work")[:, 1], expected, atol=CLOSE)
    real = engine.predict({"work": ["bad", None]}, targets="x")
    np.testing.assert_allclose(real.mean("x"), [-1.0, 0.0], atol=CLOSE)
    np.testing.assert_allclose(real.variance("x"), [1.0, 2.0], atol=CLOSE)
    with pytest.raises(ss.errors.NotApplicable, match="discrete targets; 'x' are continuous"):
        engine.predict({"work": ["bad"]}, targets=[("work", "x")])


def test_a_record_batch_is_a_frame():
    net = ss.datasets.load("asia")
    batch = pa.RecordBatch.from_pydict({"xray": ["yes", "no", None], "smoke": ["no", None, "yes"]})
    engine = ss.prepare(net)
    found = engine.predict(batch, targets="lung").to_frame()
    assert isinstance(found, pa.Table)
    table = pa.Table.from_batches([batch])
    assert found.equals(engine.predict(table, targets="lung").to_frame())
    np.testing.assert_array_equal(engine.log_probabilities(batch), engine.log_probabilities(table))
