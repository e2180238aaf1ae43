"""The pages of the documentation are right: their examples run, and so do the programs in `examples/`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.documents import PAGES, ROOT, check_examples, name_of

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_examples(path, tmp_path)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_programs_run(path, tmp_path):
    """Each in a process of its own, briefly if it offers that."""
    brief = ["--quick"] if "--quick" in path.read_text(encoding="utf-8") else []
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), *brief],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
