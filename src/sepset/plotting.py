"""Plots that compare several results, and plots of graphs; each result also has its own `plot` method.

Everything is drawn on matplotlib axes: the given ones, or the current ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sepset.base.axes import axes_of
from sepset.base.extras import require
from sepset.errors import FileFormatError
from sepset.graphs.graph import DAG
from sepset.learning.evaluation.calibration import CalibrationResult
from sepset.learning.fit import FitResult
from sepset.models.bayesnet import BayesNet

__all__ = ["calibration_curves", "graph", "layered", "save", "traces"]


def save(draw: Callable[[Any], Any], path: str | os.PathLike[str], *, size: tuple[float, float] = (6.0, 4.5)) -> None:
    """Draw on a new figure and write it to a file in the format of its suffix; no window is opened.

    Args:
        draw: a function of matplotlib axes, such as the `plot` method of a result.
        path: a .png, .svg or .pdf file.
        size: width and height in inches.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "line.svg"
    >>> save(lambda axes: axes.plot([0, 1]), file)
    >>> file.stat().st_size > 1000
    True
    """
    figures = require("matplotlib.figure", "plot", "Plotting")
    figure = figures.Figure(figsize=size, layout="constrained")
    suffix, known = Path(path).suffix.lower().lstrip("."), figure.canvas.get_supported_filetypes()
    if suffix not in known:
        raise FileFormatError(
            f"the suffix '.{suffix}' is not a known image format; use .png, .svg or .pdf.", file=os.fspath(path)
        )
    draw(figure.subplots())
    figure.savefig(path)


def calibration_curves(curves: Mapping[str, CalibrationResult], ax: Any = None) -> Any:
    """Calibration curves of several models over one diagonal, with the expected error of each in the legend.

    Args:
        curves: the calibration curves, by their names in the legend.
        ax: matplotlib axes.

    >>> from sepset.learning.evaluation.calibration import reliability_curve
    >>> import matplotlib.figure
    >>> axes = matplotlib.figure.Figure().subplots()
    >>> found = {"sure": reliability_curve([0.9, 0.9], [1, 0]), "unsure": reliability_curve([0.5, 0.5], [1, 0])}
    >>> [text.get_text() for text in calibration_curves(found, axes).get_legend().get_texts()]
    ['sure (0.400)', 'unsure (0.000)']
    """
    axes = axes_of(ax)
    for name, curve in curves.items():
        curve.plot(axes, label=f"{name} ({curve.expected_error:.3f})")
    axes.set_title("expected calibration error in parentheses")
    return axes


def traces(fits: Mapping[str, FitResult], ax: Any = None) -> Any:
    """Each fit's distance from the best objective of all after every iteration, in nats on a logarithmic axis.

    Args:
        fits: the fits, by their names in the legend.
        ax: matplotlib axes.

    >>> import matplotlib.figure
    >>> from sepset.learning.incomplete.em import EM
    >>> from sepset.api.learning import fit
    >>> found = fit(DAG.parse("x -> y"), {"x": ["a", "b", None, "a"], "y": [1, 0, 1, None]}, EM())
    >>> traces({"EM": found}, matplotlib.figure.Figure().subplots()).get_xlabel()
    'iteration'
    """
    axes = axes_of(ax)
    best = max((float(np.nanmax(f.trace)) for f in fits.values() if len(f.trace)), default=0.0)
    for name, fit in fits.items():
        gap = np.maximum(best - fit.trace, 1e-12 * max(abs(best), 1.0))
        axes.plot(np.arange(1, len(gap) + 1), gap, label=f"{name} ({fit.status.value})")
    axes.set(yscale="log", xlabel="iteration", ylabel="below the best objective (nats)")
    axes.legend()
    return axes


def graph(model: DAG | BayesNet, ax: Any = None) -> Any:
    """A plot of a directed graph in layers: every node is below its parents.

    Args:
        model: a graph, or the network whose graph is drawn.
        ax: matplotlib axes.

    >>> import matplotlib.figure
    >>> len(graph(DAG.parse("a -> b <- c"), matplotlib.figure.Figure().subplots()).texts)
    5
    """
    axes = axes_of(ax)
    dag = model.dag if isinstance(model, BayesNet) else model
    places = layered(dag)
    for parent, child in dag.edges:
        arrow = {"arrowstyle": "-|>", "color": "0.5", "shrinkA": 12, "shrinkB": 12}
        axes.annotate("", places[child], places[parent], arrowprops=arrow)
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.3"}
    for name, place in places.items():
        axes.text(*place, name, ha="center", va="center", bbox=box)
    axes.set(xlim=(-0.5, max((x for x, _ in places.values()), default=0.0) + 0.5))
    axes.set(ylim=(min((y for _, y in places.values()), default=0.0) - 0.5, 0.5))
    axes.set_axis_off()
    return axes


def layered(dag: DAG) -> dict[str, tuple[float, float]]:
    """Coordinates for every node: one row below its lowest parent, near the middle of its parents.

    >>> layered(DAG.parse("a -> b <- c"))
    {'a': (0.0, 0.0), 'c': (1.0, 0.0), 'b': (0.5, -1.0)}
    """
    depth: dict[str, int] = {}
    for name in dag.topological_order:
        depth[name] = 1 + max((depth[p] for p in dag.parents(name)), default=-1)
    widest = max((list(depth.values()).count(d) for d in set(depth.values())), default=1)
    places: dict[str, tuple[float, float]] = {}
    for level in range(max(depth.values(), default=-1) + 1):
        row = [name for name in dag.topological_order if depth[name] == level]
        row.sort(key=lambda name: _middle(dag, name, places))
        for place, name in enumerate(row):
            places[name] = (place + (widest - len(row)) / 2.0, 0.0 - level)
    return places


def _middle(dag: DAG, name: str, places: Mapping[str, tuple[float, float]]) -> float:
    parents = dag.parents(name)
    return sum(places[p][0] for p in parents) / len(parents) if parents else 0.0
