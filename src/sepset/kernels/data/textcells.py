"""The cells of a text file, coded as they are found: one pass over its bytes.

A column is coded as text, by a hash table of the distinct texts so far, or read as numbers. Texts of up to seven bytes
are their own keys; longer ones are compared with the first that had their key.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int16s, Int32s, Ints, UInt64s
from sepset.kernels.data.decimals import BAD, FRACTION, HARD, decimal_at, word_in
from sepset.kernels.data.grouping import MULTIPLIER
from sepset.kernels.kernel import kernel

NEWLINE, RETURN, QUOTE, SPACE = 10, 13, 34, 32

SKIPPED, TEXT, NUMBER = 0, 1, 2
"""The ways in which a column is read."""

OVERFLOW, SPACED, LARGE = 16, 32, 64
"""More about a column than the bits of `decimals`: too many distinct texts, spaces around numbers, whole numbers
that no double holds."""

LARGEST_WHOLE = 9007199254740991.0
"""All whole numbers up to this one are doubles."""

SPARE_SLOTS = 8
"""Slots for texts that mean missing, which are not counted."""

LISTEN = 4095
"""A bit mask: rows between looks at the flag that cancels."""

_LONG = np.uint64(1 << 63)


class Layout(NamedTuple):
    """The columns of a file.

    Attributes:
        special: whether each byte may end a cell, or needs a look.
        kinds: SKIPPED, TEXT or NUMBER, for each column.
        places: its row among the texts or the numbers.
        delimiter: the byte between cells.
        has_returns: whether lines end with a carriage return and a newline.
    """

    special: Bytes
    kinds: Bytes
    places: Ints
    delimiter: int
    has_returns: bool


class Tables(NamedTuple):
    """Distinct texts of each column that is text: an open hash table, and where each was first found.

    Attributes:
        keys: of each slot.
        slots: the code in each slot plus two; one if the text means missing, zero if the slot is free. At least twice
            as many as there may be texts.
        bits: the logarithm of the number of slots in use, which doubles.
        counts: the number of distinct texts.
        starts: the first byte of each text.
        lengths: its number of bytes.
    """

    keys: UInt64s
    slots: Int32s
    bits: Ints
    counts: Ints
    starts: Ints
    lengths: Ints


class Missing(NamedTuple):
    """Texts that mean a missing cell.

    Attributes:
        texts: one after the other.
        ends: where each ends.
        is_plain: whether none of them could be a number.
    """

    texts: Bytes
    ends: Ints
    is_plain: bool


class Found(NamedTuple):
    """The cells that are read.

    Attributes:
        codes: of each column of texts; -1 is missing.
        numbers: of each column of numbers; NaN is missing.
        flags: what was found in each column, as bits.
        hard: the place, row, first byte and end of numbers that are left open.
        num_hard: their number.
    """

    codes: Int16s
    numbers: Floats
    flags: Ints
    hard: Ints
    num_hard: Ints


@kernel(borrows=True)
def _is_same(text: Bytes, one: int, other: int, length: int) -> bool:
    for k in range(length):
        if text[one + k] != text[other + k]:
            return False
    return True


@kernel(borrows=True)
def _is_missing(text: Bytes, start: int, length: int, missing: Missing) -> bool:
    """Whether a text is one of those that mean missing."""
    first = 0
    for end in missing.ends:
        if end - first == length:
            k = 0
            while k < length and text[start + k] == missing.texts[first + k]:
                k += 1
            if k == length:
                return True
        first = end
    return False


@kernel(inner=True)
def doubled(tables: Tables, column: int) -> None:
    """Use twice as many slots for the texts so far."""
    keys, slots = tables.keys[column], tables.slots[column]
    before = 1 << tables.bits[column]
    codes, old = np.empty(before, np.int32), np.empty(before, np.uint64)
    count = 0
    for k in range(before):
        if slots[k] > 0:
            codes[count], old[count] = slots[k], keys[k]
            count += 1
        slots[k] = 0
    tables.bits[column] += 1
    mask, shift = 2 * before - 1, np.uint64(64 - tables.bits[column])
    for k in range(count):
        at = np.int64((old[k] * MULTIPLIER) >> shift)
        while slots[at] > 0:
            at = (at + 1) & mask
        slots[at], keys[at] = codes[k], old[k]


@kernel(borrows=True)
def _long_key(text: Bytes, start: int, stop: int) -> np.uint64:
    """A word that texts of eight bytes and more share with few others, and with no shorter one."""
    key = np.uint64(0)
    for k in range(start, stop):
        key = (key ^ np.uint64(text[k])) * np.uint64(0x100000001B3)
    return key ^ key >> np.uint64(31) | _LONG


@kernel(inner=True)
def added(tables: Tables, column: int, key: np.uint64, start: int, length: int, is_missing: bool) -> int:
    """The code of a text that is new in its column: -1 if it means missing, -2 if there are too many."""
    count = tables.counts[column]
    if not is_missing and count == tables.starts.shape[1]:
        return -2
    used = tables.slots.shape[1] >> 1
    if 1 << tables.bits[column] <= used and 4 * (count + SPARE_SLOTS) > 3 << tables.bits[column]:
        doubled(tables, column)
    mask = (1 << tables.bits[column]) - 1
    at = np.int64((key * MULTIPLIER) >> np.uint64(64 - tables.bits[column]))
    while tables.slots[column, at] > 0:
        at = (at + 1) & mask
    tables.keys[column, at] = key
    if is_missing:
        tables.slots[column, at] = 1
        return -1
    tables.slots[column, at] = count + 2
    tables.starts[column, count], tables.lengths[column, count] = start, length
    tables.counts[column] = count + 1
    return int(count)


@kernel(borrows=True)
def _code(text: Bytes, start: int, stop: int, word: np.uint64, tables: Tables, column: int) -> tuple[int, np.uint64]:
    """The code of a text and its key; -3 where it is new."""
    length = stop - start
    key = word | np.uint64(length) << np.uint64(56) if length < 8 else _long_key(text, start, stop)
    bits = tables.bits[column]
    at, mask = np.int64((key * MULTIPLIER) >> np.uint64(64 - bits)), (1 << bits) - 1
    while True:
        found = tables.slots[column, at]
        if found == 0:
            return -3, key
        if tables.keys[column, at] == key and (
            length < 8
            or (
                tables.lengths[column, found - 2] == length
                and _is_same(text, start, tables.starts[column, found - 2], length)
            )
        ):
            return int(found) - 2, key
        at = (at + 1) & mask


@kernel(borrows=True)
def _cell_at(text: Bytes, at: int, stop: int, special: Bytes) -> tuple[int, int, np.uint64]:
    """Where the text of a cell ends, the byte after the cell, and its last eight bytes; -1 where it is not plain."""
    word, start = np.uint64(0), at
    is_quoted = at < stop and text[at] == QUOTE
    at += is_quoted
    while at < stop and special[text[at]] == 0:
        word = word << np.uint64(8) | np.uint64(text[at])
        at += 1
    if is_quoted:
        while at < stop and text[at] != QUOTE and text[at] != 0 and text[at] != RETURN:
            word = word << np.uint64(8) | np.uint64(text[at])
            at += 1
        if at == stop or text[at] != QUOTE or at == start + 1:
            return -1, -1, word
    return at, at + is_quoted, word


@kernel(borrows=True)
def _after(text: Bytes, at: int, stop: int, is_last: bool, delimiter: int, has_returns: bool) -> int:
    """Where the next cell starts, -1 if what is after this one is not what ends such a cell."""
    if not is_last:
        return at + 1 if at < stop and text[at] == delimiter else -1
    if at == stop:
        return at
    if has_returns and (text[at] != RETURN or at + 1 == stop):
        return -1
    at += has_returns
    return at + 1 if text[at] == NEWLINE else -1


@kernel(inner=True)
def new_code(text: Bytes, start: int, stop: int, key: np.uint64, place: int, missing: Missing, tables: Tables) -> int:
    """The code of a text that is new in its column: -1 if it means missing, -2 if there are too many."""
    is_missing = text[start - 1] != QUOTE and _is_missing(text, start, stop - start, missing)
    return added(tables, place, key, start, stop - start, is_missing)


@kernel(borrows=True)
def _odd_number(text: Bytes, start: int, stop: int, missing: Missing, fives: UInt64s) -> tuple[float, int]:
    """A number in words, between quotes or spaces, or a missing cell."""
    if text[start - 1] != QUOTE and _is_missing(text, start, stop - start, missing):
        return np.nan, 0
    spaced = 0
    while start < stop and text[start] == SPACE:
        start += 1
        spaced = SPACED
    while stop > start and text[stop - 1] == SPACE:
        stop -= 1
        spaced = SPACED
    number, what, end = decimal_at(text, start, stop, fives)
    if what & BAD or end < stop:
        number, what = word_in(text, start, stop)
    return number, what | spaced


@kernel(borrows=True)
def _put_number(number: float, what: int, start: int, stop: int, row: int, place: int, found: Found) -> int:
    """Store a number; what is found is `BAD` if there is no more room for those that are left open."""
    found.numbers[place, row] = number
    if what & HARD:
        count = found.num_hard[0]
        if count == len(found.hard):
            return BAD
        found.hard[count, 0], found.hard[count, 1] = place, row
        found.hard[count, 2], found.hard[count, 3] = start, stop
        found.num_hard[0] = count + 1
        return what | LARGE
    return what | LARGE if not what & FRACTION and abs(number) > LARGEST_WHOLE else what


@kernel(borrows=True)
def read_cells(
    text: Bytes,
    start: int,
    stop: int,
    first_row: int,
    layout: Layout,
    missing: Missing,
    tables: Tables,
    found: Found,
    fives: UInt64s,
    cancel: Bytes,
) -> int:
    """Read the lines between two bytes into rows from `first_row` on; the row after the last, -1 where a line is not
    plain: another number of cells, quotes within a cell, empty lines, mixed ends of lines.
    """
    num_columns, row, at = len(layout.kinds), first_row, start
    while at < stop:
        if (row & LISTEN == 0 and cancel[0]) or text[at] == NEWLINE or text[at] == RETURN:
            return -1
        for column in range(num_columns):
            kind, place, begin = layout.kinds[column], layout.places[column], at
            is_done = found.flags[column] & (BAD | OVERFLOW) or kind == SKIPPED
            if kind == NUMBER and not is_done:
                number, what, at = decimal_at(text, begin, stop, fives)
                if not what & BAD and missing.is_plain and (at == stop or layout.special[text[at]]):
                    found.flags[column] |= _put_number(number, what, begin, at, row, place, found)
                    is_done = True
                else:
                    at = begin
            if at == begin:
                end, at, word = _cell_at(text, begin, stop, layout.special)
                begin += at - end
                if end >= 0 and not is_done and kind == TEXT:
                    code, key = _code(text, begin, end, word, tables, place)
                    if code == -3:
                        code = new_code(text, begin, end, key, place, missing, tables)
                    if code == -2:
                        found.flags[column] |= OVERFLOW
                    else:
                        found.codes[place, row] = code
                elif end >= 0 and not is_done:
                    number, what = _odd_number(text, begin, end, missing, fives)
                    found.flags[column] |= _put_number(number, what, begin, end, row, place, found)
            at = (
                -1
                if at < 0
                else _after(text, at, stop, column == num_columns - 1, layout.delimiter, layout.has_returns)
            )
            if at < 0:
                return -1
        row += 1
    return row
