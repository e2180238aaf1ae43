"""The XML of UnBBayes, which it calls XMLBIF too: versions 0.4 (`VAR`, `POT`, `DPI`), 0.5 and 0.6 (`variable`, `CPT`).

Numbers run over the child first, then over the parents. Version 0.4 runs over the first parent that a table lists, then
over the next. Later versions list the parents in the same way, but UnBBayes reads the order from the edges of the
structure: version 0.5 from the first one on, 0.6 from the last one back. Files are read as UnBBayes reads them, and a
note names tables that list their parents in another order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from sepset.base.text import listing
from sepset.io.lexer import BadNumber, shown, weights, whole
from sepset.io.markup import Document, Element
from sepset.io.record import NetworkRecord, TableRecord, VariableRecord
from sepset.models.drawing import BLANK, Drawing

CHANCE = ("discrete", "DiscreteProbabilistic")
"""The types of variables that are read."""


def unbbayes_record(document: Document, body: Element) -> NetworkRecord:
    """The network that a file of UnBBayes states."""
    header = document.root.first("HEADER")
    name = None if header is None else header.first("NAME")
    declared = list(document.one(body, "VARIABLES").all("VAR", "VARIABLE"))
    variables = tuple(_variable(document, element) for element in declared)
    recent = body.first("CONDITIONALDISTRIBUTIONSET")
    notes: list[str] = []
    if recent is not None:
        orders = _orders(document, body)
        tables = [_recent(document, e, orders, notes) for e in recent.all("CONDITIONALDISTRIBUTION")]
    else:
        tables = [_classic(document, element) for element in document.one(body, "POTENTIAL").all("POT")]
    described = {v.name: e.first("LABEL", "DESCRIPTION") for v, e in zip(variables, declared, strict=True)}
    titles = {v: label.text for v, label in described.items() if label is not None and label.text not in ("", v)}
    title = "" if name is None else name.text
    return NetworkRecord(variables, tuple(tables), title, tuple(notes), Drawing(titles) if titles else BLANK)


def _orders(document: Document, body: Element) -> dict[str, list[str]]:
    """The parents of each child as UnBBayes orders them by the edges, the one whose states run fastest first."""
    structure = body.first("STRUCTURE")
    orders: dict[str, list[str]] = {}
    for edge in () if structure is None else structure.all("EDGE"):
        orders.setdefault(_attribute(document, edge, "child"), []).append(_attribute(document, edge, "parent"))
    if document.root.attributes.get("version", "").lstrip("0") == ".5":
        return orders
    return {child: parents[::-1] for child, parents in orders.items()}


def _variable(document: Document, element: Element) -> VariableRecord:
    kind = _attribute(document, element, "type")
    if kind not in CHANCE:
        raise document.error(f"found a variable of type {kind!r}; only {' and '.join(CHANCE)} are read", element.mark)
    states = [document.name(state) for state in element.all("STATENAME")]
    states += [_attribute(document, state, "name") for state in element.all("STATE")]
    return VariableRecord(_attribute(document, element, "name"), tuple(states), element.mark)


def _classic(document: Document, element: Element) -> TableRecord:
    child = _attribute(document, document.one(element, "PRIVATE"), "name")
    given = element.first("CONDSET")
    parents = [] if given is None else [_attribute(document, e, "name") for e in given.all("CONDLEM")]
    return _table(document, element, child, parents, document.one(element, "DPIS").all("DPI"))


def _recent(document: Document, element: Element, orders: Mapping[str, list[str]], notes: list[str]) -> TableRecord:
    child = _attribute(document, document.one(element, "OWNER"), "name")
    given = element.first("PARENTS")
    listed = [] if given is None else [_attribute(document, e, "name") for e in given.all("PARENT")]
    cells = list(document.one(element, "CPT").all("DEPENDENTPARENTINDEX"))
    parents = listed if len(listed) < 2 else orders.get(child, [])
    if sorted(parents) != sorted(listed):
        message = (
            f"{child!r} lists the parents {listing(listed)}; the structure's edges give {listing(parents) or 'none'}"
        )
        raise document.error(message, element.mark)
    if parents != listed:
        notes.append(f"The parents of {child!r} are in the order in which UnBBayes reads them, not as listed.")
    return _table(document, element, child, parents, _numbered(document, cells))


def _numbered(document: Document, cells: list[Element]) -> list[Element]:
    """The numbers of a table in the order of their indexes; as written if they have none."""
    places = [whole(cell.attributes.get("index", "")) for cell in cells]
    if all(place is None for place in places):
        return cells
    firsts = dict(zip(reversed(places), reversed(cells), strict=True))
    for number, cell in zip(places, cells, strict=True):
        if number is None or number >= len(cells) or firsts[number] is not cell:
            raise document.error(f"expected each index from 0 to {len(cells) - 1} once", cell.mark)
    return sorted(cells, key=lambda cell: whole(cell.attributes["index"]) or 0)


def _table(
    document: Document, element: Element, child: str, parents: list[str], cells: Iterable[Element]
) -> TableRecord:
    """The table whose numbers run over the child, then over these parents in order."""
    pairs = [(word, cell) for cell in cells for word in cell.text.split()]
    words = [word for word, _ in pairs]
    try:
        values = weights(words) if words else np.zeros(0)
    except BadNumber as bad:
        raise document.error(f"found {shown(words[bad.index])}; {bad.reason}", pairs[bad.index][1].mark) from None
    return TableRecord(child, tuple(reversed(parents)), values, element.mark)


def _attribute(document: Document, element: Element, name: str) -> str:
    """An attribute by its name in small letters or capitals."""
    found = element.attributes.get(name, element.attributes.get(name.upper(), ""))
    if not found:
        raise document.error(f"expected the attribute {name!r}; found nothing", element.mark)
    return found
