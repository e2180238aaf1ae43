"""The command line: fit models, ask them questions, judge them, fill holes; for people or for programs."""

from __future__ import annotations

from sepset.cli import learning, questions  # noqa: F401  # their commands join the application
from sepset.cli.shared import app, one_line_errors

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    with one_line_errors():
        app()
