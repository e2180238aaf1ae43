"""Reading and writing models: the suffix names the format, `.gz` is transparent, and writing is atomic."""

from __future__ import annotations

import importlib
import os
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, cast, overload, runtime_checkable

from sepset.base.checks import number, whole
from sepset.base.foreign import translated
from sepset.base.replacing import write_whole
from sepset.base.text import nearest
from sepset.errors import ArgumentError, FileFormatError, SepsetError

if TYPE_CHECKING:
    from sepset.io.record import Reading
    from sepset.models.bayesnet import BayesNet
    from sepset.models.model import Model

PathLike: TypeAlias = str | os.PathLike[str]
M = TypeVar("M", bound="Model")

MAX_BYTES = 1 << 30
"""The largest size of a file after decompression, in bytes."""

_CHUNK = 1 << 22
_PIECE = 1 << 12
_SMALL = 1 << 26
_RATIO = 300

_FORMATS = {
    ".bif": "bif",
    ".bifxml": "xmlbif",
    ".json": "json",
    ".net": "net",
    ".uai": "uai",
    ".xdsl": "xdsl",
    ".xml": "xmlbif",
    ".xmlbif": "xmlbif",
}
_OTHERS = {
    ".dne": "Netica",
    ".neta": "Netica",
    ".dsl": "GeNIe before XDSL",
    ".oobn": "Hugin with classes",
    ".hkb": "Hugin, compiled",
    ".xbn": "MSBN",
    ".erg": "Ergo",
}
"""Formats of other tools, by their suffixes."""

CONTENTS = "contents"
"""The name of contents without one."""

_FIRST_WORDS = {
    b"network": ".bif",
    b"net": ".net",
    b"class": ".net",
    b"node": ".net",
    b"bayes": ".uai",
    b"markov": ".uai",
}
"""The formats of contents that begin with these words, in lower case."""

_RESULTS = frozenset({".evid", ".virt", ".pr", ".mar", ".mpe", ".map"})


@runtime_checkable
class Stream(Protocol):
    """An open file, of bytes or of text."""

    def read(self, size: int = -1, /) -> bytes | str:
        """The next bytes or characters, at most this many."""


Source: TypeAlias = PathLike | bytes | Stream
"""A path, the contents of a file, or an open file."""


class Codec(Protocol):
    """A module that reads and writes one format."""

    def parse(self, data: bytes, file: str, reading: Reading) -> Model:
        """The model in a file's bytes."""

    def render(self, model: Model) -> bytes:
        """The model as the bytes of a file."""


def suffixes() -> tuple[str, ...]:
    """The suffixes that `read` and `write` support; each may be followed by `.gz`.

    >>> ".bif" in suffixes()
    True
    """
    return tuple(_FORMATS)


@overload
def read(
    source: Source,
    *,
    format: str | None = None,
    normalize: bool = True,
    tolerance: float | None = None,
    max_bytes: int = MAX_BYTES,
) -> BayesNet: ...
@overload
def read(
    source: Source,
    *,
    kind: type[M],
    format: str | None = None,
    normalize: bool = True,
    tolerance: float | None = None,
    max_bytes: int = MAX_BYTES,
) -> M: ...
@translated
def read(
    source: Source,
    *,
    kind: type[Model] | None = None,
    format: str | None = None,
    normalize: bool = True,
    tolerance: float | None = None,
    max_bytes: int = MAX_BYTES,
) -> Model:
    """The model in a file: `.bif`, `.xmlbif`, `.uai`, `.net`, `.xdsl` or `.json`, each also with `.gz`.

    Rows of a CPD that sum to one within the digits printed (0.333 three times) are renormalized, which `model.notes`
    reports; a larger deviation raises, unless `tolerance=` allows it. Rows of a NET file with a number above one or a
    sum of 1.5 and more are weights, as for Hugin. A malformed file raises one `FileFormatError` with file, line and
    column, and the word found there.

    Args:
        source: the file; or its contents, as bytes or as an open stream.
        format: the format, such as "bif"; by default that of the suffix, and of contents without a name the one that
            they begin like.
        kind: the class the model must have. Type checkers take it from here, and a Bayesian network without it.
        normalize: False keeps the rows as written.
        tolerance: the largest deviation of a row's sum from one; by default what its digits allow, at most 0.02.
        max_bytes: the largest size, after decompression, that is read.

    Guarantee: a complete model, or one error with its position.
    Tested by: io/test_files.py::test_whatever_a_reader_stumbles_over_is_one_error

    >>> import tempfile
    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> from sepset.variables.variable import Discrete
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(BayesNet(TableCPD(Discrete("coin", ("head", "tail")), [0.5, 0.5])), f"{folder}/coin.bif.gz")
    ...     read(f"{folder}/coin.bif.gz")["coin"]
    Discrete('coin', ('head', 'tail'))
    >>> read(b"MARKOV 1 2 1 1 0 2 1.0 3.0")
    MarkovNet(1 variable, 1 factor)
    """
    whole("max_bytes", max_bytes)
    data, name, codec = _contents(source, max_bytes, "" if format is None else f".{format.removeprefix('.')}")
    model = parsed(codec, data, name, normalize=normalize, tolerance=tolerance)
    if kind is not None and not isinstance(model, kind):
        raise FileFormatError(f"the file has a {type(model).__name__}; kind= asks for a {kind.__name__}", file=name)
    return model


