"""Plots that compare several results, and plots of graphs; each result also has its own `plot` method.

Everything is drawn on matplotlib axes: the given ones, or the current ones.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sepset.api.pictures import draw
from sepset.base.axes import axes_of, image, ink
from sepset.base.checks import fraction, number
from sepset.base.extras import require
from sepset.base.foreign import translated
from sepset.base.replacing import write_whole
from sepset.base.text import brief, listing
from sepset.errors import ArgumentError, FileFormatError, ModelError
from sepset.graphs.base import Graph, required_graph
from sepset.graphs.graph import MixedGraph
from sepset.graphs.pictures.picture import Picture
from sepset.graphs.pictures.sketch import COLORS, Box, End, Link, Sketch, Sketched
from sepset.learning.evaluation.calibration import CalibrationResult
from sepset.learning.fit import FitResult
from sepset.learning.structure.averaging.posterior import StructurePosteriorResult

__all__ = ["calibration_curves", "edge_confidence", "graph", "graph_difference", "save", "traces"]


def __dir__() -> list[str]:
    return __all__


MOST_INCHES = 400
"""The longest side of an image that is saved."""


@translated
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
    width, height = (number("size", part, least=0.1) for part in size)
    if max(width, height) > MOST_INCHES:
        raise ArgumentError(f"size= is the width and height in inches, at most {MOST_INCHES}; found {brief(size)}.")
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    suffix, known = Path(path).suffix.lower().lstrip("."), figure.canvas.get_supported_filetypes()
    if suffix not in known:
        raise FileFormatError(
            f"the suffix '.{suffix}' is not a known image format; use .png, .svg or .pdf.", file=os.fspath(path)
        )
    draw(figure.subplots())
    write_whole(path, image(figure, suffix))


@translated
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


@translated
def traces(fits: Mapping[str, FitResult], ax: Any = None) -> Any:
    """Each fit's distance from the best objective of all after every iteration, in nats on a logarithmic axis.

    Args:
        fits: the fits, by their names in the legend.
        ax: matplotlib axes.

    >>> from sepset.graphs.graph import DAG
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


@translated
def graph(model: Sketched, ax: Any = None) -> Any:
    """A plot of a graph in layers, as `sepset.draw` makes it.

    Args:
        model: a graph of any kind, a cluster graph or clique tree, or a model.
        ax: matplotlib axes.

    >>> from sepset.graphs.graph import DAG
    >>> import matplotlib.figure
    >>> len(graph(DAG.parse("a -> b <- c"), matplotlib.figure.Figure().subplots()).texts)
    3
    """
    return draw(model).plot(ax)


@translated
def graph_difference(truth: Graph, learned: Graph, *, ax: Any = None) -> Any:
    """A plot of two graphs over the same nodes: edges of both, and those that are missing, extra or directed otherwise.

    Where both join a pair, the edge is drawn as in the truth.

    Args:
        truth: the graph to compare with.
        learned: a graph over the same nodes.
        ax: matplotlib axes.

    >>> from sepset.graphs.graph import DAG
    >>> import matplotlib.figure
    >>> axes = matplotlib.figure.Figure().subplots()
    >>> found = graph_difference(DAG.parse("a -> b; c"), DAG.parse("b -> a; b -> c"), ax=axes)
    >>> [text.get_text() for text in found.get_legend().get_texts()]
    ['common (0)', 'missing (0)', 'extra (1)', 'other direction (1)']
    """
    one, two = required_graph(truth), required_graph(learned)
    if set(one.nodes) != set(two.nodes):
        differ = sorted(set(one.nodes) ^ set(two.nodes))
        raise ModelError(f"Graphs compare over the same nodes; they differ in {listing(differ)}.")
    kinds = _kinds(one, two)
    sketch = _union(one, two)._sketch()
    names = [box.name for box in sketch.boxes]
    styles = [DIFFERENCES[kinds[names[link.source], names[link.target]]] for link in sketch.links]
    links = [replace(link, **style._asdict()) for link, style in zip(sketch.links, styles, strict=True)]
    axes = Picture(sketch.with_links(links)).plot(ax)
    counts = Counter(kinds.values())
    _legend(axes, {f"{kind} ({counts[kind]})": style for kind, style in DIFFERENCES.items()})
    return axes


