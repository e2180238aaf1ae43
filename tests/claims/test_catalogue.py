"""The catalogue is complete and true: entries have a guarantee and tests that exist; no algorithm is missing."""

from __future__ import annotations

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path

import pytest

from sepset import surface
from sepset.inference.method import Method
from tools.docstrings import entries

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = entries(ROOT / "src" / "sepset")


@cache
def defined_in(path: Path) -> frozenset[str]:
    """The names of a file's tests; methods as `Class::method`."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
    return frozenset(found)


def test_there_are_entries():
    assert len(ENTRIES) > 100
    assert len({(entry.module, entry.name) for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.module}.{entry.name}")
def test_an_entry_has_a_guarantee_and_tests_that_exist(entry):
    assert entry.guarantee
    for test in entry.tests:
        file, _, name = test.partition("::")
        path = ROOT / "tests" / file
        assert path.is_file(), test
        assert name.startswith("test_") or "::test_" in name
        assert name in defined_in(path), test


def public() -> dict[str, str]:
    """The module of every public name, flat or not."""
    found = surface.homes(surface.VERBS)
    for table in surface.NAMESPACES.values():
        found |= surface.homes(table)
    return found


def test_no_public_function_or_method_is_missing():
    listed = {(entry.module, entry.name) for entry in ENTRIES}
    missing = []
    for name, module in public().items():
        value = getattr(importlib.import_module(f"sepset.{module}"), name)
        is_method = inspect.isclass(value) and value is not Method and has_promises(value)
        if inspect.isfunction(value) or is_method:
            missing += [] if (module, name) in listed else [name]
    assert sorted(missing) == []


def has_promises(kind: type) -> bool:
    """Whether a class is a method: it prepares problems and says what it promises."""
    return hasattr(kind, "prepare") and hasattr(kind, "promises")
