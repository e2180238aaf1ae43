"""A sketch with its places: rectangles, curves and texts, which any renderer can draw."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from sepset.graphs.layered.layout import Layout, Spacing, layered
from sepset.graphs.layered.routes import Curve, Point
from sepset.graphs.pictures.linklabels import label_places
from sepset.graphs.pictures.positions import positioned
from sepset.graphs.pictures.sketch import COLORS, GROUP_COLORS, Box, End, Kind, Link, Row, Sketch
from sepset.graphs.pictures.textsize import cut, percent, text_width

NAME_SIZE, ROW_SIZE, CAPTION_SIZE = 12.0, 10.5, 11.0
ROW_HEIGHT, BAR_WIDTH, PADDING, MARGIN = 15.0, 58.0, 8.0, 10.0
MOST_ROWS = 9
"""The states of a variable that are shown; the rest are counted."""
FILL = 0.35
"""The opacity of a box's own color, at which text is legible on any color, on light and on dark pages."""
BLUE, ORANGE, GRAY = COLORS["blue"], COLORS["orange"], COLORS["gray"]
INK = "currentColor"


class Rectangle(NamedTuple):
    """A rectangle with its left upper corner; `round` is the radius of its corners."""

    x: float
    y: float
    width: float
    height: float
    fill: str = "none"
    opacity: float = 1.0
    stroke: str = "none"
    line: float = 1.0
    round: float = 0.0


class Line(NamedTuple):
    """A curve of cubic pieces."""

    points: Curve
    width: float
    stroke: str
    dashed: bool


class Polygon(NamedTuple):
    """A filled polygon."""

    points: tuple[Point, ...]
    fill: str


class Ring(NamedTuple):
    """A circle that is not filled."""

    x: float
    y: float
    radius: float
    stroke: str


class Text(NamedTuple):
    """A text on a line; `anchor` is "start", "middle" or "end", and `y` its baseline."""

    x: float
    y: float
    text: str
    size: float
    anchor: str = "start"
    bold: bool = False
    fill: str = INK
    opacity: float = 1.0


FAINT = 0.7
"""The opacity of texts that matter less. No gray is legible on light and on dark pages; the color of text is."""

Shape = Rectangle | Line | Polygon | Ring | Text


class Group(NamedTuple):
    """The shapes of one node or edge, with a text for the pointer."""

    title: str
    shapes: list[Shape]


class Scene(NamedTuple):
    """Everything to draw, in order, and its extent from 0."""

    groups: list[Group]
    width: float
    height: float


def scene(sketch: Sketch) -> Scene:
    """The places of everything in a picture.

    >>> found = scene(Sketch.of("ab", [("a", "->", "b")]))
    >>> len(found.groups), found.width < found.height
    (3, True)
    """
    layout = in_place(sketch) or placed(sketch)
    boxes = [(*center, *box_size(box)) for center, box in zip(layout.centers, sketch.boxes, strict=True)]
    texts = [cut(link.label) for link in sketch.links]
    pairs = zip(sketch.links, layout.curves, label_places(texts, layout.curves, boxes, size=ROW_SIZE), strict=True)
    groups = [_edge(sketch, link, points, place) for link, points, place in pairs]
    groups += [_node(box, center) for box, center in zip(sketch.boxes, layout.centers, strict=True)]
    below = layout.height + (MARGIN if sketch.boxes else 0.0)
    notes = list(_notes(sketch, below))
    right = [
        shape.x + text_width(shape.text, shape.size) for _, shapes in notes for shape in shapes if type(shape) is Text
    ]
    height = below + ROW_HEIGHT * _num_notes(sketch) if notes else layout.height
    return Scene([*groups, *notes], max([layout.width, *right]), height)


def in_place(sketch: Sketch) -> Layout | None:
    """The layout by the positions of the boxes; None if some have none, or they cannot be drawn there.

    >>> in_place(Sketch.of("ab", [("a", "->", "b")])) is None
    True
    """
    positions = [box.position for box in sketch.boxes if box.position is not None]
    if len(positions) < len(sketch.boxes):
        return None
    sizes = [box_size(box) for box in sketch.boxes]
    return positioned(sizes, positions, [(link.source, link.target) for link in sketch.links])


