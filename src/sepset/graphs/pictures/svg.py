"""Scenes as SVG: colors of the page they are in, so that they are legible on light and on dark backgrounds."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from sepset.graphs.pictures.scene import MARGIN, Group, Line, Polygon, Rectangle, Ring, Scene, Shape, Text
from sepset.graphs.pictures.textsize import shown

PAGE = (
    "<style>:root{color:#1f2328;background:#fff}"
    "@media(prefers-color-scheme:dark){:root{color:#e6edf3;background:#0d1117}}</style>"
)
"""The colors of a file of its own, light or dark as the reader prefers."""

LEAST = 0.6
"""The share of its size to which a picture shrinks in a narrow page before it scrolls."""

DASHES = ' stroke-dasharray="5 4"'
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"


def svg(scene: Scene, *, page: bool, label: str = "") -> str:
    """The scene as an SVG element.

    Args:
        scene: what to draw.
        page: whether it is a file of its own, with its own colors; otherwise it takes the color of the text around.
        label: a description for readers who cannot see it.

    >>> svg(Scene([], 10.0, 10.0), page=False, label="nothing")[:60]
    '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="3'
    """
    width, height = scene.width + 2.0 * MARGIN, scene.height + 2.0 * MARGIN
    style = "" if page else f'style="{fitting(width)}" '
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="{_n(-MARGIN)} {_n(-MARGIN)} {_n(width)} {_n(height)}" font-family="{FONT}" '
        f'{style}fill="none" role="img" aria-label="{quoted(label)}">'
    )
    return f"{head}{PAGE if page else ''}{''.join(map(_group, scene.groups))}</svg>"


def fitting(width: float) -> str:
    """The style of a picture of this width within a page: it shrinks with a narrow page, but not beyond reading.

    >>> fitting(500.0)
    'max-width:100%;min-width:300px;height:auto'
    """
    return f"max-width:100%;min-width:{_n(LEAST * width)}px;height:auto"


def quoted(text: str) -> str:
    """The text as it stands in XML, without the characters that XML does not allow.

    >>> quoted("a<b" + chr(0))
    'a&lt;b\N{REPLACEMENT CHARACTER}'
    """
    return escape("".join(c if shown(c) or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text))


def _group(group: Group) -> str:
    title = f"<title>{quoted(group.title)}</title>" if group.title else ""
    return f"<g>{title}{''.join(map(_shape, group.shapes))}</g>"


def _shape(shape: Shape) -> str:
    match shape:
        case Rectangle():
            return _rectangle(shape)
        case Line(points, width, stroke, dashed):
            style = f'stroke="{stroke}" stroke-width="{_n(width)}" stroke-opacity="0.75"'
            return f'<path d="{_path(points)}" {style}{DASHES if dashed else ""}/>'
        case Polygon(points, fill):
            return f'<path d="M{"L".join(map(_point, points))}Z" fill="{fill}" fill-opacity="0.85"/>'
        case Ring(x, y, radius, stroke):
            return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" stroke="{stroke}" stroke-width="1.2"/>'
        case Text(x, y, text, size, anchor, bold, fill, opacity):
            faint = f' fill-opacity="{_n(opacity)}"' if opacity < 1.0 else ""
            weight = ' font-weight="600"' if bold else ""
            place = f'x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" text-anchor="{anchor}"'
            return f'<text {place} fill="{fill}"{faint}{weight}>{quoted(text)}</text>'


def _rectangle(shape: Rectangle) -> str:
    style = f'fill="{shape.fill}"' if shape.fill != "none" else ""
    if shape.opacity < 1.0:
        style += f' fill-opacity="{shape.opacity:g}"'
    if shape.stroke != "none":
        faint = ' stroke-opacity="0.6"' if shape.line == 1.0 else ""
        style += f' stroke="{shape.stroke}" stroke-width="{shape.line:g}"{faint}'
    corner = f' rx="{_n(shape.round)}"' if shape.round else ""
    size = f'x="{_n(shape.x)}" y="{_n(shape.y)}" width="{_n(shape.width)}" height="{_n(shape.height)}"'
    return f"<rect {size}{corner} {style}/>"


def _path(points: Iterable[tuple[float, float]]) -> str:
    first, *rest = points
    pieces = ("C" + " ".join(map(_point, rest[k : k + 3])) for k in range(0, len(rest), 3))
    return f"M{_point(first)}{''.join(pieces)}"


def _point(point: tuple[float, float]) -> str:
    return f"{_n(point[0])},{_n(point[1])}"


def _n(number: float) -> str:
    """A number with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")
