"""Columns are checked before they are counted; counts of joint states merge exactly, also beyond one integer."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sepset.cpds.counts import (
    Configurations,
    checked_configurations,
    checked_counts,
    checked_weights,
    column,
    columns_of,
    count,
    joint_codes,
)
from sepset.errors import DataError
from sepset.variables.variable import Discrete

A, B = Discrete("a", 2), Discrete("b", 3)


def test_joint_codes_are_in_c_order():
    rows = {A: np.array([0, 1, 1]), B: np.array([2, 0, 2], dtype=np.int8)}
    assert joint_codes(rows, (A, B), 3, "me").tolist() == [2, 3, 5]
    assert joint_codes(rows, (B, A), 3, "me").tolist() == [4, 1, 5]
    assert joint_codes({}, (), 2, "me").tolist() == [0, 0]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.array([0, -1, -1]), "2 of 3 are missing for a"),
        (np.array([0, 2, 1]), "codes 0 to 1; found 2"),
        (np.array([0, -7, 1]), "codes 0 to 1; found -7"),
        (np.array([0.0, 1.0, 1.0]), "integer codes for a; found float64"),
        (np.array([0, 1]), r"3 codes for a; found the shape \(2,\)"),
    ],
)
def test_bad_columns_are_refused(codes, message):
    with pytest.raises(DataError, match=message):
        column({A: codes}, A, 3, "me")


def test_absent_columns_are_refused():
    with pytest.raises(DataError, match="codes for a; found b"):
        column({B: np.array([0])}, A, 1, "me")


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(DataError, match=r"^'me': Weights are (numbers, one per row|finite)"):
        checked_weights(weights, 2, "me")


@pytest.mark.parametrize("counts", [[1.0], [1.0, -1.0], [1.0, np.inf]])
def test_bad_counts_are_refused(counts):
    with pytest.raises(DataError, match="counts"):
        checked_counts(counts, 2, "me")


def test_counts_may_be_weighted():
    assert count(np.array([1, 1, 0]), 3, np.array([0.5, 0.25, 2.0])).tolist() == [2.0, 0.75, 0.0]
    assert count(np.zeros(0, np.int64), 2).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("num_variables", [1, 3, 100])
def test_counts_agree_with_a_plain_counter(num_variables):
    rng = np.random.default_rng(num_variables)
    variables = tuple(Discrete(f"v{i}", 2) for i in range(num_variables))
    cells = rng.integers(2, size=(60, num_variables))
    cells[30:] = cells[:30]
    rows = {v: cells[:, axis] for axis, v in enumerate(variables)}
    expected = Counter(map(tuple, cells.tolist()))
    whole = Configurations.of(rows, variables, None, "me")
    assert {tuple(c): n for c, n in zip(whole.codes.tolist(), whole.counts, strict=True)} == expected
    assert whole.codes.tolist() == sorted(whole.codes.tolist())
    assert whole.total == 60
    halves = [
        Configurations.of({v: c[part] for v, c in rows.items()}, variables, None, "me")
        for part in (slice(20), slice(20, None))
    ]
    merged = halves[0] + halves[1]
    assert merged.codes.tolist() == whole.codes.tolist()
    assert merged.counts.tolist() == whole.counts.tolist()


def test_only_like_configurations_add_up():
    a, b = Discrete("a"), Discrete("b")
    first = Configurations.of({a: np.array([0])}, (a,), None, "me")
    second = Configurations.of({b: np.array([0])}, (b,), None, "me")
    with pytest.raises(DataError, match="same variables"):
        first + second
    with pytest.raises(TypeError):
        first + 1
    with pytest.raises(DataError, match="its own statistics"):
        checked_configurations(first, (b,), "me")
    assert repr(first) == "Configurations(1 distinct, total 1)"
    assert first.state_counts(0).tolist() == [1.0, 0.0]


def test_tables_of_counts_keep_the_states_that_occur():
    table = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.25]])
    found = Configurations.of_table(table, (A, B))
    assert found.codes.tolist() == [[0, 1], [1, 0], [1, 2]]
    assert found.counts.tolist() == [1.5, 2.0, 0.25]
    assert [codes.tolist() for codes in found.columns.values()] == [[0, 1, 1], [1, 0, 2]]
    assert Configurations.of_table(np.zeros((2, 3)), (A, B)).codes.shape == (0, 2)


def test_columns_of_some_variables_are_checked_as_those_of_one():
    variables = [Discrete("a", 2), Discrete("b", 3)]
    rows = {variables[0]: np.array([0, 1, 1], np.int8), variables[1]: np.array([2, 0, 1], np.uint64), "other": [0]}
    assert columns_of(rows, variables, 3, "this").tolist() == [[0, 1, 1], [2, 0, 1]]
    assert columns_of({}, [], 3, "this").shape == (0, 3)
    assert columns_of({**rows, variables[1]: [2, 0, 1]}, variables, 3, "this").tolist() == [[0, 1, 1], [2, 0, 1]]
    for wrong in ([3, 0, 0], [-1, 0, 0], [2**63, 0, 0], [0.5, 0, 0], [0, 0], [[0], [0], [0]]):
        for kind in (np.asarray, list):
            given = {**rows, variables[1]: kind(wrong)}
            with pytest.raises(DataError) as alone:
                column(given, variables[1], 3, "this")
            with pytest.raises(DataError) as together:
                columns_of(given, variables, 3, "this")
            assert str(together.value) == str(alone.value)
    with pytest.raises(DataError, match="needs a column of codes for b"):
        columns_of({variables[0]: np.zeros(3, np.int64)}, variables, 3, "this")