def _contents(source: Source, max_bytes: int, suffix: str) -> tuple[bytes, str, Codec]:
    """The contents of a file, decompressed, its name, and the codec of a suffix or of the name's own; contents without
    a name get one by how they begin."""
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        if "\n" in name and not os.path.exists(name):
            start = name.strip()[:20]
            raise FileFormatError(
                f"a path is wanted; found the text of a file, {start!r}... Give it as bytes: read(text.encode())."
            )
        codec = _codec(name + suffix)
        return read_bytes(name, max_bytes=max_bytes), name, codec
    data = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else _streamed(source, max_bytes)
    own = getattr(source, "name", None)
    name = own if isinstance(own, str) else CONTENTS
    if len(data) > max_bytes:
        raise FileFormatError(f"there are more than {max_bytes:,} bytes. Pass max_bytes= to allow more.", file=name)
    if data[:2] == b"\x1f\x8b":
        data = decompressed(data, name, max_bytes)
    name = name if _suffix(name) in _FORMATS else name + recognized(data)
    return data, name, _codec(name + suffix)


def _streamed(source: Stream, max_bytes: int) -> bytes:
    """The rest of a stream, at most one byte more than allowed; a read of pipes may return less than is asked for."""
    if not isinstance(source, Stream):
        raise FileFormatError(f"a path, bytes or a stream is wanted; found {type(source).__name__}")
    parts: list[bytes] = []
    left = max_bytes + 1
    while left > 0 and (found := source.read(left)):
        try:
            parts.append(found.encode() if isinstance(found, str) else bytes(found))
        except UnicodeEncodeError as error:
            raise FileFormatError(f"the text contains {error.object[error.start]!r}, not a character") from error
        left -= len(parts[-1])
    return b"".join(parts)


def recognized(data: bytes) -> str:
    """The suffix of the format in which these contents are written; "" if none is recognized.

    >>> recognized(b"network asia {"), recognized(b" net {"), recognized(b'{"format": "sepset"}'), recognized(b"?")
    ('.bif', '.net', '.json', '')
    """
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"{"):
        return ".json"
    if start.startswith(b"<"):
        return ".xdsl" if b"<smile" in start else ".xmlbif"
    word = re.match(rb"(?:\s|//[^\n]*\n|/\*.*?\*/|%[^\n]*\n)*([A-Za-z]+)", start, re.DOTALL)
    return _FIRST_WORDS.get(word.group(1).lower(), "") if word else ""


def parsed(codec: Codec, data: bytes, name: str, *, normalize: bool, tolerance: float | None = None) -> Model:
    """The model in these bytes; any failure of the reader becomes one error about the file."""
    from sepset.io.record import Reading

    allowed = None if tolerance is None else number("tolerance", tolerance, least=0)
    try:
        return codec.parse(data, name, Reading(normalize, allowed))
    except FileFormatError:
        raise
    except SepsetError as error:
        raise FileFormatError(str(error), file=name, line=1, column=1) from error
    except MemoryError as error:
        raise FileFormatError("the file needs more memory than there is", file=name, line=1, column=1) from error


