"""The picture of a model, a graph, or anything that has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sepset.base.foreign import translated
from sepset.base.text import listing, nearest
from sepset.engine.kept import engine_for
from sepset.errors import ModelError, NotApplicable, ScopeError
from sepset.graphs.pictures.picture import Picture
from sepset.graphs.pictures.sketch import Sketch, Sketched
from sepset.models.model import NamedModel
from sepset.variables.evidence import Given
from sepset.variables.variable import VariableLike

if TYPE_CHECKING:
    from sepset.inference.method import Method
    from sepset.models.model import Model


@translated
def draw(
    drawn: Sketched | Model,
    *,
    given: Given = None,
    beliefs: bool | None = None,
    compare: Given = None,
    strengths: bool = False,
    groups: Mapping[str, VariableLike | Iterable[VariableLike]] | None = None,
    method: Method | None = None,
) -> Picture:
    """A picture in layers: parents above their children, few crossings, and no edge through a node.

    Notebooks show it; `print` shows it as text; `save` writes SVG, PNG, PDF, DOT, Mermaid or text.

    Args:
        drawn: a model, a graph of any kind, a clique tree, a view of an engine, or a learned structure.
        given: evidence; the variables it is about are marked, and boxes show beliefs given it.
        beliefs: whether boxes show the marginal of their variable; by default if there is evidence.
        compare: other evidence, such as `{}` for none; boxes show beliefs given it above those given `given`.
        strengths: whether edges are as wide as the mutual information of the variables that they join.
        groups: the variables of each group, by its name; boxes of a group have a stripe in its color.
        method: the algorithm that answers; chosen automatically by default.

    Reference: Sugiyama, Tagawa & Toda (1981); Gansner, Koutsofios, North & Vo (1993); Brandes & Köpf (2001).
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
        raise ModelError(
            f"A model, a graph, a clique tree or a learned structure is drawn; found a {type(drawn).__name__}."
        )
    sketch = drawn._sketch()
    if given is not None or compare is not None or beliefs or strengths:
        if not isinstance(drawn, NamedModel):
            raise NotApplicable(
                f"Beliefs, evidence and strengths are of a model; found a {type(drawn).__name__}. Draw the model."
            )
        sketch = _answered(drawn, sketch, given, compare, beliefs, strengths, method)
    return Picture(_grouped(sketch, groups) if groups else sketch)


def _answered(
    model: NamedModel,
    sketch: Sketch,
    given: Given,
    compare: Given,
    beliefs: bool | None,
    strengths: bool,
    method: Method | None,
) -> Sketch:
    """The sketch of a model with what was asked about it."""
    from sepset.engine.beliefs import believed, strengthened

    engine = engine_for(model, method)
    if beliefs or (beliefs is None and (given is not None or compare is not None)):
        views = [engine.observe(given or {})]
        sketch = believed(sketch, views if compare is None else [engine.observe(compare), *views])
    return strengthened(sketch, engine, given) if strengths else sketch


def _grouped(sketch: Sketch, groups: Mapping[str, VariableLike | Iterable[VariableLike]]) -> Sketch:
    """The sketch with the group of each box; the last one counts where several name it."""
    from sepset.graphs.base import each, name_of

    number: dict[str, int] = {}
    known = [box.name for box in sketch.boxes]
    for place, members in enumerate(groups.values()):
        for name in map(name_of, each(members)):
            if name not in known:
                raise ScopeError(f"A group names {name!r}; the nodes are {listing(known)}.{nearest(name, known)}")
            number[name] = place
    boxes = [replace(box, group=number.get(box.name, -1)) for box in sketch.boxes]
    return replace(sketch.with_boxes(boxes), groups=tuple(groups))