class _Style(NamedTuple):
    """How an edge is drawn; see `Link`."""

    color: str
    width: float
    dashed: bool = False


DIFFERENCES = {
    "common": _Style("", 1.2),
    "missing": _Style("red", 1.6, True),
    "extra": _Style("blue", 1.6),
    "other direction": _Style("orange", 1.6),
}
"""How edges are drawn that two graphs have in common, and those in which they differ."""


def _union(one: Graph, two: Graph) -> MixedGraph:
    """The graph with the edges of the first, and those of the second between nodes that the first does not join."""
    joined = {frozenset(edge) for edge in (*one.directed, *one.undirected)}
    directed = [edge for edge in two.directed if frozenset(edge) not in joined]
    lines = [edge for edge in two.undirected if frozenset(edge) not in joined]
    return MixedGraph(one.nodes, [*one.directed, *directed], undirected=[*one.undirected, *lines])


def _legend(axes: Any, styles: Mapping[str, _Style]) -> None:
    """Name the styles of edges below the picture."""
    lines = require("matplotlib.lines", "plot", "Plotting")
    handles = [
        lines.Line2D(
            [], [], color=COLORS.get(color) or ink(), linestyle="--" if dashed else "-", linewidth=1.6, label=name
        )
        for name, (color, _, dashed) in styles.items()
    ]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)


def _kinds(truth: Graph, learned: Graph) -> dict[tuple[str, str], str]:
    """The kind of each edge of the union, which has the edges of the truth where both join a pair."""
    ours, theirs = _marks(truth), _marks(learned)
    found = {}
    for edge in (*truth.directed, *truth.undirected):
        pair = frozenset(edge)
        found[edge] = "missing" if pair not in theirs else "common" if ours[pair] == theirs[pair] else "other direction"
    extra = (edge for edge in (*learned.directed, *learned.undirected) if frozenset(edge) not in ours)
    return found | dict.fromkeys(extra, "extra")


def _marks(graph: Graph) -> dict[frozenset[str], tuple[str, str] | None]:
    """For each pair that is joined, the arrow; None for a line."""
    return {frozenset(edge): edge for edge in graph.directed} | {frozenset(edge): None for edge in graph.undirected}


@translated
def edge_confidence(posterior: StructurePosteriorResult, ax: Any = None, *, least: float = 0.1) -> Any:
    """A plot of the pairs that are probably joined: wide lines are probable, and labeled with the probability.

    Pairs are drawn in their more probable direction, as a line if both directions are about equally probable.

    Args:
        posterior: the result of `structure_posterior`.
        ax: matplotlib axes.
        least: the smallest probability of a pair that is drawn.

    >>> import matplotlib.figure
    >>> import sepset as ss
    >>> rows = {"rain": [0, 0, 1, 1] * 10, "wet": [0, 1, 1, 1] + [0, 0, 1, 1] * 9, "coin": [0, 1, 0, 1] * 10}
    >>> found = ss.structure_posterior(rows, method=ss.structure.Exhaustive())
    >>> drawn = edge_confidence(found, matplotlib.figure.Figure().subplots(), least=0.5)
    >>> sorted(text.get_text() for text in drawn.texts)
    ['1.00', 'coin', 'rain', 'wet']
    """
    fraction("least", least, ends=True)
    links: list[Link] = []
    for i, j in itertools.combinations(range(len(posterior.names)), 2):
        there, back = float(posterior.edges[i, j]), float(posterior.edges[j, i])
        joined = min(1.0, there + back)
        if joined < least or not joined:
            continue
        source, target = (i, j) if there >= back else (j, i)
        head: End = "" if abs(there - back) < EVEN * joined else "arrow"
        style = {"width": 0.4 + 2.2 * joined, "label": f"{joined:.2f}", "color": "" if joined > 0.5 else "gray"}
        links.append(Link(source, target, head=head, **style))  # type: ignore[arg-type]  # each of its own type
    return Picture(Sketch(tuple(map(Box, posterior.names)), tuple(links))).plot(ax)


EVEN = 0.2
"""The difference of the probabilities of two directions, as a share of their sum, below which neither is drawn."""
