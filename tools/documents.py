"""The generated parts of the documents: the catalogue of algorithms, and the list of rooms and modules."""

from __future__ import annotations

import ast
from pathlib import Path

from tools.docstrings import Entry, entries, summary

START, END = "<!-- generated:start -->", "<!-- generated:end -->"

SECTIONS = {
    "Questions": ("api", "engine"),
    "Inference": ("inference", "problem", "kernels"),
    "Factors and semirings": ("factors", "semiring", "variables"),
    "Graphs": ("graphs",),
    "Conditional distributions and their priors": ("cpds",),
    "Models": ("models",),
    "Data and files": ("data", "io", "datasets"),
    "Learning": ("learning.estimation", "learning.incomplete", "learning.optimize", "learning.undirected"),
    "Classifiers": ("learning.classify",),
    "Structure": ("learning.structure",),
    "Recommendation": ("learning.recommendation",),
    "Missing data": ("learning.missing",),
    "Evaluation": ("learning.evaluation",),
    "Whole library": ("learning", ""),
}
"""The parts of the catalogue, and the packages whose entries each holds; the first that fits counts."""

COLUMNS = "| name | what it is | source | guarantee | module | tests |\n|---|---|---|---|---|---|\n"


def section_of(module: str) -> str:
    """The part of the catalogue that a module belongs to."""
    return next(
        title
        for title, packages in SECTIONS.items()
        if any(not p or module == p or module.startswith(f"{p}.") for p in packages)
    )


def row(entry: Entry) -> str:
    """One line of the catalogue."""
    tests = ", ".join(f"`{test}`" for test in entry.tests)
    cells = (f"`{entry.name}`", entry.summary, entry.reference, entry.guarantee, f"`{entry.module}`", tests)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def catalogue(source: Path) -> str:
    """The tables of the catalogue."""
    parts: dict[str, str] = dict.fromkeys(SECTIONS, "")
    for entry in entries(source):
        parts[section_of(entry.module)] += row(entry)
    return "\n".join(f"## {title}\n\n{COLUMNS}{rows}" for title, rows in parts.items() if rows)


def room(folder: Path, source: Path) -> str:
    """One line of the list of rooms."""
    text = summary(ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or "")
    modules = ", ".join(f"`{path.stem}`" for path in sorted(folder.glob("*.py")) if not path.stem.startswith("__"))
    return f"| `{folder.relative_to(source).as_posix()}/` | {text} | {modules} |\n"


def module_line(path: Path) -> str:
    """One line for a module of the package itself."""
    return f"| `{path.stem}` | {summary(ast.get_docstring(ast.parse(path.read_text(encoding='utf-8'))) or '')} | |\n"


def rooms(source: Path) -> str:
    """The folders and their modules, then the modules of the package itself."""
    folders = sorted(path.parent for path in source.rglob("__init__.py") if path.parent != source)
    modules = sorted(source.glob("*.py"))
    lines = [*(room(folder, source) for folder in folders), *map(module_line, modules)]
    return "| room | contents | modules |\n|---|---|---|\n" + "".join(lines)


def filled(document: str, part: str) -> str:
    """The document with its generated part replaced."""
    before, rest = document.split(START)
    return f"{before}{START}\n\n{part}\n{END}{rest.split(END)[1]}"
