"""The drawings of GeNIe: titles, positions, colors, comments, submodels and text boxes, and nodes' diagnostic types.

In a `Drawing`, nodes are named as the network's variables and states as their states; in a file, by identifiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sepset.io.markup import Element, carried, rendered, written_attributes
from sepset.models.drawing import Drawing, Item, is_item_name

FORMAT = "XDSL"
EXPRESSED = frozenset({"STATE", "PARENTS", "PROBABILITIES", "RESULTINGSTATES", "STRENGTHS", "PARAMETERS"})
"""The children of a node that the network itself expresses."""


def network_item(root: Element, names: Mapping[str, str]) -> Item:
    """All that a file has besides its nodes; `names` are the variables by the identifiers of their nodes."""
    inside = (child.item() for child in root.children if child.tag != "NODES" and is_item_name(child.written))
    return Item("smile", "", _attributes(root), tuple(_renamed(item, names) for item in inside))


def node_item(element: Element, states: Sequence[str], own: Sequence[str]) -> Item:
    """All that a node has besides its distribution; `own` are the properties that this library writes."""
    listed = zip(states, element.all("STATE"), strict=True)
    marked = [Item("state", name, extra) for name, state in listed if (extra := _attributes(state))]
    others = [
        child.item()
        for child in element.children
        if child.tag not in EXPRESSED and child.attributes.get("id") not in own and is_item_name(child.written)
    ]
    return Item("node", "", _attributes(element), (*marked, *others))


def _attributes(element: Element) -> tuple[tuple[str, str], ...]:
    """The attributes of an element besides its identifier."""
    return tuple((k, v) for k, v in element.attributes.items() if k != "id" and is_item_name(k))


def titles(item: Item) -> dict[str, str]:
    """The title of each node drawn in an item, if it has one."""
    named = ((name, next(node.all("name"), None)) for name, node in _nodes(item))
    return {name: title.text for name, title in named if title is not None and title.text.strip()}


def _renamed(item: Item, names: Mapping[str, str]) -> Item:
    """The item with the nodes in it renamed; those without a name are left out."""
    inside = (_renamed(part, names) for part in item.items if part.tag != "node" or part.attribute("id") in names)
    attributes = item.attributes
    if item.tag == "node":
        attributes = tuple((k, names[v] if k == "id" else v) for k, v in attributes)
    return replace(item, attributes=attributes, items=tuple(inside))


def head(drawing: Drawing, title: str) -> str:
    """The attributes of the outermost element."""
    return written_attributes(
        {"version": "1.0", "id": title, "numsamples": "10000"} | dict(drawing.network.attributes), FORMAT
    )


def tail(drawing: Drawing, name: str, title: str, keys: Mapping[str, str]) -> list[str]:
    """The lines after the nodes: what was drawn, and a title for each node that is drawn nowhere and needs one.

    Args:
        drawing: the drawing of the network.
        name: the network's name.
        title: the identifier under which the file has it.
        keys: the identifiers of the nodes, by variable.
    """
    network = _renamed(drawing.network, keys)
    genie = next((g for part in network.all("extensions") for g in part.all("genie")), None)
    drawn = {} if genie is None else dict(genie.attributes)
    if not drawn or title != name or drawn.get("app") == "sepset":
        drawn |= {"version": "1.0", "app": "sepset", "name": name}
    shown = () if genie is None else genie.items
    lines = [rendered(item, FORMAT) for item in network.items if item.tag != "extensions"]
    lines.append(f"<extensions><genie{written_attributes(drawn, FORMAT)}>")
    lines += [f"  {rendered(item, FORMAT)}" for item in (*shown, *_missing(drawing, keys))]
    others = [other for part in network.all("extensions") for other in part.items if other is not genie]
    return [*lines, "</genie>" + "".join(rendered(other, FORMAT) for other in others) + "</extensions>"]


def _missing(drawing: Drawing, keys: Mapping[str, str]) -> Iterator[Item]:
    """A box, in a grid of ten columns, for each node that has a title and is not drawn: GeNIe shows the title."""
    drawn = dict(_nodes(drawing.network))
    for place, (name, key) in enumerate(keys.items()):
        title = drawing.titles.get(name, name)
        if name not in drawn and title != key:
            left, top = 120 * (place % 10), 80 * (place // 10)
            position = Item("position", f"{left} {top} {left + 100} {top + 50}")
            yield Item("node", "", (("id", key),), (Item("name", carried(title)), position))


def _nodes(item: Item) -> Iterator[tuple[str, Item]]:
    for inside in item.items:
        yield from _nodes(inside)
        if inside.tag == "node":
            yield inside.attribute("id"), inside
