"""The looks of variables as formats write them: positions, colors, and the properties of BIF and XMLBIF.

A property is a text such as `position = (73, 165)`. Values that cannot be drawn (positions that are not numbers, colors
that are none) are no part of a look; the text itself is kept and written again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sepset.models.drawing import BLANK, UNSEEN, Drawing, Item, Look

PROPERTIES = "BIF"
"""The format of drawings that consist of properties; BIF and XMLBIF share it."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,4})?")
_COLOR = re.compile(r"#?([0-9a-fA-F]{6})")
_MOST = 400
"""The longest text that is read as numbers."""


def numbers(text: str, count: int) -> list[float] | None:
    """So many finite numbers, in parentheses or not, separated by spaces or commas; None for any other text.

    >>> numbers("(73, 165)", 2), numbers("( 4 5 6 )", 2), numbers("(a, b)", 2)
    ([73.0, 165.0], None, None)
    """
    words = text[:_MOST].strip().removeprefix("(").removesuffix(")").replace(",", " ").split()
    if len(text) > _MOST or len(words) != count or not all(map(_NUMBER.fullmatch, words)):
        return None
    found = list(map(float, words))
    return found if all(map(math.isfinite, found)) else None


def pair(text: str) -> tuple[float, float] | None:
    """The position that a text gives, or None.

    >>> pair("(73, 165)")
    (73.0, 165.0)
    """
    found = numbers(text, 2)
    return None if found is None else (found[0], found[1])


def color(text: str) -> str:
    """The color of six hexadecimal digits; empty for any other text.

    >>> color("E5F6F7"), color("red; }")
    ('#e5f6f7', '')
    """
    found = _COLOR.fullmatch(text.strip())
    return f"#{found.group(1).lower()}" if found else ""


def shown_pair(position: Sequence[float], between: str) -> str:
    """Coordinates as whole numbers.

    >>> shown_pair((73.4, 165.0), ", ")
    '73, 165'
    """
    return between.join(str(round(number)) for number in position)


def mirrored(looks: Mapping[str, Look]) -> dict[str, Look]:
    """The looks upside down, in the same range of y; twice, they are as before.

    >>> found = mirrored({"a": Look((1.0, 10.0)), "b": Look((2.0, 40.0))})
    >>> found["a"].position, found["b"].position
    ((1.0, 40.0), (2.0, 10.0))
    """
    ys = [look.position[1] for look in looks.values() if look.position is not None]
    if not ys or not math.isfinite(both := min(ys) + max(ys)):
        return dict(looks)
    return {
        name: look if look.position is None else replace(look, position=(look.position[0], both - look.position[1]))
        for name, look in looks.items()
    }


def property_drawing(network: Item, nodes: Mapping[str, Item]) -> Drawing:
    """The drawing that the properties of a network and its variables make."""
    drawn = {name: item for name, item in nodes.items() if item.items}
    if not drawn and not network.items:
        return BLANK
    said = {name: _said(item) for name, item in drawn.items()}
    titles = {name: found["title"] for name, found in said.items() if found.get("title")}
    looks = {name: look for name, found in said.items() if (look := _look(found)) != UNSEEN}
    return Drawing(titles, PROPERTIES, network=network, nodes=drawn, looks=looks)


def _said(item: Item) -> dict[str, str]:
    """The values of a variable's properties `key = value`, by the key in small letters; the first one counts."""
    pairs = [part.text.partition("=") for part in item.all("property")]
    return {key.strip().lower(): value.strip() for key, equal, value in reversed(pairs) if equal}


def _look(said: Mapping[str, str]) -> Look:
    texts = {key: said.get(key, "") for key in ("position", "color", "comment", "group")}
    return Look(pair(texts["position"]), color(texts["color"]), comment=texts["comment"], group=texts["group"])


def properties(drawing: Drawing, name: str) -> list[str]:
    """The properties of a variable as they are written: those that it had, then its title and look.

    >>> properties(Drawing({"a": "Age"}, looks={"a": Look((7.0, 16.0))}), "a")
    ['title = Age', 'position = (7, 16)']
    """
    item, look = drawing.nodes.get(name, Item("variable")), drawing.look(name)
    had, said = property_texts(item), _said(item)
    place = "" if look.position is None else f"({shown_pair(look.position, ', ')})"
    known = {
        "title": drawing.titles.get(name, ""),
        "position": place,
        "color": look.color,
        "comment": look.comment,
        "group": look.group,
    }
    return had + [f"{key} = {text}" for key, text in known.items() if text and key not in said]


def property_texts(item: Item) -> list[str]:
    """The texts of the properties in an item."""
    return [part.text for part in item.all("property")]


def property_item(tag: str, texts: Iterable[str], inside: Iterable[Item] = ()) -> Item:
    """The item of a block with these properties, and with other items in it."""
    return Item(tag, items=(*(Item("property", text) for text in texts), *inside))
