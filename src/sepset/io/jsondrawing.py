"""Drawings in the JSON format: titles, and the items of the format that the network was drawn in."""

from __future__ import annotations

from typing import Any, TypeAlias

from sepset.io.cursor import Cursor
from sepset.io.markup import DEPTH
from sepset.models.drawing import NOTHING, Drawing, Item, Look

Document: TypeAlias = dict[str, Any]


def drawing_document(drawing: Drawing) -> Document:
    """The drawing as a JSON object; what is empty is left out.

    >>> drawing_document(Drawing({"coin": "A fair coin"}))
    {'titles': {'coin': 'A fair coin'}}
    """
    nodes = {name: _item_document(item) for name, item in drawing.nodes.items()}
    network = {} if drawing.network == NOTHING else _item_document(drawing.network)
    looks = {name: found for name, look in drawing.looks.items() if (found := _look_document(look))}
    parts = {
        "titles": dict(drawing.titles),
        "format": drawing.format,
        "network": network,
        "nodes": nodes,
        "looks": looks,
    }
    return {key: part for key, part in parts.items() if part}


def _look_document(look: Look) -> Document:
    position = None if look.position is None else list(look.position)
    parts = {"position": position, "color": look.color, "comment": look.comment, "group": look.group}
    return {key: part for key, part in parts.items() if part}


def _item_document(item: Item) -> Document:
    inside = [_item_document(part) for part in item.items]
    parts = {"tag": item.tag, "text": item.text, "attributes": dict(item.attributes), "items": inside}
    return {key: part for key, part in parts.items() if part}


def read_drawing(found: Cursor) -> Drawing:
    """The drawing that a JSON object states."""
    found.keys("titles", "format", "network", "nodes", "looks")
    return Drawing(
        {key: title.text() for key, title in found["titles"].items()} if "titles" in found else {},
        found["format"].text() if "format" in found else "",
        network=_read_item(found["network"]) if "network" in found else NOTHING,
        nodes={key: _read_item(item) for key, item in found["nodes"].items()} if "nodes" in found else {},
        looks={key: _read_look(look) for key, look in found["looks"].items()} if "looks" in found else {},
    )


def _read_look(found: Cursor) -> Look:
    found.keys("position", "color", "comment", "group")
    position = None
    if "position" in found:
        x, y = found["position"].array((2,)).tolist()
        position = (x, y)
    color, comment, group = (found[key].text() if key in found else "" for key in ("color", "comment", "group"))
    return found.made(lambda: Look(position, color, comment=comment, group=group))


def _read_item(found: Cursor, depth: int = DEPTH) -> Item:
    if not depth:
        raise found.error(f"items nest at most {DEPTH} deep")
    found.keys("tag", "text", "attributes", "items")
    tag, text = found["tag"].text(), found["text"].text() if "text" in found else ""
    pairs = found["attributes"].items() if "attributes" in found else []
    attributes = tuple((name, value.text()) for name, value in pairs)
    inside = tuple(_read_item(part, depth - 1) for part in found["items"]) if "items" in found else ()
    return found.made(lambda: Item(tag, text, attributes, inside))
