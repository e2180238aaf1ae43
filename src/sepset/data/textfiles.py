"""Large CSV and TSV files read by a kernel: cells are coded, or read as numbers, as they are found.

DuckDB reads what is small or not plain. Both give the same columns.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sepset.base.arraytypes import AnyArray, Bytes, Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.threads import num_processors, shares, together
from sepset.data.columns import MISSING, Cells, Column, Levels, levels_of
from sepset.kernels.data.decimals import BAD, FRACTION, PADDED, powers_of_five
from sepset.kernels.data.textcells import (
    LARGE,
    NEWLINE,
    NUMBER,
    OVERFLOW,
    QUOTE,
    RETURN,
    SPACED,
    SPARE_SLOTS,
    TEXT,
    Found,
    Layout,
    Missing,
    Tables,
    read_cells,
)
from sepset.kernels.kernel import is_at_hand, load

SMALL, SMALL_TO_COMPILE = 1 << 20, 1 << 24
"""Bytes of a file below which DuckDB reads it: loading the kernel takes longer, or compiling it the first time."""

LARGEST = 1 << 30
"""The largest file, in bytes, that is read as a whole; rows of a larger one stay where they are."""

SAMPLE_ROWS, SAMPLE_DISTINCT = 2048, 256
"""A column of numbers is read as numbers if so many first rows have more distinct texts than these."""

BLOCK = 1 << 20
"""Bytes that are read or counted at a time."""

MOST_DISTINCT = np.iinfo(np.int16).max
"""The most distinct texts of a column."""

_LEAST_SHARE = 1 << 20
_WINDOW = 1 << 10
_FEWEST_HARD, _CELLS_TO_HARD = 1 << 12, 1 << 6
_TABLE_ENTRIES = 1 << 23
_SPECIAL = b'\0\n\r"'
_DELIMITERS = {",", ";", "\t", "|", ":"}
_MOST_IN_KEY = 7
_EITHER = 0
_KINDS = {True: TEXT, False: NUMBER, None: _EITHER}
_UNFIT = BAD | PADDED | SPACED


def large_columns(
    file: Path, header: Sequence[str], wanted: Mapping[str, bool | None], *, delimiter: str, missing: Sequence[str]
) -> dict[str, Column] | None:
    """Some columns of a large plain text file; None where DuckDB has to read it.

    Where it is not said what a column is, one of very many distinct numbers comes as numbers, or as levels of whole
    numbers; all others come as levels of texts.

    Args:
        file: which exists.
        header: the names in its first line.
        wanted: some of them, each with whether it is text, or a number, or None where that is not known.
        delimiter: between cells.
        missing: texts that mean a missing cell.
    """
    tokens = tuple(token.encode() for token in missing)
    is_plain = delimiter in _DELIMITERS and b"" in tokens and len(tokens) <= SPARE_SLOTS
    is_plain = is_plain and max(map(len, tokens)) <= _MOST_IN_KEY
    text = _bytes(file) if is_plain and wanted else None
    start = None if text is None else _after_names(text, header, delimiter)
    if text is None or start is None or start >= len(text):
        return None
    source = Source(text, start, len(header), ord(delimiter), tokens)
    if source.has_quotes and len(tokens) > 1:
        return None
    places = {name: place for place, name in enumerate(header)}
    asked = {places[name]: _KINDS[kind] for name, kind in wanted.items()}
    found = _columns(source, asked)
    return None if found is None else {name: found[places[name]] for name in wanted}


def _bytes(file: Path) -> Bytes | None:
    """The whole file, unless it is small or too large; a compressed one as what was compressed."""
    size, is_packed = file.stat().st_size, file.suffix.lower() == ".gz"
    if not (SMALL >> 2 * is_packed) <= size <= LARGEST:
        return None
    load("data")
    least = SMALL if is_at_hand(read_cells) else SMALL_TO_COMPILE
    if size < least >> 2 * is_packed:
        return None
    found = _unpacked(file) if is_packed else read_bytes(file, size)
    return found if found is not None and least <= len(found) <= LARGEST else None


def read_bytes(file: Path, size: int) -> Bytes:
    """The first bytes of a file, fewer if it is shorter, in memory that the system gives in large pages."""
    found = np.empty(size, np.uint8)

    def read(part: slice, cancel: Bytes) -> int:
        """Read some bytes to where they belong; how many of them are not there."""
        at = part.start
        with file.open("rb", buffering=0) as rows:
            rows.seek(at)
            while not cancel[0] and (more := rows.readinto(found[at : min(at + BLOCK, part.stop)].data)):
                at += more
        return int(part.stop - at)

    return found[: size - sum(_by_parts(size, read))]


def count_byte(text: Bytes, byte: int) -> int:
    """How often a byte occurs.

    >>> count_byte(np.frombuffer(b"to be or not to be", np.uint8), ord("o"))
    4
    """

    def count(part: slice, cancel: Bytes) -> int:
        blocks = (text[at : min(at + BLOCK, part.stop)] for at in range(part.start, part.stop, BLOCK))
        return sum(int(np.count_nonzero(block == byte)) for block in blocks if not cancel[0])

    return sum(_by_parts(len(text), count))


def _by_parts(size: int, task: Callable[[slice, Bytes], int]) -> list[int]:
    """The results of a task for consecutive parts of so many bytes, one for each thread."""
    parts = shares(size, num_processors(), step=BLOCK)
    return together([partial(task, part) for part in parts], len(parts))


def _unpacked(file: Path) -> Bytes | None:
    try:
        with gzip.open(file) as rows:
            return np.frombuffer(rows.read(LARGEST + 1), np.uint8).copy()
    except (OSError, EOFError, zlib.error):  # DuckDB says what is wrong with it
        return None


def _after_names(text: Bytes, header: Sequence[str], delimiter: str) -> int | None:
    """Where the second line begins; None if the names take more than one line, or less."""
    end = _line_end(text, 0)
    try:
        line = text[:end].tobytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return end if [*csv.reader([line], delimiter=delimiter)] == [list(header)] else None


def _line_end(text: Bytes, at: int) -> int:
    """Where the line ends that this byte is in."""
    while at < len(text):
        if (found := text[at : at + _WINDOW].tobytes().find(b"\n")) >= 0:
            return at + found + 1
        at += _WINDOW
    return len(text)


@dataclass(frozen=True, eq=False)
class Source:
    """The bytes of a file, where its second line starts, and how its cells are told apart."""

    text: Bytes
    start: int
    num_columns: int
    delimiter: int
    missing: tuple[bytes, ...]

    @lazy
    def has_quotes(self) -> bool:
        """Whether a quote stands anywhere."""
        return count_byte(self.text, QUOTE) > 0

    def layout(self, kinds: Mapping[int, int]) -> Layout:
        """The columns at these places are read as text or as numbers, in the order of the mapping."""
        special = np.zeros(256, np.uint8)
        special[[*_SPECIAL, self.delimiter]] = 1
        kind, place = np.zeros(self.num_columns, np.uint8), np.zeros(self.num_columns, np.int64)
        for column, chosen in kinds.items():
            kind[column] = chosen
        for chosen in (TEXT, NUMBER):
            mine = [column for column, own in kinds.items() if own == chosen]
            place[mine] = np.arange(len(mine))
        has_returns = self.start > 1 and self.text[self.start - 2] == RETURN
        return Layout(special, kind, place, self.delimiter, bool(has_returns))

    def absent(self) -> Missing:
        """The texts that mean a missing cell."""
        texts = np.frombuffer(b"".join(self.missing) + b"\0", np.uint8)
        return Missing(texts, np.cumsum([len(token) for token in self.missing]), self.missing == (b"",))

    def sample(self) -> Share:
        """The first lines."""
        stop, num_rows = self.start, 0
        while num_rows < SAMPLE_ROWS and stop < len(self.text):
            stop = _line_end(self.text, stop)
            num_rows += 1
        return Share(self.start, stop, 0, num_rows)

    def shares(self) -> list[Share]:
        """All lines, some for each thread; those of a file with quotes stay together, since a cell may hold lines."""
        size = len(self.text) - self.start
        count = 1 if self.has_quotes else max(1, min(num_processors(), size // _LEAST_SHARE))
        cuts = [self.start, *(_line_end(self.text, self.start + size * k // count) for k in range(1, count))]
        found, row = [], 0
        for start, stop in itertools.pairwise([*cuts, len(self.text)]):
            num_rows = count_byte(self.text[start:stop], NEWLINE) + bool(
                start < stop and self.text[stop - 1] != NEWLINE
            )
            found.append(Share(start, stop, row, num_rows))
            row += num_rows
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Lines that one thread reads, as bytes from `start` to `stop`, into rows from `row` on."""

    start: int
    stop: int
    row: int
    num_rows: int


