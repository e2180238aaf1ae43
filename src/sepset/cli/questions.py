"""Questions to a model file, as tables for people or JSON for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sepset.cli import answers
from sepset.cli.answers import AssignmentMethod, MethodName, PictureFormat, PicturePlaces
from sepset.cli.application import AsJson, File, Seed, Target, app
from sepset.cli.completion import findings, variables
from sepset.cli.shared import ROWS_OUT

Given = Annotated[
    list[str] | None,
    typer.Option(
        "--given",
        "-g",
        help="Evidence: NAME=STATE, NAME!=STATE, or NAME=STATE|STATE for a subset. Repeatable.",
        autocompletion=findings,
    ),
]
LikelihoodText = Annotated[
    list[str] | None,
    typer.Option(
        "--likelihood",
        help="Uncertain evidence: NAME=NUMBER,NUMBER,... or NAME=STATE:NUMBER,..., a weight per state. Repeatable.",
        autocompletion=findings,
    ),
]
SoftText = Annotated[
    list[str] | None,
    typer.Option(
        "--soft",
        help="A posterior that is given: NAME=NUMBER,NUMBER,... or NAME=STATE:NUMBER,... Repeatable.",
        autocompletion=findings,
    ),
]
Chosen = Annotated[MethodName, typer.Option("--method", "-m", help="The algorithm.")]


@app.command()
def info(file: File, as_json: AsJson = False) -> None:
    """A summary of a model: variables, states, factors, and the cost of inference."""
    answers.info(file, as_json)


@app.command()
def convert(
    source: File, target: Annotated[Path, typer.Argument(help="The file to write; its suffix gives the format.")]
) -> None:
    """Read a model in one format and write it in another."""
    answers.convert(source, target)


@app.command()
def query(
    file: File,
    target: Target = None,
    given: Given = None,
    likelihood: LikelihoodText = None,
    soft: SoftText = None,
    method: Chosen = MethodName.auto,
    as_json: AsJson = False,
) -> None:
    """The joint distribution of the targets given the evidence; without a target, every marginal."""
    answers.query(file, target, given, likelihood, soft, method, as_json)


@app.command(name="map")
def map_(
    file: File,
    given: Given = None,
    likelihood: LikelihoodText = None,
    soft: SoftText = None,
    over: Annotated[
        list[str] | None,
        typer.Option("--over", help="Variables to assign; the rest are summed out.", autocompletion=variables),
    ] = None,
    k: Annotated[int, typer.Option("--best", "-k", min=1, help="The number of best assignments.")] = 1,
    method: Annotated[AssignmentMethod, typer.Option("--method", "-m", help="The algorithm.")] = AssignmentMethod.auto,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0.0, help="The time of a search.")] = None,
    as_json: AsJson = False,
) -> None:
    """The most probable assignment given the evidence."""
    answers.best(file, given, likelihood, soft, over, k, method, seconds, as_json)


@app.command()
def sample(
    file: File,
    rows: Annotated[int, typer.Option("--rows", "-n", min=0, help="The number of rows.")] = 10,
    given: Given = None,
    likelihood: LikelihoodText = None,
    soft: SoftText = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help=ROWS_OUT)] = None,
    as_json: AsJson = False,
) -> None:
    """Independent draws from the model given the evidence."""
    answers.sample(file, rows, given, likelihood, soft, seed, out, as_json)


@app.command()
def draw(
    file: File,
    given: Given = None,
    likelihood: LikelihoodText = None,
    soft: SoftText = None,
    beliefs: Annotated[bool, typer.Option("--beliefs", "-b", help="Show the marginals also without evidence.")] = False,
    strengths: Annotated[bool, typer.Option("--strengths", help="Draw edges as wide as their information.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write: .svg .png .pdf .dot .mmd or .txt.")
    ] = None,
    form: Annotated[
        PictureFormat | None, typer.Option("--format", help="The format to print; text by default.")
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option("--compare", help="Other evidence to compare with. Repeatable.", autocompletion=findings),
    ] = None,
    prior: Annotated[bool, typer.Option("--prior", help="Compare with the beliefs without evidence.")] = False,
    titles: Annotated[bool, typer.Option("--titles", help="Show the titles of variables below their names.")] = False,
    layout: Annotated[
        PicturePlaces | None, typer.Option("--layout", help="In layers, or where the model's file has the nodes.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", help="A group in a color: NAME=VARIABLE,VARIABLE. Repeatable.")
    ] = None,
) -> None:
    """A picture of a model, with beliefs if there is evidence: printed as text, or written to a file."""
    shown = {"compare": compare, "prior": prior, "titles": titles, "layout": layout, "group": group}
    answers.draw(file, given, likelihood, soft, beliefs, strengths, out, form, **shown)  # type: ignore[arg-type]


@app.command()
def plan(
    file: File,
    target: Target = None,
    given: Annotated[
        list[str] | None, typer.Option("--given", "-g", help="A variable that will be observed. Repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The cost of a question, without computing it."""
    answers.plan(file, target, given, as_json)
