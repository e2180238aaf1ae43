"""The application of the command line, and the arguments that several commands share."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer
import typer.main

from sepset.cli.completion import networks, variables


def _read_signatures_once(library: Any) -> None:
    """Let Typer read the signature of each command once; it does so five times before any of them runs."""
    if hasattr(library, "get_params_from_function"):
        library.get_params_from_function = cache(library.get_params_from_function)


_read_signatures_once(typer.main)

app = typer.Typer(
    help="Probabilistic graphical models: fit them to data and query them; every answer states its guarantee.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Probabilistic graphical models: fit them to data and query them; every answer states its guarantee."""
    if version:
        from sepset import __version__

        typer.echo(f"sepset {__version__}")
        raise typer.Exit


File = Annotated[
    str,
    typer.Argument(
        help="A model file (.bif .xmlbif .uai .net .xdsl .json, also .gz), a built-in network, or - to read one.",
        autocompletion=networks,
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", help="A target variable. Repeatable.", autocompletion=variables),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
MissingText = Annotated[
    list[str] | None, typer.Option("--missing", help="A text that means an empty cell, such as NA. Repeatable.")
]
Seed = Annotated[int, typer.Option("--seed", "-s", min=0, help="The same seed gives the same rows.")]
