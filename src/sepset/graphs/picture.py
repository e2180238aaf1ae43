"""Pictures of graphs on matplotlib axes: nodes as boxes, edges as arrows or lines with a color, a width and a label."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sepset.base.extras import require
from sepset.graphs.base import Graph
from sepset.graphs.graph import MixedGraph
from sepset.graphs.layout import Layout, Point, layered
from sepset.graphs.pag import PAG

PLAIN = "0.35"
"""The color of an ordinary edge."""


@dataclass(frozen=True, slots=True)
class EdgeStyle:
    """How an edge is drawn.

    Attributes:
        color: a color of matplotlib.
        width: of the line, in points.
        dashes: the style of the line: "-", "--" or ":".
        label: a text at its middle.
    """

    color: str = PLAIN
    width: float = 1.0
    dashes: str = "-"
    label: str = ""


ORDINARY = EdgeStyle()


HEADS = {"->": "-|>", "o->": "-|>", "<->": "<|-|>", "-": "-", "o-": "-", "-o": "-", "o-o": "-"}
"""The arrows of matplotlib for each kind of edge; circles are drawn by themselves."""

MIRRORED = {"o-": "-o", "-o": "o-"}
"""The kinds of lines that differ from the other side."""


def draw(
    graph: Graph | PAG,
    axes: Any,
    *,
    styles: Mapping[tuple[str, str], EdgeStyle] | None = None,
    order: Sequence[str] | None = None,
) -> Any:
    """The axes with a picture of a graph in layers.

    Args:
        graph: a graph of any kind; circles at the ends of the edges of a PAG are circles.
        axes: matplotlib axes.
        styles: how some edges are drawn, by the pairs of their nodes.
        order: of the nodes, the first ones at the top; by default along the arrows.

    >>> import matplotlib.figure
    >>> from sepset.graphs.graph import DAG
    >>> found = draw(DAG.parse("a -> b <- c"), matplotlib.figure.Figure().subplots())
    >>> len(found.texts), len(found.patches)
    (3, 2)
    """
    drawn, kinds = _drawn(graph)
    layout = layered(drawn, order)
    _frame(axes, layout)
    scale = _Scale.of(axes, layout)
    chosen = styles or {}
    for edge in (*drawn.directed, *drawn.undirected):
        style = chosen.get(edge, chosen.get(edge[::-1], ORDINARY))
        _draw_edge(axes, _Curve.of(edge, layout.routes[edge], scale), kinds[edge], style, scale.size)
    box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "0.3", "linewidth": 0.8}
    for name, place in layout.nodes.items():
        axes.text(*place, name, ha="center", va="center", fontsize=scale.size, bbox=box, zorder=3)
    return axes


def _drawn(graph: Graph | PAG) -> tuple[Graph, dict[tuple[str, str], str]]:
    """The graph as arrows and lines, and the kind of each of its edges."""
    if not isinstance(graph, PAG):
        return graph, dict.fromkeys(graph.directed, "->") | dict.fromkeys(graph.undirected, "-")
    arrows = [(x, y) for x, kind, y in graph.edges if kind in ("->", "o->")]
    others = [(x, y) for x, kind, y in graph.edges if kind not in ("->", "o->")]
    made = MixedGraph(graph.nodes, arrows, undirected=others)
    kinds = {(x, y): kind for x, kind, y in graph.edges}
    return made, kinds | {(y, x): MIRRORED.get(kind, kind) for (x, y), kind in kinds.items()}


def legend(axes: Any, styles: Mapping[str, EdgeStyle]) -> None:
    """Name the styles of edges."""
    lines = require("matplotlib.lines", "plot", "Plotting")
    handles = [
        lines.Line2D([], [], color=style.color, linestyle=style.dashes, linewidth=max(1.5, style.width), label=name)
        for name, style in styles.items()
    ]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(handles), frameon=False)


def union(one: Graph, two: Graph) -> MixedGraph:
    """The graph with the edges of the first, and those of the second between nodes that the first does not join."""
    joined = {frozenset(edge) for edge in (*one.directed, *one.undirected)}
    directed = [edge for edge in two.directed if frozenset(edge) not in joined]
    lines = [edge for edge in two.undirected if frozenset(edge) not in joined]
    return MixedGraph(one.nodes, [*one.directed, *directed], undirected=[*one.undirected, *lines])


class _Scale(NamedTuple):
    """The size of names in points, and how many points a unit of each axis has."""

    size: float
    across: float
    down: float

    @classmethod
    def of(cls, axes: Any, layout: Layout) -> _Scale:
        """The largest size, from 4 to 11, with which neighbors in a layer do not overlap."""
        width, height = axes.figure.get_size_inches() * 72.0 * axes.get_position().bounds[2:]
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        across, down = width / (right - left), height / (top - bottom)
        rows: dict[float, list[tuple[float, int]]] = {}
        for name, (x, y) in layout.nodes.items():
            rows.setdefault(y, []).append((x, len(name)))
        tightest = min(
            ((b[0] - a[0]) / (a[1] + b[1] + 3.0) for row in rows.values() for a, b in itertools.pairwise(sorted(row))),
            default=1.0,
        )
        return cls(float(min(11.0, max(4.0, min(2.0 * tightest * across / LETTER, down / 3.0)))), across, down)

    def half_box(self, name: str) -> Point:
        """Half the width and height of the box of a name, in units of the axes."""
        return self.size * (LETTER * len(name) / 2.0 + 0.4) / self.across, self.size * 0.85 / self.down


LETTER = 0.62
"""The mean width of a letter, as a share of the size of the font."""


class _Curve(NamedTuple):
    """The points of a cubic curve from the border of one box to that of another, and its middle."""

    points: list[Point]
    middle: Point

    @classmethod
    def of(cls, edge: tuple[str, str], route: Sequence[Point], scale: _Scale) -> _Curve:
        """A smooth curve through the points of a route; below the layer if it joins nodes of one layer."""
        (ax, ay), (bx, by) = route[0], route[-1]
        if ay == by and abs(ax - bx) > 1.5:
            route = (route[0], ((ax + bx) / 2.0, ay - 0.3), route[-1])
        first = _border(route[0], route[1], scale.half_box(edge[0]))
        last = _border(route[-1], route[-2], scale.half_box(edge[1]))
        route = (first, *route[1:-1], last)
        slopes = [_slope(route, k) for k in range(len(route))]
        points = [first]
        for k, (p, q) in enumerate(itertools.pairwise(route)):
            points += [_moved(p, slopes[k], 1.0), _moved(q, slopes[k + 1], -1.0), q]
        half = len(route) // 2
        low, high = route[(len(route) - 1) // 2], route[half]
        return cls(points, ((low[0] + high[0]) / 2.0, (low[1] + high[1]) / 2.0))


def _slope(route: Sequence[Point], k: int) -> Point:
    """A third of the way from the point before to the point after, which are two steps apart, or one at the ends."""
    before, after = max(0, k - 1), min(len(route) - 1, k + 1)
    (ax, ay), (bx, by), steps = route[before], route[after], 3.0 * (after - before)
    return (bx - ax) / steps, (by - ay) / steps


def _moved(point: Point, by: Point, times: float) -> Point:
    return point[0] + times * by[0], point[1] + times * by[1]


def _border(center: Point, toward: Point, half: Point) -> Point:
    """The point of a box in the direction of another point."""
    dx, dy = toward[0] - center[0], toward[1] - center[1]
    reach = min((abs(h / d) for h, d in ((half[0], dx), (half[1], dy)) if d), default=0.0)
    return _moved(center, (dx, dy), reach)


def _draw_edge(axes: Any, curve: _Curve, kind: str, style: EdgeStyle, size: float) -> None:
    paths = require("matplotlib.path", "plot", "Plotting").Path
    codes = [paths.MOVETO, *[paths.CURVE4] * (len(curve.points) - 1)]
    arrow = require("matplotlib.patches", "plot", "Plotting").FancyArrowPatch(
        path=paths(curve.points, codes),
        arrowstyle=HEADS[kind],
        mutation_scale=size * 1.2,
        color=style.color,
        linewidth=style.width,
        linestyle=style.dashes,
        fill=HEADS[kind] != "-",
        zorder=1,
    )
    axes.add_patch(arrow)
    circles = [curve.points[k] for k in (0, -1) if kind[k] == "o"]
    for x, y in circles:
        axes.plot(x, y, "o", markersize=size * 0.45, markerfacecolor="white", markeredgecolor=style.color, zorder=4)
    if style.label:
        clear = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}
        about = {"ha": "center", "va": "center", "fontsize": size * 0.8, "color": style.color}
        axes.text(*curve.middle, style.label, bbox=clear, zorder=2, **about)


def _points(layout: Layout) -> list[Point]:
    return [*layout.nodes.values(), *(point for route in layout.routes.values() for point in route)]


def _frame(axes: Any, layout: Layout) -> None:
    points = _points(layout)
    axes.set(xlim=(-0.5, max((x for x, _ in points), default=0.0) + 0.5))
    axes.set(ylim=(min((y for _, y in points), default=0.0) - 0.5, 0.5))
    axes.set_axis_off()
