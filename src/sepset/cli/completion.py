"""Completions in the shell: networks, their variables, and the states of these."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sepset.errors import SepsetError

if TYPE_CHECKING:
    from sepset.models.model import Model


def networks(incomplete: str) -> list[str]:
    """The built-in networks that begin so, and the files and folders.

    >>> networks("alar")
    ['alarm']
    """
    from sepset import datasets

    return [*(name for name in datasets.names() if name.startswith(incomplete)), *_paths(incomplete)]


def variables(ctx: typer.Context, incomplete: str) -> list[str]:
    """The variables of the model on the line that begin so."""
    model = _model(ctx)
    return [] if model is None else [name for name in model.variables.names if name.startswith(incomplete)]


def findings(ctx: typer.Context, incomplete: str) -> list[str]:
    """`NAME=` for the variables of the model on the line that begin so, or `NAME=STATE` if that is only one."""
    model = _model(ctx)
    if model is None:
        return []
    found = [variable for variable in model.variables if f"{variable.name}=".startswith(incomplete)]
    if not found:
        found = [variable for variable in model.variables if incomplete.startswith(f"{variable.name}=")]
    if len(found) != 1:
        return [f"{variable.name}=" for variable in found]
    texts = [f"{found[0].name}={state}" for state in getattr(found[0], "states", ("",))]
    return [text for text in texts if text.startswith(incomplete)]


def states(ctx: typer.Context, incomplete: str) -> list[str]:
    """The states of the target on the line that begin so."""
    model, target = _model(ctx), ctx.params.get("target")
    if model is None or target not in model.variables.names:
        return []
    return [text for text in map(str, getattr(model.variables[target], "states", ())) if text.startswith(incomplete)]


def in_bash(complete: Callable[[], object]) -> None:
    """Print completions for bash, which takes `xray=yes` for three words and replaces only the last of them."""
    line = os.environ.get("COMP_WORDS", "")
    words, place, is_cut = joined_words(line.split("\n" if "\n" in line else None), int(os.environ["COMP_CWORD"]))
    os.environ |= {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(place)}
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            complete()
    finally:
        for line in printed.getvalue().splitlines():
            print(line.partition("=")[2] if is_cut else line)


def joined_words(words: list[str], place: int) -> tuple[list[str], int, bool]:
    """The words of a line as they were typed, the place of the one to complete, and whether bash cut it at `=`.

    >>> joined_words(["sepset", "query", "asia", "--given", "xray", "=", "y"], 6)
    (['sepset', 'query', 'asia', '--given', 'xray=y'], 4, True)
    """
    found: list[str] = []
    is_cut = False
    for k, word in enumerate(words[: place + 1]):
        is_cut = k > 1 and (word == "=" or words[k - 1] == "=")
        found = [*found[:-1], found[-1] + word] if is_cut else [*found, word]
    return found, max(len(found) - 1, 0), is_cut


def _model(ctx: typer.Context) -> Model | None:
    """The model of the line, where its first argument names one that can be read."""
    from sepset.cli.shared import load

    try:
        return load(str(ctx.params.get("file") or next(iter(ctx.args), "")))
    except (SepsetError, OSError):
        return None


def _paths(incomplete: str) -> list[str]:
    folder = Path(incomplete if incomplete.endswith("/") else incomplete.rpartition("/")[0] or ".")
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    names = [str(path) + ("/" if path.is_dir() else "") for path in found]
    return [name for name in names if name.startswith(incomplete)]
