"""GeNIe XDSL files: tables, deterministic nodes and noisy-max nodes.

The numbers of a table run over the parents in order, then over the child, which is the fastest. In a noisy-max node
states go from the strongest to the last, which means absent; its numbers are a row of the child for each state of
each parent (in the order of `strengths`, the parent's neutral state last), then the leak. Names, states and orders
that the format cannot express are stored in the properties `sepset_name`, `sepset_states` and `sepset_position`.
Whatever else a file has is the network's `Drawing`, and is written again. In files that aGrUM wrote, which say so, the
first parent is the fastest, and they are read in this way.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats
from sepset.base.text import listing, nearest
from sepset.cpds.cpd import CPD
from sepset.cpds.deterministic import DeterministicCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError
from sepset.io.discrete import VariableView, bayes_net, rows_of, table_of, views
from sepset.io.identifiers import identifiers, is_identifier
from sepset.io.lexer import whole
from sepset.io.markup import Document, Element, rendered, tagged, written_attributes
from sepset.io.record import (
    READING,
    MadeRecord,
    Maker,
    NetworkRecord,
    Reading,
    TableRecord,
    VariableRecord,
    check_family,
    network,
    normalized_rows,
)
from sepset.io.xdsldrawing import FORMAT, head, is_agrum, looks, network_item, node_item, tail, titles
from sepset.models.bayesnet import BayesNet
from sepset.models.drawing import NOTHING, Drawing
from sepset.models.model import Model
from sepset.variables.variable import Discrete

OWN = NAME, STATES, POSITION = "sepset_name", "sepset_states", "sepset_position"

MAX_TABLE = 1 << 20
"""The largest table that a graded noisy-max node may become; only a table can keep the order of its states."""


def parse(data: bytes, file: str = "<text>", reading: Reading = READING) -> BayesNet:
    """The network in an XDSL file.

    Reference: BayesFusion.
    Guarantee: models round-trip; any bytes are read or raise one error.
    Tested by: io/test_xdsl.py::test_damaged_files_are_read_or_refused

    >>> text = (
    ...     b'<smile id="n"><nodes><cpt id="a"><state id="yes"/><state id="no"/>'
    ...     b"<probabilities>0.2 0.8</probabilities></cpt></nodes></smile>"
    ... )
    >>> parse(text)["a"].states
    ('yes', 'no')
    """
    document = Document(data, file)
    if document.root.tag != "SMILE":
        raise document.error("expected <smile> as the outermost element", document.root.mark)
    nodes = [_node(document, element) for element in document.one(document.root, "NODES").children]
    by_key: dict[str, _Node] = {}
    for node in nodes:
        if by_key.setdefault(node.key, node) is not node:
            raise document.error(f"the node {node.key!r} is declared twice", node.element.mark)
    ordered = sorted(nodes, key=lambda node: node.position)
    variables = tuple(VariableRecord(node.name, node.states, node.element.mark) for node in ordered)
    app = _genie(document.root).get("app", "")
    cpds = tuple(_cpd(document, node, by_key, is_turned=is_agrum(app)) for node in nodes)
    notes = (f"Read the tables as {app} wrote them: the first parent is the fastest.",) if is_agrum(app) else ()
    record = NetworkRecord(variables, cpds, _title(document.root), notes, _drawing(document.root, by_key))
    return network(record, document, reading)


def _drawing(root: Element, nodes: Mapping[str, _Node]) -> Drawing:
    drawn = network_item(root, {key: node.name for key, node in nodes.items()})
    about = {node.name: node_item(node.element, node.listed, OWN) for node in nodes.values()}
    said = {name: item for name, item in about.items() if item.attributes or item.items}
    return Drawing(titles(drawn), FORMAT, network=drawn, nodes=said, looks=looks(drawn))


def _title(root: Element) -> str:
    """The network's name: its id, or the title that this library wrote in addition."""
    genie = _genie(root)
    return genie.get("name", "") if genie.get("app") == "sepset" else root.attributes.get("id", "")


