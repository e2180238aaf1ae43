"""The library's own JSON format: it stores everything a model has, including state types and structured names.

A file states its format version; older versions are read, newer ones raise an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from sepset.cpds.table import TableCPD
from sepset.errors import FileFormatError, NotApplicable, SepsetError
from sepset.factors.table import Table
from sepset.io.cursor import Cursor, JsonSource
from sepset.io.jsoncpds import cpd_document, read_cpd
from sepset.io.jsondrawing import drawing_document, read_drawing
from sepset.io.jsonfactors import block_document, factor_document, read_block, read_factor
from sepset.io.jsonupgrades import UPGRADES
from sepset.io.jsonvariables import Part, VariableReader, discrete_all, names, variable_document
from sepset.io.lexer import decode
from sepset.io.record import MARGIN, READING, TOLERANCE, Misses, Reading
from sepset.models.bayesnet import BayesNet
from sepset.models.chaincomponent import ChainComponent
from sepset.models.chaingraph import ChainGraph
from sepset.models.drawing import BLANK
from sepset.models.features import Feature
from sepset.models.markovnet import MarkovNet
from sepset.models.model import Model
from sepset.variables.universe import Universe

Document: TypeAlias = dict[str, Any]

VERSION = 1 + len(UPGRADES)
"""The version that is written."""

ABOUT = ("source", "authors", "license", "description")
"""The keys of texts that a file may contain about itself."""

_COMMON = ("format", "version", "kind", "name", "notes", "variables", *ABOUT)


def parse(data: bytes, file: str = "<text>", reading: Reading = READING) -> Model:
    """The model in a JSON file.

    Guarantee: models round-trip; any bytes are read or raise one error.
    Tested by: io/test_json.py::test_any_value_in_any_place_is_read_or_refused

    >>> text = b'{"format": "sepset", "version": 1, "kind": "markov_net", "variables": [{"name": "a", "states": 2}]}'
    >>> parse(text)
    MarkovNet(1 variable, 0 factors)
    """
    root = _current(JsonSource(decode(data), file).root())
    kind = root["kind"].text()
    if kind not in _KINDS:
        raise root["kind"].error(f"expected one of {', '.join(_KINDS)}")
    try:
        return _KINDS[kind](root, _Head(root), Misses(reading))
    except FileFormatError:
        raise
    except SepsetError as error:
        raise root.error(str(error)) from error
    except RecursionError:
        raise root.error("the values nest too deep") from None


def about(data: bytes, file: str = "<text>") -> dict[str, str]:
    """The texts of a JSON file about itself: name, description, source, authors and license."""
    root = _current(JsonSource(decode(data), file).root())
    return {key: root[key].text() for key in ("name", *ABOUT) if key in root}


def _current(root: Cursor) -> Cursor:
    """The document, converted to the current version."""
    if root["format"].text() != "sepset":
        raise root["format"].error("expected the format 'sepset'")
    version = root["version"].whole(1)
    if version > VERSION:
        raise root["version"].error(
            f"the file has format version {version}; this sepset reads versions up to {VERSION}. Install a newer one"
        )
    document = root.value
    for upgrade in UPGRADES[version - 1 :]:
        document = upgrade(document)
    return Cursor(document, (), root.source)


class _Head:
    """Shared parts of all kinds of document: name, notes and variables."""

    def __init__(self, root: Cursor) -> None:
        self.name = root["name"].text() if "name" in root else ""
        self.notes = tuple(note.text() for note in root["notes"]) if "notes" in root else ()
        self.reader = VariableReader(len(root.source.text))
        self.parts: list[Part] = [self.reader.part(item) for item in root["variables"]]
        self.variables = root["variables"].made(lambda: Universe(self.parts))

    def all_notes(self, misses: Misses) -> tuple[str, ...]:
        return (*self.notes, *misses.note())


def _read_bayes_net(root: Cursor, head: _Head, misses: Misses) -> BayesNet:
    root.keys(*_COMMON, "cpds", "drawing")
    cpds = [read_cpd(item, head.variables, misses) for item in root["cpds"]]
    if len(cpds) != len(head.variables):
        message = f"found {len(cpds)} conditional distributions of {len(head.variables)} variables; each takes one"
        raise root["cpds"].error(message)
    cpds.sort(key=lambda cpd: head.variables.id(cpd.child))
    drawing = read_drawing(root["drawing"]) if "drawing" in root else BLANK
    return root["cpds"].made(lambda: BayesNet(*cpds, name=head.name, notes=head.all_notes(misses), drawing=drawing))


def _read_markov_net(root: Cursor, head: _Head, misses: Misses) -> MarkovNet:
    root.keys(*_COMMON, "auxiliaries", "factors", "features")
    if "features" in root:
        return _read_log_linear(root, head)
    listed = [head.reader.part(item) for item in root["auxiliaries"]] if "auxiliaries" in root else []
    hidden: Any = listed
    everything = root.made(lambda: Universe([*head.parts, *listed]))
    blocks = [read_block(item, everything) for item in root["factors"]] if "factors" in root else []
    return root.made(
        lambda: MarkovNet(*blocks, variables=head.parts, auxiliaries=hidden, name=head.name, notes=head.notes)
    )


def _read_log_linear(root: Cursor, head: _Head) -> MarkovNet:
    features: list[Feature] = []
    weights: list[float] = []
    for item in root["features"]:
        item.keys("scope", "values", "name", "weight")
        scope, numbers = discrete_all(item["scope"], head.variables), item["values"].reals()
        title = item["name"].text() if "name" in item else ""
        features.append(_feature(item, scope, numbers, title))
        weights.append(item["weight"].real())
    return root.made(lambda: MarkovNet.log_linear(features, weights, name=head.name, notes=head.notes))


def _feature(item: Cursor, scope: Any, numbers: Any, title: str) -> Feature:
    return item.made(lambda: Feature(scope, numbers, name=title))


def _read_chain_graph(root: Cursor, head: _Head, misses: Misses) -> ChainGraph:
    root.keys(*_COMMON, "components")
    parts = [_read_component(item, head.variables, misses) for item in root["components"]]
    return root["components"].made(lambda: ChainGraph(*parts, name=head.name, notes=head.all_notes(misses)))


def _read_component(item: Cursor, variables: Universe, misses: Misses) -> ChainComponent:
    item.keys("variables", "given", "factors", "cpd")
    if "cpd" in item:
        cpd = read_cpd(item["cpd"], variables, misses)
        return item.made(lambda: ChainComponent.of_cpd(cpd))
    own = discrete_all(item["variables"], variables)
    given = discrete_all(item["given"], variables)
    factors = [read_factor(factor, variables) for factor in item["factors"]]
    return item.made(lambda: ChainComponent(own, *factors, given=given))


_KINDS: dict[str, Callable[[Cursor, _Head, Misses], Model]] = {
    "bayes_net": _read_bayes_net,
    "markov_net": _read_markov_net,
    "chain_graph": _read_chain_graph,
}


def render(model: Model, **about: str) -> bytes:
    """The model as a JSON file, one variable, CPD or factor per line; numbers are read back exactly.

    Args:
        model: a `BayesNet`, `MarkovNet` or `ChainGraph`.
        about: texts about the file: `source`, `authors`, `license`, `description`.
    """
    text = _layout(_document(model, about))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _layout(_document(model, about), ascii_only=True).encode()


def _document(model: Model, about: dict[str, str]) -> Document:
    if isinstance(model, BayesNet):
        drawn = {} if model.drawing == BLANK else {"drawing": drawing_document(model.drawing)}
        kind, body = "bayes_net", {"cpds": [cpd_document(cpd) for cpd in model.cpds]} | drawn
    elif isinstance(model, MarkovNet):
        kind, body = "markov_net", _markov_body(model)
    elif isinstance(model, ChainGraph):
        kind, body = "chain_graph", {"components": [_component_document(part) for part in model.components]}
    else:
        raise NotApplicable(f"JSON files store Bayesian networks, Markov networks and chain graphs; found {model!r}.")
    head: Document = {"format": "sepset", "version": VERSION, "kind": kind}
    if model.name:
        head["name"] = model.name
    head |= about
    if model.notes:
        head["notes"] = list(model.notes)
    return head | {"variables": [variable_document(part) for part in model.variables.parts]} | body


def _markov_body(net: MarkovNet) -> Document:
    if net.features:
        features = [
            {"name": f.name, "scope": names(f.scope), "values": f.values.reshape(-1).tolist(), "weight": weight}
            for f, weight in zip(net.features, net.weights.tolist(), strict=True)
        ]
        return {"features": features}
    hidden = {"auxiliaries": [variable_document(part) for part in net.auxiliaries]} if net.auxiliaries else {}
    return hidden | {"factors": [block_document(block) for block in net.blocks]}


def _component_document(part: ChainComponent) -> Document:
    if part.is_normalized and len(part.factors) == 1 and isinstance(part.factors[0], Table):
        table = part.factors[0].align((*part.parents, *part.variables))
        cpd = TableCPD(part.variables[0], table.values.reshape(-1), given=part.parents, tolerance=TOLERANCE + MARGIN)
        return {"cpd": cpd_document(cpd)}
    factors = [factor_document(factor) for factor in part.factors]
    return {"variables": names(part.variables), "given": names(part.parents), "factors": factors}


def _layout(document: Document, *, ascii_only: bool = False) -> str:
    """The document with one entry per line, so that files and their diffs are readable."""
    encode = json.JSONEncoder(ensure_ascii=ascii_only, allow_nan=False).encode
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value and key != "notes":
            entries = ",\n  ".join(encode(entry) for entry in value)
            lines.append(f"{encode(key)}: [\n  {entries}\n ]")
        else:
            lines.append(f"{encode(key)}: {encode(value)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"
