"""Shared parts of the commands: models by file or name, output as tables or JSON, errors."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepset.base.replacing import require_place
from sepset.base.text import nearest
from sepset.errors import FileFormatError, ScopeError, SepsetError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sepset.data.dataset import Dataset
    from sepset.models.model import Model

IN_WORDS = {
    r"(say |give all its states: )?variables=\[Discrete\([^]]*\)\]": "say --states NAME=STATE,STATE",
    r"use read_dataset\(path, delimiter=[^)]*\)": "write the file with commas",
    r"\buse EM\b": "use --method em",
    r"\bUse EM\b": "Use --method em",
}
"""Advice in Python terms, as regular expressions, and its replacement on the command line."""


def load(file: str) -> Model:
    """The model in a file, or the built-in network with that name; `-` is a file on standard input."""
    if file == "-":
        from sepset.io.files import read

        return read(sys.stdin.buffer.read())
    path = Path(file)
    if not path.exists():
        from sepset import datasets

        if file in datasets.names():
            return datasets.load(file)
        raise ScopeError(
            f"There is no file {file!r} and no built-in network with that name.{nearest(file, datasets.names())}"
        )
    from sepset.io.files import read

    return read(path)


def show(payload: dict[str, Any], as_json: bool, render: Callable[[], RenderableType]) -> None:
    """Print the answer as JSON, or as text and tables."""
    if as_json:
        print(json.dumps(payload, ensure_ascii=False, default=plain))
        return
    from rich.console import Console

    console = Console(markup=False)
    console.on_broken_pipe = _unread  # type: ignore[method-assign]  # Rich ends with a code of its own
    console.print(render())


def _unread() -> None:
    raise BrokenPipeError("The reader of the output has gone.")


def plain(value: Any) -> Any:
    """The value as JSON can express it: arrays as lists, anything else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells."""

UNREAD = 141
"""The exit code if the reader of a pipe has gone, as in shells."""


def require_model_file(path: Path) -> None:
    """Raise, before any work is done, if a model could not be written to the file."""
    from sepset.io.files import suffixes

    require_place(path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in suffixes():
        known = f"known are {', '.join(suffixes())}, each also with .gz.{nearest(suffix, suffixes())}"
        raise FileFormatError(f"the suffix {suffix!r} is not a known format; {known}", file=str(path))


def require_picture(path: Path) -> None:
    """Raise, before any work is done, if a picture could not be written to the file."""
    from sepset.graphs.pictures.picture import require_format

    require_format(path)


def require_rows_file(path: Path) -> None:
    """Raise, before any work is done, if rows could not be written to the file."""
    from sepset.data.scan import file_format

    if str(path) != "-":
        require_place(path)
        file_format(path)


ROWS_OUT = "A .csv, .tsv, .parquet or .feather file, or - for CSV on standard output; by default a table."
"""The help of the option that says where rows go."""


def rows_file(text: str) -> Path:
    """The file with this name; for `-`, what standard input holds, in a file that is removed at the end."""
    if text != "-":
        return Path(text)
    import atexit
    import tempfile

    content = sys.stdin.buffer.read()
    suffix = next((kind for start, kind in STARTS.items() if content.startswith(start)), ".csv")
    with tempfile.NamedTemporaryFile(suffix=suffix, delete=False) as file:
        file.write(content)
    atexit.register(os.unlink, file.name)
    return Path(file.name)


STARTS = {b"PAR1": ".parquet", b"ARROW1": ".feather", b"\x1f\x8b": ".csv.gz"}
"""The suffix of rows by their first bytes; others are CSV."""


def write_rows(rows: Dataset, out: Path) -> None:
    """Write rows to a file, or as CSV to standard output for `-`."""
    import tempfile

    from sepset.data.files import write_dataset

    if str(out) != "-":
        write_dataset(rows, out)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        write_dataset(rows, file)
        with file.open(encoding="utf-8", newline="") as text:
            shutil.copyfileobj(text, sys.stdout)  # in pieces, so that it ends when the reader does


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End with one line on standard error: exit code 2 for invalid input, 130 after Ctrl-C; silent without a reader."""
    try:
        with _all_written():
            yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not written at the end
        raise SystemExit(UNREAD) from None
    except KeyboardInterrupt:
        print("sepset: interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except (SepsetError, OSError, MemoryError) as error:
        print(f"sepset: {_one_line(error)}", file=sys.stderr)
        raise SystemExit(2) from None


@contextmanager
def _all_written() -> Iterator[None]:
    """Write what is left at the end; a reader who has gone is an error, also where the application hides it."""
    try:
        yield
    except SystemExit as ended:
        if ended.code == 1 and type(sys.stdout).__name__ == HIDES_ERRORS:
            raise BrokenPipeError from None
        sys.stdout.flush()
        raise
    sys.stdout.flush()


HIDES_ERRORS = "PacifyFlushWrapper"
"""The class with which the parser of the command line replaces a standard output without a reader."""


def _one_line(error: Exception) -> str:
    """The error message, with advice in terms of the command line."""
    if isinstance(error, MemoryError) and not isinstance(error, SepsetError):
        return f"this needs more memory than is available. {error}".strip()
    is_about_file = isinstance(error, OSError) and isinstance(error.filename, str)
    words = f"{error.filename}: {error.strerror}" if is_about_file else str(error)  # type: ignore[attr-defined]
    text = " ".join(words.split())
    for python, words in IN_WORDS.items():
        text = re.sub(python, words, text)
    return text