def _genie(root: Element) -> Mapping[str, str]:
    """The attributes that tell which tool wrote the file."""
    extensions = root.first("EXTENSIONS")
    genie = None if extensions is None else extensions.first("GENIE")
    return {} if genie is None else genie.attributes


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of the file: its states in file order (`listed`), in ours, and the file positions of ours (`places`)."""

    element: Element
    key: str
    name: str
    listed: tuple[str, ...]
    states: tuple[str, ...]
    ids: tuple[str, ...]
    places: list[int]
    position: int


def _node(document: Document, element: Element) -> _Node:
    if element.tag not in ("CPT", "DETERMINISTIC", "NOISYMAX"):
        raise document.error("only cpt, deterministic and noisymax nodes are read", element.mark)
    key = element.attributes.get("id", "")
    ids = tuple(state.attributes.get("id", "") for state in element.all("STATE"))
    if not key or "" in ids:
        raise document.error("expected an id on the node and on each of its states", element.mark)
    properties = {p.attributes.get("id", ""): p for p in element.all("PROPERTY")}
    name = document.name(properties[NAME]) if NAME in properties else key
    listed, places = ids, list(range(len(ids)))
    if STATES in properties:
        listed, places = _kept_states(document, properties[STATES], len(ids))
    states = tuple(listed[place] for place in places)
    position = whole(properties[POSITION].text) if POSITION in properties else None
    return _Node(element, key, name, listed, states, ids, places, position or 0)


def _kept_states(document: Document, element: Element, count: int) -> tuple[tuple[str, ...], list[int]]:
    """The states in file order and the positions of ours among them, which a property stores as two JSON lists."""
    try:
        listed, order = json.loads(element.text)
        names = [name for name in listed if isinstance(name, str) and name]
        places = [place for place in order if type(place) is int]
    except (ValueError, TypeError, RecursionError):
        names, places = [], []
    if len(names) != count or sorted(places) != list(range(count)):
        raise document.error("expected the states as a list of names and a list of their positions", element.mark)
    return tuple(names), places


def _cpd(document: Document, node: _Node, by_key: dict[str, _Node], *, is_turned: bool) -> TableRecord | MadeRecord:
    given = node.element.first("PARENTS")
    keys = given.text.split() if given is not None else []
    check_family(node.key, keys, by_key, document, node.element.mark)
    parents = [by_key[key] for key in keys]
    names = tuple(parent.name for parent in parents)
    if node.element.tag == "CPT":
        body = document.one(node.element, "PROBABILITIES")
        numbers = document.weights(body)
        if is_turned:
            numbers = _last_parent_fastest(numbers, [*parents, node])
        return TableRecord(node.name, names, _in_our_order(numbers, [*parents, node]), body.mark)
    read = _deterministic if node.element.tag == "DETERMINISTIC" else _noisy_max
    return MadeRecord(node.name, names, read(document, node, parents), node.element.mark)


def _last_parent_fastest(numbers: Floats, nodes: Sequence[_Node]) -> Floats:
    """Numbers over the child, which is the fastest, then the parents from the first on, in the order of the format."""
    *parents, width = [len(node.states) for node in nodes]
    if numbers.size != math.prod(parents) * width:
        return numbers
    axes = (*reversed(range(len(parents))), len(parents))
    return np.ascontiguousarray(numbers.reshape(*reversed(parents), width).transpose(axes)).reshape(-1)


def _in_our_order(numbers: Floats, nodes: Sequence[_Node]) -> Floats:
    """Numbers over states in file order, rearranged to ours; a table of the wrong size is left to later checks."""
    shape = [len(node.states) for node in nodes]
    if numbers.size != math.prod(shape) or all(node.states == node.listed for node in nodes):
        return numbers
    table = numbers.reshape(shape)
    for axis, node in enumerate(nodes):
        table = table.take(node.places, axis)
    return table.reshape(-1)


def _deterministic(document: Document, node: _Node, parents: Sequence[_Node]) -> Maker:
    body = document.one(node.element, "RESULTINGSTATES")
    words = body.text.split()
    size = math.prod(len(parent.states) for parent in parents)
    if len(words) != size:
        raise document.error(f"found {len(words)} states; the parents have {size} joint states", body.mark)
    for word in words:
        if word not in node.ids:
            known = f"its states are {listing(node.ids)}.{nearest(word, node.ids)}"
            raise document.error(f"found {word!r}; {known}", body.mark)
    listed = _in_our_order(np.array([node.ids.index(word) for word in words], np.float64), parents)
    results = iter([node.listed[int(place)] for place in listed])
    return lambda child, given: DeterministicCPD(child, lambda *_: next(results), given=given)


def _noisy_max(document: Document, node: _Node, parents: Sequence[_Node]) -> Maker:
    body = document.one(node.element, "PARAMETERS")
    width = len(node.states)
    total = sum(len(parent.states) for parent in parents)
    numbers = document.weights(body)
    if numbers.size != (total + 1) * width:
        raise document.error(f"found {numbers.size} numbers; the node needs {(total + 1) * width}", body.mark)
    rows, _ = normalized_rows(
        numbers.reshape(-1, width), lambda row, sum_: document.error(f"row {row} sums to {sum_:.9g}", body.mark)
    )
    effects, start = [], 0
    for parent, order in zip(parents, _strengths(document, node, parents), strict=True):
        part = rows[start : start + len(order)]
        if part[-1, -1] != 1.0:
            message = f"the last row of the parent {parent.name!r} should give absence with probability one"
            raise document.error(message, body.mark)
        effect = np.empty_like(part)
        effect[order] = part
        effects.append(effect[parent.places])
        start += len(order)
    levels = [node.states.index(state) for state in reversed(node.listed)]
    return lambda child, given: _influenced(child, given, effects, rows[-1], levels)


def _strengths(document: Document, node: _Node, parents: Sequence[_Node]) -> list[list[int]]:
    """The positions of each parent's states, from the strongest to the neutral one."""
    body = node.element.first("STRENGTHS")
    if body is None:
        return [list(range(len(parent.states))) for parent in parents]
    places, start, found = [whole(word) for word in body.text.split()], 0, []
    for parent in parents:
        part = [place for place in places[start : start + len(parent.states)] if place is not None]
        if sorted(part) != list(range(len(parent.states))):
            raise document.error(f"expected an order of the {len(parent.states)} states of {parent.name!r}", body.mark)
        found.append(part)
        start += len(part)
    if start != len(places):
        raise document.error(f"found {len(places)} positions; the parents have {start} states", body.mark)
    return found


