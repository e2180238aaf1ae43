"""Commands beyond one answer: the next observation, the parameters that matter, a column of answers, the networks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sepset.cli.answers import evidence_of, rows_table, state_named
from sepset.cli.application import AsJson, File, MissingText, Target, app
from sepset.cli.completion import states, variables
from sepset.cli.learning import Bar, Rows, rows_about
from sepset.cli.questions import Given, LikelihoodText, SoftText
from sepset.cli.shared import ROWS_OUT, load, require_rows_file, show, write_rows
from sepset.errors import ArgumentError, ScopeError


@app.command()
def voi(
    file: File,
    target: Target = None,
    given: Given = None,
    likelihood: LikelihoodText = None,
    soft: SoftText = None,
    candidate: Annotated[
        list[str] | None,
        typer.Option(
            "--candidate", "-c", help="A variable that can be observed. Repeatable.", autocompletion=variables
        ),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option("--cost", help="NAME=NUMBER: the cost of observing a variable; otherwise one. Repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The value of observing each variable next: how much it is expected to tell about the targets (per cost)."""
    from sepset.api.questions import value_of_information

    model = load(file)
    if not target:
        raise ScopeError("Say what you want to know about: --target NAME.")
    evidence = evidence_of(model, given, likelihood, soft)
    found = value_of_information(model, target, candidates=candidate or None, given=evidence, costs=_costs(cost))
    payload: dict[str, Any] = {
        "targets": list(found.targets),
        "entropy": found.entropy,
        "reductions": dict(found.reductions),
    }
    if found.costs is not None:
        payload["costs"] = dict(found.costs)
    show(payload, as_json, lambda: found)


def _costs(texts: list[str] | None) -> dict[str, float] | None:
    """The costs from texts such as xray=20."""
    found: dict[str, float] = {}
    for text in texts or ():
        name, equals, cost = text.rpartition("=")
        try:
            found[name] = float(cost)
        except ValueError:
            equals = ""
        if not equals:
            raise ArgumentError(f"--cost takes NAME=NUMBER, such as xray=20; found {text!r}.")
    return found or None


@app.command()
def sensitivity(
    file: File,
    target: Annotated[str, typer.Option("--target", "-t", help="The target variable.", autocompletion=variables)],
    state: Annotated[
        str, typer.Option("--state", help="Its state, whose probability is in question.", autocompletion=states)
    ],
    given: Given = None,
    likelihood: LikelihoodText = None,
    soft: SoftText = None,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="The number of parameters to print.")] = 20,
    as_json: AsJson = False,
) -> None:
    """The parameters on which the probability of a state depends most, and how far each can move it."""
    from sepset.api.questions import sensitivity as sensitivity_of
    from sepset.base.display import rich_table

    model: Any = load(file)
    variable = model.variables[target]
    if not variable.is_discrete:
        raise ScopeError(f"{target} is continuous and has no states. Ask about a discrete variable.")
    own = state_named(variable, state)
    found = sensitivity_of(model, target, state=own, given=evidence_of(model, given, likelihood, soft))
    payload = {
        "target": target,
        "state": own,
        "probability": found.probability,
        "parameters": [{"parameter": p.name, "value": p.value, "derivative": p.derivative} for p in found[:rows]],
        "num_without_effect": found.num_without_effect,
    }
    show(payload, as_json, lambda: rich_table(found.first_shown(rows)))


@app.command()
def predict(
    file: File,
    data: Rows,
    target: Target = None,
    given: Given = None,
    likelihood: LikelihoodText = None,
    soft: SoftText = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help=ROWS_OUT)] = None,
    missing: MissingText = None,
    progress: Bar = None,
    as_json: AsJson = False,
) -> None:
    """The posterior of the targets given each row of a file; by default of the variables that have no column."""
    from sepset.api.questions import predict as predicted

    if out is not None:
        require_rows_file(out)
    model = load(file)
    rows = rows_about(model, data, missing)
    wanted = target or [name for name, count in rows.num_missing.items() if count == rows.num_rows]
    if not wanted:
        raise ScopeError("Every variable has a column. Say which to predict from the others: --target NAME.")
    evidence = evidence_of(model, given, likelihood, soft)
    kept = rows.select([v.name for v in rows.variables if v.name not in wanted])
    found = predicted(model, kept, targets=wanted, given=evidence, progress=progress).to_dataset()
    if out is not None:
        write_rows(found, out)
        return
    listed = list(found.rows())
    show({"rows": listed}, as_json, lambda: rows_table(listed, found.variables.names))


@app.command()
def networks(as_json: AsJson = False) -> None:
    """The built-in networks, with their sizes."""
    from sepset import datasets
    from sepset.base.display import Shown, rich_table

    found: list[dict[str, Any]] = []
    for name in datasets.names():
        model: Any = datasets.load(name)
        found.append({"name": name, "kind": type(model).__name__, "variables": len(model.variables)})
    rows = [tuple(map(str, one.values())) for one in found]
    show({"networks": found}, as_json, lambda: rich_table(Shown(("network", "kind", "variables"), rows, words=2)))
