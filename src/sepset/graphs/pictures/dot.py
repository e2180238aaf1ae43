"""Sketches in the language of Graphviz."""

from __future__ import annotations

from sepset.graphs.pictures.sketch import COLORS, Box, Link, Sketch
from sepset.graphs.pictures.textsize import percent

SHAPES = {
    "variable": 'shape=box style="rounded"',
    "factor": "shape=square style=filled fillcolor=gray85",
    "cluster": "shape=ellipse",
    "sepset": "shape=box",
}


def dot(sketch: Sketch) -> str:
    """The sketch as a Graphviz graph; rows of boxes are lines of their labels.

    >>> print(dot(Sketch.of("ab", [("a", "o->", "b")])))
    digraph {
      n0 [label="a" shape=box style="rounded"];
      n1 [label="b" shape=box style="rounded"];
      n0 -> n1 [dir=both arrowtail=odot arrowhead=normal];
    }
    """
    title = [f"  label={quoted(sketch.caption)};"] if sketch.caption else []
    boxes = [f"  n{k} [{_box(box)}];" for k, box in enumerate(sketch.boxes)]
    links = [f"  n{link.source} -> n{link.target} [{_link(link)}];" for link in sketch.links]
    return "\n".join(["digraph {", *title, *boxes, *links, "}"])


def _box(box: Box) -> str:
    lines = [box.name, *(" ".join([row.label, *map(percent, row.shares)]) for row in box.rows)]
    color = ' color="#d9822b" penwidth=2' if box.observed else ""
    shape = SHAPES[box.kind]
    if box.color:
        shape = f'shape=box style="rounded,filled" fillcolor="{box.color}59"'
    return f"label={quoted(*lines)} {shape}{color}"


def _link(link: Link) -> str:
    ends = {"": "none", "arrow": "normal", "circle": "odot"}
    found = f"dir=both arrowtail={ends[link.tail]} arrowhead={ends[link.head]}"
    if link.color:
        found += f' color="{COLORS.get(link.color, link.color)}"'
    if link.dashed:
        found += " style=dashed"
    if link.width != Link.__dataclass_fields__["width"].default:
        found += f" penwidth={link.width:g}"
    return found + (f" label={quoted(link.label)}" if link.label else "")


def quoted(*lines: str) -> str:
    """Lines as one string of Graphviz.

    >>> quoted('a "b"', "c")
    '"a \\\\"b\\\\"\\\\nc"'
    """
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines)
    return '"' + "\\n".join(escaped) + '"'