def _influenced(
    child: Discrete, given: tuple[Discrete, ...], effects: list[Floats], leak: Floats, levels: list[int]
) -> CPD:
    """The CPD of a noisy-max node: rows go from strongest to absent, `levels` are the codes from absent upward."""
    if child.num_states == 2:
        chances = {parent: effect[:, 0] for parent, effect in zip(given, effects, strict=True)}
        return NoisyOr(child, chances, leak=float(leak[0]), on=child.states[levels[1]])
    graded = {parent: effect[:, ::-1] for parent, effect in zip(given, effects, strict=True)}
    if levels == list(range(child.num_states)):
        return NoisyMax(child, graded, leak=leak[::-1])
    if child.num_states * math.prod(parent.num_states for parent in given) > MAX_TABLE:
        raise ModelError(f"the noisy-max node {child.name} has a table of more than {MAX_TABLE:,} numbers")
    ordered = Discrete(child.base, [child.states[code] for code in levels], index=child.index, lag=child.lag)
    rows = NoisyMax(ordered, graded, leak=leak[::-1]).to_table().table.flat.reshape(-1, child.num_states)
    return TableCPD(child, rows[:, np.argsort(levels, kind="stable")].reshape(-1), given=given)


def render(model: Model) -> bytes:
    """The network as an XDSL file; numbers are written so that they are read back exactly."""
    net = bayes_net(model, "XDSL")
    keys = identifiers(net.variables.names, "node")
    seen = views(net, "XDSL")
    title = net.name if is_identifier(net.name) else "network"
    drawing = net.drawing.of(FORMAT)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<smile{head(drawing, title)}>", "<nodes>"]
    orders = {name: _file_order(net.cpd(name), view) for name, view in seen.items()}
    listed = net.dag.topological_order
    positions = {} if listed == net.variables.names else {name: i for i, name in enumerate(net.variables.names)}
    for name in listed:
        lines += _node_lines(net, name, keys, seen, orders, positions)
    lines += ["</nodes>", *tail(drawing, net.name, title, keys), "</smile>"]
    return ("\n".join(lines) + "\n").encode()


