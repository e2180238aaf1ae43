from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.deterministic import DeterministicCPD
from sepset.errors import FileFormatError
from sepset.io.record import (
    READING,
    MadeRecord,
    NetworkRecord,
    Reading,
    TableRecord,
    VariableRecord,
    network,
    normalized_rows,
    row_name,
)
from sepset.variables.variable import Discrete


class Source:
    """Marks are line numbers."""

    def error(self, message, mark):
        return FileFormatError(message, file="f", line=mark, column=1)


def record(*cpds, variables="abc"):
    listed = tuple(VariableRecord(name, ("0", "1"), 10 + i) for i, name in enumerate(variables))
    return NetworkRecord(listed, cpds)


def table(child, parents="", values=None, mark=1, rows=()):
    numbers = np.full(2 * 2 ** len(parents), 0.5) if values is None else np.array(values, np.float64)
    return TableRecord(child, tuple(parents), numbers, mark, rows)


def refused(*cpds, variables="abc"):
    with pytest.raises(FileFormatError) as caught:
        network(record(*cpds, variables=variables), Source(), READING)
    return caught.value


def test_variables_keep_the_order_of_the_file():
    net = network(record(table("c", "ab"), table("a"), table("b")), Source(), READING)
    assert net.variables.names == ("a", "b", "c")
    assert net.parents("c") == ("a", "b")
    assert net.notes == ()


def test_a_variable_of_one_state_needs_no_table():
    listed = (VariableRecord("a", ("only",), 1), VariableRecord("b", ("0", "1"), 2))
    net = network(NetworkRecord(listed, (table("b", "", [0.25, 0.75]),)), Source(), READING)
    assert net.cpd("a").values.tolist() == [1.0]
    assert net.parents("a") == ()


@pytest.mark.parametrize(
    ("cpds", "line", "message"),
    [
        ([table("a"), table("b")], 12, "'c' has no conditional"),
        ([table("a"), table("a", mark=7)], 7, "second conditional"),
        ([table("d", mark=5)], 5, "no variable 'd'"),
        ([table("a", "b", mark=3), table("b", "a"), table("c")], 3, "a -> b -> a make a cycle"),
        ([table("a", "bb", mark=3)], 3, "twice"),
        ([table("a", "a", mark=3)], 3, "twice"),
        ([table("a", values=[1.0], mark=4), table("b"), table("c")], 4, "1 numbers; it needs 2"),
        ([table("a", values=[0.5, 0.6], mark=4), table("b"), table("c")], 4, "the row of a sums to 1.1"),
    ],
)
def test_what_is_refused(cpds, line, message):
    error = refused(*cpds)
    assert error.line == line
    assert message in str(error)


def test_declared_twice():
    assert "declared twice" in str(refused(variables="aa"))


def test_a_row_that_misses_is_named_with_its_place():
    error = refused(table("a"), table("b", "a", [0.5, 0.5, 0.5, 0.4], rows=(8, 9)), table("c"))
    assert error.line == 9
    assert "the row of b given a='1' sums to 0.9" in str(error)


def test_small_misses_are_scaled_and_noted_or_kept():
    listed = (table("a", values=[0.3333333, 0.6666666]), table("b"), table("c"))
    net = network(record(*listed), Source(), READING)
    assert abs(net.cpd("a").values.sum() - 1) < 1e-15
    assert net.notes == (
        "Renormalized 1 row of 1 CPD on reading; the largest deviation from one was 1e-07, in that of a.",
    )
    kept = network(record(*listed), Source(), Reading(normalize=False))
    assert kept.cpd("a").values.tolist() == [0.3333333, 0.6666666]
    assert kept.notes == ()


def test_errors_of_a_made_cpd_have_its_place():
    made = MadeRecord("a", (), lambda child, given: DeterministicCPD(child, lambda: "neither"), 6)
    error = refused(made, table("b"), table("c"))
    assert error.line == 6
    assert "Unknown state 'neither'" in str(error)


@given(st.integers(1, 30), st.integers(0, 2**32 - 1), st.floats(-9e-7, 9e-7))
def test_scaled_rows_sum_to_one_and_stay_when_read_again(size, seed, miss):
    row = np.random.default_rng(seed).dirichlet(np.ones(size))[None, :] * (1 + miss)
    once, _ = normalized_rows(row, lambda *_: AssertionError())
    assert abs(once.sum() - 1) < 1e-14
    twice, missed = normalized_rows(once, lambda *_: AssertionError())
    assert missed is None
    assert twice.tobytes() == once.tobytes()


def test_three_thirds_are_within_the_tolerance():
    rows, missed = normalized_rows(np.array([[0.333333] * 3]), lambda *_: AssertionError())
    assert rows.sum() == pytest.approx(1, abs=1e-15)
    assert missed == pytest.approx(1e-6)


def test_row_names():
    assert row_name("c", [], 0) == "the row of c"
    assert row_name("c", [Discrete("a", 2), Discrete("b", 3)], 5) == "the row of c given a=1, b=2"


@given(st.integers(2, 40), st.integers(3, 12), st.sampled_from(["decimals", "significant", "cut"]), st.integers(0, 99))
def test_rows_rounded_on_printing_are_accepted_and_others_are_not(size, digits, style, seed):
    """However a distribution was printed; what is off by ten times that, and by more than 0.005, is refused."""
    row = np.random.default_rng(seed).dirichlet(np.ones(size))
    if style == "significant":
        printed = np.array([float(f"{x:.{digits}g}") for x in row])
    else:
        scaled = row * 10**digits
        printed = (np.floor(scaled) if style == "cut" else np.round(scaled)) / 10**digits
    if 0 < abs(printed.sum() - 1) <= 0.005:
        normalized, _ = normalized_rows(printed[None], lambda *_: AssertionError(), READING)
        assert abs(normalized.sum() - 1) <= 1e-12
    wrong = printed.copy()
    wrong[np.argmax(wrong)] += max(0.01, 20 * size * 10.0**-digits)
    with pytest.raises(AssertionError):
        normalized_rows(wrong[None], lambda *_: AssertionError(), READING)
    normalized_rows(wrong[None], lambda *_: AssertionError(), Reading(tolerance=abs(wrong.sum() - 1)))
    with pytest.raises(AssertionError):
        normalized_rows(np.array([[0.333, 0.333, 0.333]]), lambda *_: AssertionError(), Reading(tolerance=1e-4))
