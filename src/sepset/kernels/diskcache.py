"""Compiled kernels on disk: damage is a miss, a failed save is not an error, and one process compiles.

A file ends with the SHA-256 digest of the rest, so that Numba loads machine code only as it was saved. A process that
misses a kernel locks it until it is compiled and saved; others wait for it, for a bounded time in all, and load it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from numba.core import caching

if sys.platform != "win32":
    import fcntl

DIGEST = hashlib.sha256().digest_size
PATIENCE = 120.0  # seconds that a process waits for others, all kernels together
PAUSE = 0.02


def sealed(content: bytes) -> bytes:
    """The content, followed by its digest."""
    return content + hashlib.sha256(content).digest()


def is_whole(data: bytes) -> bool:
    """Whether the data is what was sealed.

    >>> is_whole(sealed(b"code")), is_whole(sealed(b"code")[1:]), is_whole(b"")
    (True, False, False)
    """
    return data[-DIGEST:] == hashlib.sha256(data[:-DIGEST]).digest()


class SealedFiles(caching.IndexDataCacheFile):  # type: ignore[misc]  # numba is untyped
    """Numba's index and data files, each followed by its digest; what is damaged is not there."""

    def _load_index(self) -> Any:
        return super()._load_index() if self._is_kept(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        return super()._load_data(name) if self._is_kept(self._data_path(name)) else None

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[IO[bytes]]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(sealed(content.getvalue()))

    @staticmethod
    def _is_kept(path: str) -> bool:
        try:
            return is_whole(Path(path).read_bytes())
        except FileNotFoundError:
            return False


class Lock:
    """A lock between processes that the system releases when its holder ends; without one, processes do not wait.

    Attributes:
        path: a file that is made where it is missing, and never removed.
    """

    _patience = PATIENCE

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def acquire(self, wait: bool = True) -> bool:
        """Take the lock; False where another process keeps it, or where there is no file to lock."""
        if self._file is not None or sys.platform == "win32":  # without locks between processes
            return True
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab")
            if self._taken() or (wait and any(self._taken() for _ in self._pauses())):
                return True
        self.release()
        return False

    def release(self) -> None:
        """Give the lock back, where it is held."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _taken(self) -> bool:
        """Whether the lock could be taken now; an OSError where files cannot be locked."""
        assert self._file is not None
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    @staticmethod
    def _pauses() -> Iterator[None]:
        """A pause before each further attempt, until this process has waited long enough in all."""
        while Lock._patience > 0:
            time.sleep(PAUSE)
            Lock._patience -= PAUSE
            yield
