"""Cells of text are coded by their first appearance, whatever their length and number."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.data.textfiles import TEXT, _read, _Source
from sepset.kernels.data.textcells import NUMBER, OVERFLOW, SPACED


def source(text: str, num_columns: int = 1) -> _Source:
    return _Source(np.frombuffer(b"\n" + text.encode(), np.uint8), 1, num_columns, ord(","), (b"",))


@pytest.mark.parametrize("length", [1, 7, 8, 9, 40])
def test_many_texts_of_each_length(length):
    rng = np.random.default_rng(length)
    words = ["".join(rng.choice([*"abcd"], length)) for _ in range(3000)]
    made = source("\n".join(words))
    found = _read(made, {0: TEXT}, made.shares()).column(0, is_real=False)
    assert [found.values[code] for code in found.codes] == words
    assert list(found.values) == list(dict.fromkeys(words))


def test_a_full_table_is_said(monkeypatch):
    made = source("a\nb\nc\na\n")
    monkeypatch.setattr("sepset.data.textfiles.MOST_DISTINCT", 2)
    rows = _read(made, {0: TEXT}, made.shares())
    assert rows.found[0].flags[0] == OVERFLOW
    assert rows.column(0, is_real=False) is None


def test_spaces_are_said():
    made = source("1.5\n 2\n3 \n\n".rstrip("\n") + "\n")
    rows = _read(made, {0: NUMBER}, made.shares())
    assert rows.found[0].flags[0] & SPACED
    assert rows.column(0, is_real=True).values.tolist() == [1.5, 2.0, 3.0]


@pytest.mark.parametrize(
    "text", ["a\n\nb\n", "a,b\n", 'a"b\n', '"a\n', '"a"b\n', "a\rb\n", "a\0b\n", "a\nb\r\n", '""\n']
)
def test_lines_that_are_not_plain(text):
    made = source(text)
    assert _read(made, {0: TEXT}, made.shares()) is None


def test_a_canceled_pass_ends():
    from sepset.data import textfiles
    from sepset.kernels.data.textcells import read_cells

    made = source("a\nb\n")
    found = textfiles.Found(np.empty((1, 2), np.int16), np.empty((0, 2)), *textfiles._notes(1))
    tables = textfiles._tables({0: TEXT}, 2, None)
    powers = textfiles.Powers(textfiles.powers_of_five(), textfiles.powers_of_two(), textfiles.powers_of_ten())
    flag = np.ones(1, np.uint8)
    args = (made.text, 1, len(made.text), 0, made.layout({0: TEXT}), made.absent(), tables, found, powers)
    assert read_cells(*args, flag) == -1
