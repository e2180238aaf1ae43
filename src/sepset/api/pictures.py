"""The picture of a model, a graph, or anything that has one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from sepset.base.foreign import translated
from sepset.base.text import brief, listing, nearest
from sepset.errors import ArgumentError, ModelError, NotApplicable, ScopeError
from sepset.graphs.base import is_undirected, way_to_graph
from sepset.graphs.graph import DAG, UndirectedGraph
from sepset.graphs.pictures.picture import Picture
from sepset.graphs.pictures.scene import in_place
from sepset.graphs.pictures.sketch import Row, Sketch, Sketched
from sepset.models.model import NamedModel
from sepset.variables.evidence import Given
from sepset.variables.variable import VariableLike

if TYPE_CHECKING:
    from sepset.engine.view import View
    from sepset.inference.method import Method
    from sepset.models.model import Model

Place: TypeAlias = Literal["file", "layers"]
"""Where nodes are drawn."""


@translated
def draw(
    drawn: Sketched | Model,
    *,
    given: Given = None,
    beliefs: bool | None = None,
    compare: Given = None,
    strengths: bool = False,
    groups: Mapping[str, VariableLike | Iterable[VariableLike]] | None = None,
    titles: bool = False,
    layout: Place | None = None,
    method: Method | None = None,
) -> Picture:
    """A picture in layers: parents above their children, few crossings, and no edge through a node.

    A model whose file says where all nodes are is drawn there, larger if boxes would overlap. Edges are straight then,
    or bent around nodes where a bend is enough.

    Notebooks show it; `print` shows it as text; `save` writes SVG, PNG, PDF, DOT, Mermaid or text.

    Args:
        drawn: a model, a graph of any kind, a clique tree, a view of an engine, a learned structure, a graph of
            networkx, or a list of edges.
        given: evidence; the variables it is about are marked, and boxes show beliefs given it.
        beliefs: whether boxes show the marginal of their variable; by default if there is evidence.
        compare: other evidence, such as `{}` for none; boxes show beliefs given it above those given `given`.
        strengths: whether edges are as wide as the mutual information of the variables that they join.
        groups: the variables of each group, by its name; boxes of a group have a stripe in its color. By default the
            submodels of the file.
        titles: whether boxes show the titles of their variables below the names.
        layout: "layers", or "file" for the places that the model's drawing has; by default those, if there is one for
            every node and no two coincide. Text is always in layers.
        method: the algorithm that answers; chosen automatically by default.

    Reference: Sugiyama, Tagawa & Toda (1981); Gansner, Koutsofios, North & Vo (1993); Brandes & Köpf (2001).
    Guarantee: heuristic; no edge passes through a node.
    Tested by: graphs/layered/test_layout.py::test_networks

    >>> import sepset as ss
    >>> print(ss.draw(ss.DAG.parse("rain -> wet <- sprinkler")))
    ┌──────┐  ┌───────────┐
    │ rain │  │ sprinkler │
    └───┬──┘  └─────┬─────┘
        │           │
        └────┐ ┌────┘
             ▼ ▼
           ┌─┴─┴─┐
           │ wet │
           └─────┘
    >>> ss.draw(ss.datasets.load("asia"), given={"xray": "yes"}).save("asia.svg")  # doctest: +SKIP
    """
    if not isinstance(drawn, Sketched):
        drawn = _as_graph(drawn)
    answers: Callable[[Sketch], Sketch] | None = None
    if given is not None or compare is not None or beliefs or strengths:
        if not isinstance(drawn, NamedModel):
            raise NotApplicable(
                f"Beliefs, evidence and strengths are of a model; found a {type(drawn).__name__}. Draw the model."
            )
        answers = _answers(drawn, given, compare, beliefs, strengths, method)
    sketch = _arranged(drawn._sketch(), layout)
    sketch = sketch if answers is None else answers(sketch)
    if titles:
        sketch = _titled(sketch)
    sketch = _grouped(sketch, groups) if groups else sketch
    if layout == "file":
        _require_room(sketch)
    return Picture(sketch)


def _as_graph(value: object) -> Sketched:
    """A graph of networkx, or a list of edges, as a graph."""
    is_foreign = type(value).__module__.startswith("networkx.")
    if is_foreign or (isinstance(value, list | tuple | set) and value and all(map(_is_edge, value))):
        edges: Any = value if is_foreign else list(value)  # type: ignore[call-overload]  # edges, as was checked
        return UndirectedGraph(edges) if is_undirected(value) else DAG(edges)
    known = "A model, a graph, a clique tree or a learned structure is drawn"
    raise ModelError(f"{known}; found a {type(value).__name__}.{way_to_graph(value)}")


def _is_edge(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def _arranged(sketch: Sketch, layout: Place | None) -> Sketch:
    """The sketch with the positions that a layout needs."""
    if layout == "layers":
        return sketch.with_boxes([replace(box, position=None) for box in sketch.boxes])
    if layout == "file":
        missing = [box.name for box in sketch.boxes if box.position is None]
        if missing:
            raise NotApplicable(
                f"layout='file' needs a position of every node; {listing(missing)} "
                f"{'has' if len(missing) == 1 else 'have'} none in the model's drawing. Use layout='layers'."
            )
    elif layout is not None:
        known = get_args(Place)
        raise NotApplicable(f"The layout is {listing(known)}; found {layout!r}.{nearest(str(layout), known)}")
    return sketch


def _require_room(sketch: Sketch) -> None:
    if sketch.boxes and in_place(sketch) is None:
        raise NotApplicable(
            "layout='file' needs nodes in different places; some are in one place, or too close for the size of the "
            "picture. Use layout='layers'."
        )


def _titled(sketch: Sketch) -> Sketch:
    """The sketch with the titles of variables as the first lines of their boxes."""
    return sketch.with_boxes(
        [replace(box, rows=(Row(box.subtitle), *box.rows)) if box.subtitle else box for box in sketch.boxes]
    )


def _answers(
    model: NamedModel,
    given: Given,
    compare: Given,
    beliefs: bool | None,
    strengths: bool,
    method: Method | None,
) -> Callable[[Sketch], Sketch]:
    """The step that puts answers about a model into its sketch; refusals come before there is one."""
    from sepset.engine.beliefs import believed, require_strengths, strengthened
    from sepset.engine.kept import engine_for

    engine = engine_for(model, method)
    views: list[View] = []
    if beliefs or (beliefs is None and (given is not None or compare is not None)):
        views = [
            engine.observe({} if findings is None else findings)
            for findings in ([given] if compare is None else [compare, given])
        ]
        for view, name in itertools.product(views, reversed(model.variables.names)):
            view.marginals()[name]  # the last ones depend on the most: what is refused is refused before the others
    if strengths:
        require_strengths(engine, given)

    def answered(sketch: Sketch) -> Sketch:
        sketch = believed(sketch, views) if views else sketch
        return strengthened(sketch, engine, given) if strengths else sketch

    return answered


def _grouped(sketch: Sketch, groups: Mapping[str, VariableLike | Iterable[VariableLike]]) -> Sketch:
    """The sketch with the group of each box; the last one counts where several name it."""
    from sepset.graphs.base import each, name_of

    wrong = [name for name in groups if not isinstance(name, str)]
    if wrong:
        raise ArgumentError(f"groups= has the members of each group by its name, a string; found {brief(wrong[0])}.")
    number: dict[str, int] = {}
    known = [box.name for box in sketch.boxes]
    for place, members in enumerate(groups.values()):
        for name in map(name_of, each(members)):
            if name not in known:
                raise ScopeError(f"A group names {name!r}; the nodes are {listing(known)}.{nearest(name, known)}")
            number[name] = place
    boxes = [replace(box, group=number.get(box.name, -1)) for box in sketch.boxes]
    return replace(sketch.with_boxes(boxes), groups=tuple(groups))
