"""Pages as notebooks: their Python blocks run when the site is built, and what each one shows is put below it.

A block marked `python` also runs in the tests. One marked `python at-build` runs only here: measurements that take
seconds. As in a notebook, the last expression of a block is shown, as a picture, a table or text, unless a comment
already says its value; printed lines are shown unless a `text` block with them follows.

A page can also be taken as a file for Jupyter (`as_notebook`), whose cells show what the page shows.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import html
import io
import os
import re
import sys
import tempfile
import types
from collections.abc import Iterator
from typing import Any

RUN = ("python", "python at-build")
FENCE = re.compile(r"^```(?P<kind>[^\n`]*)\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
INK = "#010203"
"""The color of axes and letters in plots, which becomes that of the page's text."""

STYLE = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.facecolor": "none",
    "figure.figsize": (6.4, 3.8),
    "figure.constrained_layout.use": True,
    "font.size": 11.0,
    "grid.alpha": 0.25,
    "legend.facecolor": "none",
    "legend.frameon": False,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
"""Settings of matplotlib for plots that are legible on light and on dark pages."""

OWN_COLORS = re.compile(r"<style>:root\{.*?</style>", re.DOTALL)
WIDTH = re.compile(r'(?<=<svg )[^>]*?width="([\d.]+)"')
NAMES = re.compile(r' id="[A-Za-z]\w*_\d+"')
PROLOG = re.compile(r"\A.*?(?=<svg)|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)


PRINTED = re.compile(r"\A\s*```text\n.*?^```[ ]*\n?", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r'\.save\("[\w-]+\.svg"\)$')
PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)")


def as_notebook(markdown: str) -> dict[str, Any]:
    """A page as a notebook of Jupyter: text without links to other pages, and code without its printed lines.

    >>> page = "# One\\n\\n```python\\ndraw(x).save(\"x.svg\")\\n```\\n\\n![x](x.svg)\\n\\nA [link](y.md).\\n"
    >>> [(cell["cell_type"], cell["source"]) for cell in as_notebook(page)["cells"]]
    [('markdown', '# One'), ('code', 'draw(x)'), ('markdown', 'A link.')]
    """
    cells, end = [], 0
    for found in FENCE.finditer(markdown):
        if found["kind"].strip() in RUN:
            cells += [_words(markdown[end : found.start()]), _code(found["body"])]
            end = found.end() + (after.end() if (after := PRINTED.match(markdown[found.end() :])) else 0)
    cells.append(_words(markdown[end:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    kept = [cell | {"id": f"cell-{place}"} for place, cell in enumerate(cells) if cell["source"]]
    return {"cells": kept, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _words(markdown: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": LINK.sub(r"\1", PICTURE.sub("", markdown)).strip()}


def _code(body: str) -> dict[str, Any]:
    """A cell that shows its picture where the page saves it."""
    shown = {"source": SAVED.sub("", body.strip()), "execution_count": None, "outputs": []}
    return {"cell_type": "code", "metadata": {}, **shown}


def executed(markdown: str, name: str) -> tuple[str, list[str]]:
    """The text of a page with a mark below each block that shows something, and the HTML for each mark."""
    module = types.ModuleType("__page__")
    shown: list[str] = []
    pieces, end = [], 0
    with _place(module):
        for found in FENCE.finditer(markdown):
            pieces.append(markdown[end : found.end()])
            end = found.end()
            if found["kind"].strip() not in RUN:
                continue
            line = markdown.count("\n", 0, found.start("body")) + 1
            given = re.match(r"\s*```text\n", markdown[end:]) is not None
            for output in _outputs(found["body"], vars(module), f"{name}, line {line}", is_given=given):
                pieces.append(f"\n\n{mark(len(shown))}\n")
                shown.append(output)
    return "".join([*pieces, markdown[end:]]), shown


def mark(place: int) -> str:
    """The word that stands for what a block shows."""
    return f"@@output-{place}@@"


def filled(page: str, shown: list[str]) -> str:
    """The HTML of a page with what its blocks show in the place of the marks."""
    for place, output in enumerate(shown):
        paragraph = f"<p>{mark(place)}</p>"
        if page.count(paragraph) != 1:
            raise ValueError(
                f"Output {place} of a page is to be shown once; its mark is there {page.count(paragraph)} times."
            )
        page = page.replace(paragraph, f'<div class="shown">{output}</div>')
    return page


@contextlib.contextmanager
def _place(module: types.ModuleType) -> Iterator[None]:
    """An empty folder, a module and settings of plots for the blocks of one page."""
    import matplotlib as mpl

    mpl.use("agg")
    before = os.getcwd()
    sys.modules[module.__name__] = module  # where dataclasses look for the module that defines them
    with tempfile.TemporaryDirectory() as folder, mpl.rc_context(STYLE):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            sys.modules.pop(module.__name__, None)


def _outputs(code: str, names: dict[str, Any], place: str, *, is_given: bool) -> Iterator[str]:
    """The HTML of what a block prints and of its last expression."""
    import matplotlib.pyplot as plt

    tree = ast.parse(code, filename=place)
    last = tree.body.pop() if _shows(tree, code) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, place, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
    if printed.getvalue().strip() and not is_given:
        yield text(printed.getvalue())
    if value is not None:
        yield display(value)
    plt.close("all")


def _shows(tree: ast.Module, code: str) -> bool:
    """Whether a block ends with an expression whose value no comment tells."""
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return False
    return "#" not in code.splitlines()[(tree.body[-1].end_lineno or 0) - 1]


def display(value: Any) -> str:
    """A value as a notebook shows it."""
    from matplotlib.artist import Artist

    if isinstance(value, Artist):
        return plot(value.figure)
    if hasattr(value, "_repr_html_"):
        return f'<div class="scrolling">{value._repr_html_()}</div>'
    return text(repr(value))


def text(content: str) -> str:
    """Text as it is printed."""
    return f"<pre><code>{html.escape(content.rstrip())}</code></pre>"


def plot(figure: Any) -> str:
    """A figure of matplotlib as part of a page, in the colors of the page."""
    import matplotlib as mpl

    buffer = io.StringIO()
    key = hashlib.sha256(repr([axes.get_title() for axes in figure.axes]).encode()).hexdigest()
    with mpl.rc_context({"svg.hashsalt": key}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawn = NAMES.sub("", PROLOG.sub("", buffer.getvalue()))
    return drawn.replace(INK, "currentColor")


def inlined(svg: str) -> str:
    """A drawing of `ss.draw` in a file as part of a page, in the colors of the page; it shrinks as in notebooks."""
    from sepset.graphs.pictures.svg import fitting

    shrinking = WIDTH.sub(lambda found: f'{found[0]} style="{fitting(float(found[1]))}"', OWN_COLORS.sub("", svg), 1)
    return f'<span class="scrolling">{shrinking.strip()}</span>'
