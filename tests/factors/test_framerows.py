"""Frames of probabilities: every form, library and order gives the same table."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sepset import Discrete, TableCPD
from sepset.errors import ModelError, ScopeError
from sepset.factors.framerows import is_frame, named_rows

SCOPES = [
    (),
    (Discrete("a", ("x", "y", "z")),),
    (Discrete("a", (False, True)), Discrete("b", (0, 1, 2))),
    (Discrete("a", ("x",)), Discrete("b", ("u", "v")), Discrete("d", (2, 5))),
]
CHILDREN = [
    Discrete("c", ("no", "yes")),
    Discrete("c", (False, True)),
    Discrete("c", (1, 2, 3)),
    Discrete("c", ("only",)),
]
LIBRARIES = {"pandas": pd.DataFrame, "polars": lambda rows: pl.DataFrame(rows), "pyarrow": pa.table}


def wide(cpd, rng, as_text):
    """The columns of the wide form, with rows and columns in any order."""
    contexts = list(itertools.product(*(p.states for p in cpd.parents)))
    order = rng.permutation(len(contexts))
    matrix = cpd.values.reshape(len(contexts), -1)[order]
    columns = {p.name: [contexts[i][k] for i in order] for k, p in enumerate(cpd.parents)}
    columns |= {str(s) if as_text else s: matrix[:, k].tolist() for k, s in enumerate(cpd.child.states)}
    names = list(columns)
    return {names[i]: columns[names[i]] for i in rng.permutation(len(names))}


def tidy(cpd, rng):
    """The columns of the tidy form, with rows and columns in any order, without the zeros."""
    scope = (*cpd.parents, cpd.child)
    lines = [(*s, p) for s, p in zip(itertools.product(*(v.states for v in scope)), cpd.values.flat, strict=True) if p]
    lines = [lines[i] for i in rng.permutation(len(lines))]
    names = [*(v.name for v in scope), "probability"]
    columns = {name: [line[k] for line in lines] for k, name in enumerate(names)}
    return {names[i]: columns[names[i]] for i in rng.permutation(len(names))}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("parents", SCOPES, ids=len)
@pytest.mark.parametrize("child", CHILDREN, ids=["texts", "bools", "numbers", "one"])
def test_every_form_in_every_order(library, parents, child):
    make, rng = LIBRARIES[library], np.random.default_rng(7)
    for _ in range(6):
        values = rng.dirichlet(np.ones(child.num_states), [p.num_states for p in parents])
        if child.num_states > 1:
            values[..., 0], values[..., 1] = 0.0, values[..., 0] + values[..., 1]
        cpd = TableCPD(child, values, given=parents)
        for columns in (wide(cpd, rng, library != "pandas"), tidy(cpd, rng)):
            found = TableCPD(child, make(columns), given=parents)
            np.testing.assert_array_equal(found.values, cpd.values)


def test_a_cpd_comes_back_from_its_own_frame():
    parents, child = SCOPES[2], CHILDREN[2]
    cpd = TableCPD(child, np.random.default_rng(0).dirichlet([1, 1, 1], (2, 3)), given=parents)
    for kind in ("pandas", "polars"):
        np.testing.assert_array_equal(TableCPD(child, cpd.to_frame(kind), given=parents).values, cpd.values)


def test_names_take_their_states_from_the_labels():
    frame = pd.DataFrame({"yes": [0.1, 0.8], "no": [0.9, 0.2]}, index=pd.Index(["dry", "rain"], name="sky"))
    cpd = TableCPD("wet", frame, given="sky")
    assert (cpd.child.states, cpd.parents[0].states) == (("yes", "no"), ("dry", "rain"))
    assert cpd["rain"].tolist() == [0.8, 0.2]
    lines = pl.DataFrame({"sky": ["dry", "rain"] * 2, "wet": ["no"] * 2 + ["yes"] * 2, "p": [0.9, 0.2, 0.1, 0.8]})
    assert TableCPD("wet", lines, given="sky")["rain"].tolist() == [0.2, 0.8]
    assert TableCPD("coin", pd.Series({"head": 0.4, "tail": 0.6})).child.states == ("head", "tail")


def test_a_series_with_all_states_in_its_index():
    index = pd.MultiIndex.from_tuples([("dry", "no"), ("dry", "yes"), ("rain", "yes")], names=["sky", "wet"])
    sky, wet = Discrete("sky", ("rain", "dry")), Discrete("wet", ("no", "yes"))
    found = TableCPD(wet, pd.Series([0.9, 0.1, 1.0], index=index), given=sky)
    assert found.values.tolist() == [[0.0, 1.0], [0.9, 0.1]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["x", "x"], "no": [0.5, 0.5], "yes": [0.5, 0.5]}, "twice"),
        ({"a": ["x", "y"], "no": [0.5, 0.5], "maybe": [0.5, 0.5]}, "each state of c"),
        ({"b": ["x", "y"], "no": [0.5, 0.5], "yes": [0.5, 0.5]}, "a column for each parent"),
        ({"a": ["x", "x"], "c": ["no", "no"], "p": [0.5, 0.5]}, "twice"),
        ({"a": ["x"], "no": [0.5], "yes": [0.5]}, "1 of 2 rows"),
    ],
)
def test_frames_that_do_not_fit(columns, message):
    a, c = Discrete("a", ("x", "y")), Discrete("c", ("no", "yes"))
    with pytest.raises(ModelError, match=message):
        TableCPD(c, pl.DataFrame(columns), given=a)


def test_frames_are_told_from_arrays():
    assert is_frame(pd.DataFrame())
    assert is_frame(pa.table({"a": [1]}))
    assert not is_frame(np.zeros(3))
    with pytest.raises(ModelError, match="series of pandas"):
        named_rows(pl.Series([0.5, 0.5]), "c", parents=(), label="c")


def test_names_need_labels():
    for table in ([0.5, 0.5], {"x": [0.5, 0.5]}):
        with pytest.raises(ScopeError, match=r"Discrete\('c', states\)"):
            TableCPD("c", table, given="a" if isinstance(table, dict) else ())


RAIN, GRASS = Discrete("rain", ("no", "yes")), Discrete("grass", ("dry", "wet"))


@pytest.mark.parametrize(
    ("frame", "given"),
    [
        (pd.DataFrame([[0.5, 0.2, 0.5]] * 2, index=["no", "yes"], columns=["dry", "wet", "wet"]), RAIN),
        (pd.DataFrame([[0.5] * 2, [0.2] * 2, [0.5] * 2], index=["dry", "wet", "wet"], columns=["no", "yes"]), RAIN),
        (pd.DataFrame({"rain": ["no", "yes"], "dry": [0.5] * 2, "wet": [0.2] * 2, "grass=wet": [0.5] * 2}), RAIN),
        (pl.DataFrame({"rain": ["no", "yes"], "dry": [0.5] * 2, "wet": [0.2] * 2, "grass=wet": [0.5] * 2}), RAIN),
        (pd.Series([0.5, 0.2, 0.5], index=["dry", "wet", "wet"]), ()),
    ],
    ids=["labeled", "turned", "wide", "polars", "series"],
)
def test_a_state_with_two_columns_is_refused(frame, given):
    with pytest.raises(ModelError, match=r"'wet' twice|further columns"):
        TableCPD(GRASS, frame, given=given)


def test_columns_named_by_the_parents_are_turned():
    wind = Discrete("wind", RAIN.states)
    columns = pd.Index(RAIN.states, name="rain")
    sure = pd.DataFrame([[0.0, 0.25], [1.0, 0.75]], RAIN.states, columns=columns)
    assert TableCPD(wind, sure, given=RAIN).values.tolist() == [[0.0, 1.0], [0.25, 0.75]]


def test_a_child_named_like_one_of_its_states():
    wet = Discrete("wet", ("dry", "wet"))
    frame = pd.DataFrame({"rain": ["no", "yes"], "dry": [0.9, 0.2], "wet": [0.1, 0.8]})
    assert TableCPD(wet, frame, given=RAIN).values.tolist() == [[0.9, 0.1], [0.2, 0.8]]


@pytest.mark.parametrize(
    ("frame", "given", "message"),
    [
        (pd.DataFrame({"dry": [0.5, 0.1], "wet": [0.5, 0.9]}), (), "one row; found 2"),
        (pd.DataFrame([["a", 0.5], [0.5, 0.5]], index=["no", "yes"], columns=["dry", "wet"]), RAIN, "found 'a'"),
    ],
)
def test_frames_with_other_cells_or_rows(frame, given, message):
    with pytest.raises(ModelError, match=message):
        TableCPD(GRASS, frame, given=given)


def test_a_frame_with_several_rows_and_no_parents_says_how_to_name_them():
    index = pd.Index(["low", "high"], name="intelligence")
    frame = pd.DataFrame({"A": [0.3, 0.9], "B": [0.7, 0.1]}, index=index)
    with pytest.raises(ModelError, match=r"found 2\. Name its parents: given=\['intelligence'\]\."):
        TableCPD("grade", frame)