def _columns(source: Source, asked: Mapping[int, int]) -> dict[int, Column] | None:
    """The columns at these places, each as TEXT, as NUMBER, or as what it is; None where that cannot be done."""
    sample = read_rows(source, dict.fromkeys(asked, TEXT), [source.sample()])
    if sample is None:
        return None
    kinds = {**asked, **sample.kinds([place for place, kind in asked.items() if kind == _EITHER])}
    lines, found = source.shares(), dict[int, Column]()
    for _ in range(2):
        rows = read_rows(source, kinds, lines, sample)
        if rows is None:
            return None
        part = {place: rows.column(place, is_real=asked[place] == NUMBER) for place in kinds}
        found |= {place: column for place, column in part.items() if column is not None}
        kinds = {place: TEXT + NUMBER - kind for place, kind in kinds.items() if place not in found}
        if not kinds:
            return {place: found[place] for place in asked}
        if any(asked[place] != _EITHER for place in kinds):
            return None
    return None


def read_rows(
    source: Source, kinds: Mapping[int, int], shares: Sequence[Share], sample: ReadRows | None = None
) -> ReadRows | None:
    """The cells of these lines, by threads; None if a line is not plain. Codes of the sample are kept."""
    num_rows = sum(share.num_rows for share in shares)
    num_texts = sum(kind == TEXT for kind in kinds.values())
    codes = np.empty((num_texts, num_rows), np.int16)
    numbers = np.empty((len(kinds) - num_texts, num_rows))
    layout = source.layout(kinds)
    tables = [_tables(kinds, min(num_rows, MOST_DISTINCT), sample) for _ in shares]
    found = [Found(codes, numbers, *_notes(source.num_columns, share.num_rows * len(numbers))) for share in shares]
    tasks = [
        partial(
            _task,
            source.text,
            share.start,
            share.stop,
            share.row,
            layout,
            source.absent(),
            table,
            own,
            powers_of_five(),
        )
        for share, table, own in zip(shares, tables, found, strict=True)
    ]
    last = together(tasks, len(shares))
    if min(last) < 0 or (len(shares) > 1 and any(e != s.row + s.num_rows for e, s in zip(last, shares, strict=True))):
        return None
    for own in found:
        _settle(source.text, own)
    return ReadRows(source, layout, shares, tables, found, last[-1])


