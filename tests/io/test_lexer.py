from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.errors import FileFormatError
from sepset.io.lexer import (
    END,
    QUOTED,
    BadNumber,
    Words,
    decode,
    line_and_column,
    quoted,
    reals,
    shown,
    unquoted,
    weights,
    whole,
)
from support.bounded import within

PATTERN = re.compile(rf'#[^\n]*+|({QUOTED}|[(){{}};]|[^\s(){{}};"#]++)', re.DOTALL)


def words(text: str) -> Words:
    return Words(text, PATTERN, "a.file")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("größe".encode(), "größe"),
        (b"\xef\xbb\xbfplain", "plain"),
        ("größe".encode("latin-1"), "größe"),
        ("größe".encode("utf-16"), "größe"),
        (b"", ""),
    ],
)
def test_decoding(data, text):
    assert decode(data) == text


@given(st.binary())
def test_any_bytes_decode(data):
    assert isinstance(decode(data), str)


@given(st.text(alphabet="ab\n"), st.integers(0, 20))
def test_places_count_lines_and_columns(text, offset):
    offset = min(offset, len(text))
    line = column = 1
    for char in text[:offset]:
        line, column = (line + 1, 1) if char == "\n" else (line, column + 1)
    assert line_and_column(text, offset) == (line, column)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_quoting_comes_back(name):
    read = words(f"( {quoted(name)} ) x")
    assert read.words == ["(", quoted(name), ")", "x", END]
    assert unquoted(read.words[1]) == name


def test_words_and_places():
    read = words("one # skipped (\n  two ;")
    assert read.words == ["one", "two", ";", END]
    assert [read.place(i) for i in range(4)] == [(1, 1), (2, 3), (2, 7), (2, 8)]
    assert (read.take(), read.accept("two"), read.accept("two"), read.next) == ("one", True, False, ";")
    error = read.error("expected '('")
    assert (str(error), error.line, error.column) == ("a.file:2:7: found ';'; expected '('", 2, 7)
    assert "the end of the file" in str(read.error("more", 99))


def test_an_open_quotation_is_refused():
    for text in ('a "b', 'a "b\\', 'a "b\\"'):
        with pytest.raises(FileFormatError, match=r"a\.file:1:3: .*not closed"):
            words(text)


def test_steps_refuse_what_is_not_there():
    with pytest.raises(FileFormatError, match="expected '\\(' here"):
        words("x").expect("(", "here")
    with pytest.raises(FileFormatError, match="expected a name"):
        words("").name("a name", frozenset())
    with pytest.raises(FileFormatError, match="at least 2"):
        words("1").integer("a count", 2)
    with pytest.raises(FileFormatError, match="end of the file"):
        words("a b").until(";", "somewhere")
    with pytest.raises(FileFormatError, match=r"a\.file:1:3: found '-1'"):
        words("1 -1").weights(["1", "-1"], lambda i: i)


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "1e999", "1_0", "0x1", "१", "", "1,5", "--1", "1e", "."])
def test_what_is_no_number(word):
    with pytest.raises(BadNumber) as caught:
        reals(["0.5", word])
    assert caught.value.index == 1


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_come_back_bit_for_bit(numbers):
    assert reals([repr(n) for n in numbers]).tobytes() == np.array(numbers, np.float64).tobytes()


def test_weights_are_not_negative():
    assert weights(["0", "-0.0", ".5", "5.", "+1e-3"]).tolist() == [0, 0, 0.5, 5, 1e-3]
    with pytest.raises(BadNumber, match="at least zero"):
        weights(["-1e-30"])


def test_whole_numbers():
    assert [whole(w) for w in ("0", "007", "-1", "1.0", "", "٣", "9" * 19)] == [0, 7, None, None, None, None, None]


def test_long_words_are_shortened():
    assert len(shown("x" * 1000)) < 50


@pytest.mark.parametrize("text", ['"\\"' * 100_000, '" ' * 100_001, "#" * 200_000, '"' + "\\" * 200_001, "(" * 200_000])
def test_hostile_text_takes_linear_time(text):
    with contextlib.suppress(FileFormatError):
        within(5.0, lambda: words(text))
