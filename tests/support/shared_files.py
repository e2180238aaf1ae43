"""Where shared networks lie: in `SEPSET_SHARED`, or in `shared` beside the repository; tests skip without them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("SEPSET_SHARED", ROOT.parent / "shared"))


def shared(pattern: str) -> list[Path]:
    """The shared files of a pattern, sorted; none where there is no such folder."""
    return sorted(SHARED.glob(pattern)) if SHARED.is_dir() else []


def one_shared(name: str) -> Path:
    """A shared file, or skip the test."""
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"no shared file {name}")
    return path


def each_shared(pattern: str) -> pytest.MarkDecorator:
    """Run a test for each shared file of a pattern, or skip it where there is none."""
    found = shared(pattern)
    if not found:
        return pytest.mark.parametrize("path", [pytest.param(None, marks=pytest.mark.skip(reason="no shared files"))])
    return pytest.mark.parametrize("path", found, ids=[path.name for path in found])
