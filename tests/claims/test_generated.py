"""The files that follow from the source are up to date."""

from __future__ import annotations

import pytest

from tools import generate

FILES = generate.files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(generate.ROOT)))
def test_nothing_generated_is_stale(path):
    assert path.read_text(encoding="utf-8") == FILES[path], "run `make generate`"


def test_no_stub_is_left_over():
    assert set(generate.SOURCE.rglob("*.pyi")) == set(generate.stubs())
