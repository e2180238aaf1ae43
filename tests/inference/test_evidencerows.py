"""Rows of findings: what is kept, which rows repeat, and which sets they observe."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import sepset as ss
from sepset.inference.evidencerows import EvidenceRows, JointCounts, distinct_rows

CODES = st.tuples(st.integers(0, 30), st.integers(0, 4)).flatmap(
    lambda shape: arrays(np.int32, shape, elements=st.integers(-1, 2))
)


@given(CODES)
def test_distinct_rows_are_numbered_as_they_appear(codes):
    first, which = distinct_rows(codes)
    seen: list[bytes] = []
    for row in codes:
        if row.tobytes() not in seen:
            seen.append(row.tobytes())
    assert [codes[row].tobytes() for row in first] == seen
    assert [seen[kind] for kind in which] == [row.tobytes() for row in codes]
    assert all(first[kind] <= row for row, kind in enumerate(which))


@given(CODES)
def test_patterns_are_sets_of_observed_cells(codes):
    first, which = distinct_rows(codes, only_missing=True)
    masks = [tuple((row >= 0).tolist()) for row in codes]
    assert len(first) == len(set(masks))
    assert [masks[first[kind]] for kind in which] == masks


def test_many_rows_are_compared_where_a_sample_repeats():
    numbers = np.arange(40_000, dtype=np.int32)
    first, which = distinct_rows(np.stack([numbers, numbers % 7], axis=1))
    assert np.array_equal(first, numbers)
    assert np.array_equal(which, numbers)
    first, which = distinct_rows((numbers % 2_000)[:, None])
    assert np.array_equal(first, numbers[:2_000])
    assert np.array_equal(which, numbers % 2_000)


def test_missing_cells_columns_and_targets_are_left_out():
    a, b, c, x = ss.Discrete("a", 2), ss.Discrete("b", 2), ss.Discrete("c", 2), ss.Real("x")
    rows = ss.Dataset({"a": [0, None, 1], "b": [None] * 3, "c": [1, 1, 1], "x": [0.5, None, 0.5]}, [a, b, c, x])
    variables = ss.Dataset({"c": [0], "x": [0.0], "b": [0], "a": [0]}, [c, x, b, a]).variables
    found = EvidenceRows.of(rows, variables, without=[0])
    assert found.positions == (3,)
    assert found.real_positions == (1,)
    assert found.evidence(0).codes == {3: 0}
    assert found.evidence(0).reals[1].tolist() == [0.5]
    assert not found.evidence(1)
    assert found.observed(1) == ()
    assert len(found.distinct()[0]) == 3


def test_numbers_repeat_too():
    x = ss.Real("x")
    rows = ss.Dataset({"x": [0.5, None, 0.5, None, 0.25]}, [x])
    assert EvidenceRows.of(rows, rows.variables).distinct()[1].tolist() == [0, 1, 0, 1, 2]


A, B, C, Y = ss.Discrete("a", 3), ss.Discrete("b"), ss.Discrete("c"), ss.Discrete("y", 3)
TABLE = np.random.default_rng(0).dirichlet(np.ones(3), (3, 2, 2))
ROWS = EvidenceRows((7, 5), np.array([[1, 2], [0, 0], [1, 2]], np.int32), (), np.zeros((3, 0)))  # of c and a
CELLS = [(0, 0), (2, 1)]


def test_a_table_has_the_conditional_of_every_context():
    made, which = ROWS.in_contexts(ss.TableCPD(Y, TABLE, given=(A, B, C)), (5, 6, 7))
    assert [v.name for v in made.factors[0].scope[1:]] == ["b", "y"]
    assert which.tolist() == [1, 0, 1]
    for values, (a, c) in zip(made.filled[0].values, CELLS, strict=True):
        np.testing.assert_array_equal(values, TABLE[a, :, c])


def test_entries_are_counted_at_the_codes_of_their_context():
    found = ROWS.joint_states((5, 6, 7, 8), np.array([1, 1, 1, 1, 1, 3, 2, 2, 3]))
    assert found.tolist() == [[a, b, c, y] for (a, c), b, y in itertools.product(CELLS, range(2), range(3))]


def test_counts_of_groups_are_those_of_all():
    parts = [JointCounts(np.array([[0, 1]]), np.array([2.0])), JointCounts(np.array([[1, 1]]), np.array([0.5]))]
    both = JointCounts.joined(parts)
    assert both.codes.tolist() == [[0, 1], [1, 1]]
    assert both.counts.tolist() == [2.0, 0.5]


def test_rows_alike_observe_the_same_states_and_numbers():
    codes = np.array([[1, -1], [0, -1], [1, -1], [-1, 2]], np.int32)
    reals = np.array([[np.nan], [2.5], [3.5], [np.nan]])
    found = [
        (places.tolist(), rows.positions, rows.real_positions)
        for places, rows in EvidenceRows((3, 4), codes, (9,), reals).alike()
    ]
    assert found == [([0], (3,), ()), ([1, 2], (3,), (9,)), ([3], (4,), ())]
