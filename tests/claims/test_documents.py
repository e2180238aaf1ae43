"""The documents are right: their examples run, printed values match, links lead somewhere, docstrings are tested.

In `README.md`, `CONTRIBUTING.md` and `docs/**/*.md`, blocks run in order, in one namespace and one empty folder a file:

* a block marked `python` is executed; a comment after an expression is its value, to the digits shown;
* a block marked `text` right after it is what it prints;
* in a block marked `sh`, lines that start with `sepset ` are run by the command line;
* a block marked `python no-run` is a sketch and is skipped; one marked `python at-build` is a measurement, which runs
  where the site is built;
* a picture that a block saves under the name of one that the page shows is that picture.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import functools
import importlib
import io
import re
import shlex
import subprocess
import sys
import tokenize
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sepset as ss

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sepset"
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MODULES = sorted(
    ".".join(("sepset", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

FENCE = re.compile(r"^```(?P<kind>[^\n`]*)\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\((?P<target>[^)\s]+)\)")
PICTURE = re.compile(r"!\[[^\]\n]+\]\((?P<target>[^)\s]+)\)")
NUMBER = re.compile(r"-?\d+\.\d+")


@dataclass(frozen=True)
class Block:
    """A fenced block: what it is marked, its text, the line it starts on, and whether only blanks precede it."""

    kind: str
    body: str
    line: int
    follows: bool


def blocks(text: str) -> list[Block]:
    found, end = [], 0
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("body")) + 1
        found.append(Block(match["kind"].strip(), match["body"], line, not text[end : match.start()].strip()))
        end = match.end()
    return found


def comments(code: str) -> dict[int, str]:
    """The comment that ends each line of code, by line."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip():
            found[token.start[0]] = token.string.lstrip("#").strip()
    return found


def reads_as(value: object, shown: str) -> bool:
    """Whether a value prints as the comment says; a number to the digits shown."""
    if isinstance(value, float) and NUMBER.fullmatch(shown):
        return f"{value:.{len(shown.partition('.')[2])}f}" == shown
    return shown in (repr(value), str(value))


def execute(block: Block, namespace: dict[str, object], name: str) -> str:
    """What the block prints; values that differ from their comments fail."""
    tree = ast.parse("\n" * (block.line - 1) + block.body, filename=name)
    said = {line + block.line - 1: text for line, text in comments(block.body).items()}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for statement in tree.body:
            shown = said.get(statement.end_lineno or 0)
            if isinstance(statement, ast.Expr) and shown is not None:
                value = eval(compile(ast.Expression(statement.value), name, "eval"), namespace)
                assert reads_as(value, shown), f"{name}:{statement.lineno}: the text says {shown}; it is {value!r}"
            else:
                exec(compile(ast.Module([statement], []), name, "exec"), namespace)
    return printed.getvalue()


def run_commands(block: Block, name: str) -> None:
    """The lines of a shell block that call our command line."""
    from sepset.cli import app

    for line in block.body.replace("\\\n", " ").splitlines():
        if not line.startswith("sepset "):
            continue
        result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert result.exit_code == 0, f"{name}:{block.line}: {line}\n{result.output}\n{result.exception!r}"


def close_figures() -> None:
    """Close the plots of a block, so that the next one starts with new axes, as in a notebook."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def run_document(text: str, name: str) -> None:
    document = types.ModuleType("__document__")
    sys.modules[document.__name__] = document  # where dataclasses look for the module that defines them
    printed: str | None = None
    for block in blocks(text):
        if block.kind == "text" and block.follows and printed is not None:
            assert printed.rstrip() == block.body.rstrip(), f"{name}:{block.line}: it prints\n{printed}"
        printed = execute(block, vars(document), name) if block.kind == "python" else None
        close_figures()
        if block.kind == "sh":
            run_commands(block, name)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    run_document(text, str(path.relative_to(ROOT)))
    for target in PICTURE.findall(text):
        shown, saved = (path.parent / target).resolve(), tmp_path / Path(target).name
        assert shown.is_file(), f"{path.name} shows {target}, which does not exist"
        assert not saved.is_file() or saved.read_text("utf-8").strip() == shown.read_text("utf-8").strip(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
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


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert not failed, f"{failed} examples of {name} fail"


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