def placed(sketch: Sketch) -> Layout:
    """The layout of a sketch in layers: edges with one arrowhead go down."""
    directed = [link.points_back or (link.head == "arrow" and link.tail != "arrow") for link in sketch.links]
    pairs = [_downward(link) for link in sketch.links]
    arrows = [k for k, is_directed in enumerate(directed) if is_directed]
    lines = [k for k, is_directed in enumerate(directed) if not is_directed]
    sizes = [box_size(box) for box in sketch.boxes]
    found = layered(sizes, [pairs[k] for k in arrows], lines=[pairs[k] for k in lines], spacing=_spacing(sketch))
    curves: list[Curve] = [[]] * len(pairs)
    for k, points in zip((*arrows, *lines), found.curves, strict=True):
        link = sketch.links[k]
        curves[k] = points if pairs[k] == (link.source, link.target) else points[::-1]
    return found._replace(curves=curves)


def _downward(link: Link) -> tuple[int, int]:
    return (link.target, link.source) if link.points_back else (link.source, link.target)


def _spacing(sketch: Sketch) -> Spacing:
    """Closer layers where nothing points down."""
    return Spacing() if any(link.head or link.tail for link in sketch.links) else Spacing(down=26.0)


def box_size(box: Box) -> tuple[float, float]:
    """The width and height of a box with its name and rows."""
    if box.kind == "factor":
        return 18.0 + max(0.0, text_width(cut(box.name), ROW_SIZE) - 10.0), 20.0
    size = ROW_SIZE if box.kind == "sepset" else NAME_SIZE
    width = text_width(cut(box.name), size) + 2.0 * PADDING
    if not box.rows:
        return max(width, 34.0), 20.0 if box.kind == "sepset" else 26.0
    rows = _rows(box)
    columns = max((len(row.shares) for row in rows), default=0)
    label = max(text_width(cut(row.label, 14 if row.shares else 30), ROW_SIZE) for row in rows)
    inner = label + (6.0 + BAR_WIDTH + columns * 40.0 if columns else 0.0)
    return max(width, inner + 2.0 * PADDING), 25.0 + ROW_HEIGHT * len(rows) + 4.0


def _rows(box: Box) -> list[Row]:
    if len(box.rows) <= MOST_ROWS:
        return list(box.rows)
    return [*box.rows[: MOST_ROWS - 1], Row(f"… {len(box.rows) - MOST_ROWS + 1} more")]


def _node(box: Box, center: Point) -> Group:
    width, height = box_size(box)
    x, y = center[0] - width / 2.0, center[1] - height / 2.0
    line = ORANGE if box.observed else INK
    shapes: list[Shape] = []
    if box.observed:
        shapes.append(Rectangle(x, y, width, height, ORANGE, 0.14, round=_round(box.kind)))
    elif box.color:
        shapes.append(Rectangle(x, y, width, height, box.color, FILL, round=_round(box.kind)))
    else:
        shapes.append(
            Rectangle(x, y, width, height, INK, 0.14 if box.kind == "factor" else 0.045, round=_round(box.kind))
        )
    shapes.append(Rectangle(x, y, width, height, "none", 1.0, line, 1.8 if box.observed else 1.0, _round(box.kind)))
    if box.group >= 0:
        shapes.append(Rectangle(x, y + 4.0, 4.0, height - 8.0, GROUP_COLORS[box.group % len(GROUP_COLORS)], round=2.0))
    size = ROW_SIZE if box.kind in ("sepset", "factor") else NAME_SIZE
    base = y + 17.0 if box.rows else center[1] + size * 0.35
    shapes.append(Text(center[0], base, cut(box.name), size, "middle", bold=bool(box.rows)))
    for k, row in enumerate(_rows(box) if box.rows else ()):
        shapes += _row(row, x, y + 25.0 + k * ROW_HEIGHT, width)
    return Group(box.title or box.name, shapes)


def _round(kind: Kind) -> float:
    return {"variable": 7.0, "factor": 2.0, "cluster": 13.0, "sepset": 2.0}[kind]


