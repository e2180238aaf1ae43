"""The XML of UnBBayes, which it calls XMLBIF too: versions 0.4 (`VAR`, `POT`, `DPI`) and 0.6 (`variable`, `CPT`).

Numbers run over the child first. How they run over several parents is documented nowhere, so such files are refused.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sepset.io.lexer import BadNumber, shown, weights
from sepset.io.markup import Document, Element
from sepset.io.record import NetworkRecord, TableRecord, VariableRecord

CHANCE = ("discrete", "DiscreteProbabilistic")
"""The types of variables that are read."""


def unbbayes_record(document: Document, body: Element) -> NetworkRecord:
    """The network that a file of UnBBayes states."""
    header = document.root.first("HEADER")
    name = None if header is None else header.first("NAME")
    variables = tuple(_variable(document, e) for e in document.one(body, "VARIABLES").all("VAR", "VARIABLE"))
    recent = body.first("CONDITIONALDISTRIBUTIONSET")
    if recent is not None:
        tables = [_recent(document, element) for element in recent.all("CONDITIONALDISTRIBUTION")]
    else:
        tables = [_classic(document, element) for element in document.one(body, "POTENTIAL").all("POT")]
    return NetworkRecord(variables, tuple(tables), "" if name is None else name.text)


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


def _recent(document: Document, element: Element) -> TableRecord:
    child = _attribute(document, document.one(element, "OWNER"), "name")
    given = element.first("PARENTS")
    parents = [] if given is None else [_attribute(document, e, "name") for e in given.all("PARENT")]
    return _table(document, element, child, parents, document.one(element, "CPT").all("DEPENDENTPARENTINDEX"))


def _table(
    document: Document, element: Element, child: str, parents: list[str], cells: Iterable[Element]
) -> TableRecord:
    if len(parents) > 1:
        message = f"{child!r} has {len(parents)} parents; this format does not say in which order their states run"
        raise document.error(f"{message}. Write the network as NET in UnBBayes", element.mark)
    found = list(cells)
    words = [cell.text for cell in found]
    try:
        values = weights(words) if words else np.zeros(0)
    except BadNumber as bad:
        raise document.error(f"found {shown(words[bad.index])}; {bad.reason}", found[bad.index].mark) from None
    return TableRecord(child, tuple(parents), values, element.mark)


def _attribute(document: Document, element: Element, name: str) -> str:
    """An attribute by its name in small letters or capitals."""
    found = element.attributes.get(name, element.attributes.get(name.upper(), ""))
    if not found:
        raise document.error(f"expected the attribute {name!r}; found nothing", element.mark)
    return found
