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
from sepset.graphs.base import Graph, required_graph
from sepset.graphs.clusters import ClusterGraph
from sepset.graphs.graph import DAG, UndirectedGraph
from sepset.learning.evaluation.calibration import CalibrationResult
from sepset.learning.fit import FitResult
from sepset.models.bayesnet import BayesNet
from sepset.models.chaingraph import ChainGraph
from sepset.models.factorgraph import FactorGraph
from sepset.models.markovnet import MarkovNet
from sepset.models.model import NamedModel

__all__ = ["calibration_curves", "graph", "layered", "save", "traces"]


def __dir__() -> list[str]:
    return __all__


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


def graph(model: Graph | ClusterGraph | NamedModel, ax: Any = None) -> Any:
    """A plot of a graph in layers: in a DAG every node is below its parents, in others below its nearest center.

    Args:
        model: a graph of any kind, a cluster graph or clique tree, or the model whose graph is drawn.
        ax: matplotlib axes.

    >>> import matplotlib.figure
    >>> len(graph(DAG.parse("a -> b <- c"), matplotlib.figure.Figure().subplots()).texts)
    5
    """
    axes = axes_of(ax)
    drawn = _graph_of(model)
    places = layered(drawn)
    for pairs, style in ((drawn.directed, "-|>"), (drawn.undirected, "-")):
        for start, end in pairs:
            arrow = {"arrowstyle": style, "color": "0.5", "shrinkA": 12, "shrinkB": 12}
            axes.annotate("", places[end], places[start], arrowprops=arrow)
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.3"}
    for name, place in places.items():
        axes.text(*place, name, ha="center", va="center", bbox=box)
    axes.set(xlim=(-0.5, max((x for x, _ in places.values()), default=0.0) + 0.5))
    axes.set(ylim=(min((y for _, y in places.values()), default=0.0) - 0.5, 0.5))
    axes.set_axis_off()
    return axes


def _graph_of(model: Graph | ClusterGraph | NamedModel) -> Graph:
    """The graph that is drawn of a model or a cluster graph, whose nodes are named by their variables; or itself.

    >>> from sepset.graphs.clusters import tree_decomposition
    >>> _graph_of(tree_decomposition(UndirectedGraph.parse("a - b - c")))
    UndirectedGraph("a, b" - "b, c")
    """
    if isinstance(model, ClusterGraph):
        names = _distinct([", ".join(cluster) for cluster in model.clusters])
        return UndirectedGraph(names, [(names[i], names[j]) for i, j in model.edges])
    if isinstance(model, BayesNet):
        return model.dag
    if isinstance(model, MarkovNet | ChainGraph):
        return model.graph
    if isinstance(model, FactorGraph):
        return _graph_of(model.model)  # type: ignore[arg-type]  # the model of a factor graph
    return required_graph(model)


def _distinct(names: list[str]) -> list[str]:
    """The names, with a number where they are equal."""
    return [f"{name} ({place})" if names.count(name) > 1 else name for place, name in enumerate(names)]


def layered(graph: Graph) -> dict[str, tuple[float, float]]:
    """Coordinates for every node: one row below its lowest parent, near the middle of its parents.

    In a graph that is not directed rows are distances from the node with the most neighbors in its component.

    >>> layered(DAG.parse("a -> b <- c"))
    {'a': (0.0, 0.0), 'c': (1.0, 0.0), 'b': (0.5, -1.0)}
    >>> layered(UndirectedGraph.parse("a - b - c"))
    {'b': (0.5, 0.0), 'a': (0.0, -1.0), 'c': (1.0, -1.0)}
    """
    depth = _depths(graph) if isinstance(graph, DAG) else _distances(graph)
    widest = max((list(depth.values()).count(d) for d in set(depth.values())), default=1)
    places: dict[str, tuple[float, float]] = {}
    for level in range(max(depth.values(), default=-1) + 1):
        row = [name for name in depth if depth[name] == level]
        row.sort(key=lambda name: _middle(graph, name, places))
        for place, name in enumerate(row):
            places[name] = (place + (widest - len(row)) / 2.0, 0.0 - level)
    return places


def _depths(dag: DAG) -> dict[str, int]:
    depth: dict[str, int] = {}
    for name in dag.topological_order:
        depth[name] = 1 + max((depth[p] for p in dag.parents(name)), default=-1)
    return depth


def _distances(graph: Graph) -> dict[str, int]:
    """The distance of each node from the node with the most neighbors that it is connected with."""
    depth: dict[str, int] = {}
    for root in sorted(graph.nodes, key=lambda name: -len(graph.adjacent(name))):
        queue = [] if root in depth else [root]
        depth.setdefault(root, 0)
        for name in queue:
            for other in graph.adjacent(name):
                if other not in depth:
                    depth[other] = depth[name] + 1
                    queue.append(other)
    return depth


def _middle(graph: Graph, name: str, places: Mapping[str, tuple[float, float]]) -> float:
    """The mean of the neighbors that have a place: those above."""
    above = [places[other][0] for other in graph.adjacent(name) if other in places]
    return sum(above) / len(above) if above else 0.0
