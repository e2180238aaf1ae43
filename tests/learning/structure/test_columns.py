"""Columns: counts against counting by hand, with weights, missing cells and interventions."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.errors import DataError
from sepset.learning.structure.columns import Columns, Contexts, refined
from support.blocks import in_blocks


def random_rows(rng: np.random.Generator, num_rows: int = 40) -> dict[str, list[int]]:
    cards = (2, 3, 1, 4)
    return {name: rng.integers(0, card, num_rows).tolist() for name, card in zip("abcd", cards, strict=True)}


def by_hand(columns: Columns, child: int, parents: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    found: dict[tuple[int, ...], float] = {}
    for row in range(columns.num_rows):
        cells = tuple(int(columns.codes[c, row]) for c in (*parents, child))
        is_set = columns.intervened is not None and columns.intervened[child, row]
        if min(cells) >= 0 and not is_set:
            found[cells] = found.get(cells, 0.0) + float(columns.weights[row])
    return found


@in_blocks("seed", range(20))
def test_counts_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng)
    weights = [None, rng.integers(0, 4, 40), rng.random(40)][seed % 3]
    set_rows = {"b": rng.random(40) < 0.3} if seed % 2 else None
    columns = Columns.of(rows, weights=weights, interventions=set_rows)
    for child, parents in [(0, ()), (1, (0,)), (3, (0, 1, 2)), (2, (3,)), (1, (3, 0))]:
        expected = by_hand(columns, child, parents)
        table = columns.family_table(child, parents)
        for cell in itertools.product(*(range(size) for size in table.shape)):
            assert table[cell] == pytest.approx(expected.get(cell, 0.0))
        seen = columns.counts(child, parents)
        dense = table.reshape(-1, table.shape[-1])
        ordered = [np.array(sorted(map(tuple, part[part.sum(1) > 0]))) for part in (seen, dense)]
        assert ordered[0] == pytest.approx(ordered[1])


def test_equal_rows_are_one() -> None:
    columns = Columns.of({"a": [0, 1] * 50, "b": [0, 1] * 50})
    assert columns.num_rows == 2
    assert columns.total == 100
    assert columns.counts(1, (0,)).tolist() == [[50, 0], [0, 50]]


def test_cases_are_distinct_rows_in_the_order_of_their_values() -> None:
    rows = {"a": [1, 0, 1, 0, 1], "x": [2.5, 0.5, 2.5, 0.25, 9.0]}
    found = Columns.of(rows, weights=[1, 2, 0.5, 1, 0])
    places, weights = found.cases
    assert (found.values[1, places] + found.origins[1]).tolist() == [0.25, 0.5, 2.5]
    assert weights.tolist() == [1, 2, 1.5]
    marked = Columns.of({"a": [1, 1, 0]}, interventions={"a": [True, False, False]})
    assert marked.codes[0, marked.cases.places].tolist() == [0, 1, 1]
    assert marked.redrawn([0, 3, 2]).intervened.tolist() == [[False, True]]  # type: ignore[union-attr]


def test_missing_cells() -> None:
    frame = pd.DataFrame({"a": ["x", "y", None, "x"], "b": ["u", None, "v", "v"]})
    with pytest.raises(ss.errors.DataError, match="available"):
        Columns.of(frame)
    columns = Columns.of(frame, missing="available")
    assert columns.counts(0, ()).tolist() == [[2, 1]]
    assert columns.family_table(1, (0,)).sum() == 2


def test_large_domains_are_numbered_by_sorting() -> None:
    rng = np.random.default_rng(0)
    ids, codes = rng.integers(0, 50_000, 300).astype(np.uint32), rng.integers(-1, 60_000, 300)
    found = refined(Contexts(ids, 50_000), codes, 60_000)
    pairs = {(int(i), int(c)) for i, c in zip(ids, codes, strict=True) if c >= 0}
    assert found.size == len(pairs)
    assert len({(int(i), int(c), int(f)) for i, c, f in zip(ids, codes, found.ids, strict=True) if c >= 0}) == len(
        pairs
    )


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({}, {}, "no columns"),
        ({"a": []}, {}, "0 rows"),
        ({"a": [0, 1]}, {"weights": [0, 0]}, "positive weight"),
        ({"a": [0, 1]}, {"interventions": [["a"]]}, "each of 2 rows"),
        ({"a": [0, 1]}, {"interventions": {"a": [True]}}, "one truth value per row"),
        ({"a": [0, 1]}, {"interventions": {"z": [True, False]}}, "z"),
        ({"a": [0, 1]}, {"missing": "skip"}, "available"),
        ({"a": [0, 1]}, {"variables": [ss.Discrete("z", 2)]}, "does not have"),
        ({"a": [0, 1]}, {"variables": ss.Discrete("a", 2)}, r"Several variables.*Use \[Discrete"),
        ({"a": [0, 1]}, {"variables": ["a"]}, "variable was expected; found 'a'"),
        ({"a": [0, 1]}, {"interventions": 5}, "mapping from names to masks"),
    ],
)
def test_bad_input(data: dict[str, list[int]], options: dict[str, object], message: str) -> None:
    with pytest.raises(ss.SepsetError, match=message):
        Columns.of(data, **options)  # type: ignore[arg-type]


def test_tables_too_large_are_refused() -> None:
    columns = Columns.of({f"v{k}": np.arange(100) for k in range(6)})
    with pytest.raises(ss.TooLarge, match="cells"):
        columns.joint(tuple(range(6)))


def test_weights_go_with_the_meaning_of_columns() -> None:
    rows = {"a": [0, 1, 1], "b": [0, 0, 1]}
    found = Columns.of(rows, variables=[ss.Discrete("a", 3)], weights=np.array([2.0, 0.0, 1.5]))
    assert found.counts(0, ()).tolist() == [[2.0, 1.5, 0.0]]
    named = Columns.of({**rows, "w": [2.0, 0.0, 1.5]}, variables=[ss.Discrete("a", 3)], weights="w")
    assert named.names == ("a", "b")
    assert named.total == 3.5


@pytest.mark.parametrize("kind", ["mapping", "pandas", "polars", "lazy", "arrow", "file", "dataset"])
def test_a_column_without_cells_is_what_its_variable_says(kind: str, tmp_path: Path) -> None:
    import polars as pl
    import pyarrow as pa

    rows = {"a": [0, 1, 1], "m": [None, None, None], "w": [1.0, 2.0, 3.0]}
    blank = ss.Discrete("m", ["no", "yes", "maybe"])
    (tmp_path / "rows.csv").write_text("a,m,w\n0,,1.0\n1,,2.0\n1,,3.0\n")
    coded = ss.Dataset({name: rows[name] for name in "am"}, [ss.Discrete("a", 2), blank]).with_weights(rows["w"])
    sources = {
        "mapping": lambda: rows,
        "pandas": lambda: pd.DataFrame(rows),
        "polars": lambda: pl.DataFrame(rows),
        "lazy": lambda: pl.LazyFrame(rows),
        "arrow": lambda: pa.table(rows),
        "file": lambda: tmp_path / "rows.csv",
        "dataset": lambda: coded,
    }
    weights = None if kind == "dataset" else "w"
    found = Columns.of(sources[kind](), variables=[blank], weights=weights, missing="available")
    assert found.names == ("a", "m")
    assert found.cards.tolist() == [2, 3]
    assert (found.codes[1] < 0).all()
    assert found.counts(0, ()).tolist() == [[1.0, 5.0]]


def test_columns_that_are_iterators_are_read_once() -> None:
    found = Columns.of({"a": iter([0, 1, 1]), "b": iter([0, 0, 1])}, variables=[ss.Discrete("a", 3)])
    assert found.counts(0, ()).tolist() == [[1.0, 2.0, 0.0]]
    assert found.counts(1, ()).tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    ("most", "kind"),
    [(3.0, np.int32), (2.0**30, np.int32), (2.0**31, np.int64), (2.0**53, np.float64), (0.5, np.float64)],
)
def test_whole_weights_are_counted_in_whole_numbers(most, kind) -> None:
    found = Columns.of({"a": [0, 1], "b": [1, 0]}, weights=np.array([most, 1.0]))
    assert found.weights.dtype == kind
    assert found.weights.tolist() == [most, 1.0]


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, 1e200])
def test_numbers_whose_squares_cannot_be_added_up(wrong: float) -> None:
    rng = np.random.default_rng(0)
    rows = {name: rng.normal(size=30) for name in "abc"}
    bad = rows | {"b": np.where(np.arange(30) == 4, wrong, rows["b"])}
    by_test = ss.PC(test=ss.structure.FisherZ())
    methods = [ss.HillClimb(), ss.ExactSearch(), ss.ChowLiu(), by_test, ss.GraphicalLasso(0.1)]
    for method in methods:
        with pytest.raises(DataError, match=r"'b' needs finite numbers of at most 1e\+150; found"):
            ss.learn_structure(bad, method=method)
        with pytest.raises(DataError, match=r"'b' differ by at most .*too little to be squared"):
            ss.learn_structure(rows | {"b": rows["b"] * 1e-200}, method=method)
    with pytest.raises(DataError, match="finite numbers"):
        ss.structure.score(ss.DAG.parse("a -> b; c"), bad)
    with pytest.raises(DataError, match="finite numbers"):
        ss.structure.independence_test(bad, between=("a", "b"), test=ss.structure.FisherZ())
    large = ss.learn_structure(rows | {"b": rows["b"] * 1e100}, method=ss.HillClimb())
    assert large.graph == ss.learn_structure(rows, method=ss.HillClimb()).graph


def test_families_of_a_thousand_parents_have_contexts():
    """Rows that differ in their parents are contexts of their own, whatever the number of parents."""
    codes = np.random.default_rng(0).integers(0, 2, (1500, 6))
    columns = Columns.of({f"x{i}": c for i, c in enumerate(codes)})
    parents = tuple(range(1, 1500))
    assert columns.contexts(parents).size == columns.num_rows
    assert columns.contexts(parents) is columns.contexts(parents)
    assert columns.contexts(parents[:-1]).size == columns.num_rows
    assert columns.contexts((3, 5)).size == len({tuple(c) for c in codes[[3, 5]].T.tolist()})
