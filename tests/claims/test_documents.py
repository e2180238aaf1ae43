"""The documents are right: examples run, links lead somewhere, names exist."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sepset as ss
from support.blocks import in_blocks
from support.documents import DOCUMENTS, FENCE, FRONT, ROOT, blocks, check_examples, name_of, run_document

SOURCE = ROOT / "src" / "sepset"
LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\((?P<target>[^)\s]+)\)")


@pytest.mark.parametrize("path", FRONT, ids=name_of)
def test_examples_run(path, tmp_path, monkeypatch):
    """Those of the pages below `docs` and of docstrings run in the cross-checks."""
    monkeypatch.chdir(tmp_path)
    check_examples(path, tmp_path)


@in_blocks("path", DOCUMENTS)
def test_blocks_have_a_known_mark(path):
    kinds = {block.kind for block in blocks(path.read_text(encoding="utf-8"))}
    assert kinds <= {"python", "python no-run", "python at-build", "sh", "text"}


def slug(heading: str) -> str:
    """The anchor of a heading, as repository hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def broken_links(path: Path) -> Iterator[str]:
    for match in LINK.finditer(FENCE.sub("", path.read_text(encoding="utf-8"))):
        file, _, anchor = match["target"].partition("#")
        if ":" in file:
            continue
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield match["target"]


@in_blocks("path", DOCUMENTS)
def test_links_lead_somewhere(path):
    assert list(broken_links(path)) == []


def unknown_names(text: str) -> Iterator[str]:
    """The names `ss.x.y` in inline code that sepset does not have."""
    code = " ".join(re.findall(r"`([^`\n]+)`", FENCE.sub("", text)))
    for name in sorted(set(re.findall(r"\bss((?:\.\w+)+)", code))):
        try:
            functools.reduce(getattr, name[1:].split("."), importlib.import_module("sepset"))
        except AttributeError:
            yield f"ss{name}"


@in_blocks("path", DOCUMENTS)
def test_names_in_the_text_exist(path):
    assert list(unknown_names(path.read_text(encoding="utf-8"))) == []


def test_the_search_for_unknown_names_itself():
    assert list(unknown_names("Use `ss.query(x)`, `ss.graphs.nothing` and `ss.fit(ss.nowhere)`.")) == [
        "ss.graphs.nothing",
        "ss.nowhere",
    ]


def test_the_picture_of_the_readme_in_characters():
    """Package indexes show this one, since pictures with relative addresses do not appear there."""
    shown = (ROOT / "docs" / "images" / "asia.txt").read_text(encoding="utf-8")
    assert f"{ss.draw(ss.datasets.load('asia'), given={'xray': 'yes'})}\n" == shown


def test_every_work_that_a_page_of_theory_names_has_its_title():
    folder = ROOT / "docs" / "theory"
    listed = " ".join((folder / "references.md").read_text(encoding="utf-8").split())
    pages = {path.name: " ".join(path.read_text(encoding="utf-8").split()) for path in sorted(folder.glob("*.md"))}
    said = {name: text.partition("**Read more** ([titles](references.md)). ")[2] for name, text in pages.items()}
    named = {name: re.findall(r"([^;]+ \(\d{4}\))", text) for name, text in said.items()}
    assert [name for name, works in named.items() if not works] == ["index.md", "references.md"]
    assert [work for works in named.values() for work in works if f"- {work.strip()}. " not in listed] == []


def test_the_readme_has_a_place_for_measured_figures():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("<!-- bench:start -->") == text.count("<!-- bench:end -->") == 1
    assert text.index("<!-- bench:start -->") < text.index("<!-- bench:end -->")


def test_the_readme_shows_measured_numbers():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.split("<!-- bench:start -->")[1].split("<!-- bench:end -->")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| |")]
    measured = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks" / "results").glob("*.md")}
    suites = [next((name for name, results in measured.items() if row in results), row) for row in rows]
    assert [suite for suite in suites if suite not in measured] == [], "rows of the README that no result has"
    named = text.split("The suites of this table are")[1].split(". ")[0]
    assert set(suites) <= set(re.findall(r"`(\w+)`", named)), "suites of the table that the README does not name"


SAMPLE = """
```python
x = 2 / 3
x  # 0.667
print("a")
```

```text
a
```
"""


def test_the_reading_of_documents_itself():
    run_document(SAMPLE, "sample")
    with pytest.raises(AssertionError, match=r"sample:4: the text says 0\.668"):
        run_document(SAMPLE.replace("0.667", "0.668"), "sample")
    with pytest.raises(AssertionError, match="it prints"):
        run_document(SAMPLE.replace("text\na", "text\nb"), "sample")
    with pytest.raises(ZeroDivisionError):
        run_document(SAMPLE.replace("/ 3", "/ 0"), "sample")
    run_document(SAMPLE.replace("python", "python no-run").replace("text\na", "sh\nls"), "sample")


def test_the_architecture_names_every_package():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    members = [path for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
    names = {f"`{path.stem}`" if path.suffix == ".py" else f"`{path.name}/`" for path in members}
    assert sorted(name for name in names if name not in text) == []


def modules_named(text: str) -> set[str]:
    """The dotted names of modules, or of what is in them, that begin with a room."""
    rooms = "|".join(path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file())
    return set(re.findall(rf"(?<![\w./])(?:{rooms})(?:\.[a-z_0-9]+)+", text))


def is_in_the_library(name: str) -> bool:
    *room, last = name.split(".")
    path = SOURCE.joinpath(*room)
    if (path / last).is_dir() or (path / f"{last}.py").is_file():
        return True
    return path.with_suffix(".py").is_file() and hasattr(importlib.import_module(f"sepset.{'.'.join(room)}"), last)


def test_the_architecture_names_modules_that_exist():
    named = modules_named((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert {"inference.costs", "graphs.costs"} <= named
    assert sorted(name for name in named if not is_in_the_library(name)) == []


def test_the_search_for_modules_itself():
    assert modules_named("`inference.plan`, base.cache; x/graphs.csr") == {"inference.plan", "base.cache"}
    assert is_in_the_library("inference.assignment.assign")
    assert not is_in_the_library("inference.assignment.search")
    assert not is_in_the_library("api.verbs")
