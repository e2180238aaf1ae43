"""Parts of a file that threads read and count are the whole file."""

from __future__ import annotations

import numpy as np

from sepset.base import filebytes
from sepset.base.filebytes import count_byte, read_bytes


def test_a_file_is_read_by_parts_as_far_as_it_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(filebytes, "BLOCK", 7)
    path, text = tmp_path / "rows.csv", b"a,b\n" + 30 * b"1,22\n"
    path.write_bytes(text)
    for size in (len(text), len(text) + 3, 3 * len(text)):
        assert read_bytes(path, size).tobytes() == text
    assert read_bytes(path, 11).tobytes() == text[:11]
    assert count_byte(np.frombuffer(text, np.uint8), ord("2")) == 60