def _row(row: Row, x: float, y: float, width: float) -> Iterator[Shape]:
    """A state with a bar and a number for each case."""
    color = ORANGE if row.found else BLUE
    base = y + 11.0
    yield Text(x + PADDING, base, cut(row.label, 14 if row.shares else 30), ROW_SIZE)
    if not row.shares:
        return
    columns = len(row.shares)
    left = x + width - PADDING - 40.0 * columns - BAR_WIDTH
    yield Rectangle(left, y + 2.5, BAR_WIDTH, 10.0, INK, 0.08, round=1.5)
    high = 10.0 / columns
    for k, share in enumerate(row.shares):
        long = BAR_WIDTH * min(1.0, max(0.0, share))
        if long > 0.0:
            yield Rectangle(left, y + 2.5 + k * high, max(0.7, long), high, GRAY if columns == 2 and not k else color)
        ink = 1.0 if columns == 1 or k else FAINT
        yield Text(x + width - PADDING - 40.0 * (columns - 1 - k), base, percent(share), ROW_SIZE, "end", opacity=ink)


def _edge(sketch: Sketch, link: Link, points: Curve, label: Point | None) -> Group:
    stroke = COLORS.get(link.color, link.color) or INK
    start, end = _trimmed(points, link)
    shapes: list[Shape] = [Line([start, *points[1:-1], end], link.width, stroke, link.dashed)]
    for mark, at, near in ((link.tail, points[0], points[1]), (link.head, points[-1], points[-2])):
        shapes += _mark(mark, at, near, stroke, link.width)
    if label is not None:
        ink = FAINT if stroke == GRAY else 1.0
        shapes.append(Text(*label, cut(link.label), ROW_SIZE, "start", opacity=ink))
    names = sketch.boxes[link.source].name, sketch.boxes[link.target].name
    return Group(link.title or f"{names[0]} {link.notation()} {names[1]}", shapes)


HEAD = 8.0
RING = 3.2


def _length(mark: End, width: float) -> float:
    """How much of the line a mark takes."""
    return {"": 0.0, "arrow": HEAD - 1.0 + width, "circle": 2.0 * RING}[mark]


def _trimmed(points: Curve, link: Link) -> tuple[Point, Point]:
    """The ends of the line, which the marks leave free."""
    return (
        _toward(points[0], points[1], _length(link.tail, link.width)),
        _toward(points[-1], points[-2], _length(link.head, link.width)),
    )


def _toward(at: Point, other: Point, length: float) -> Point:
    dx, dy = other[0] - at[0], other[1] - at[1]
    far = math.hypot(dx, dy)
    return (at[0] + dx / far * length, at[1] + dy / far * length) if far else at


def _mark(mark: End, at: Point, near: Point, stroke: str, width: float) -> Iterator[Shape]:
    if mark == "circle":
        x, y = _toward(at, near, RING)
        yield Ring(x, y, RING, stroke)
    elif mark == "arrow":
        back = _toward(at, near, HEAD + width)
        dx, dy = at[0] - back[0], at[1] - back[1]
        side = 0.26 + 0.05 * width
        one, two = (back[0] - dy * side, back[1] + dx * side), (back[0] + dy * side, back[1] - dx * side)
        yield Polygon((at, one, two), stroke)


def _num_notes(sketch: Sketch) -> int:
    return bool(sketch.cases) + bool(sketch.groups) + bool(sketch.caption)


def _notes(sketch: Sketch, y: float) -> Iterator[Group]:
    """The names of cases and groups with their colors, and the caption."""
    for names, colors in ((sketch.cases, (GRAY, BLUE)), (sketch.groups, GROUP_COLORS)):
        x = 0.0
        for k, name in enumerate(names):
            shown = cut(name, 60)
            sample = Rectangle(x, y + 3.0, 9.0, 9.0, colors[k % len(colors)], round=1.5)
            yield Group(name, [sample, Text(x + 13.0, y + 11.5, shown, CAPTION_SIZE)])
            x += 13.0 + text_width(shown, CAPTION_SIZE) + 14.0
        y += ROW_HEIGHT if names else 0.0
    if sketch.caption:
        yield Group(sketch.caption, [Text(0.0, y + 11.5, cut(sketch.caption, 120), CAPTION_SIZE)])
