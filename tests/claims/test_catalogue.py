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
from tools.docstrings import Entry, entries

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def listed() -> list[Entry]:
    return entries(ROOT / "src" / "sepset")


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


def test_there_are_entries(listed):
    assert len(listed) > 100
    assert len({(entry.module, entry.name) for entry in listed}) == len(listed)


def test_every_entry_has_a_guarantee_and_tests_that_exist(listed):
    assert [f"{entry.module}.{entry.name}" for entry in listed if not entry.guarantee] == []
    assert [test for entry in listed for test in entry.tests if not is_test(test)] == []


def is_test(test: str) -> bool:
    file, _, name = test.partition("::")
    path = ROOT / "tests" / file
    is_named = name.startswith("test_") or "::test_" in name
    return is_named and path.is_file() and name in defined_in(path)


def public() -> dict[str, str]:
    """The module of every public name, flat or not."""
    found = surface.homes(surface.VERBS)
    for table in surface.NAMESPACES.values():
        found |= surface.homes(table)
    return found


def test_no_public_function_or_method_is_missing(listed):
    known = {(entry.module, entry.name) for entry in listed}
    missing = []
    for name, module in public().items():
        value = getattr(importlib.import_module(f"sepset.{module}"), name)
        is_method = inspect.isclass(value) and value is not Method and has_promises(value)
        if inspect.isfunction(value) or is_method:
            missing += [] if (module, name) in known else [name]
    assert sorted(missing) == []


def has_promises(kind: type) -> bool:
    """Whether a class is a method: it prepares problems and says what it promises."""
    return hasattr(kind, "prepare") and hasattr(kind, "promises")
