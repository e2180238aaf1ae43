"""Documents whose examples run.

In `README.md`, `CONTRIBUTING.md` and `docs/**/*.md`, blocks run in order, in a namespace and an empty folder per file:

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
import io
import re
import shlex
import sys
import tokenize
import types
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
FRONT = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = [*FRONT, ROOT / "CHANGELOG.md", *PAGES]

FENCE = re.compile(r"^```(?P<kind>[^\n`]*)\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]\n]+\]\((?P<target>[^)\s]+)\)")
NUMBER = re.compile(r"-?\d+\.\d+")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


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


def check_examples(path: Path, folder: Path) -> None:
    """Run the examples of a document in an empty folder; its pictures are those that the examples save."""
    text = path.read_text(encoding="utf-8")
    run_document(text, name_of(path))
    for target in PICTURE.findall(text):
        shown, saved = (path.parent / target).resolve(), folder / Path(target).name
        assert shown.is_file(), f"{path.name} shows {target}, which does not exist"
        assert not saved.is_file() or saved.read_text("utf-8").strip() == shown.read_text("utf-8").strip(), target
