"""The command line: structures, parameters, questions, evaluation and imputation; output as tables or JSON."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from sepset.cli.quick import COMPLETION, quick
from sepset.cli.shared import one_line_errors

if TYPE_CHECKING:
    from typer import Typer

    app: Typer

__all__ = ["app", "main"]


def __getattr__(name: str) -> Typer:
    """The application, `app`, with all commands: loaded when it is needed."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sepset.cli import advice, learning, questions, structure, warm  # noqa: F401  # they register their commands
    from sepset.cli.application import app

    return app


def main() -> None:
    """Run the command line: a plain question at once, and any other line by the application."""
    with one_line_errors():
        asked = os.environ.get(COMPLETION)
        call = quick(sys.argv[1:]) if asked is None else None
        if call is not None:
            call()
        elif asked == "complete_bash":
            from sepset.cli.completion import in_bash

            in_bash(__getattr__("app"))
        else:
            __getattr__("app")()
