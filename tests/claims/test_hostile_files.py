"""Reading a file takes time in proportion to its size, whatever is in it."""

from __future__ import annotations

import contextlib
import gzip
import time

import pytest

import sepset as ss
from support.bounded import within


def seconds_to_read(path) -> float:
    """Processor time to read a file, or to refuse it."""
    before = time.process_time()
    with contextlib.suppress(ss.errors.FileFormatError):
        ss.read(path)
    return time.process_time() - before


def test_many_empty_members_of_a_compressed_file(tmp_path):
    """Twenty bytes a member: two hundred thousand are four megabytes, and nothing in them."""
    (tmp_path / "empty.uai.gz").write_bytes(gzip.compress(b"", mtime=0) * 200_000)
    with pytest.raises(ss.errors.FileFormatError):
        within(3, lambda: ss.read(tmp_path / "empty.uai.gz"))


def test_a_network_in_many_members_of_a_compressed_file(tmp_path):
    text = b"BAYES 1 2 1 1 0 2 0.25 0.75"
    (tmp_path / "one.uai.gz").write_bytes(b"".join(gzip.compress(text[i : i + 1]) for i in range(len(text))))
    assert ss.query(ss.read(tmp_path / "one.uai.gz"), "x0")[0] == 0.25


def many_states(count: int, last: str) -> str:
    names = ", ".join([*(f"s{i}" for i in range(count)), last])
    return f"network n {{ }} variable x {{ type discrete [ {count + 1} ] {{ {names} }}; }}"


def test_a_repeated_state_at_the_end_of_a_long_list(tmp_path):
    (tmp_path / "fine.bif").write_text(many_states(40_000, "another"))
    (tmp_path / "repeated.bif").write_text(many_states(40_000, "s39999"))
    plain = seconds_to_read(tmp_path / "fine.bif")
    with pytest.raises(ss.errors.FileFormatError, match="s39999"):
        within(1 + 4 * plain, lambda: ss.read(tmp_path / "repeated.bif"))
