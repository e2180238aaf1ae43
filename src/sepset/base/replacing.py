"""Files that appear whole or not at all: they are written next to their place under another name, then moved to it."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator

from sepset.base.text import brief
from sepset.errors import ArgumentError, FileFormatError


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write the content to a file, whole or not at all.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> write_whole(file, b"new")
    >>> file.read_bytes()
    b'new'
    """
    with replacing(path) as draft, open(draft, "wb") as file:
        file.write(content)


def require_place(path: str | os.PathLike[str]) -> None:
    """Raise the error with which a file could not be written, before any work is done for it.

    >>> import tempfile
    >>> require_place(os.path.join(tempfile.mkdtemp(), "a.txt"))
    """
    name, target = _named(path)
    folder, mode = os.path.dirname(target), _mode(target)
    if mode is not None and stat.S_ISDIR(mode):
        raise _refused(errno.EISDIR, "name a file in it", name)
    if mode is not None and not stat.S_ISREG(mode):
        return  # a pipe or a device
    if not os.path.isdir(folder):
        raise _refused(errno.ENOENT, f"there is no directory {folder!r}", name)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refused(errno.EACCES, f"cannot write into the folder {folder!r}", name)


def _named(path: str | os.PathLike[str]) -> tuple[str, str]:
    """The path of a file as it was given, and where links lead to."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(name, str):
        raise ArgumentError(f"A file is written to a path; found {brief(path)}.")
    if "\0" in name:
        raise FileFormatError(f"no path has a zero character; found {name!r}")
    return name, os.path.realpath(name)


def _refused(number: int, why: str, name: str) -> OSError:
    """The error of the system with this number, and of the class that Python has for it, about a file."""
    return OSError(number, f"{os.strerror(number)}: {why}", name)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """A path to write to, which takes the place of `path` on success; otherwise nothing has changed.

    Links are followed, and a file that is replaced keeps its mode. To a pipe or a device the content is copied. What
    processes that were killed left behind is removed.

    What the system refuses (no folder, no permission, a full disk) is its own `OSError`, with the name of the file.
    """
    name, target = _named(path)
    mode = _mode(target)
    if mode is not None and stat.S_ISDIR(mode):
        raise _refused(errno.EISDIR, "nothing was written", name)
    is_plain = mode is None or stat.S_ISREG(mode)
    draft = _draft(target if is_plain else os.path.join(tempfile.gettempdir(), os.path.basename(target)), name)
    try:
        yield draft
        if is_plain:
            _put(draft, target, mode)
        else:
            with open(draft, "rb") as content, open(target, "wb") as special:
                shutil.copyfileobj(content, special)
    except OSError as error:
        if error.errno is None:
            raise
        # A full disk does not say which file it was.
        raise type(error)(error.errno, f"{error.strerror}: nothing was written", name) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)


def _mode(target: str) -> int | None:
    """The kind and permissions of a file; None if there is none."""
    try:
        return os.stat(target).st_mode
    except OSError:
        return None


def _draft(target: str, name: str) -> str:
    """A new empty file next to the target."""
    folder, base = os.path.split(target)
    start = f".{base[:100]}.{_machine()}-"
    _clear(folder, start)
    draft = os.path.join(folder, f"{start}{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError as error:
        raise type(error)(error.errno, f"{error.strerror}: cannot write into the folder {folder!r}", name) from None
    return draft


def _put(draft: str, target: str, mode: int | None) -> None:
    """Move a draft, once it is on the disk, to its place; it gets the mode of what was there."""
    with open(draft, "rb+") as file:
        os.fsync(file.fileno())
    if mode is not None:
        os.chmod(draft, stat.S_IMODE(mode))
    os.replace(draft, target)


def _machine() -> str:
    """The name of this machine, as it is in the names of drafts: processes are known by number on it alone."""
    import socket

    return "".join(c for c in socket.gethostname() if c.isalnum())[:40]


def _clear(folder: str, start: str) -> None:
    """Remove drafts of this name whose process, on this machine, was killed."""
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):
            number = entry.removeprefix(start).partition("-")[0]
            if entry.startswith(start) and entry.endswith(".tmp") and number.isdigit() and not _runs(int(number)):
                os.unlink(os.path.join(folder, entry))


def _runs(process: int) -> bool:
    """Whether a process is alive; where that cannot be asked without harm, it is taken to be."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
