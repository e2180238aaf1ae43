"""What the docstrings of the source say: first lines, and the `Reference:`, `Guarantee:` and `Tested by:` lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DEFINES = (ast.FunctionDef, ast.ClassDef)
KEY = re.compile(r"^(?P<key>Reference|Guarantee|Tested by|Cost): *(?P<text>.*)$")


class Entry(NamedTuple):
    """A function, class or method with a test that would fail if it were wrong."""

    module: str
    name: str
    summary: str
    reference: str
    guarantee: str
    tests: tuple[str, ...]


def notes(docstring: str) -> dict[str, str]:
    """The text of each key; it goes on over indented lines.

    >>> notes("A sum.\\n\\nReference: K&F 2,\\n    and more.\\nGuarantee: exact.")
    {'Reference': 'K&F 2, and more', 'Guarantee': 'exact'}
    """
    found: dict[str, list[str]] = {}
    open_: list[str] | None = None
    for line in docstring.splitlines():
        match = KEY.match(line)
        if match:
            open_ = found.setdefault(match["key"], [])
            open_.append(match["text"])
        elif open_ is not None and line.startswith("    "):
            open_.append(line.strip())
        else:
            open_ = None
    return {key: " ".join(parts).strip().rstrip(".") for key, parts in found.items()}


def summary(docstring: str) -> str:
    """The first paragraph on one line, without its full stop."""
    return " ".join(docstring.split("\n\n")[0].split()).rstrip(".")


def defined(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The dotted name and docstring of every function, class and method, in the order of the file."""
    for node in getattr(tree, "body", ()):
        if isinstance(node, DEFINES):
            text = ast.get_docstring(node)
            if text:
                yield prefix + node.name, text
            yield from defined(node, f"{prefix}{node.name}.") if isinstance(node, ast.ClassDef) else ()
        elif isinstance(node, ast.If):
            yield from defined(node, prefix)
            yield from defined(ast.Module(node.orelse, []), prefix)


def entries(source: Path) -> list[Entry]:
    """Every definition that names its tests, by module and place."""
    found = []
    for path in sorted(source.rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        written = path.read_text(encoding="utf-8")
        for name, text in defined(ast.parse(written)) if "Tested by" in written else ():
            said = notes(text)
            if "Tested by" in said:
                tests = tuple(test.strip() for test in said["Tested by"].split(","))
                found.append(
                    Entry(module, name, summary(text), said.get("Reference", ""), said.get("Guarantee", ""), tests)
                )
    return found
