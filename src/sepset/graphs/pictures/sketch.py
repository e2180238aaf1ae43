"""The contents of a picture, without places: boxes, links between them, groups and a caption."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from sepset.base.foreign import TakesNames

Kind = Literal["variable", "factor", "cluster", "sepset"]
End = Literal["", "arrow", "circle"]


class Row(NamedTuple):
    """A line in a box: a state with its probability, in one or two cases; or a text.

    Attributes:
        label: the state, or the text.
        shares: the probability in each case.
        found: whether the evidence says so.
    """

    label: str
    shares: tuple[float, ...] = ()
    found: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A node of a picture.

    Attributes:
        name: shown in it, cut if it is long.
        kind: of node, which decides its shape.
        title: a longer text, shown by browsers when the pointer is on it.
        subtitle: a longer name, shown on request.
        rows: the lines below the name.
        observed: whether there is evidence about it.
        group: the number of its group, from 0; -1 for none.
        color: of its interior, such as "#e5f6f7"; empty for none.
        position: its center where the picture is drawn by places; None for none.
    """

    name: str
    kind: Kind = "variable"
    title: str = ""
    rows: tuple[Row, ...] = ()
    observed: bool = False
    group: int = -1
    color: str = ""
    position: tuple[float, float] | None = None
    subtitle: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """An edge of a picture.

    Attributes:
        source, target: the numbers of two boxes.
        tail, head: the marks at its ends.
        width: of the line.
        dashed: whether it is dashed.
        color: "" for the color of text, or the name of one of `COLORS`.
        label: a text at its middle.
        title: a text shown by browsers when the pointer is on it.
    """

    source: int
    target: int
    tail: End = ""
    head: End = ""
    width: float = 1.2
    dashed: bool = False
    color: str = ""
    label: str = ""
    title: str = ""

    def notation(self, *, turned: bool = False) -> str:
        """The edge in characters, from its source or from its target.

        >>> Link(0, 1, "circle", "arrow").notation(), Link(0, 1, "circle", "arrow").notation(turned=True)
        ('o->', '<-o')
        """
        left, right = (self.head, self.tail) if turned else (self.tail, self.head)
        return f"{_LEFT[left]}-{_RIGHT[right]}"

    @property
    def points_back(self) -> bool:
        """Whether its only arrowhead is at its source."""
        return self.tail == "arrow" and self.head != "arrow"


_LEFT = {"": "", "arrow": "<", "circle": "o"}
_RIGHT = {"": "", "arrow": ">", "circle": "o"}

COLORS = {"blue": "#3b82c4", "orange": "#d9822b", "red": "#d1495b", "green": "#3f9b63", "gray": "#8a8f98"}
"""Colors that are legible on light and on dark backgrounds."""

GROUP_COLORS = ("#3f9b63", "#a066c9", "#2aa5a0", "#d1495b", "#c9a227", "#8a8f98", "#b5651d", "#5b6ee1")
"""The colors of groups, in turn."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """The contents of a picture.

    Attributes:
        boxes: its nodes.
        links: its edges.
        name: of the model, if it has one.
        caption: a line below the picture.
        cases: the names of the cases that rows compare, if there are two.
        groups: the names of the groups of boxes.

    >>> Sketch.of("ab", [("a", "->", "b")]).links[0].head
    'arrow'
    """

    boxes: tuple[Box, ...] = ()
    links: tuple[Link, ...] = ()
    name: str = ""
    caption: str = ""
    cases: tuple[str, ...] = ()
    groups: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, names: Iterable[str], edges: Iterable[tuple[str, str, str]], *, name: str = "") -> Sketch:
        """The sketch of a graph whose edges are such as `("a", "o->", "b")`."""
        boxes = tuple(Box(node) for node in names)
        index = {box.name: k for k, box in enumerate(boxes)}
        links = tuple(Link(index[a], index[b], MARKS[kind[0]], MARKS[kind[-1]]) for a, kind, b in edges)
        return cls(boxes, links, name)

    def with_boxes(self, boxes: Sequence[Box]) -> Sketch:
        """The sketch with other boxes in the same places."""
        return replace(self, boxes=tuple(boxes))

    def with_links(self, links: Sequence[Link]) -> Sketch:
        """The sketch with other links."""
        return replace(self, links=tuple(links))


MARKS: dict[str, End] = {"-": "", ">": "arrow", "<": "arrow", "o": "circle"}
"""The marks at the ends of edges, by their characters."""


class Sketched(TakesNames, ABC):
    """An object that describes its picture in `_sketch`."""

    __slots__ = ()

    @abstractmethod
    def _sketch(self) -> Sketch:
        """The contents of its picture."""
