"""The drawings of GeNIe: titles, positions, colors, comments, submodels and text boxes, and nodes' diagnostic types.

In a `Drawing`, nodes are named as the network's variables and states as their states; in a file, by identifiers.
Each submodel has a window with coordinates of its own; in a `Drawing` they are below each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sepset.io.looks import color, numbers
from sepset.io.markup import Element, carried, rendered, written_attributes
from sepset.models.drawing import UNSEEN, Drawing, Item, Look, is_item_name

FORMAT = "XDSL"
APART = 120.0
"""The distance between the nodes of two windows."""
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


def looks(item: Item) -> dict[str, Look]:
    """The position, color, comment and submodel of each node drawn in an item, if it has any."""
    found: dict[str, Look] = {}
    bottom = None
    for group, nodes in _windows(item, ""):
        made = {node.attribute("id"): _look(node, group) for node in nodes}
        ys = [look.position[1] for look in made.values() if look.position is not None]
        shift = 0.0 if bottom is None or not ys else max(0.0, bottom + APART - min(ys))
        if ys and math.isfinite(max(ys) + shift):
            bottom = max(ys) + shift
            made = {name: _moved(look, shift) for name, look in made.items()}
        found |= made
    return {name: look for name, look in found.items() if look != UNSEEN}


def _windows(item: Item, group: str) -> Iterator[tuple[str, list[Item]]]:
    """The nodes of each window with the name of its submodel, which is empty for the main one."""
    yield group, list(item.all("node"))
    for inside in item.items:
        name = group
        if inside.tag == "submodel":
            title = _text(inside, "name") or inside.attribute("id")
            name = f"{group} / {title}" if group else title
        if inside.tag != "node":
            yield from _windows(inside, name)


def _text(item: Item, tag: str) -> str:
    """The text of the first item with a tag, without the space around it; empty if there is none."""
    return next((part.text.strip() for part in item.all(tag)), "")


def _look(node: Item, group: str) -> Look:
    box = numbers(_text(node, "position"), 4)
    position = None if box is None else (box[0] / 2.0 + box[2] / 2.0, box[1] / 2.0 + box[3] / 2.0)
    fill = next((color(part.attribute("color")) for part in node.all("interior")), "")
    return Look(position, fill, comment=_text(node, "comment"), group=group)


def _moved(look: Look, down: float) -> Look:
    return look if look.position is None else replace(look, position=(look.position[0], look.position[1] + down))


def _renamed(item: Item, names: Mapping[str, str]) -> Item:
    """The item with the nodes in it renamed; those without a name are left out."""
    inside = (_renamed(part, names) for part in item.items if part.tag != "node" or part.attribute("id") in names)
    attributes = item.attributes
    if item.tag == "node":
        attributes = tuple((k, names[v] if k == "id" else v) for k, v in attributes)
    return replace(item, attributes=attributes, items=tuple(inside))


def is_agrum(app: str) -> bool:
    """Whether a file of this tool has its tables with the first parent fastest.

    >>> is_agrum("aGrUM 2.1.0"), is_agrum("GeNIe 3.0")
    (True, False)
    """
    return app.partition(" ")[0] == "aGrUM"


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
    if not drawn or title != name or drawn.get("app") == "sepset" or is_agrum(drawn.get("app", "")):
        drawn |= {"version": "1.0", "app": "sepset", "name": name}
    shown = () if genie is None else genie.items
    lines = [rendered(item, FORMAT) for item in network.items if item.tag != "extensions"]
    lines.append(f"<extensions><genie{written_attributes(drawn, FORMAT)}>")
    lines += [f"  {rendered(item, FORMAT)}" for item in (*shown, *_grouped(drawing, keys))]
    others = [other for part in network.all("extensions") for other in part.items if other is not genie]
    return [*lines, "</genie>" + "".join(rendered(other, FORMAT) for other in others) + "</extensions>"]


def _grouped(drawing: Drawing, keys: Mapping[str, str]) -> Iterator[Item]:
    """The nodes that are not drawn yet, those of a group in a submodel."""
    missing = dict(_missing(drawing, keys))
    yield from (item for name, item in missing.items() if not drawing.look(name).group)
    for number, group in enumerate(drawing.groups):
        inside = [item for name, item in missing.items() if drawing.look(name).group == group]
        box = Item("position", f"{120 * number} 0 {120 * number + 100} 50")
        if inside:
            named = (("id", f"group_{number}"),)
            yield Item("submodel", "", named, (Item("name", carried(group)), box, *inside))


def _missing(drawing: Drawing, keys: Mapping[str, str]) -> Iterator[tuple[str, Item]]:
    """A box for each node that has a title or a look and is not drawn: GeNIe shows the title.

    Nodes without a position are in a grid of ten columns.
    """
    drawn = dict(_nodes(drawing.network))
    for place, (name, key) in enumerate(keys.items()):
        title, look = drawing.titles.get(name, name), drawing.look(name)
        if name not in drawn and (title != key or look != UNSEEN):
            grid = (120.0 * (place % 10) + 50.0, 80.0 * (place // 10) + 25.0)
            x, y = map(round, look.position or grid)
            inside = [Item("name", carried(title))]
            inside += [Item("interior", "", (("color", look.color[1:]),))] if look.color else []
            inside.append(Item("position", f"{x - 50} {y - 25} {x + 50} {y + 25}"))
            inside += [Item("comment", carried(look.comment))] if look.comment else []
            yield name, Item("node", "", (("id", key),), tuple(inside))


def _nodes(item: Item) -> Iterator[tuple[str, Item]]:
    for inside in item.items:
        yield from _nodes(inside)
        if inside.tag == "node":
            yield inside.attribute("id"), inside
