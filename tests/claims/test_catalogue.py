"""The catalogue is complete and true: each row's module, name and test exist, and no public algorithm is missing."""

from __future__ import annotations

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import sepset
from sepset.inference.method import Method

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "docs" / "catalogue.md"
COLUMNS = ["algorithm", "source", "public name", "guarantee", "module", "test"]


class Row(NamedTuple):
    algorithm: str
    source: str
    name: str
    guarantee: str
    module: str
    test: str


def cells(line: str) -> list[str]:
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def rows() -> list[Row]:
    lines = [line for line in CATALOGUE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [Row(*cells(line)) for line in lines if not line.startswith("|---") and cells(line) != COLUMNS]


ROWS = rows()


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


def test_there_are_rows():
    assert len(ROWS) > 100
    assert len({(row.algorithm, row.name) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}, {row.algorithm}")
def test_the_name_exists_and_is_documented(row):
    value = importlib.import_module(f"sepset.{row.module}")
    for part in row.name.split("."):
        value = getattr(value, part)
    assert inspect.getdoc(value)
    assert row.guarantee


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}, {row.algorithm}")
def test_the_test_exists(row):
    file, _, name = row.test.partition("::")
    path = ROOT / "tests" / file
    assert path.is_file(), row.test
    assert name.startswith("test_") or "::test_" in name
    assert name in defined_in(path), row.test


def test_public_names_are_where_the_catalogue_says():
    for row in ROWS:
        root = row.name.partition(".")[0]
        if root in sepset.__all__ and not inspect.ismodule(getattr(sepset, root)):
            assert getattr(importlib.import_module(f"sepset.{row.module}"), root) is getattr(sepset, root), row


def test_no_public_function_or_method_is_missing():
    listed = {row.name for row in ROWS}
    values = {name: getattr(sepset, name) for name in sepset.__all__}
    functions = {name for name, value in values.items() if inspect.isfunction(value)}
    methods = {
        name for name, value in values.items() if inspect.isclass(value) and value is not Method and has_promises(value)
    }
    assert sorted((functions | methods) - listed) == []


def has_promises(kind: type) -> bool:
    """Whether a class is a method: it prepares problems and says what it promises."""
    return hasattr(kind, "prepare") and hasattr(kind, "promises")
