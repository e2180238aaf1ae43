import datetime
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from sepset.data.columns import (
    WIDE_ROWS,
    Cells,
    Levels,
    absent,
    absent_cells,
    code_dtype,
    counts_absent,
    drop_missing,
    first_row,
    from_array,
    from_objects,
    is_missing,
    is_number,
    levels_of,
    numbers_of,
    whole_numbers,
)
from sepset.errors import DataError

cell = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.sampled_from(["", "1", "True", "é"]))


def decoded(levels: Levels) -> list[object]:
    """Every cell back again, one at a time."""
    return [None if code < 0 else levels.values[code] for code in levels.codes.tolist()]


def same_state(a: object, b: object) -> bool:
    return (isinstance(a, bool) is isinstance(b, bool)) and a == b


@given(st.lists(cell))
def test_objects_come_back_with_true_apart_from_one(cells):
    expected = [None if c is None or (isinstance(c, float) and math.isnan(c)) else c for c in cells]
    levels = from_objects(cells)
    assert all(same_state(a, b) for a, b in zip(decoded(levels), expected, strict=True))
    assert len(levels) == len(cells)
    pairs = [(isinstance(v, bool), v) for v in levels.values]
    assert len(set(pairs)) == len(pairs)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)), st.data())
def test_integers_come_back_sorted_and_only_those_present(cells, data):
    missing = np.array(data.draw(st.lists(st.booleans(), min_size=len(cells), max_size=len(cells))), bool)
    levels = levels_of(Cells(np.array(cells, np.int64), missing))
    expected = [None if m else c for c, m in zip(cells, missing.tolist(), strict=True)]
    assert decoded(levels) == expected
    assert list(levels.values) == sorted({c for c in expected if c is not None})


@given(st.lists(st.floats(width=64) | st.integers(-4, 4).map(float)))
def test_floats_come_back_and_nan_is_missing(cells):
    levels = levels_of(from_array(np.array(cells, np.float64)))
    assert decoded(levels) == [None if math.isnan(c) else c for c in cells]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.uint64, np.int64])
def test_extreme_integers_of_every_type(dtype):
    info = np.iinfo(dtype)
    cells = np.array([info.max, info.min, info.max, 1], dtype)
    assert decoded(levels_of(from_array(cells))) == [int(c) for c in cells]


def test_booleans_declare_both_states():
    levels = levels_of(Cells(np.array([True, True, False]), np.array([False, True, False])))
    assert (decoded(levels), levels.values, levels.fixed) == ([True, None, False], (False, True), True)


def test_numpy_scalars_become_python_objects():
    values = from_objects([np.int64(3), np.str_("a"), np.bool_(True), np.float32(0.5)]).values
    assert [type(v) for v in values] == [int, str, bool, float]