def _notes(num_columns: int, num_cells: int) -> tuple[Ints, Ints, Ints]:
    """Empty flags of columns, and an empty list of numbers that are left open: a few of so many."""
    most = max(_FEWEST_HARD, num_cells // _CELLS_TO_HARD)
    return np.zeros(num_columns, np.int64), np.zeros((most, 4), np.int64), np.zeros(1, np.int64)


def _settle(text: Bytes, found: Found) -> None:
    """Let Python read the numbers that were left open."""
    for place, row, start, stop in found.hard[: found.num_hard[0]].tolist():
        found.numbers[place, row] = float(text[start:stop].tobytes())


def _task(*args: object) -> int:
    """The kernel, whose flag comes last."""
    return int(read_cells(*args))  # type: ignore[arg-type]  # as `read_rows` made them


def _tables(kinds: Mapping[int, int], most: int, sample: ReadRows | None) -> Tables:
    """Tables for the columns that are read as text, with what the sample held."""
    texts = [place for place, kind in kinds.items() if kind == TEXT]
    most = min(most, max(SAMPLE_ROWS, _TABLE_ENTRIES // max(1, len(texts))))
    width = 1 << max(5, (2 * (most + SPARE_SLOTS) - 1).bit_length())
    shape = (len(texts), width)
    tables = Tables(
        np.zeros(shape, np.uint64),
        np.zeros(shape, np.int32),
        np.full(len(texts), 5),
        np.zeros(len(texts), np.int64),
        np.zeros((len(texts), most), np.int64),
        np.zeros((len(texts), most), np.int64),
    )
    if sample is not None:
        own = sample.layout.places[texts]
        mine: AnyArray
        other: AnyArray
        for mine, other in zip(tables, sample.tables[0], strict=True):  # type: ignore[assignment]  # arrays all
            if mine.ndim == 1:
                mine[:] = other[own]
            else:
                mine[:, : other.shape[1]] = other[own, : mine.shape[1]]
    return tables


@dataclass(frozen=True, slots=True, eq=False)
class ReadRows:
    """The cells of lines that threads have read."""

    source: Source
    layout: Layout
    shares: Sequence[Share]
    tables: Sequence[Tables]
    found: Sequence[Found]
    num_rows: int

    def kinds(self, places: Collection[int]) -> dict[int, int]:
        """NUMBER for columns of texts that are very many distinct numbers, else TEXT."""
        counts = self.tables[0].counts
        kinds = {place: NUMBER for place in places if counts[self.layout.places[place]] > SAMPLE_DISTINCT}
        again = read_rows(self.source, kinds, self.shares) if kinds else None
        return {
            place: TEXT if again is None or again.flags(place) & BAD else kinds.get(place, TEXT) for place in places
        }

    def flags(self, place: int) -> int:
        """The bits that say what was found in a column."""
        return int(np.bitwise_or.reduce([own.flags[place] for own in self.found]))

    def column(self, place: int, *, is_real: bool) -> Column | None:
        """A column, unless it cannot be read as its kind."""
        flags = self.flags(place)
        if self.layout.kinds[place] == TEXT:
            return None if flags & OVERFLOW else self._levels(place)
        if flags & (BAD if is_real else _UNFIT):
            return None
        if is_real or flags & FRACTION:
            return Cells(self._numbers(place), is_own=True)
        return None if flags & LARGE else _whole(self._numbers(place))

    def _texts(self, tables: Tables, place: int, first: int = 0) -> list[bytes]:
        row = int(self.layout.places[place])
        count = int(tables.counts[row])
        spans = zip(tables.starts[row, first:count].tolist(), tables.lengths[row, first:count].tolist(), strict=True)
        return [self.source.text[start : start + length].tobytes() for start, length in spans]

    def _levels(self, place: int) -> Levels | None:
        codes = self.found[0].codes[int(self.layout.places[place]), : self.num_rows]
        known: dict[bytes, int] = {}
        for share, tables in zip(self.shares, self.tables, strict=True):
            texts = self._texts(tables, place)
            recode = [known.setdefault(text, len(known)) for text in texts]
            if recode != list(range(len(recode))):
                part = codes[share.row : share.row + share.num_rows]
                part[:] = np.array([*recode, MISSING], np.int64)[part]
        try:
            return Levels(codes, tuple(text.decode() for text in known))
        except UnicodeDecodeError:
            return None

    def _numbers(self, place: int) -> Floats:
        row = int(self.layout.places[place])
        numbers = self.found[0].numbers[row, : self.num_rows]
        numbers.setflags(write=False)
        return numbers


def _whole(numbers: Floats) -> Levels:
    absent = np.isnan(numbers)
    return levels_of(Cells(np.where(absent, 0, numbers).astype(np.int64), absent if absent.any() else None))
