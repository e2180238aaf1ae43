"""Baskets of every source, their parts, and bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import sepset as ss
from sepset.learning.recommendation.baskets import Baskets

ROWS = [["milk", "bread"], [], ["beer", "milk", "milk"]]
DENSE = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 1]])


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        [set(row) for row in ROWS],
        (tuple(row) for row in ROWS),
        {"ann": ROWS[0], "bob": ROWS[1], "cid": ROWS[2]},
        pd.Series(ROWS),
    ],
    ids=["lists", "sets", "generator", "mapping", "series"],
)
def test_collections(data: object) -> None:
    found = Baskets(data, ["milk", "bread", "beer"])
    assert found.matrix.toarray().tolist() == DENSE.tolist()
    assert [set(one) for one in found] == [set(row) for row in ROWS]
    assert found.sizes.tolist() == [2, 0, 2]
    assert found.popularity.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    "data",
    [
        DENSE,
        DENSE.astype(bool),
        2.5 * DENSE,
        sparse.csr_matrix(DENSE),
        sparse.coo_array(DENSE),
        sparse.csc_matrix(DENSE),
    ],
    ids=["ints", "bools", "ratings", "csr", "coo", "csc"],
)
def test_matrices(data: object) -> None:
    found = Baskets(data)
    assert found.matrix.toarray().tolist() == DENSE.tolist()
    assert found.items == (0, 1, 2)
    assert found.users == (0, 1, 2)


def test_frames() -> None:
    frame = pd.DataFrame(DENSE.astype(bool), columns=["milk", "bread", "beer"], index=["ann", "bob", "cid"])
    found = Baskets(frame)
    assert found.items == ("milk", "bread", "beer")
    assert found.users == ("ann", "bob", "cid")
    assert found.to_frame().equals(frame)
    assert Baskets(found).users == found.users
    polars = pytest.importorskip("polars")
    other = Baskets(polars.DataFrame({"milk": [1, 0, 1], "bread": [1, 0, 0], "beer": [0, 0, 1]}))
    assert (other.matrix != found.matrix).nnz == 0
    assert other.items == found.items


def test_pairs_of_users_and_items() -> None:
    found = Baskets.from_pairs(["u", "v", "u", "u"], ["a", "a", "b", "b"])
    assert list(found) == [("a", "b"), ("a",)]
    with pytest.raises(ss.SepsetError, match="2 users and 1 items"):
        Baskets.from_pairs(["u", "v"], ["a"])


def test_parts() -> None:
    baskets = Baskets(np.eye(10, dtype=int))
    train, test = baskets.split(0.3, seed=1)
    assert (len(train), len(test)) == (7, 3)
    assert set(train.users) | set(test.users) == set(range(10))
    assert baskets.take([2, 5]).users == (2, 5)
    assert baskets.take(baskets.sizes > 1).users == ()


def test_other_columns() -> None:
    baskets = Baskets([["a", "b"], ["b"]])
    moved = baskets.aligned(["c", "b", "a"])
    assert moved.matrix.toarray().tolist() == [[0, 1, 1], [0, 1, 0]]
    with pytest.raises(ss.SepsetError, match="'a' were not among the items"):
        baskets.aligned(["b"])
    assert Baskets([["b"]], ["a", "b"]).aligned(["b"]).items == ("b",)


def test_empty() -> None:
    assert repr(Baskets([])) == "Baskets(0 users, 0 items, 0 entries)"
    assert Baskets([[]]).sizes.tolist() == [0]
    assert "milk" in str(Baskets(ROWS))


@pytest.mark.parametrize(
    ("data", "items", "words"),
    [
        (["milk", "bread"], None, "collection of items"),
        ("milk", None, "Baskets are collections"),
        (3, None, "Baskets are collections"),
        (np.zeros(3), None, "found shape"),
        (np.array([[np.nan]]), None, "finite numbers"),
        (np.array([[-1.0]]), None, "finite numbers"),
        (DENSE, ["a"], "names 1 items; the data has 3"),
        (DENSE, ["a", "b", "a"], "named twice: 'a'"),
        ([["milc"]], ["milk"], "which is not in items=.*milk"),
        (pd.DataFrame({"a": ["x"]}), None, "numbers or truth values"),
        (pd.DataFrame({"a": [1]}), ["b"], "'a' are not in items="),
        ([["a"]], ["a", "a"], "named twice: 'a'"),
        ([["a"]], "a", "items= is a sequence of names; found 'a'"),
        ([["a"]], 3, "items= is a sequence of names; found 3"),
        ([[["a"]]], None, "named by texts or numbers"),
        ([["a", math.nan]], None, "found NaN"),
    ],
)
def test_bad_input(data: object, items: Any, words: str) -> None:
    with pytest.raises(ss.SepsetError, match=words):
        Baskets(data, items)


def test_items_with_one_text() -> None:
    with pytest.raises(ss.SepsetError, match="same name as text"):
        Baskets([[1, "1"]]).variables


def test_named_columns_are_matched_by_name() -> None:
    frame = pd.DataFrame(DENSE, columns=["milk", "bread", "beer"])
    for data in (frame, Baskets(frame)):
        found = Baskets(data, ["beer", "eggs", "milk", "bread"])
        assert found.items == ("beer", "eggs", "milk", "bread")
        assert found.matrix.toarray().tolist() == [[0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0]]


def test_frames_of_other_libraries() -> None:
    expected = Baskets(DENSE, ["milk", "bread", "beer"])
    columns = dict(zip(expected.items, DENSE.T.tolist(), strict=True))
    for frame in (pl.DataFrame(columns), pl.LazyFrame(columns), pa.table(columns)):
        found = Baskets(frame)
        assert found.items == expected.items
        assert found.matrix.toarray().tolist() == DENSE.tolist()
    assert [Baskets(empty).matrix.shape for empty in (pd.DataFrame(), pl.DataFrame(), pa.table({}))] == [(0, 0)] * 3


def test_bad_pairs_and_positions() -> None:
    for users, items, words in ((None, ["a"], "users="), (["u"], "a", "items="), ([["u"]], ["a"], "texts or numbers")):
        with pytest.raises(ss.SepsetError, match=words):
            Baskets.from_pairs(users, items)  # type: ignore[arg-type]
    with pytest.raises(ss.SepsetError, match="There are 3 users"):
        Baskets(ROWS).take([3])
