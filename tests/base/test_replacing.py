from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from sepset.base.replacing import replacing, require_place, write_whole
from sepset.errors import ArgumentError, FileFormatError

posix = pytest.mark.skipif(os.name == "nt", reason="modes, pipes and signals of POSIX")


def names(folder):
    return sorted(os.listdir(folder))


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "a.txt"
    write_whole(file, b"old")

    def half(error):
        with replacing(file) as draft:
            (tmp_path / draft).write_text("half")
            raise error

    for error in (KeyboardInterrupt(), ValueError("no"), OSError("no number")):
        with pytest.raises(type(error)):
            half(error)
        assert (file.read_text(), names(tmp_path)) == ("old", ["a.txt"])


def test_an_error_of_the_system_names_the_file(tmp_path):
    with pytest.raises(OSError, match="No space left: nothing was written") as found, replacing(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, "No space left")
    assert found.value.filename == str(tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError, match="cannot write into the folder") as missing:
        write_whole(tmp_path / "absent" / "a.txt", b"")
    assert missing.value.filename == str(tmp_path / "absent" / "a.txt")
    with pytest.raises(IsADirectoryError, match="nothing was written"):
        write_whole(tmp_path, b"")
    assert names(tmp_path) == []


def test_a_place_is_refused_as_writing_would(tmp_path, monkeypatch):
    require_place(tmp_path / "a.txt")
    require_place(os.devnull)
    for place, kind in ((tmp_path, IsADirectoryError), (tmp_path / "absent" / "a.txt", FileNotFoundError)):
        with pytest.raises(kind) as found:
            require_place(place)
        with pytest.raises(kind):
            write_whole(place, b"")
        assert found.value.filename == str(place)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="cannot write into the folder"):
        require_place(tmp_path / "a.txt")


def test_what_is_no_path_is_refused(tmp_path):
    for path in (None, 3, b"a.txt"):
        with pytest.raises(ArgumentError, match="A file is written to a path"):
            write_whole(path, b"")
    with pytest.raises(FileFormatError, match="zero character"):
        write_whole(f"{tmp_path}/a\0b", b"")
    assert names(tmp_path) == []


def test_a_draft_may_be_removed_and_made_again(tmp_path):
    with replacing(tmp_path / "a.txt") as draft:
        os.unlink(draft)
        with open(draft, "w") as file:
            file.write("new")
    assert (tmp_path / "a.txt").read_text() == "new"


@posix
def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path):
    file, link = tmp_path / "real", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o600)
    link.symlink_to(file)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new", 0o600)


@posix
def test_a_pipe_stays_a_pipe(tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    with replacing(pipe) as draft, open(draft, "wb") as file:
        file.write(b"new")
    reader.join(10)
    assert found == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


KILLED = """
import os, signal, sys
from sepset.base.replacing import replacing
with replacing(sys.argv[1]) as draft:
    open(draft, "w").write("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path):
    file = tmp_path / "a.txt"
    write_whole(file, b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert file.read_text() == "old"
    assert len(names(tmp_path)) == 2
    (tmp_path / ".a.txt.elsewhere-1-00.tmp").write_text("of another machine")
    write_whole(file, b"new")
    assert (file.read_text(), names(tmp_path)) == ("new", [".a.txt.elsewhere-1-00.tmp", "a.txt"])
