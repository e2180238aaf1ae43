"""The drawing of a network, which no distribution depends on: titles, positions, colors, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sepset.errors import ModelError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")


def is_item_name(text: str) -> bool:
    """Whether a text can be the tag or an attribute of an item: letters, digits and `_ . : -`, as in XML.

    >>> is_item_name("position"), is_item_name("two words")
    (True, False)
    """
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of a drawing: a tag, its text, its attributes in order, and the items inside it.

    >>> Item("interior", attributes=(("color", "e5f6f7"),)).attribute("color")
    'e5f6f7'
    """

    tag: str
    text: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    items: tuple[Item, ...] = ()

    def __post_init__(self) -> None:
        for name in (self.tag, *(name for name, _ in self.attributes)):
            if not is_item_name(name):
                raise ModelError(f"An item of a drawing is named by letters, digits and '_ . : -'; found {name!r}.")

    def attribute(self, name: str) -> str:
        """The value of an attribute; empty if there is none."""
        return dict(self.attributes).get(name, "")

    def all(self, *tags: str) -> Iterator[Item]:
        """The items inside it that have one of these tags."""
        return (item for item in self.items if item.tag in tags)


NOTHING = Item("nothing")
"""The item in place of one that a drawing does not have."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The drawing of a network: titles, positions, colors. Models carry it, and it never counts in equality.

    Writing a network in the format of its drawing restores all of it; other formats take the titles, and JSON keeps
    everything. Items of variables that the network no longer has are not written.

    Args:
        titles: the title of each variable that has one besides its name.
        format: the format of the items, such as "XDSL"; empty for a drawing that has titles only.
        network: the items about the network.
        nodes: the items about each variable, by name.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> from sepset.variables.variable import Discrete
    >>> coin = TableCPD(Discrete("coin", ("head", "tail")), [0.5, 0.5])
    >>> BayesNet(coin, drawing=Drawing({"coin": "A fair coin"})).drawing.titles
    {'coin': 'A fair coin'}
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    format: str = ""
    network: Item = NOTHING
    nodes: Mapping[str, Item] = field(default_factory=dict)

    @property
    def observable(self) -> tuple[str, ...]:
        """The variables marked as possible observations (in GeNIe, by their diagnostic type).

        >>> node = Item("node", attributes=(("diagtype", "observation"),))
        >>> Drawing({}, "XDSL", Item("smile"), {"xray": node, "lung": Item("node")}).observable
        ('xray',)
        """
        return tuple(name for name, item in self.nodes.items() if item.attribute("diagtype") == "observation")

    def of(self, format: str) -> Drawing:
        """The drawing as a format can write it: all of its own, and the titles of another's."""
        return self if self.format == format else Drawing(self.titles, format)


BLANK = Drawing()
"""The drawing of a network that has none."""
