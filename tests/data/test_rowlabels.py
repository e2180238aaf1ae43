"""Numbers of pandas series belong to the rows of the same labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.data.rowlabels import in_row_order
from sepset.errors import DataError

ROWS = pd.DataFrame(
    {"a": list("uvuvuu"), "b": list("ppqqqp"), "x": [1.0, 2.5, 3.0, 7.0, 4.0, 6.5]}, index=list("ijklmn")
)
WEIGHTS = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], index=ROWS.index)
SHUFFLED = WEIGHTS.iloc[[3, 0, 5, 2, 4, 1]]
DAG = ss.DAG.parse("a -> b; a -> x")

QUESTIONS = {
    "a dataset": lambda w: ss.Dataset(ROWS, weights=w).weights,
    "a mapping of series": lambda w: ss.Dataset({"a": ROWS.a, "b": ROWS.b}, weights=w).weights,
    "estimates": lambda w: ss.fit(DAG, ROWS, weights=w).model.cpd("x").intercept,
    "a network": lambda w: ss.fit(ss.fit(DAG, ROWS).model, ROWS, weights=w).model.cpd("b").values,
    "counts": lambda w: ss.data.Counts.of(ROWS, [(ss.Discrete("a", list("uv")),)], weights=w).tables[0],
    "a Gaussian": lambda w: ss.learning.fit_gaussian(ROWS, "x", weights=w).mu,
    "classes": lambda w: ss.classify.discriminant_analysis(ROWS[["a", "x"]], "a", weights=w).cpd("x").intercept,
    "errors": lambda w: ss.learning.standard_errors(
        ss.fit(ss.DAG.parse("a -> b"), ROWS).model, ROWS[["a", "b"]], weights=w
    ).errors["b"],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_weights_follow_their_labels(question: str) -> None:
    ask: Any = QUESTIONS[question]
    np.testing.assert_allclose(ask(SHUFFLED), ask(WEIGHTS.to_numpy()), rtol=1e-12)


def test_weights_of_other_rows_are_refused() -> None:
    for labels in (list("ijklmz"), list("iijklm")):
        with pytest.raises(DataError, match="not those of the rows"):
            in_row_order(WEIGHTS.set_axis(labels), ROWS)
    assert in_row_order(WEIGHTS.reset_index(drop=True), ROWS).tolist() == WEIGHTS.tolist()  # positions are no labels


def test_columns_whose_rows_have_different_labels_are_refused() -> None:
    with pytest.raises(DataError, match="'a', 'b' are series whose rows have different labels"):
        ss.Dataset({"a": ROWS.a, "b": ROWS.b.sort_values()})
    assert ss.Dataset({"a": ROWS.a, "b": ROWS.b.tolist()}).num_rows == 6
