"""Text to words in one pass of a regular expression; the position of a word is computed only for error messages."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.errors import FileFormatError

END = ""
"""The word after the last one."""

QUOTED = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
"""A quoted word; one that is not closed extends to the end of the text, so that no text is scanned twice."""

_ESCAPE = re.compile(r'\\(["\\])')
_CLOSED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def decode(data: bytes) -> str:
    """The text of a file: UTF-8 with or without a byte order mark, UTF-16 with one, otherwise Latin-1.

    >>> decode("café".encode("latin-1")), decode(b"\\xef\\xbb\\xbfcaf\\xc3\\xa9")
    ('café', 'café')
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The line and column, both from 1, of a position in a text.

    >>> line_and_column("ab\\ncd", 4)
    (2, 2)
    """
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def shown(word: str, limit: int = 40) -> str:
    """A word as an error message shows it."""
    if word == END:
        return "the end of the file"
    return repr(word if len(word) <= limit else f"{word[: limit - 3]}...")


def unquoted(word: str) -> str:
    """The name that a word denotes.

    >>> unquoted('"a \\\\"b\\\\""'), unquoted("c")
    ('a "b"', 'c')
    """
    if not word.startswith('"'):
        return word
    inner = word[1:-1]
    return _ESCAPE.sub(r"\1", inner) if "\\" in inner else inner


def is_closed_quotation(word: str) -> bool:
    """Whether a word begins and ends with quotation marks of its own."""
    return _CLOSED.fullmatch(word) is not None


def quoted(name: str) -> str:
    """The name in double quotes, with quotes and backslashes escaped.

    >>> print(quoted('a "b"'))
    "a \\"b\\""
    """
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class Words:
    """The words of a text and the current position among them.

    `pattern` has one group, the word; matches outside the group (comments) are skipped. Positions are not stored: an
    error scans the text again up to its word.
    """

    __slots__ = ("at", "file", "pattern", "spans", "text", "words")

    def __init__(self, text: str, pattern: re.Pattern[str], file: str) -> None:
        self.text, self.pattern, self.file = text, pattern, file
        self.words: list[str] = [word for word in pattern.findall(text) if word]
        self.at = 0
        self.spans: list[tuple[int, int]] = []
        if self.words and self.words[-1].startswith('"') and not is_closed_quotation(self.words[-1]):
            raise self.error("this quotation is not closed", len(self.words) - 1)
        self.words.append(END)

    def place(self, mark: int) -> tuple[int, int]:
        """The line and column of a word, given its number."""
        count = -1
        for match in self.pattern.finditer(self.text):
            count += bool(match.group(1))
            if count == mark:
                return line_and_column(self.text, match.start(1))
        return line_and_column(self.text, len(self.text))

    def written(self, begin: int, end: int) -> str:
        """The text of a range of words as it is in the file, or the contents of one quoted word.

        >>> Words("a = (1,  2);", re.compile(r"([();=]|[^\\s();=,]+)"), "x").written(0, 6)
        'a = (1,  2)'
        """
        if end - begin == 1:
            return unquoted(self.words[begin])
        if not self.spans:  # one pass for all
            self.spans = [match.span(1) for match in self.pattern.finditer(self.text) if match.group(1)]
        return self.text[self.spans[begin][0] : self.spans[end - 1][1]] if begin < end else ""

    def error(self, message: str, mark: int | None = None) -> FileFormatError:
        """The error about a word, by default the next one."""
        number = min(self.at if mark is None else mark, len(self.words))
        line, column = self.place(number)
        found = self.words[number] if number < len(self.words) else END
        return FileFormatError(f"found {shown(found)}; {message}", file=self.file, line=line, column=column)

    @property
    def next(self) -> str:
        """The next word, or `END`."""
        return self.words[self.at]

    def take(self) -> str:
        """The next word; moves past it unless it is the end."""
        word = self.words[self.at]
        self.at += word != END
        return word

    def accept(self, word: str) -> bool:
        """Whether the next word is this one; if so, moves past it."""
        if self.words[self.at] != word:
            return False
        self.at += 1
        return True

    def expect(self, word: str, where: str) -> None:
        """Move past this word; raise if the next word is another."""
        if not self.accept(word):
            raise self.error(f"expected {word!r} {where}")

    def name(self, what: str, reserved: frozenset[str]) -> str:
        """The next word as a name, quoted or not."""
        word = self.next
        if word == END or word in reserved or word == '""':
            raise self.error(f"expected {what}")
        self.at += 1
        return unquoted(word)

    def integer(self, what: str, least: int = 0) -> int:
        """The next word as an integer of at least `least`."""
        number = whole(self.next)
        if number is None or number < least:
            raise self.error(f"expected {what}, a whole number of at least {least}")
        self.at += 1
        return number

    def until(self, word: str, where: str) -> tuple[int, int]:
        """The range of words before the next `word`; moves past it."""
        start = self.at
        try:
            stop = self.words.index(word, start)
        except ValueError:
            raise self.error(f"expected {word!r} {where}", len(self.words) - 1) from None
        self.at = stop + 1
        return start, stop

    def weights(self, words: Sequence[str], mark: Callable[[int], int], least: float = 0.0) -> Floats:
        """The words as finite numbers of at least zero; `mark` maps the index of each to its word number."""
        try:
            return weights(words, least)
        except BadNumber as bad:
            raise self.error(bad.reason, mark(bad.index)) from None


def whole(word: str) -> int | None:
    """The word as a non-negative integer of at most 18 digits, or None.

    >>> whole("12"), whole("1_2"), whole("-3")
    (12, None, None)
    """
    return int(word) if len(word) <= 18 and word.isascii() and word.isdigit() else None


class BadNumber(ValueError):
    """Raised if one of several words is not a number as required."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index, self.reason = index, reason


_NUMBER = re.compile(r"[-+]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")


def reals(words: Sequence[str]) -> Floats:
    """The words as finite numbers; the first that is not one raises `BadNumber`.

    >>> reals(["0.5", "1e-3"]).tolist()
    [0.5, 0.001]
    """
    try:
        values = np.array(list(map(float, words)), np.float64)
    except ValueError:
        values = np.full(len(words), np.nan)
    joined = "".join(words)
    if not np.isfinite(values).all() or "_" in joined or not joined.isascii():
        for index, word in enumerate(words):
            if not _NUMBER.fullmatch(word):
                raise BadNumber(index, "expected a number")
            if not np.isfinite(float(word)):
                raise BadNumber(index, "expected a finite number")
    return values


def weights(words: Sequence[str], least: float = 0.0) -> Floats:
    """The words as finite numbers of at least zero, or `least`; the first that is not one raises `BadNumber`."""
    values = reals(words)
    if (values < least).any():
        raise BadNumber(int(np.argmax(values < least)), "expected a number of at least zero")
    return values
