"""Compiled kernels ahead of use: for an image, a test machine, or a folder that many processes read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from sepset.cli.application import AsJson, app
from sepset.cli.shared import show


@app.command()
def warm(
    into: Annotated[
        Path | None,
        typer.Option("--into", help="The folder to fill; processes use it where SEPSET_CACHE_DIR names it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile all kernels into the cache, so that no later process waits for the compiler."""
    if into is not None:
        into.mkdir(parents=True, exist_ok=True)
        os.environ["SEPSET_CACHE_DIR"] = str(into.resolve())
    os.environ["SEPSET_WARM"] = "0"
    from sepset.kernels.compile import cache_directory
    from sepset.kernels.warm import compile_ahead

    cache_directory.cache_clear()
    folder, start = cache_directory(), time.monotonic()
    steps = list(compile_ahead()) + list(rehearse())
    kept = [] if folder is None else [path.stat().st_size for path in folder.iterdir() if path.is_file()]
    facts = {"folder": str(folder), "steps": len(steps), "files": len(kept), "bytes": sum(kept)}
    show(facts, as_json, lambda: _told(facts, time.monotonic() - start))


def _told(facts: dict[str, object], seconds: float) -> str:
    if facts["folder"] == "None":
        return "No folder for compiled kernels can be written. Name one with --into or SEPSET_CACHE_DIR."
    return f"{facts['files']} files, {facts['bytes']:,} bytes, in {facts['folder']} ({seconds:.0f} s)"


def rehearse() -> Iterator[str]:
    """Ask one question of each kind, each about a small model: what they call is compiled. Yields their names."""
    for question in (_discrete, _rows, _wide_range, _zeros, _reals, _structure):
        question()
        yield question.__name__[1:]


def _discrete() -> None:
    from sepset.api.questions import prepare
    from sepset.datasets import load

    engine = prepare(load("asia"))
    seen = {"xray": "yes"}
    engine.marginals(given=seen)["lung"]
    engine.query(["lung", "bronc"], given=seen)
    engine.map_assignment(given=seen, k=2)
    engine.sample(3, given=seen)
    engine.sensitivity("lung", state="yes", given=seen)


def _rows() -> None:
    from sepset.api.learning import fit
    from sepset.api.questions import prepare
    from sepset.cpds.priors.dirichlet import BDeu
    from sepset.datasets import load
    from sepset.learning.estimation.estimators import Bayes
    from sepset.learning.incomplete.em import EM
    from sepset.learning.missing.imputation import impute

    asia = load("asia")
    rows = asia.sample(40, seed=0)
    fit(asia.dag, rows, Bayes(BDeu(1)))
    some = {name: ["yes", "no", None, "yes", "no"] for name in asia.variables.names if name != "either"}
    fitted = fit(asia, some, EM(BDeu(1))).model
    prepare(fitted).predict(some, targets="lung")
    impute(fitted, some, kind="map")


def _wide_range() -> None:
    import numpy as np

    from sepset.api.questions import prepare
    from sepset.factors.table import Table
    from sepset.models.markovnet import MarkovNet
    from sepset.variables.variable import Discrete

    a, b = Discrete("a"), Discrete("b")
    logs = np.array([[0.0, -900.0], [-2000.0, 1.0]])
    engine = prepare(MarkovNet(Table.from_log([a, b], logs), Table(a, [1.0, 2.0])))
    engine.marginals()["a"]
    engine.map_assignment()


def _zeros() -> None:
    from sepset.api.questions import prepare
    from sepset.datasets import load
    from sepset.inference.cliquetree.method import CliqueTree

    prepare(load("asia"), method=CliqueTree(zeros="sparse")).marginals(given={"xray": "yes"})["lung"]


def _reals() -> None:
    import numpy as np

    from sepset.api.learning import fit
    from sepset.cpds.lineargaussian import LinearGaussian
    from sepset.cpds.table import TableCPD
    from sepset.learning.incomplete.em import EM
    from sepset.models.bayesnet import BayesNet
    from sepset.variables.variable import Discrete, Real

    group, x, y = Discrete("group"), Real("x"), Real("y")
    net = BayesNet(
        TableCPD(group, [0.4, 0.6]),
        LinearGaussian(x, [-1.0, 1.0], covariance=[1.0, 2.0], by=group),
        LinearGaussian(y, 0.5, coefficients={x: 2.0}, covariance=1.0, given=x),
    )
    fit(net, net.sample(30, seed=0))
    seen, unseen = np.linspace(-2.0, 2.0, 30), np.full(30, np.nan)
    fit(
        net,
        {"x": np.where(np.arange(30) % 3, seen, unseen), "y": np.where(np.arange(30) % 4, 2 * seen**2, unseen)},
        EM(),
    )


def _structure() -> None:
    from sepset.datasets import load
    from sepset.graphs.graph import moralize
    from sepset.graphs.separation import d_separated
    from sepset.graphs.width import treewidth

    dag = load("asia").dag
    treewidth(moralize(dag))
    d_separated(dag, "asia", "xray")
