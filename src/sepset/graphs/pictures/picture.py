"""A picture of a graph or a model: shown by notebooks, printed as text, written in several formats."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sepset.base.axes import axes_of, image
from sepset.base.extras import require
from sepset.base.frozen import Frozen, fill
from sepset.base.lazy import lazy
from sepset.base.replacing import write_whole
from sepset.base.text import counted, nearest, page_width
from sepset.errors import FileFormatError, TooLarge
from sepset.graphs.pictures.scene import MARGIN, Scene, scene
from sepset.graphs.pictures.sketch import Sketch, Sketched
from sepset.graphs.pictures.svg import quoted, svg

LARGEST = 400
"""The number of boxes up to which notebooks show a picture by themselves."""

PAGE = 100
"""The number of characters in a line of a picture that is not printed to a terminal."""

FORMATS = (".svg", ".png", ".pdf", ".dot", ".mmd", ".txt")
"""The suffixes of files that a picture can be written to."""


class Picture(Frozen):
    """A picture. Notebooks show it as SVG, `print` as text.

    Args:
        sketch: its boxes and links.

    Reference: Sugiyama, Tagawa & Toda (1981); Gansner, Koutsofios, North & Vo (1993); Brandes & Köpf (2001).

    >>> import sepset as ss
    >>> picture = ss.draw(ss.DAG.parse("rain -> wet <- sprinkler"))
    >>> picture
    Picture(3 nodes, 2 edges)
    >>> print(picture.to_mermaid())
    flowchart TD
      n0["rain"]
      n1["wet"]
      n2["sprinkler"]
      n0 --> n1
      n2 --> n1
    """

    sketch: Sketch

    def __init__(self, sketch: Sketch) -> None:
        fill(self, sketch=sketch)

    @lazy
    def _scene(self) -> Scene:
        return scene(self.sketch)

    def to_svg(self) -> str:
        """The picture as an SVG file, with light and dark colors as the reader prefers."""
        return svg(self._scene, page=True, label=self._label)

    def to_dot(self) -> str:
        """The picture in the language of Graphviz."""
        from sepset.graphs.pictures.dot import dot

        return dot(self.sketch)

    def to_mermaid(self) -> str:
        """The picture as a Mermaid flowchart, which Markdown viewers draw."""
        from sepset.graphs.pictures.mermaid import mermaid

        return mermaid(self.sketch)

    def to_text(self, width: int = PAGE) -> str:
        """The picture in characters; where that is wider than `width`, a list of nodes with what they are joined to."""
        from sepset.graphs.pictures.terminal import terminal

        return terminal(self.sketch, width)

    def plot(self, ax: Any = None) -> Any:
        """The picture on matplotlib axes.

        Args:
            ax: the axes to draw on; the current ones by default.
        """
        from sepset.graphs.pictures.axes import draw_scene

        return draw_scene(self._scene, axes_of(ax))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file in the format of its suffix: .svg, .png, .pdf, .dot, .mmd (Mermaid) or .txt.

        Images other than SVG are drawn by matplotlib.

        >>> import tempfile, pathlib, sepset as ss
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "graph.svg"
        >>> ss.draw(ss.DAG.parse("a -> b")).save(file)
        >>> file.read_text()[:4]
        '<svg'
        """
        suffix = require_format(path)
        texts = {".svg": self.to_svg, ".dot": self.to_dot, ".mmd": self.to_mermaid, ".txt": self.to_text}
        if suffix in texts:
            write_whole(path, (texts[suffix]() + "\n").encode())
        else:
            write_whole(path, self._image(suffix[1:]))

    def _image(self, kind: str) -> bytes:
        figures = require("matplotlib.figure", "plot", "Plotting")
        width, height = self._scene.width + 2.0 * MARGIN, self._scene.height + 2.0 * MARGIN
        scale = min(1.0 / 72.0, 200.0 / max(width, height))
        figure = figures.Figure(figsize=(width * scale, height * scale), dpi=144)
        self.plot(figure.add_axes((0.0, 0.0, 1.0, 1.0)))
        return image(figure, kind)

    @property
    def _label(self) -> str:
        return f"{self.sketch.name}: {self._counts}" if self.sketch.name else self._counts

    @property
    def _counts(self) -> str:
        return f"{counted(len(self.sketch.boxes), 'node')}, {counted(len(self.sketch.links), 'edge')}"

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{svg(self._scene, page=False, label=self._label)}</div>'

    def __str__(self) -> str:
        return self.to_text(page_width(PAGE))

    def __repr__(self) -> str:
        return f"Picture({self._counts})"

    def __eq__(self, other: object) -> bool:
        return self.sketch == other.sketch if isinstance(other, Picture) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sketch)

    def __reduce__(self) -> tuple[object, ...]:
        return Picture, (self.sketch,)


def require_format(path: str | os.PathLike[str]) -> str:
    """The suffix of a file, if pictures are written with it.

    >>> require_format("asia.svg")
    '.svg'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        known = f"use {', '.join(FORMATS)}.{nearest(suffix, FORMATS)}"
        raise FileFormatError(f"the suffix {suffix!r} is not a known format of pictures; {known}", file=os.fspath(path))
    return suffix


def with_picture(facts: str, count: int, drawn: Sketched) -> str:
    """The display of an object in a notebook: its facts, and below them its picture if that is not too large.

    Args:
        facts: HTML above the picture.
        count: the number of nodes.
        drawn: the object.
    """
    if not count:
        return facts
    if count > LARGEST:
        note = f"A picture of {count:,} nodes is not shown here; sepset.draw(...).save('picture.svg') writes it."
        return f"{facts}<p>{quoted(note)}</p>"
    try:
        return facts + Picture(drawn._sketch())._repr_html_()
    except TooLarge as error:
        return f"{facts}<p>{quoted(str(error))}</p>"
