"""Compiled kernels on disk: what is damaged is a miss, what cannot be saved is no obstacle, and one process compiles.

A file is its SHA-256 digest and then its content, so that machine code is loaded only as it was saved. A process that
misses a kernel locks it until it is compiled and saved; others wait for it, for a bounded time in all, and load it.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
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
    """The content behind its digest."""
    return hashlib.sha256(content).digest() + content


def unsealed(data: bytes) -> bytes | None:
    """The content, or None where it is not what was sealed.

    >>> unsealed(sealed(b"code")), unsealed(sealed(b"code")[:-1]), unsealed(b"")
    (b'code', None, None)
    """
    content = data[DIGEST:]
    return content if data[:DIGEST] == hashlib.sha256(content).digest() else None


class SealedFiles(caching.IndexDataCacheFile):  # type: ignore[misc]  # numba is untyped
    """Numba's index and data files, each behind its digest; an index that is damaged lists nothing."""

    def _load_index(self) -> dict[Any, str]:
        content = self._read(self._index_path)
        if content is None:
            return {}
        version, stamp, overloads = pickle.loads(content)
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, self._dump((self._version, self._source_stamp, overloads)))

    def _load_data(self, name: str) -> Any:
        content = self._read(self._data_path(name))
        return None if content is None else pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), self._dump(data))

    def _read(self, path: str) -> bytes | None:
        try:
            return unsealed(Path(path).read_bytes())
        except FileNotFoundError:
            return None

    def _write(self, path: str, content: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(sealed(content))


class Lock:
    """A lock between processes that the system gives back when its holder ends; where there is none, nobody waits.

    Attributes:
        path: a file that is made where it is missing, and never removed.
    """

    _patience = PATIENCE

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def acquire(self, wait: bool = True) -> bool:
        """Take the lock; False where another process keeps it, or where there is no file to lock."""
        if self._file is not None or sys.platform == "win32":  # where nobody waits for anybody
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
