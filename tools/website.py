"""Hooks of MkDocs: pages that are not in `docs/`, the pages of the reference, notebooks, and mathematics as MathML.

The reference has a page for each namespace of `sepset.surface`, so that every public name is in it once.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]

import notebooks  # noqa: E402

from sepset.surface import MODULES, NAMESPACES, VERBS  # noqa: E402

OUTSIDE = {
    "README.md": "introduction.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "NOTICE": "notice.md",
}
"""The files next to `docs/`, and the pages made of them."""

NOTEBOOKS = ("tutorial/", "how-to/", "theory/", "gallery.md")
"""The pages whose blocks run when the site is built."""

VERB_PAGE = "reference/index.md"
NAMES = "|".join(map(re.escape, OUTSIDE))
DRAWING = re.compile(r'<img alt="[^"]*" src="[^"]*?([\w-]+\.svg)"[^>]*>')
MATH = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_config(config: Any) -> Any:
    """The settings with the pages of the reference in the navigation."""
    spaces = sorted((*NAMESPACES, *MODULES))
    pages = [{"Functions": VERB_PAGE}, *({name: f"reference/{name}.md"} for name in spaces)]
    config.nav = [{"Reference": pages} if "Reference" in entry else entry for entry in config.nav]
    return config


def on_files(files: Files, config: Any) -> Files:
    """The files of `docs/`, and those made here."""
    for path, text in (*outside(), *reference(), *for_jupyter()):
        files.append(File.generated(config, path, content=text))
    return files


def for_jupyter() -> Iterator[tuple[str, str]]:
    """The pages of the tutorial as notebooks."""
    for path in sorted((ROOT / "docs" / "tutorial").glob("[0-9]*.md")):
        notebook = notebooks.as_notebook(path.read_text(encoding="utf-8"))
        yield f"tutorial/{path.stem}.ipynb", json.dumps(notebook, indent=1)


def outside() -> Iterator[tuple[str, str]]:
    """The pages made of files next to `docs/`, with their links as seen from there."""
    for name, page in OUTSIDE.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        if not name.endswith(".md"):
            text = f"# {name.capitalize()}\n\n```text\n{text.rstrip()}\n```\n"
        text = re.sub(r"\]\(docs/", "](", text)
        yield page, re.sub(rf"\]\(({NAMES})(?=[#)])", lambda found: f"]({OUTSIDE[found[1]]}", text)


def reference() -> Iterator[tuple[str, str]]:
    """The pages of the reference, with a directive for each public name."""
    yield VERB_PAGE, page("Functions", "The functions of `sepset` itself.", VERBS)
    for space, table in NAMESPACES.items():
        yield f"reference/{space}.md", page(space, f"The names of `sepset.{space}`.", table)
    for module in MODULES:
        yield (
            f"reference/{module}.md",
            f"# {module}\n\n::: sepset.{module}\n    options:\n      show_root_heading: false\n",
        )


def page(title: str, opening: str, table: Any) -> str:
    """A page with the names of a table, in alphabetical order."""
    found = sorted(
        (name.lower(), f"::: sepset.{module}.{name}") for module, names in table.items() for name in names.split()
    )
    return f"# {title}\n\n{opening}\n\n" + "\n\n".join(directive for _, directive in found) + "\n"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """The text of a page, with links to files outside `docs/` as links to their pages; all code is Python."""
    linked = re.sub(
        rf"\]\(\.\./((?:\.\./)*)({NAMES})(?=[#)])", lambda found: f"]({found[1]}{OUTSIDE[found[2]]}", markdown
    )
    if page.file.src_uri.startswith(NOTEBOOKS):
        linked, page.meta["shown"] = notebooks.executed(linked, page.file.src_uri)
    if re.match(r"tutorial/\d", page.file.src_uri):
        name = Path(page.file.src_uri).with_suffix(".ipynb").name
        linked = linked.replace("\n\n", f"\n\n[This page as a notebook]({name})\n\n", 1)
    return re.sub(r"^```python (?:no-run|at-build)$", "```python", linked, flags=re.MULTILINE)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """The page with its mathematics as MathML, which needs no scripts, and its pictures in its own colors."""
    drawn = DRAWING.sub(drawing, MATH.sub(mathml, html))
    return notebooks.filled(drawn, page.meta.get("shown", []))


def drawing(found: re.Match[str]) -> str:
    """A drawing of `docs/images` as a part of the page."""
    file = ROOT / "docs" / "images" / found[1]
    return notebooks.inlined(file.read_text(encoding="utf-8")) if file.is_file() else found[0]


def mathml(found: re.Match[str]) -> str:
    """The MathML of a formula in LaTeX; the difference of sets is a backslash, which every font has."""
    made = convert(html.unescape(found[3]), display="inline" if found[2] == "(" else "block")
    return made.replace("<mi>&#x029F5;</mi>", "<mo>&#x0005C;</mo>")