@pytest.mark.parametrize("value", [None, math.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_every_kind_of_missing(value):
    assert is_missing(value)
    assert from_objects([value, "a", value]).codes.tolist() == [-1, 0, -1]


@pytest.mark.parametrize("value", ["", 0, False, "nan", "NA"])
def test_values_that_only_look_missing(value):
    assert not is_missing(value)


def test_masked_arrays_and_text_arrays():
    text = np.ma.array(np.array(["a", "b", "a"]), mask=[False, True, False])
    assert decoded(from_array(text)) == ["a", None, "a"]
    assert decoded(levels_of(from_array(np.ma.array([1, 2, 3], mask=[True, False, False])))) == [None, 2, 3]


def test_dates_keep_their_type_and_nat_is_missing():
    levels = from_array(np.array(["2020-01-02", "NaT"], "datetime64[ns]"))
    assert decoded(levels) == [datetime.datetime(2020, 1, 2), None]


def test_arrays_of_other_shapes_are_refused():
    with pytest.raises(DataError, match=r"one dimension.*\(2, 2\)"):
        from_array(np.zeros((2, 2)))


def test_cells_that_cannot_be_states_are_named_by_row():
    with pytest.raises(DataError, match=r"Row 1 holds \[2\] \(list\)"):
        from_objects([1, [2]])


def test_drop_missing_renumbers():
    levels = drop_missing(np.array([2, 0, 1, -1]), ["a", None, "b"], fixed=True)
    assert (decoded(levels), levels.fixed) == (["b", "a", None, None], True)


@given(st.lists(st.none() | st.floats(allow_nan=False) | st.integers(-(2**53), 2**53)))
def test_numbers_of_objects(cells):
    expected = [math.nan if c is None else float(c) for c in cells]
    np.testing.assert_array_equal(numbers_of(from_objects(cells)), np.array(expected, np.float64))


def test_numbers_of_arrays_are_copies_with_nan_for_missing():
    source = np.array([1, 2, 3], np.int16)
    numbers = numbers_of(Cells(source, np.array([False, True, False])))
    source[0] = 9
    np.testing.assert_array_equal(numbers, [1.0, np.nan, 3.0])


@pytest.mark.parametrize(("column", "row"), [(["x"], 0), ([1.5, "2"], 1), ([None, True], 1)])
def test_text_and_truth_values_are_not_numbers(column, row):
    with pytest.raises(DataError, match=f"row {row} holds"):
        numbers_of(from_objects(column))
    with pytest.raises(DataError, match="not a number"):
        numbers_of(Cells(np.array([True])))


def test_unused_text_does_not_stop_numbers():
    assert numbers_of(Levels(np.array([1, -1]), ("x", 2.0))).tolist()[0] == 2.0


@given(st.integers(1, 100_000))
def test_code_dtype_is_the_smallest_that_fits(k):
    dtype = code_dtype(k)
    assert np.iinfo(dtype).max >= k - 1
    smaller = {np.dtype(np.int16): np.int8, np.dtype(np.int32): np.int16}.get(dtype)
    assert smaller is None or np.iinfo(smaller).max < k - 1


def test_first_row_and_is_number():
    levels = Levels(np.array([0, -1, 1, 1]), ("a", "b"))
    assert (first_row(levels, [1]), first_row(levels, [])) == (2, None)
    assert [is_number(v) for v in (1, 1.5, True, "1", np.float32(2))] == [True, True, False, False, True]


@pytest.mark.parametrize("num_rows", [60, 5000])
@pytest.mark.parametrize("one_object", [True, False])
def test_objects_are_told_apart_by_value_not_address(num_rows, one_object):
    """Many cells are grouped by address first; what counts is still value and type."""
    pool = ["ab", "c", True, 1, 2.5, None, float("nan"), "ab"]
    places = np.random.default_rng(0).integers(0, len(pool), num_rows)
    cells = [pool[place] for place in places]
    if not one_object:
        cells = ["".join(list(cell)) if isinstance(cell, str) else cell for cell in cells]
    twice = np.array([cell for cell in cells for _ in range(2)], dtype=object)
    for form in (cells, np.array(cells, dtype=object), twice[::2]):
        expected = cells
        levels = from_objects(form)
        readable = [*levels.values, None]
        found = [readable[code] for code in levels.codes]
        missing = [cell is None or cell != cell for cell in expected]
        assert [cell is None for cell in found] == missing
        assert all(
            (type(one), one) == (type(other), other)
            for one, other, gone in zip(found, expected, missing, strict=True)
            if not gone
        )
        assert len(levels.values) == 5


def test_an_unhashable_cell_among_many_is_named_with_its_row():
    cells = ["a", "b"] * 3000
    cells[4001] = ["x"]
    with pytest.raises(DataError, match=r"Row 4001 holds \['x'\]"):
        from_objects(cells)


@pytest.mark.parametrize("num_rows", [5, 4000])
def test_fixed_width_text(num_rows):
    cells = np.array(["", "a", "abc", "défg", "longer than that"])[np.arange(num_rows) % 5]
    for values in (cells, np.char.encode(cells, "utf-8")):
        levels = from_array(values)
        assert [levels.values[code] for code in levels.codes] == values.tolist()
        assert len(levels.values) == 5
    masked = from_array(np.ma.array(cells, mask=np.arange(num_rows) % 5 == 1))
    assert set(masked.values) == {"", "abc", "défg", "longer than that"}
    assert ((masked.codes == -1) == (np.arange(num_rows) % 5 == 1)).all()


@pytest.mark.parametrize("num_rows", [0, 1, 5, WIDE_ROWS, WIDE_ROWS + 1])
def test_missing_cells_of_all_columns_are_those_of_each(num_rows):
    rng = np.random.default_rng(num_rows)
    codes = [rng.integers(-1, 3, num_rows).astype(dtype) for dtype in (np.int8, np.int16, np.int8)]
    columns = [*codes, np.where(rng.random(num_rows) < 0.3, np.nan, 1.5)]
    assert absent_cells(columns, num_rows).tolist() == [absent(column).tolist() for column in columns]
    assert counts_absent(columns, num_rows).tolist() == [int(absent(column).sum()) for column in columns]


def test_whole_numbers_of_long_columns():
    numbers = np.tile([3.0, np.nan, -7.0, 2.0**52], 3000)
    assert whole_numbers(Cells(numbers)) == [-7, 3, 2**52]
    for odd in (0.5, 2.0**53, np.inf):
        assert whole_numbers(Cells(np.append(numbers, odd))) is None
    assert whole_numbers(Cells(np.array([np.nan]))) == []


def test_arrays_that_are_never_changed_are_not_copied():
    numbers = np.array([1.0, 2.0])
    assert numbers_of(Cells(numbers, is_own=True)) is numbers
    assert numbers_of(Cells(numbers)) is not numbers
    assert numbers_of(Cells(numbers, np.array([True, False]), is_own=True))[1:].tolist() == [2.0]
    assert numbers.tolist() == [1.0, 2.0]


@pytest.mark.filterwarnings("error")
def test_half_floats_are_compared_in_full():
    assert whole_numbers(Cells(np.array([1.0, 2.0], np.float16))) == [1, 2]
    assert whole_numbers(Cells(np.array([1.5, 2.0], np.float16))) is None