@translated
def write(model: Model, path: PathLike) -> None:
    """Write a model to a file in the format of its suffix; the file appears whole or not at all.

    Args:
        model: the model to write; a format that cannot express it raises before anything is written.
        path: the file to write; an existing one is replaced.

    Guarantee: all or nothing.
    Tested by: io/test_files.py::test_writing_is_atomic

    >>> import os, tempfile
    >>> import sepset as ss
    >>> folder = tempfile.mkdtemp()
    >>> ss.write(ss.datasets.load("asia"), os.path.join(folder, "asia.bif"))
    >>> len(ss.read(os.path.join(folder, "asia.bif")))
    8
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(
            f"write needs the path of a file, whose suffix is the format; found a {type(path).__name__}."
        )
    name = os.fspath(path)
    if isinstance(name, str) and "\0" in name:
        raise FileFormatError(f"no path has a zero character; found {name!r}")
    codec = _codec(name)
    try:
        data = codec.render(model)
    except UnicodeEncodeError as error:
        raise FileFormatError(
            f"a name contains {error.object[error.start]!r}, which is not a character", file=name
        ) from error
    write_bytes(name, data)


def _codec(name: str) -> Codec:
    suffix = _suffix(name)
    module = _FORMATS.get(suffix)
    if module is None:
        known = ", ".join(_FORMATS)
        hint = nearest(suffix, _FORMATS)
        if suffix in _OTHERS:
            hint = f" Files of {_OTHERS[suffix]} are not read. Open it there, or in GeNIe, and save it as one of these."
        if not suffix and name == CONTENTS:
            hint = " These contents begin like none of them; name the format, as in format='bif'."
        if suffix in _RESULTS:
            hint = " Evidence and results are read with read_evidence and read_result."
        raise FileFormatError(
            f"the suffix {suffix!r} is not a known format; known are {known}, each also with .gz.{hint}", file=name
        )
    return cast(Codec, importlib.import_module(f"sepset.io.{module}"))


def _suffix(name: str) -> str:
    return os.path.splitext(Path(name).name.lower().removesuffix(".gz"))[1]


def read_bytes(name: str, *, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a file, decompressed if its name ends in `.gz`; raises if there are more than `max_bytes`."""
    if "\0" in name:
        raise FileFormatError(f"no path has a zero character; found {name!r}")
    with open(name, "rb") as file:
        size = min(os.fstat(file.fileno()).st_size, max_bytes)
        data = file.read(size + 1)  # room for as many bytes as are asked for takes time
        if len(data) > size:  # a pipe, whose size is not known
            data += file.read(max_bytes + 1 - len(data))
    if len(data) > max_bytes:
        raise FileFormatError(f"the file is larger than {max_bytes:,} bytes. Pass max_bytes= to allow more.", file=name)
    return decompressed(data, name, max_bytes) if name.lower().endswith(".gz") else data


def decompressed(data: bytes, name: str, max_bytes: int) -> bytes:
    """All members of a gzip file; the limit is checked while they are decompressed."""
    parts: list[bytes] = []
    total, at = 0, 0
    while at < len(data):
        unzip = zlib.decompressobj(wbits=31)
        while not unzip.eof:
            piece = data[at : at + _PIECE]  # the rest after a member is copied, so it is kept short
            try:
                part = unzip.decompress(piece, _CHUNK)
            except zlib.error as error:
                raise FileFormatError(f"the gzip data are damaged: {error}", file=name) from None
            at += len(piece) - len(unzip.unconsumed_tail) - len(unzip.unused_data)
            parts.append(part)
            total += len(part)
            _refuse_bomb(total, len(data), name, max_bytes)
            if not part and not piece and not unzip.eof:
                raise FileFormatError("the gzip data end too early", file=name)
        while data[at : at + 1] == b"\0":
            at += 1
    if not parts:
        raise FileFormatError("the file is empty; expected gzip data", file=name)
    return b"".join(parts)


def _refuse_bomb(total: int, packed: int, name: str, max_bytes: int) -> None:
    if total > max_bytes:
        raise FileFormatError(
            f"the file decompresses to more than {max_bytes:,} bytes. Pass max_bytes= to allow more.", file=name
        )
    if total > _SMALL and total > _RATIO * packed:
        raise FileFormatError(f"the file decompresses to more than {_RATIO} times its size; no text does", file=name)


def write_bytes(name: str, data: bytes) -> None:
    """Write the bytes to a file, whole or not at all; compressed if the name ends in `.gz`."""
    import gzip

    packed = gzip.compress(data, mtime=0) if name.lower().endswith(".gz") else data
    write_whole(name, packed)
