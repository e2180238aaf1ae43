"""The files that follow from the source are up to date."""

from __future__ import annotations

import pytest

from tools import generate


@pytest.mark.parametrize("part", generate.PARTS, ids=lambda part: part.__name__)
def test_nothing_generated_is_stale(part):
    stale = [path for path, text in part().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run `make generate`"


def test_no_stub_is_left_over():
    assert set(generate.SOURCE.rglob("*.pyi")) == set(generate.stubs())
