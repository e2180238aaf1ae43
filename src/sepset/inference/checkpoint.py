"""Checkpoint files: plain values and arrays, never code.

A file is one line with the format's version and a checksum, one line of JSON, and the bytes of the arrays one after
the other. Reading produces numbers, strings, arrays and nested collections of them, and nothing else: a file from
elsewhere can be rejected or hold wrong numbers, but it never runs code.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.base.replacing import write_whole
from sepset.errors import DataError, NotApplicable

S = TypeVar("S")
PathLike: TypeAlias = str | os.PathLike[str]

MARK, FORMAT = b"sepset checkpoint", 2
"""The first words of a checkpoint, and the version of its format."""

DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
"""The element types that arrays may have."""

ADVICE = "Name another file, or remove it."


class Codec(Protocol[S]):
    """Converts the states of a method to plain values and arrays, and back."""

    def pack(self, state: S) -> object:
        """The state as None, booleans, numbers, strings, arrays, and tuples, lists and dictionaries of them."""

    def unpack(self, content: Any) -> S:
        """The state that was packed; raises if the content does not fit."""


class Plain:
    """The codec of states that are plain values already.

    >>> Plain().unpack(Plain().pack((1, 2.5)))
    (1, 2.5)
    """

    def pack(self, state: Any) -> object:
        """The state itself."""
        return state

    def unpack(self, content: Any) -> Any:
        """The content itself."""
        return content


TAGS: dict[str, type] = {}
"""The classes that states may contain, by their tag in files."""

C = TypeVar("C", bound=type)


def tagged(tag: str) -> Callable[[C], C]:
    """Register a dataclass for states; its construction must only store its fields.

    Args:
        tag: its name in files, independent of its module.

    >>> from dataclasses import dataclass
    >>> @tagged("corner")
    ... @dataclass(frozen=True)
    ... class Corner:
    ...     x: int
    >>> TAGS.pop("corner") is Corner
    True
    """

    def register(kind: C) -> C:
        if tag in TAGS or not is_dataclass(kind) or hasattr(kind, "__post_init__"):
            raise NotApplicable(
                f"A checkpoint stores dataclasses that only hold fields, each under its own tag; {kind}."
            )
        TAGS[tag] = kind
        return kind

    return register


def tag_of(kind: type) -> str:
    """The tag of a class; raises if it has none."""
    for tag, known in TAGS.items():
        if known is kind:
            return tag
    raise NotApplicable(f"A checkpoint stores dataclasses that have a tag (see `tagged`); found {kind}.")


def tagged_class(tag: object) -> Any:
    """The class of a tag."""
    if not isinstance(tag, str) or tag not in TAGS:
        raise NotApplicable(f"No class is registered under the tag {tag!r}.")
    return TAGS[tag]


def dump(content: object) -> bytes:
    """The bytes of a checkpoint with this content.

    >>> load(dump({"steps": 3, "x": np.array([1.0, 2.0])}), "a file")
    {'steps': 3, 'x': array([1., 2.])}
    """
    arrays: list[AnyArray] = []
    tree = _encoded(content, arrays)
    kinds = [[a.dtype.str, list(a.shape), _order(a)] for a in arrays]
    text = json.dumps([tree, kinds], ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    body = b"".join([text, b"\n", *(a.tobytes(order="A") for a in arrays)])
    return b"%s %d %s\n" % (MARK, FORMAT, _checksum(body)) + body


def load(data: bytes, name: str) -> Any:
    """The content of a checkpoint; arrays are read-only.

    Args:
        name: the name of the file, for messages.
    """
    text, _, numbers = _body(data, name).partition(b"\n")
    try:
        tree, kinds = json.loads(text)
        return _decoded(tree, _arrays(kinds, numbers))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError) as error:
        raise DataError(f"The checkpoint {name!r} has invalid content ({error}). {ADVICE}") from None


def save(content: object, path: PathLike) -> None:
    """Write a checkpoint to a file atomically."""
    write_whole(path, dump(content))


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _body(data: bytes, name: str) -> bytes:
    """The bytes of a checkpoint after its first line, after checking them against it."""
    head, _, body = data.partition(b"\n")
    words = head.split(b" ")
    if not head.startswith(MARK + b" ") or len(words) != 4:
        raise DataError(f"{name!r} is not a checkpoint. {ADVICE}")
    if words[2] == b"1":
        raise DataError(
            f"The checkpoint {name!r} has format 1, a pickle, which could run code and is no longer read. Remove it to "
            "start again."
        )
    if words[2] != b"%d" % FORMAT:
        raise DataError(
            f"The checkpoint {name!r} has format {words[2].decode(errors='replace')}, and this version of sepset reads "
            f"{FORMAT}. Continue with the version that wrote it, or remove it."
        )
    if words[3] != _checksum(body):
        raise DataError(f"The checkpoint {name!r} is damaged or truncated. {ADVICE}")
    return body


def _order(array: AnyArray) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _encoded(value: object, arrays: list[AnyArray]) -> Any:
    """The value as JSON: types that JSON lacks become a list that begins with their kind."""
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else ["float", repr(value)]
    if isinstance(value, np.ndarray | np.generic):
        kind = "array" if isinstance(value, np.ndarray) else "number"
        return [kind, _numbered(np.asarray(value), arrays)]
    if type(value) in (tuple, list):
        return [type(value).__name__, [_encoded(v, arrays) for v in value]]  # type: ignore[attr-defined]
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return ["dict", {key: _encoded(v, arrays) for key, v in value.items()}]
    raise NotApplicable(
        f"A checkpoint stores numbers, strings, arrays, and tuples, lists and dictionaries of them; found "
        f"{type(value).__name__}. Give iterate a codec= that packs such states."
    )


def _numbered(array: AnyArray, arrays: list[AnyArray]) -> int:
    """The index of an array among those to be written."""
    plain = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if plain.dtype.str not in DTYPES:
        raise NotApplicable(f"A checkpoint stores arrays of numbers; found one of type {array.dtype}.")
    arrays.append(plain)
    return len(arrays) - 1


def _decoded(tree: Any, arrays: list[AnyArray]) -> Any:
    if not isinstance(tree, list):
        if isinstance(tree, dict):
            raise ValueError("a bare dictionary")
        return tree
    kind, content = tree
    if kind == "array":
        return arrays[content]
    if kind == "number":
        return arrays[content][()]
    if kind == "float":
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]
    if kind == "dict":
        return {str(key): _decoded(v, arrays) for key, v in content.items()}
    items = [_decoded(v, arrays) for v in content]
    return {"tuple": tuple, "list": list}[kind](items)


def _arrays(kinds: list[Any], data: bytes) -> list[AnyArray]:
    """The arrays whose bytes are stored one after another; raises unless all bytes are used."""
    made, place = [], 0
    for name, shape, order in kinds:
        if name not in DTYPES or order not in ("C", "F") or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"arrays of {name!r}")
        count = math.prod(shape)
        size = count * np.dtype(name).itemsize
        if place + size > len(data):
            raise ValueError("arrays beyond the end")
        array = np.frombuffer(data, name, count, place).reshape(shape, order=order).copy(order="A")
        array.setflags(write=False)
        made.append(array.astype(array.dtype.newbyteorder("="), copy=False))
        place += size
    if place != len(data):
        raise ValueError("bytes that belong to no array")
    return made
