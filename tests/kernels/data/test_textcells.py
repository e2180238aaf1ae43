"""Cells of text are coded by their first appearance, whatever their length and number."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.data.textfiles import TEXT, Source, read_rows
from sepset.kernels.data.textcells import NUMBER, OVERFLOW, SPACED


def source(text: str, num_columns: int = 1) -> Source:
    return Source(np.frombuffer(b"\n" + text.encode(), np.uint8), 1, num_columns, ord(","), (b"",))


@pytest.mark.parametrize("length", [1, 7, 8, 9, 40])
def test_many_texts_of_each_length(length):
    rng = np.random.default_rng(length)
    words = ["".join(rng.choice([*"abcd"], length)) for _ in range(3000)]
    made = source("\n".join(words))
    found = read_rows(made, {0: TEXT}, made.shares()).column(0, is_real=False)
    assert [found.values[code] for code in found.codes] == words
    assert list(found.values) == list(dict.fromkeys(words))


def test_a_full_table_is_said(monkeypatch):
    made = source("a\nb\nc\na\n")
    monkeypatch.setattr("sepset.data.textfiles.MOST_DISTINCT", 2)
    rows = read_rows(made, {0: TEXT}, made.shares())
    assert rows.found[0].flags[0] == OVERFLOW
    assert rows.column(0, is_real=False) is None


def test_spaces_are_said():
    made = source("1.5\n 2\n3 \n\n".rstrip("\n") + "\n")
    rows = read_rows(made, {0: NUMBER}, made.shares())
    assert rows.found[0].flags[0] & SPACED
    assert rows.column(0, is_real=True).values.tolist() == [1.5, 2.0, 3.0]


@pytest.mark.parametrize(
    "text", ["a\n\nb\n", "a,b\n", 'a"b\n', '"a\n', '"a"b\n', "a\rb\n", "a\0b\n", "a\nb\r\n", '""\n']
)
def test_lines_that_are_not_plain(text):
    made = source(text)
    assert read_rows(made, {0: TEXT}, made.shares()) is None


def test_a_canceled_pass_ends(monkeypatch):
    monkeypatch.setattr(
        "sepset.data.textfiles.together", lambda tasks, _: [task(np.ones(1, np.uint8)) for task in tasks]
    )
    made = source("a\nb\n")
    assert read_rows(made, {0: TEXT}, made.shares()) is None
