"""The drawing of a network, which no distribution depends on: titles, positions, colors, comments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real

from sepset.base.foreign import TakesNames
from sepset.base.frozen import fill
from sepset.errors import ModelError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_COLOR = re.compile(r"#[0-9a-f]{6}")


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
class Look:
    """How one variable is drawn, in the form that all formats share.

    Args:
        position: the center of its node, x to the right and y downward; None if it has none.
        color: of its interior, such as "#e5f6f7"; empty if it has none.
        comment: a text about it.
        group: the name of the submodel that it is in; empty for none.

    >>> Look((60.0, 40.0), color="#e5f6f7").position
    (60.0, 40.0)
    """

    position: tuple[float, float] | None = None
    color: str = ""
    _: KW_ONLY
    comment: str = ""
    group: str = ""

    def __post_init__(self) -> None:
        if self.position is not None:
            fill(self, position=_as_position(self.position))
        if self.color and not _COLOR.fullmatch(self.color):
            raise ModelError(f"A color is written as '#' and six digits of 0-9 and a-f; found {self.color!r}.")


def _as_position(given: Sequence[float]) -> tuple[float, float]:
    """Two finite numbers; raises for anything else."""
    found = tuple(given)
    if len(found) != 2 or not all(isinstance(number, Real) and math.isfinite(number) for number in found):
        raise ModelError(f"A position is two finite numbers, x and y; found {given!r}.")
    return float(found[0]), float(found[1])


UNSEEN = Look()
"""The look of a variable about which a drawing says nothing."""


@dataclass(frozen=True, slots=True, repr=False)
class Drawing(TakesNames):
    """The drawing of a network: titles, positions, colors. Models carry it, and it never counts in equality.

    Writing a network in the format of its drawing restores all of it; other formats take the titles and looks, and
    JSON keeps everything. Items of variables that the network no longer has are not written. `draw` shows it.

    Args:
        titles: the title of each variable that has one besides its name.
        format: the format of the items, such as "XDSL"; empty for a drawing that has titles and looks only.
        network: the items about the network.
        nodes: the items about each variable, by name.
        looks: the position, color, comment and group of each variable that has any.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> from sepset.variables.variable import Discrete
    >>> coin = TableCPD(Discrete("coin", ("head", "tail")), [0.5, 0.5])
    >>> drawing = Drawing({"coin": "A fair coin"}, looks={"coin": Look((60.0, 40.0))})
    >>> BayesNet(coin, drawing=drawing).drawing
    Drawing(1 title, 1 position)
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    format: str = ""
    _: KW_ONLY
    network: Item = NOTHING
    nodes: Mapping[str, Item] = field(default_factory=dict)
    looks: Mapping[str, Look] = field(default_factory=dict)

    @property
    def observable(self) -> tuple[str, ...]:
        """The variables marked as possible observations (in GeNIe, by their diagnostic type).

        >>> node = Item("node", attributes=(("diagtype", "observation"),))
        >>> Drawing({}, "XDSL", network=Item("smile"), nodes={"xray": node, "lung": Item("node")}).observable
        ('xray',)
        """
        return tuple(name for name, item in self.nodes.items() if item.attribute("diagtype") == "observation")

    def of(self, format: str) -> Drawing:
        """The drawing as a format can write it: all of its own; the titles and looks of another's."""
        return self if self.format == format else Drawing(self.titles, format, looks=self.looks)

    def look(self, name: str) -> Look:
        """How a variable is drawn; an empty look if nothing is known about it.

        >>> BLANK.look("coin").position is None
        True
        """
        return self.looks.get(name, UNSEEN)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups of variables, in the order of their first members."""
        return tuple(dict.fromkeys(look.group for look in self.looks.values() if look.group))

    def summary(self) -> str:
        """The numbers of titles, positions and so on that there are; empty for a blank drawing.

        >>> Drawing({"coin": "A fair coin"}, "NET").summary()
        'NET: 1 title'
        """
        looks = self.looks.values()
        counts = {
            "title": len(self.titles),
            "position": sum(look.position is not None for look in looks),
            "color": sum(bool(look.color) for look in looks),
            "comment": sum(bool(look.comment) for look in looks),
            "group": len(self.groups),
        }
        found = ", ".join(f"{count} {what}{'s' * (count != 1)}" for what, count in counts.items() if count)
        return ": ".join(filter(None, [self.format, found]))

    def __repr__(self) -> str:
        return f"Drawing({self.summary()})"


BLANK = Drawing()
"""The drawing of a network that has none."""
