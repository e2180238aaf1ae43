"""Completions in the shell: networks, their variables, and the states of these."""

from __future__ import annotations

from collections.abc import Iterator
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
    """`NAME=` for the variables of the model on the line, or `NAME=STATE` where a name is complete."""
    model = _model(ctx)
    return [] if model is None else [text for text in _findings(model) if text.startswith(incomplete)]


def _findings(model: Model) -> Iterator[str]:
    for variable in model.variables:
        yield f"{variable.name}="
        yield from (f"{variable.name}={state}" for state in getattr(variable, "states", ()))


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
