"""Scenes on matplotlib axes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sepset.base.axes import ink
from sepset.base.extras import require
from sepset.graphs.layered.routes import Point
from sepset.graphs.pictures.scene import MARGIN, Line, Polygon, Rectangle, Ring, Scene, Shape, Text

ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def draw_scene(scene: Scene, axes: Any) -> Any:
    """The axes with a scene in them, in its proportions.

    >>> import matplotlib.figure
    >>> from sepset.graphs.pictures.scene import scene
    >>> from sepset.graphs.pictures.sketch import Sketch
    >>> axes = matplotlib.figure.Figure().subplots()
    >>> len(draw_scene(scene(Sketch.of("ab", [("a", "->", "b")])), axes).texts)
    2
    """
    axes.set(xlim=(-MARGIN, scene.width + MARGIN), ylim=(-scene.height - MARGIN, MARGIN))
    axes.set_aspect("equal")
    axes.set_axis_off()
    scale = _points_per_unit(axes, scene)
    for group in scene.groups:
        for shape in group.shapes:
            _draw(axes, shape, scale)
    return axes


def _points_per_unit(axes: Any, scene: Scene) -> float:
    width, height = axes.figure.get_size_inches() * 72.0 * axes.get_position().bounds[2:]
    return float(min(width / (scene.width + 2.0 * MARGIN), height / (scene.height + 2.0 * MARGIN)))


def _draw(axes: Any, shape: Shape, scale: float) -> None:
    patches = require("matplotlib.patches", "plot", "Plotting")
    match shape:
        case Rectangle():
            axes.add_patch(_rectangle(patches, shape, scale))
        case Line(points, width, stroke, dashed):
            path = require("matplotlib.path", "plot", "Plotting").Path
            codes = [path.MOVETO, *[path.CURVE4] * (len(points) - 1)]
            style = {"linewidth": width * scale, "edgecolor": _color(stroke), "linestyle": "--" if dashed else "-"}
            axes.add_patch(
                patches.PathPatch(path(_up(points), codes), facecolor="none", alpha=0.75, gid="edge", **style)
            )
        case Polygon(points, fill):
            axes.add_patch(patches.Polygon(_up(points), closed=True, facecolor=_color(fill), edgecolor="none"))
        case Ring(x, y, radius, stroke):
            axes.add_patch(patches.Circle((x, -y), radius, fill=False, edgecolor=_color(stroke), linewidth=scale))
        case Text(x, y, text, size, anchor, bold, fill, opacity):
            style = {"ha": ANCHORS[anchor], "va": "baseline", "color": _color(fill), "alpha": opacity}
            weight = "bold" if bold else "normal"
            axes.text(x, -y, text, fontsize=0.88 * size * scale, fontweight=weight, parse_math=False, **style)


def _up(points: Iterable[Point]) -> list[Point]:
    """The points with y growing upward, as on axes."""
    return [(x, -y) for x, y in points]


def _rectangle(patches: Any, shape: Rectangle, scale: float) -> Any:
    to_rgba = require("matplotlib.colors", "plot", "Plotting").to_rgba
    face = to_rgba(_color(shape.fill), shape.opacity) if shape.fill != "none" else "none"
    edge = _color(shape.stroke) if shape.stroke != "none" else "none"
    style = f"round,pad=0,rounding_size={shape.round}" if shape.round else "square,pad=0"
    corner = (shape.x, -shape.y - shape.height)
    made = patches.FancyBboxPatch(corner, shape.width, shape.height, boxstyle=style, facecolor=face, edgecolor=edge)
    made.set_linewidth(shape.line * scale if shape.stroke != "none" else 0.0)
    return made


def _color(name: str) -> str:
    return ink() if name == "currentColor" else name
