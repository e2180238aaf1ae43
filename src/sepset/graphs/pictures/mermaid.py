"""Sketches as Mermaid flowcharts."""

from __future__ import annotations

from sepset.graphs.pictures.sketch import Box, Link, Sketch
from sepset.graphs.pictures.textsize import percent

LEFT, RIGHT = {"": "", "arrow": "<", "circle": "o"}, {"": "-", "arrow": ">", "circle": "o"}
SHAPES = {"variable": ("[", "]"), "factor": ("[[", "]]"), "cluster": ("([", "])"), "sepset": ("[", "]")}


def mermaid(sketch: Sketch) -> str:
    """The sketch as a Mermaid flowchart; rows of boxes are lines of their labels.

    >>> print(mermaid(Sketch.of("ab", [("a", "o->", "b")])))
    flowchart TD
      n0["a"]
      n1["b"]
      n0 o--> n1
    """
    boxes = [f"  n{k}{_box(box)}" for k, box in enumerate(sketch.boxes)]
    links = [f"  n{link.source} {_link(link)} n{link.target}" for link in sketch.links]
    seen = [f"n{k}" for k, box in enumerate(sketch.boxes) if box.observed]
    marks = (
        ["  classDef observed stroke:#d9822b,stroke-width:3px", f"  class {','.join(seen)} observed"] if seen else []
    )
    return "\n".join(["flowchart TD", *boxes, *links, *marks])


def _box(box: Box) -> str:
    lines = [box.name, *(" ".join([row.label, *map(percent, row.shares)]) for row in box.rows)]
    left, right = SHAPES[box.kind]
    return f'{left}"{"<br/>".join(map(escaped, lines))}"{right}'


def _link(link: Link) -> str:
    label = f'|"{escaped(link.label)}"|' if link.label else ""
    right = RIGHT[link.head].removeprefix("-" if link.dashed else " ")
    return f"{LEFT[link.tail]}{'-.-' if link.dashed else '--'}{right}{label}"


def escaped(text: str) -> str:
    """A text inside quotes of Mermaid: other characters than letters, digits and simple marks by their numbers.

    >>> escaped('a "b" <c>')
    'a #34;b#34; #60;c#62;'
    """
    return "".join(c if c.isalnum() or c in " _.,:-+=%/()…" else f"#{ord(c)};" for c in text)
