"""Every name of a peer in the tables for those who come from it exists in the installed peer."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.crosscheck

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "migrating.md").read_text(encoding="utf-8")
STRINGS = re.compile(r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]')
PLACEHOLDERS = {"bn", "dag", "df", "model", "n", "x"}
"""The words that stand for a user's own things."""


def section(title: str) -> str:
    """The part of the page under a heading."""
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def peer_names(title: str) -> list[str]:
    """The identifiers in the left column of a table."""
    cells = [line.split(" | ")[0] for line in section(title).splitlines() if line.startswith("| `")]
    code = " ".join(STRINGS.sub("", code) for cell in cells for code in re.findall(r"`([^`]+)`", cell))
    return sorted(set(re.findall(r"[A-Za-z_]\w*", code)) - PLACEHOLDERS)


def known(*modules: str) -> set[str]:
    """The names in modules and in their classes, and the parameters of their functions and methods."""
    names: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in modules:
            names |= set(_names(importlib.import_module(module)))
    return names


def defined(module: str) -> set[str]:
    """The functions and classes in the source of a module, which may need packages that are not installed."""
    spec = importlib.util.find_spec(module)
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def _names(module: types.ModuleType) -> Iterator[str]:
    for name in dir(module):
        yield name
        value = getattr(module, name)
        yield from _parameters(value)
        if inspect.isclass(value):
            for member in dir(value):
                yield member
                yield from _parameters(getattr(value, member, None))


def _parameters(value: object) -> Iterator[str]:
    try:
        yield from inspect.signature(value).parameters  # type: ignore[arg-type]  # what is not callable raises
    except (TypeError, ValueError):
        text = getattr(value, "__doc__", None) or ""
        yield from re.findall(r"\b(\w+)=", text.split("\n\n")[0])


def test_names_are_read():
    assert {"VariableElimination", "map_query", "evidence", "virtual_evidence", "TreeSearch"} <= set(
        peer_names("pgmpy")
    )
    assert "no_such_name" not in known("json") >= {"dumps", "JSONDecoder", "raw_decode", "sort_keys"}


def test_pgmpy():
    pytest.importorskip("pgmpy")
    names = known(
        "pgmpy.models", "pgmpy.factors.discrete", "pgmpy.inference", "pgmpy.estimators", "pgmpy.readwrite", "pgmpy.base"
    )
    assert "TabularCPD" in peer_names("pgmpy")
    assert [name for name in peer_names("pgmpy") if name not in names] == []


def test_pyagrum():
    pytest.importorskip("pyagrum")
    names = known("pyagrum", "pyagrum.skbn") | defined("pyagrum.lib.notebook") | {"gum", "gnb", "skbn"}
    assert "LazyPropagation" in peer_names("pyAgrum")
    assert [name for name in peer_names("pyAgrum") if name not in names] == []
