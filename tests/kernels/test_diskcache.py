"""Files behind their digests, and locks between processes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from sepset.kernels import diskcache
from sepset.kernels.diskcache import Lock, SealedFiles, is_whole, sealed

unix = pytest.mark.skipif(sys.platform == "win32", reason="files are not locked here")


@given(st.binary(max_size=200), st.data())
def test_only_what_was_sealed_is_whole(content, data):
    whole = sealed(content)
    assert whole.startswith(content)
    assert is_whole(whole)
    at = data.draw(st.integers(0, len(whole) - 1))
    assert not is_whole(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :])
    assert not is_whole(whole[:at])


def test_files_hold_what_was_saved_until_the_sources_change(tmp_path):
    files = SealedFiles(str(tmp_path), "loops", "stamp")
    assert files.load("key") is None
    files.save("key", (1, "code"))
    files.save("other", 2)
    assert (files.load("key"), files.load("other"), files.load("third")) == ((1, "code"), 2, None)
    assert SealedFiles(str(tmp_path), "loops", "changed").load("key") is None
    (tmp_path / "loops.nbi").write_bytes(b"damaged")
    assert files.load("key") is None


def held(path) -> str:
    """What another process says of a lock."""
    script = f"""
from pathlib import Path
from sepset.kernels.diskcache import Lock
print(Lock(Path({str(path)!r})).acquire(wait=False))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.strip()


@unix
def test_one_process_holds_a_lock(tmp_path):
    lock = Lock(tmp_path / "locks" / "one")
    assert lock.acquire()
    assert lock.acquire()  # which it has already
    assert held(lock.path) == "False"
    lock.release()
    lock.release()
    assert held(lock.path) == "True"


@unix
def test_waiting_has_an_end_for_all_locks_together(tmp_path, monkeypatch):
    monkeypatch.setattr(Lock, "_patience", 0.05)
    monkeypatch.setattr(diskcache, "PAUSE", 0.01)
    first = Lock(tmp_path / "one")
    assert first.acquire()
    assert not Lock(tmp_path / "one").acquire()
    assert Lock._patience <= 0
    assert not Lock(tmp_path / "one").acquire()
    first.release()


@unix
def test_where_no_file_can_be_made_there_is_no_lock(tmp_path):
    (tmp_path / "file").write_text("")
    assert not Lock(tmp_path / "file" / "lock").acquire()
