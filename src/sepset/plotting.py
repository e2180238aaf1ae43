"""Plots that compare several results, and plots of graphs; each result also has its own `plot` method.

Everything is drawn on matplotlib axes: the given ones, or the current ones.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sepset.base.axes import axes_of
from sepset.base.checks import fraction
from sepset.base.extras import require
from sepset.base.text import listing
from sepset.errors import FileFormatError, ModelError
from sepset.graphs.base import Graph, required_graph
from sepset.graphs.clusters import ClusterGraph
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph
from sepset.graphs.pag import PAG
from sepset.graphs.picture import EdgeStyle, draw, legend, union
from sepset.learning.evaluation.calibration import CalibrationResult
from sepset.learning.fit import FitResult
from sepset.learning.structure.averaging.posterior import StructurePosterior
from sepset.models.bayesnet import BayesNet
from sepset.models.chaingraph import ChainGraph
from sepset.models.factorgraph import FactorGraph
from sepset.models.markovnet import MarkovNet
from sepset.models.model import NamedModel

__all__ = ["calibration_curves", "edge_confidence", "graph", "graph_difference", "save", "traces"]


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


def graph(model: Graph | PAG | ClusterGraph | NamedModel, ax: Any = None) -> Any:
    """A plot of a graph in layers: in a DAG every node is below its parents, in others by its distance from a center.

    Args:
        model: a graph of any kind, a cluster graph or clique tree, or the model whose graph is drawn.
        ax: matplotlib axes.

    >>> import matplotlib.figure
    >>> len(graph(DAG.parse("a -> b <- c"), matplotlib.figure.Figure().subplots()).texts)
    3
    """
    return draw(model if isinstance(model, PAG) else _graph_of(model), axes_of(ax))


def graph_difference(truth: Graph, learned: Graph, *, ax: Any = None) -> Any:
    """A plot of two graphs over the same nodes: edges of both, and those that are missing, extra or directed otherwise.

    Where both join a pair, the edge is drawn as in the truth.

    Args:
        truth: the graph to compare with.
        learned: a graph over the same nodes.
        ax: matplotlib axes.

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
    styles = {edge: DIFFERENCES[kind] for edge, kind in kinds.items()}
    axes = draw(union(one, two), axes_of(ax), styles=styles, order=_order(one))
    counts = Counter(kinds.values())
    legend(axes, {f"{kind} ({counts[kind]})": style for kind, style in DIFFERENCES.items()})
    return axes


DIFFERENCES = {
    "common": EdgeStyle("0.35", 1.2),
    "missing": EdgeStyle("tab:red", 1.6, "--"),
    "extra": EdgeStyle("tab:blue", 1.6),
    "other direction": EdgeStyle("tab:orange", 1.6),
}
"""How edges are drawn that two graphs have in common, and those in which they differ."""


def _kinds(truth: Graph, learned: Graph) -> dict[tuple[str, str], str]:
    """The kind of each edge of the union, which has the edges of the truth where both join a pair."""
    ours, theirs = _marks(truth), _marks(learned)
    found = {}
    for edge in (*truth.directed, *truth.undirected):
        pair = frozenset(edge)
        found[edge] = "missing" if pair not in theirs else "common" if ours[pair] == theirs[pair] else "other direction"
    extra = (edge for edge in (*learned.directed, *learned.undirected) if frozenset(edge) not in ours)
    return found | dict.fromkeys(extra, "extra")


def _order(graph: Graph) -> tuple[str, ...] | None:
    return graph.topological_order if isinstance(graph, DAG) else None


def _marks(graph: Graph) -> dict[frozenset[str], tuple[str, str] | None]:
    """For each pair that is joined, the arrow; None for a line."""
    return {frozenset(edge): edge for edge in graph.directed} | {frozenset(edge): None for edge in graph.undirected}


def edge_confidence(posterior: StructurePosterior, ax: Any = None, *, least: float = 0.1) -> Any:
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
    styles: dict[tuple[str, str], EdgeStyle] = {}
    arrows: list[tuple[str, str]] = []
    lines: list[tuple[str, str]] = []
    for (i, a), (j, b) in itertools.combinations(enumerate(posterior.names), 2):
        there, back = float(posterior.edges[i, j]), float(posterior.edges[j, i])
        joined = min(1.0, there + back)
        if joined < least or not joined:
            continue
        edge = (a, b) if there >= back else (b, a)
        (lines if abs(there - back) < EVEN * joined else arrows).append(edge)
        styles[edge] = EdgeStyle(str(round(0.75 - 0.65 * joined, 3)), 0.4 + 2.2 * joined, label=f"{joined:.2f}")
    drawn = MixedGraph(posterior.names, arrows, undirected=lines)
    return draw(drawn, axes_of(ax), styles=styles, order=posterior.consensus(0.0).topological_order)


EVEN = 0.2
"""The difference of the probabilities of two directions, as a share of their sum, below which neither is drawn."""


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
