"""JSON values with their path, so that every error has a line and a column."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.errors import FileFormatError, SepsetError, listing, nearest
from sepset.io.lexer import END, line_and_column, shown

T = TypeVar("T")
Path: TypeAlias = tuple[str | int, ...]

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\]:,]|[^\s{}\[\]:,"]++', re.DOTALL)
_NUMBERS = frozenset({int, float})


class _Twice(ValueError):
    """Raised for a key that an object has twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Twice
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


class JsonSource:
    """A JSON text and its file; positions are computed only for error messages."""

    __slots__ = ("file", "text")

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file

    def root(self) -> Cursor:
        """The outermost value."""
        try:
            value = json.loads(self.text, object_pairs_hook=_unique, parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            raise self.error_at(error.pos, f"not JSON: {error.msg.lower()}") from None
        except _Twice:
            raise self.error_at(self._repeated(), "this object has a key twice") from None
        except RecursionError:
            raise self.error_at(0, "the values nest too deep") from None
        except ValueError as error:
            raise self.error_at(0, f"not JSON: {error}") from None
        return Cursor(value, (), self)

    def error_at(self, offset: int, message: str) -> FileFormatError:
        """The error about a position in the text."""
        line, column = line_and_column(self.text, offset)
        word = _TOKEN.match(self.text, offset)
        found = word.group() if word else self.text[offset : offset + 1] or END
        return FileFormatError(f"found {shown(found)}; {message}", file=self.file, line=line, column=column)

    def error(self, message: str, path: Path) -> FileFormatError:
        """The error about the value at a path."""
        deepest, best = 0, -1
        for here, offset in values(self.text):
            if len(here) > best and here == path[: len(here)]:
                deepest, best = offset, len(here)
            if best == len(path):
                break
        where = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")
        return self.error_at(deepest, f"{where}: {message}" if where else message)

    def _repeated(self) -> int:
        seen: set[Path] = set()
        for path, offset in values(self.text):
            if path in seen:
                return offset
            seen.add(path)
        return 0


def values(text: str) -> Iterator[tuple[Path, int]]:
    """The path and position of each value of a JSON text, in order.

    >>> list(values('{"a": [1, 2]}'))
    [((), 0), (('a',), 6), (('a', 0), 7), (('a', 1), 10)]
    """
    path: list[str | int] = []
    in_object: list[bool] = []
    key_next = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "}]":
            key_next = False
            if in_object:
                in_object.pop()
                path.pop()
        elif token == ",":
            key_next = bool(in_object) and in_object[-1]
            if in_object and not key_next and isinstance(path[-1], int):
                path[-1] += 1
        elif token == ":":
            key_next = False
        elif key_next:
            path[-1] = _key(token)
        else:
            yield tuple(path), match.start()
            if token in "{[":
                in_object.append(token == "{")
                path.append("" if token == "{" else 0)
                key_next = token == "{"


def _key(token: str) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return token


class Cursor:
    """A JSON value, its path, and its source."""

    __slots__ = ("path", "source", "value")

    def __init__(self, value: Any, path: Path, source: JsonSource) -> None:
        self.value, self.path, self.source = value, path, source

    def error(self, message: str) -> FileFormatError:
        """The error about this value."""
        return self.source.error(message, self.path)

    def made(self, make: Callable[[], T]) -> T:
        """The result of `make`; a `SepsetError` is raised again as an error about this value."""
        try:
            return make()
        except FileFormatError:
            raise
        except SepsetError as error:
            raise self.error(str(error)) from error

    def _is(self, kind: type | tuple[type, ...], what: str) -> Any:
        if not isinstance(self.value, kind) or (isinstance(self.value, bool) and kind is not bool):
            raise self.error(f"expected {what}")
        return self.value

    def __contains__(self, key: str) -> bool:
        return key in self._is(dict, "an object")

    def __getitem__(self, key: str) -> Cursor:
        found = self._is(dict, "an object")
        if key not in found:
            raise self.error(f"expected the key {key!r}; the object has {listing(found)}")
        return Cursor(found[key], (*self.path, key), self.source)

    def keys(self, *allowed: str) -> None:
        """Raise if the object has a key that is not allowed."""
        for key in self._is(dict, "an object"):
            if key not in allowed:
                raise Cursor(None, (*self.path, key), self.source).error(f"unknown key.{nearest(key, allowed)}")

    def __iter__(self) -> Iterator[Cursor]:
        items = self._is(list, "a list")
        return (Cursor(item, (*self.path, place), self.source) for place, item in enumerate(items))

    def __len__(self) -> int:
        return len(self._is(list, "a list"))

    def items(self) -> list[tuple[str, Cursor]]:
        """The entries of an object."""
        return [(key, self[key]) for key in self._is(dict, "an object")]

    def text(self) -> str:
        """The value as a string."""
        return str(self._is(str, "a string"))

    def whole(self, least: int = 0, most: int = (1 << 62)) -> int:
        """The value as an integer between two limits."""
        number = int(self._is(int, "a whole number"))
        if not least <= number <= most:
            raise self.error(f"expected a whole number of at least {least}, and not above {most}")
        return number

    def real(self) -> float:
        """The value as a finite number."""
        return float(self._array([self._is((int, float), "a number")])[0])

    def reals(self) -> Floats:
        """The value, a list of numbers or of equally long rows of them, as an array of finite numbers."""
        rows = self._is(list, "a list of numbers")
        if not rows or not isinstance(rows[0], list):
            return self._array(rows)
        lengths = {len(row) if isinstance(row, list) else -1 for row in rows}
        if len(lengths) > 1:
            raise self.error("expected rows of equal length")
        return self._array(list(chain.from_iterable(rows))).reshape(len(rows), lengths.pop())

    def logs(self) -> Floats:
        """The value, a list of numbers or nulls, as logarithms; null is minus infinity."""
        numbers = self._is(list, "a list of numbers")
        finite = self._array([0.0 if number is None else number for number in numbers])
        finite[[number is None for number in numbers]] = -np.inf
        return finite

    def wholes(self, least: int = 0, most: int = (1 << 62)) -> Ints:
        """The value, a list of integers between two limits, as an array."""
        numbers = self._is(list, "a list of whole numbers")
        if not set(map(type, numbers)) <= {int} or (numbers and not least <= min(numbers) <= max(numbers) <= most):
            raise self.error(f"expected whole numbers of at least {least}, and not above {most}")
        return np.array(numbers, np.int64)

    def _array(self, numbers: list[Any]) -> Floats:
        if not set(map(type, numbers)) <= _NUMBERS:
            raise self.error("expected numbers")
        try:
            array = np.array(numbers, np.float64)
        except OverflowError:
            array = np.array([np.inf])
        if not np.isfinite(array).all():
            raise self.error("expected finite numbers")
        return array
