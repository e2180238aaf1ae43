"""XMLBIF 0.3, the Bayesian interchange format in XML.

The numbers of a table run over the given variables in order, then over the child, which is the fastest. Files may
contain a document type, as the format's own examples do; none is written, because some readers fail on it.
Properties are the network's `Drawing`, and are written again.
"""

from __future__ import annotations

from collections.abc import Iterable

from sepset.io.discrete import TableView, VariableView, bayes_net, discrete_network
from sepset.io.looks import PROPERTIES, properties, property_drawing, property_item, property_texts
from sepset.io.markup import Document, Element, carried, tagged
from sepset.io.record import READING, NetworkRecord, Reading, TableRecord, VariableRecord, network
from sepset.io.unbbayes import unbbayes_record
from sepset.models.bayesnet import BayesNet
from sepset.models.drawing import NOTHING, Drawing
from sepset.models.model import Model


def parse(data: bytes, file: str = "<text>", reading: Reading = READING) -> BayesNet:
    """The network in an XMLBIF file.

    Reference: Cozman (1998).
    Guarantee: models round-trip; any bytes are read or raise one error.
    Tested by: io/test_xmlbif.py::test_damaged_files_are_read_or_refused

    >>> text = (
    ...     b"<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>"
    ...     b"<DEFINITION><FOR>a</FOR><TABLE>0.2 0.8</TABLE></DEFINITION></NETWORK></BIF>"
    ... )
    >>> parse(text)["a"].states
    ('yes', 'no')
    """
    document = Document(data, file)
    if document.root.tag not in ("BIF", "XMLBIF"):
        raise document.error("expected <bif> as the outermost element", document.root.mark)
    body = document.one(document.root, "NETWORK")
    if body.first("VARIABLES") is not None:
        return network(unbbayes_record(document, body), document, reading)
    name = body.first("NAME")
    variables = tuple(_variable(document, element) for element in body.all("VARIABLE"))
    tables = tuple(_table(document, element) for element in body.all("DEFINITION", "PROBABILITY"))
    drawing = _drawing(document, body)
    record = NetworkRecord(variables, tables, name.text if name is not None else "", drawing=drawing)
    return network(record, document, reading)


def _drawing(document: Document, body: Element) -> Drawing:
    """The properties of the network, its variables and their tables."""
    tabled = {
        document.name(document.one(element, "FOR")): [property_item("table", texts)]
        for element in body.all("DEFINITION", "PROBABILITY")
        if (texts := _properties(element))
    }
    drawn = {document.name(document.one(element, "NAME")): element for element in body.all("VARIABLE")}
    nodes = {name: property_item("variable", _properties(e), tabled.get(name, ())) for name, e in drawn.items()}
    return property_drawing(property_item("network", _properties(body)), nodes)


def _properties(element: Element) -> list[str]:
    """The texts of an element's properties that are not empty."""
    return [text for part in element.all("PROPERTY") if (text := part.text)]


def _variable(document: Document, element: Element) -> VariableRecord:
    kind = element.attributes.get("TYPE", "nature")
    if kind != "nature":
        raise document.error(f"found a variable of type {kind!r}; only 'nature' is read", element.mark)
    name = document.name(document.one(element, "NAME"))
    states = tuple(document.name(outcome) for outcome in element.all("OUTCOME", "VALUE"))
    return VariableRecord(name, states, element.mark)


def _table(document: Document, element: Element) -> TableRecord:
    child = document.name(document.one(element, "FOR"))
    parents = tuple(document.name(given) for given in element.all("GIVEN"))
    table = document.one(element, "TABLE")
    return TableRecord(child, parents, document.weights(table), table.mark)


def render(model: Model) -> bytes:
    """The network as an XMLBIF file; numbers are written so that they are read back exactly."""
    net = discrete_network(model, "XMLBIF")
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>", _tag("NAME", net.name)]
    drawing = bayes_net(model, "XMLBIF").drawing.of(PROPERTIES)
    lines += _property_lines(property_texts(drawing.network))
    for variable in net.variables:
        lines += _variable_lines(variable, properties(drawing, variable.name))
    for table in net.tables:
        drawn = drawing.nodes.get(table.child.name, NOTHING)
        lines += _table_lines(table, [text for item in drawn.all("table") for text in property_texts(item)])
    return ("\n".join([*lines, "</NETWORK>", "</BIF>"]) + "\n").encode()


def _tag(tag: str, text: str) -> str:
    return tagged(tag, text, "XMLBIF")


def _property_lines(texts: Iterable[str]) -> list[str]:
    return [f"  {_tag('PROPERTY', carried(text))}" for text in texts]


def _variable_lines(variable: VariableView, about: Iterable[str]) -> list[str]:
    outcomes = [f"  {_tag('OUTCOME', state)}" for state in variable.states]
    name = _tag("NAME", variable.name)
    return ['<VARIABLE TYPE="nature">', f"  {name}", *outcomes, *_property_lines(about), "</VARIABLE>"]


def _table_lines(table: TableView, about: Iterable[str]) -> list[str]:
    given = [f"  {_tag('GIVEN', parent.name)}" for parent in table.parents]
    rows = [" ".join(map(repr, row)) for row in table.rows.tolist()]
    numbers = "\n    ".join(rows)
    return [
        "<DEFINITION>",
        f"  {_tag('FOR', table.child.name)}",
        *given,
        f"  <TABLE>\n    {numbers}\n  </TABLE>",
        *_property_lines(about),
        "</DEFINITION>",
    ]
