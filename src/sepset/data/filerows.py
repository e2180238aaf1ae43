"""The rows of a file, read once and asked several times: first what its columns are, then for their cells."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sepset.data.columns import Column, Levels
from sepset.data.filecolumns import matched, typed
from sepset.data.frames import open_frame
from sepset.data.scan import Scan, scanned
from sepset.errors import DataError
from sepset.variables.universe import Universe

LARGEST = 1 << 30
"""The largest file, in bytes, that is read as a whole; rows of a larger one stay where they are."""

LARGEST_PACKED = 1 << 27
"""The same for a compressed one."""

MOST = 1 << 16
"""The most distinct texts that are states."""


@dataclass(frozen=True, slots=True, eq=False)
class FileRows(Mapping[str, Column]):
    """The columns of a file by name, as what they look like; `matched` gives them as what variables say they are.

    Attributes:
        path: the file.
        columns: the cells; those of a text file as text.
        is_text: whether they are text.
    """

    path: Path
    columns: Mapping[str, Column] = field(repr=False)
    is_text: bool

    def __getitem__(self, name: str) -> Column:
        column = self.columns[name]
        found = typed(column) if self.is_text and isinstance(column, Levels) else column
        if isinstance(found, Levels) and len(found.values) > MOST:
            raise DataError(
                f"Column {name!r} has more than {MOST:,} distinct values, too many for states. Say what it is: "
                f"variables=[Real({name!r})]."
            )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def matched(self, scope: Universe | None) -> Mapping[str, Column]:
        """The columns of these variables, text as their states or numbers; without variables, as they look."""
        if scope is None or not self.is_text:
            return self
        wanted = {v.name: v for v in scope}
        texts = {n: c for n, c in self.columns.items() if n in wanted and isinstance(c, Levels)}
        found: dict[str, Column] = {n: matched(c, wanted[n]) for n, c in texts.items()}
        return found or self.columns


def is_large(path: str | os.PathLike[str]) -> bool:
    """Whether a file is too large to be read as a whole."""
    file = Path(path)
    return file.is_file() and file.stat().st_size > (LARGEST_PACKED if file.suffix.lower() == ".gz" else LARGEST)


def file_rows(path: str | os.PathLike[str], names: Iterable[str]) -> FileRows | None:
    """The columns of these names, in one scan; None where one is not there, or the file is too large to be read whole.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "coins.csv"
    >>> _ = file.write_text("coin,tries\\nhead,3\\n")
    >>> file_rows(file, ["tries"])["tries"].values
    (3,)
    """
    file = Path(path)
    if is_large(file):
        return None
    with scanned(file) as scan:
        wanted = list(dict.fromkeys(names))
        if not wanted or not all(name in scan.columns for name in wanted):
            return None
        return FileRows(file, _columns(scan, wanted), scan.is_text)


def _columns(scan: Scan, names: list[str]) -> dict[str, Column]:
    quoted = (f'"{scan.columns[name].replace(chr(34), chr(34) * 2)}"' for name in names)
    frame = open_frame(scan.relation.select(", ".join(quoted)))
    return {name: frame.read(scan.columns[name]) for name in names}