Orders: TypeAlias = Mapping[str, list[int]]
"""For each variable, the codes of its states in file order."""


def _node_lines(
    net: BayesNet,
    name: str,
    keys: Mapping[str, str],
    seen: Mapping[str, VariableView],
    orders: Orders,
    positions: Mapping[str, int],
) -> list[str]:
    cpd, view, order = net.cpd(name), seen[name], orders[name]
    listed = tuple(view.states[code] for code in order)
    ids = tuple(identifiers(listed, "state").values())
    tag, body = _body(cpd, ids, orders)
    drawn = net.drawing.of(FORMAT).nodes.get(name, NOTHING)
    marked = {state.text: dict(state.attributes) for state in drawn.all("state")}
    lines = [f"<{tag}{written_attributes({'id': keys[name]} | dict(drawn.attributes), FORMAT)}>"]
    for key, state in zip(ids, listed, strict=True):
        lines.append(f"  <state{written_attributes({'id': key} | marked.get(state, {}), FORMAT)} />")
    if cpd.parents:
        lines.append(f"  <parents>{' '.join(keys[parent.name] for parent in cpd.parents)}</parents>")
    lines += body
    if keys[name] != name:
        lines.append(_property(NAME, name))
    if ids != listed or order != sorted(order):
        lines.append(
            _property(STATES, json.dumps([listed, np.argsort(order, kind="stable").tolist()], ensure_ascii=False))
        )
    if name in positions:
        lines.append(_property(POSITION, str(positions[name])))
    lines += [f"  {rendered(item, FORMAT)}" for item in drawn.items if item.tag != "state"]
    return [*lines, f"</{tag}>"]


def _property(key: str, text: str) -> str:
    return "  " + tagged("property", text, "XDSL").replace("<property", f'<property id="{key}"', 1)


def _file_order(cpd: CPD, view: VariableView) -> list[int]:
    return list(reversed(cpd.influences.order)) if _is_noisy(cpd) else list(range(len(view.states)))


def _is_noisy(cpd: CPD) -> TypeGuard[NoisyOr | NoisyMax]:
    """Whether a noisy-max node can express the CPD: each parent needs a state that has no effect."""
    if not isinstance(cpd, NoisyOr | NoisyMax):
        return False
    return all((effect[:, 0] == 1.0).any() for effect in cpd.influences.effects)


def _body(cpd: CPD, ids: tuple[str, ...], orders: Orders) -> tuple[str, list[str]]:
    """The kind of node, and the lines with its numbers over states in file order."""
    if isinstance(cpd, DeterministicCPD):
        codes = _in_file_order(cpd.codes, cpd.parents, orders)
        return "deterministic", [_tag("resultingstates", [ids[code] for code in codes.tolist()])]
    if _is_noisy(cpd):
        return "noisymax", _noisy_lines(cpd, orders)
    numbers = _in_file_order(rows_of(table_of(cpd, "XDSL")), cpd.scope, orders)
    return "cpt", [_tag("probabilities", map(repr, numbers.tolist()))]


def _in_file_order(numbers: AnyArray, scope: Sequence[Any], orders: Orders) -> AnyArray:
    moved = [(axis, orders[v.name]) for axis, v in enumerate(scope) if orders[v.name] != sorted(orders[v.name])]
    if not moved:
        return numbers.reshape(-1)
    table = numbers.reshape([v.num_states for v in scope])
    for axis, order in moved:
        table = table.take(order, axis)
    return table.reshape(-1)


def _noisy_lines(cpd: NoisyOr | NoisyMax, orders: Orders) -> list[str]:
    strengths: list[int] = []
    numbers: list[float] = []
    for parent, effect in zip(cpd.parents, cpd.influences.effects, strict=True):
        order = np.argsort(effect[:, 0] == 1.0, kind="stable")
        strengths += np.argsort(orders[parent.name], kind="stable")[order].tolist()
        numbers += effect[order, ::-1].reshape(-1).tolist()
    numbers += cpd.influences.leak[::-1].tolist()
    return [_tag("strengths", map(str, strengths)), _tag("parameters", map(repr, numbers))]


def _tag(tag: str, words: Iterable[str]) -> str:
    return f"  <{tag}>{' '.join(words)}</{tag}>"
