"""The pages of the documentation are right: their examples, docstrings and the programs in `examples/` run."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys

import pytest

from support.documents import PAGES, ROOT, check_examples, name_of

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SOURCE = ROOT / "src" / "sepset"
MODULES = sorted(
    ".".join(("sepset", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


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


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for docstring in doctest.DocTestFinder().find(importlib.import_module(name)):
        if docstring.examples:  # each run looks for all files that were ever shown
            runner.run(docstring)
    assert not runner.failures, f"{runner.failures} examples of {name} fail"
