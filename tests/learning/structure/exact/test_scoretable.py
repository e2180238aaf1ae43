"""Score tables: what they check, their files, pruning and orders of columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.errors import ArgumentError, FileFormatError, ModelError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.structure.exact.enumeration import all_scores
from sepset.learning.structure.exact.scoretable import ScoreTable, bits, including, without
from support.score_tables import random_table

TEXT = """# of two columns
META about = nothing
2
rain 2
-4.5 0
-2.5 1 wet

wet 1
-3e0 0
"""


@given(st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_files_keep_what_was_written(tmp_path_factory, size, seed):
    table = random_table(np.random.default_rng(seed), size)
    path = tmp_path_factory.mktemp("scores") / "table.jkl"
    table.write(path)
    again = ScoreTable.read(path)
    assert again.names == table.names
    for child in range(size):
        for mine, theirs in zip(table.of(child), again.of(child), strict=True):
            assert np.array_equal(mine, theirs)


def test_a_file_as_others_write_it(tmp_path):
    path = tmp_path / "two.scores"
    path.write_text(TEXT)
    table = ScoreTable.read(path)
    assert table.score(DAG.parse("wet -> rain")) == -5.5
    assert table.score(DAG.parse("rain; wet")) == -7.5
    assert table.score(DAG.parse("rain -> wet")) == -np.inf


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2\nrain 1\n-4 0\n", "ends before"),
        ("1\nrain 1\n-4 1\n", "expected 1 parents; found 0"),
        ("1\nrain 1\nx 0\n", "expected a score"),
        ("1\nrain 1\n-4 1 wett\n", "'wett' is not a column"),
        ("one\n", "expected a number"),
        ("1\nrain 1\n-4 0\nrain 2\n", "more after the last"),
        ("1 2\n", "expected 1 words"),
    ],
)
def test_damaged_files_are_refused(tmp_path, text, found):
    path = tmp_path / "damaged.jkl"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=found):
        ScoreTable.read(path)


@pytest.mark.parametrize(
    ("scores", "error", "found"),
    [
        ({"a": {}}, ModelError, "no parent set"),
        ({"a": {("a",): 1.0, (): 0.0}}, ModelError, "'a' itself"),
        ({"a": {("bb",): 1.0}, "b": {(): 0.0}}, ScopeError, "not a column"),
        ({"a": {(): np.nan}}, ModelError, "numbers below infinity"),
        ({"a": {(): -np.inf}}, ModelError, "no parent set"),
    ],
)
def test_bad_tables_are_refused(scores, error, found):
    with pytest.raises(error, match=found):
        ScoreTable.from_scores(scores)


def test_more_columns_than_bits_and_repeated_names():
    family = (np.zeros(1, np.int64), np.zeros(1))
    with pytest.raises(ArgumentError, match="at most 62 columns; found 63"):
        ScoreTable.of_children([str(i) for i in range(63)], [family] * 63)
    with pytest.raises(ScopeError, match="twice"):
        ScoreTable.of_children(["a", "a"], [family] * 2)


@given(st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_pruning_keeps_the_best(size, seed, tied):
    table = random_table(np.random.default_rng(seed), size, tied=tied)
    pruned = table.pruned()
    assert pruned.num_sets <= table.num_sets
    assert all_scores(pruned).max() == pytest.approx(all_scores(table).max(), abs=1e-12)
    for child in range(size):
        kept = dict(zip(*(a.tolist() for a in pruned.of(child)), strict=True))
        for mask, score in zip(*(a.tolist() for a in table.of(child)), strict=True):
            dominated = any(s >= score and m != mask and m & ~mask == 0 for m, s in kept.items())
            assert (mask in kept) != dominated


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_other_orders_of_columns(size, seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng, size)
    moved = table.permuted(rng.permutation(size).tolist())
    dag = DAG(table.names, [(table.names[i], table.names[i + 1]) for i in range(size - 1)])
    assert moved.score(dag) == pytest.approx(table.score(dag), abs=1e-12)
    assert sorted(moved.scores) == sorted(table.scores)


def test_numbers_of_sets():
    for child in range(4):
        masks = np.array([m for m in range(16) if not m >> child & 1])
        assert without(masks, child).tolist() == list(range(8))
        assert including(without(masks, child), child).tolist() == masks.tolist()
    assert list(bits(0b100101)) == [0, 2, 5]
    assert list(bits(0)) == []


def test_tables_do_not_change():
    table = random_table(np.random.default_rng(0), 3)
    with pytest.raises(ValueError, match="read-only"):
        table.scores[0] = 1.0
    assert table.best(0, 0) == (0, table.family(0, 0))
    assert repr(table).startswith("ScoreTable(3 columns")
