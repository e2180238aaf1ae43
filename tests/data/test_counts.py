"""Counts against plain counting, on every engine that can hold the rows."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.cpds.table import TableCPD
from sepset.data.counts import Counts, tally
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError, ScopeError, TooLarge
from sepset.variables.variable import Discrete, Real

A = Discrete("a", ("x", "y", "z"))
B = Discrete("b", (1, 2))
C = Discrete("c", (False, True))
ONE = Discrete("one", ("only",))
VARIABLES = (A, B, C, ONE)
FAMILIES = [(A, ()), (B, (A,)), (C, (B, A)), (ONE, (C,))]


def plain_counts(rows, scope, weights=None):
    """M[z] by one look at each row."""
    table = Counter()
    for place, row in enumerate(rows):
        table[tuple(row[v.name] for v in scope)] += 1.0 if weights is None else weights[place]
    return np.array(
        [table[states] for states in itertools.product(*(v.states for v in scope))],
    ).reshape([v.num_states for v in scope])


def random_rows(seed, num_rows):
    rng = np.random.default_rng(seed)
    return Dataset.from_codes(VARIABLES, np.stack([rng.integers(0, v.num_states, num_rows) for v in VARIABLES], axis=1))


@st.composite
def datasets(draw, min_rows=0):
    num_rows = draw(st.integers(min_rows, 30))
    columns = {
        v.name: draw(st.lists(st.integers(0, v.num_states - 1), min_size=num_rows, max_size=num_rows))
        for v in VARIABLES
    }
    return Dataset.from_codes(VARIABLES, columns)


def assert_counts(counts, rows, weights=None):
    for scope, table in zip(counts.families, counts.tables, strict=True):
        np.testing.assert_allclose(table, plain_counts(rows, scope, weights), rtol=1e-14, atol=0)


@given(datasets())
def test_counts_are_what_plain_counting_finds(rows):
    counts = Counts.of(rows, FAMILIES)
    assert_counts(counts, list(rows.rows()))
    assert (counts.num_rows, counts.total) == (rows.num_rows, rows.num_rows)
    assert all(table.sum() == rows.num_rows for table in counts.tables)


@given(datasets(), st.randoms())
def test_weights_count_as_copies(rows, random):
    copies = [random.randrange(4) for _ in range(rows.num_rows)]
    weighted = Counts.of(rows, FAMILIES, weights=copies)
    repeated = Counts.of(rows.take(np.repeat(np.arange(rows.num_rows), copies)), FAMILIES)
    for one, other in zip(weighted.tables, repeated.tables, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (weighted.num_rows, weighted.total) == (rows.num_rows, sum(copies))


@given(datasets(), st.integers(0, 30))
def test_any_chunks_add_up_and_are_taken_away_again(rows, cut):
    whole = Counts.of(rows, FAMILIES)
    first, second = Counts.of(rows[:cut], FAMILIES), Counts.of(rows[cut:], FAMILIES)
    streamed = Counts.of(rows[:cut], FAMILIES).update(rows[cut:])
    for sums in (first + second, second + first, streamed, sum([first, second])):
        assert (sums.num_rows, sums.total) == (whole.num_rows, whole.total)
        for one, other in zip(sums.tables, whole.tables, strict=True):
            np.testing.assert_array_equal(one, other)
    rest = whole - first
    assert rest.num_rows == second.num_rows
    for one, other in zip(rest.tables, second.tables, strict=True):
        np.testing.assert_array_equal(one, other)


def test_marginal_counts_agree_with_each_other():
    counts = Counts.of(random_rows(0, 500), FAMILIES)
    np.testing.assert_array_equal(counts.table([B, A]), counts.table(["a", "b"]).T)
    np.testing.assert_array_equal(counts["c"].sum(axis=-1), counts.table(("b", "a")))
    np.testing.assert_array_equal(counts.table(B), counts["b"].sum(axis=0))
    assert counts.table(()) == 500
    with pytest.raises(ScopeError, match="No family holds 'one', 'a' together"):
        counts.table(["one", "a"])
    with pytest.raises(ScopeError, match="together"):
        counts.table(["a", "a"])


def test_equal_counts_give_equal_likelihood_at_any_parameters():
    """Definition 17.1: rows that differ, with the same sums, cannot be told apart by any network b <- a -> c."""
    one = Dataset({"a": ["x"] * 4, "b": [1, 1, 2, 2], "c": [True, True, False, False]}, [A, B, C])
    other = Dataset({"a": ["x"] * 4, "b": [1, 2, 1, 2], "c": [True, False, False, True]}, [A, B, C])
    counts = [Counts.of(rows, [A, (B, [A]), (C, [A])]) for rows in (one, other)]
    assert all(np.array_equal(a, b) for a, b in zip(*(c.tables for c in counts), strict=True))
    rng = np.random.default_rng(0)
    for _ in range(5):
        theta = {v: rng.dirichlet(np.ones(v.num_states), size=3) for v in (A, B, C)}

        def log_likelihood(rows, theta=theta):
            codes = {v: rows.codes(v) for v in (A, B, C)}
            return sum(
                np.log(theta[A][0, a]) + np.log(theta[B][a, b]) + np.log(theta[C][a, c])
                for a, b, c in zip(codes[A], codes[B], codes[C], strict=True)
            )

        summed = sum(
            float((table * np.log(theta[scope[-1]][0] if len(scope) == 1 else theta[scope[-1]])).sum())
            for scope, table in zip(counts[0].families, counts[0].tables, strict=True)
        )
        assert log_likelihood(one) == pytest.approx(log_likelihood(other), rel=1e-13)
        assert log_likelihood(one) == pytest.approx(summed, rel=1e-13)


def test_families_as_users_write_them():
    rows = random_rows(1, 50)
    cpd = TableCPD(B, np.full((3, 2), 0.5), given=A)
    forms = [(B, (A,)), (B, [A]), ("b", ["a"]), (A, B), ["a", "b"], cpd]
    tables = [Counts.of(rows, [form]).tables[0] for form in forms]
    assert all(np.array_equal(table, tables[0]) for table in tables)
    assert Counts.of(rows, ["a", (B, ())]).families == ((A,), (B,))
    inferred = Counts.of({"coin": ["h", "t", "h"], "n": [1, 1, 2]}, [("coin", ["n"])])
    assert inferred["coin"].tolist() == [[1, 1], [1, 0]]
    assert inferred.families[0][-1] == Discrete("coin", ("h", "t"))


@pytest.mark.parametrize("threads", [1, 2, 3, 50])
def test_threads_change_no_bit(threads):
    rows = random_rows(2, 10_000)
    weights = np.random.default_rng(3).random(10_000)
    one, many = (Counts.of(rows, FAMILIES, weights=weights, threads=n) for n in (1, threads))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one.tables, many.tables, strict=True))


def test_many_rows_wide_codes_and_large_tables():
    rng = np.random.default_rng(4)
    wide = [Discrete(f"w{i}", 300) for i in range(3)]
    codes = rng.integers(0, 300, (70_001, 3))
    counts = Counts.of(Dataset.from_codes(wide, codes), [wide[:2], (wide[2],)])
    expected = np.zeros((300, 300))
    np.add.at(expected, (codes[:, 0], codes[:, 1]), 1)
    np.testing.assert_array_equal(counts.tables[0], expected)
    np.testing.assert_array_equal(counts.tables[1], np.bincount(codes[:, 2], minlength=300))


def test_tables_no_memory_holds_are_refused_before_they_are_made():
    huge = [Discrete(f"h{i}", 1000) for i in range(4)]
    rows = Dataset.from_codes(huge, np.zeros((1, 4), int))
    with pytest.raises(TooLarge):
        Counts.of(rows, [huge])


def test_missing_cells():
    rows = Dataset({"a": ["x", None, "y"], "b": [1, 2, 1]}, [A, B])
    with pytest.raises(DataError, match=r"column 'a' misses one cell \(first in row 1\). Use EM"):
        Counts.of(rows, FAMILIES[:2])
    assert Counts.of(rows, ["b"])["b"].tolist() == [2, 1]  # only what is counted must be there
    skipped = Counts.of(rows, ["a", "b", ("b", ["a"])], missing="skip")
    assert [table.tolist() for table in skipped.tables] == [[1, 1, 0], [2, 1], [[1, 0], [1, 0], [0, 0]]]
    assert (skipped.num_rows, skipped.total) == (3, 3)
    weighted = Counts.of(rows, ["a"], weights=[0.5, 1, 2], missing="skip")
    assert weighted["a"].tolist() == [0.5, 2, 0]
    with pytest.raises(ArgumentError, match="'refuse' or 'skip'; found 'drop'"):
        Counts.of(rows, ["b"], missing="drop")


def test_taking_away_what_was_not_there_is_refused():
    few, many = (Counts([(B, [A])], [np.full((3, 2), n)], num_rows=6 * n) for n in (1, 2))
    with pytest.raises(DataError, match="2 cases cannot be taken from the 1 with a='x', b=1"):
        few - many
    assert (many - many).tables[0].tolist() == [[0, 0]] * 3


def test_rounding_leaves_no_ghosts():
    rows = random_rows(5, 1000)
    weights = np.random.default_rng(6).random(1000)
    whole = Counts.of(rows, FAMILIES, weights=weights)
    backwards = Counts.of(rows[::-1], FAMILIES, weights=weights[::-1])
    assert all((table == 0).all() for table in (whole - backwards).tables)


def test_combining_needs_the_same_families():
    one = Counts([(A,), (B,)], [[1, 0, 0], [1, 0]], num_rows=1)
    other = Counts([(B,), (A,)], [[0, 1], [0, 1, 0]], num_rows=1)
    assert [table.tolist() for table in (one + other).tables] == [[1, 1, 0], [1, 1]]
    with pytest.raises(ScopeError, match="differ in Discrete"):
        one + Counts([(A,)], [[0, 0, 0]], num_rows=0)
    with pytest.raises(TypeError):
        one + 3


def test_scale_and_expected_counts():
    counts = Counts([(B, [A])], [[0.5, 1.5, 0, 1, 2, 0]], num_rows=5)
    assert (counts.total, counts.scale(0.5).total, counts.scale(0.5).num_rows) == (5, 2.5, 5)
    assert counts.scale(2).tables[0].tolist() == [[1, 3], [0, 2], [4, 0]]
    assert repr(counts.scale(0.5)) == "Counts(1 family, 5 rows of weight 2.5)"
    with pytest.raises(ArgumentError, match="-1"):
        counts.scale(-1)


def test_counts_are_values():
    counts = Counts.of(random_rows(7, 10), FAMILIES)
    with pytest.raises(ValueError, match="read-only"):
        counts.tables[0][0] = 1
    with pytest.raises(AttributeError):
        counts.num_rows = 3
    again = pickle.loads(pickle.dumps(counts))
    assert again.families == counts.families
    assert all(np.array_equal(a, b) for a, b in zip(again.tables, counts.tables, strict=True))
    assert len(counts) == 4


def test_errors_of_asking():
    counts = Counts.of(random_rows(8, 10), [(B, [A]), (B, [C])])
    with pytest.raises(ScopeError, match=r"2 families have the child 'b'. Use table"):
        counts["b"]
    with pytest.raises(ScopeError, match="No family has the child 'q'; children are 'b', 'b'"):
        counts["q"]
    with pytest.raises(ScopeError, match="Use Moments"):
        Counts.of({"r": [1.5, 2.5]}, [Real("r")])
    with pytest.raises(ScopeError, match="once"):
        Counts.of(random_rows(8, 10), [(A, A)])
    with pytest.raises(DataError, match="shape"):
        Counts([(A,)], [[1, 2]], num_rows=3)
    with pytest.raises(DataError, match="finite and not negative"):
        Counts([(A,)], [[1, 2, -1]], num_rows=3)
    with pytest.raises(DataError, match="2 tables for 1 families"):
        Counts([(A,)], [[1, 2, 1], [1]], num_rows=3)
    with pytest.raises(ScopeError, match="Give the variable"):
        Counts(["a"], [[1]], num_rows=1)
    for key in (("a", "b"), ("a",), 3, None):
        with pytest.raises(ScopeError, match=r"Several variables together are table"):
            counts[key]


def test_nothing_to_count():
    assert Counts.of(random_rows(9, 10), []).total == 10
    empty = Counts.of(Dataset.from_codes(VARIABLES, np.zeros((0, 4), int)), FAMILIES)
    assert all(table.sum() == 0 for table in empty.tables)


def lazy_forms(rows, tmp_path):
    """The same rows in every engine that keeps them, by name."""
    import dask.dataframe as dd
    import duckdb

    frame = rows.to_frame("pandas")
    frame["w"] = np.arange(len(frame)) % 3 / 2
    arrow = rows.to_frame("pyarrow").append_column("w", [frame["w"].to_numpy()])
    parquet, text = tmp_path / "rows.parquet", tmp_path / "rows.csv"
    duckdb.from_arrow(arrow).write_parquet(str(parquet))
    duckdb.from_arrow(arrow).write_csv(str(text))
    polars = rows.to_frame("polars")
    polars.insert_column(0, type(polars.to_series())("w", frame["w"].to_numpy()))
    return {
        "polars": polars.lazy(),
        "duckdb": duckdb.from_arrow(arrow),
        "dask": dd.from_pandas(frame, npartitions=3),
        "dask text": dd.from_pandas(frame.astype({"a": "str", "one": "str"}), npartitions=2),
        "parquet": parquet,
        "csv": str(text),
    }


@pytest.mark.filterwarnings("default")  # Dask's own
@pytest.mark.parametrize("weights", [None, "w"])
def test_every_engine_gives_the_same_answer(tmp_path, weights):
    rows = random_rows(10, 2000)
    numbers = None if weights is None else np.arange(2000) % 3 / 2  # halves: sums are exact in any order
    expected = Counts.of(rows, FAMILIES, weights=numbers)
    assert_counts(expected, list(rows.rows()), numbers)
    for name, source in lazy_forms(rows, tmp_path).items():
        found = Counts.of(source, FAMILIES, weights=weights)
        assert (found.num_rows, found.total) == (expected.num_rows, expected.total), name
        for one, other in zip(found.tables, expected.tables, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.filterwarnings("default")
def test_missing_cells_on_every_engine(tmp_path):
    codes = random_rows(11, 300).matrix().copy()
    codes[::7, 0] = -1
    codes[::5, 2] = -1
    rows = Dataset.from_codes(VARIABLES, codes)
    expected = Counts.of(rows, FAMILIES, missing="skip")
    for name, source in lazy_forms(rows, tmp_path).items():
        with pytest.raises(DataError, match=r"column '[ac]' misses \d+ cells. Use EM"):
            Counts.of(source, FAMILIES)
        found = Counts.of(source, FAMILIES, missing="skip")
        for one, other in zip(found.tables, expected.tables, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)


@settings(max_examples=20)
@given(datasets(min_rows=1))
def test_lazy_polars_and_duckdb_agree_with_memory(rows):
    import duckdb

    expected = Counts.of(rows, FAMILIES)
    for source in (rows.to_frame("polars").lazy(), duckdb.from_arrow(rows.to_frame("pyarrow"))):
        found = Counts.of(source, FAMILIES)
        for one, other in zip(found.tables, expected.tables, strict=True):
            np.testing.assert_array_equal(one, other)


FIRST, SECOND, WIDE = Discrete("a", 3), Discrete("b", 2), Discrete("wide", 200)


@pytest.mark.parametrize("num_rows", [0, 1, 5, 2047, 2048, 2049, 40_003])
@pytest.mark.parametrize("scope", [(FIRST,), (SECOND, FIRST), (FIRST, WIDE), (WIDE, SECOND, FIRST)])
def test_counts_across_tiles(num_rows, scope):
    rng = np.random.default_rng(num_rows)
    codes = {v.name: rng.integers(0, v.num_states, num_rows) for v in (FIRST, SECOND, WIDE)}
    rows = Dataset.from_codes([FIRST, SECOND, WIDE], codes)
    shape = [v.num_states for v in scope]
    expected = np.zeros(shape)
    np.add.at(expected, tuple(codes[v.name] for v in scope), 1)
    weights = rng.integers(0, 8, num_rows) / 4
    weighted = np.zeros(shape)
    np.add.at(weighted, tuple(codes[v.name] for v in scope), weights)
    np.testing.assert_array_equal(tally(rows, [scope, (SECOND,)], None)[0].reshape(shape), expected)
    np.testing.assert_array_equal(tally(rows, [(SECOND,), scope], weights)[1].reshape(shape), weighted)


def test_no_scopes():
    assert tally(Dataset.from_codes([FIRST], {"a": [0, 1]}), [], None, threads=4) == []


def test_threads_are_counted():
    rows = Dataset.from_codes([FIRST], {"a": [0, 1]})
    assert tally(rows, [(FIRST,)], None, threads=None)[0].tolist() == [1, 1, 0]
    for threads in (0, -1, True, 1.5):
        with pytest.raises(ArgumentError, match="at least 1"):
            tally(rows, [(FIRST,)], None, threads=threads)
