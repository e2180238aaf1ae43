"""The command line: structures, parameters, questions, evaluation and imputation; output as tables or JSON."""

from __future__ import annotations

from sepset.cli import learning, questions, structure, warm  # noqa: F401  # importing them registers their commands
from sepset.cli.shared import app, one_line_errors

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    with one_line_errors():
        app()
