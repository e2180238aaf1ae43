"""Hugin NET files: discrete nodes and their conditional tables.

The numbers of a potential `( child | parents )` run over the parents in order, then over the child, which is the
fastest. Names that are not identifiers are stored in the attribute `sepset_name`. Other attributes of the network and
its nodes are its `Drawing`, and are written again; those of potentials, which depend on the numbers, are not.
Positions are whole numbers, and y grows upward; in a `Drawing` it grows downward.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sepset.io.discrete import TableView, VariableView, bayes_net, discrete_network
from sepset.io.identifiers import identifiers
from sepset.io.lexer import END, QUOTED, Words, decode, is_closed_quotation, quoted, unquoted
from sepset.io.looks import color, mirrored, pair, shown_pair
from sepset.io.record import (
    NEGLIGIBLE,
    READING,
    NetworkRecord,
    Reading,
    TableRecord,
    VariableRecord,
    check_family,
    network,
)
from sepset.models.bayesnet import BayesNet
from sepset.models.drawing import BLANK, NOTHING, UNSEEN, Drawing, Item, Look, is_item_name
from sepset.models.model import Model

_WORDS = re.compile(rf'%[^\n]*+|({QUOTED}|[{{}}()=;|]|[^\s{{}}()=;|"%,]++)', re.DOTALL)
_MARKS = frozenset("{}()=;|")
_OTHER = frozenset({"continuous", "decision", "utility", "function", "class", "instance"})
_RESERVED = _OTHER | {"net", "node", "potential", "discrete", "data", "states", "label", "normal"}

FORMAT = "NET"
NAME, COLOR, GROUP = "sepset_name", "sepset_color", "sepset_group"
"""The attributes that store a name that is not an identifier, a color, and a group."""
COMMENT = "HR_Desc"
"""The attribute in which Hugin stores the description of a node."""


def parse(data: bytes, file: str = "<text>", reading: Reading = READING) -> BayesNet:
    """The network in a Hugin NET file.

    Reference: Hugin Expert.
    Guarantee: models round-trip; any bytes are read or raise one error.
    Tested by: io/test_net.py::test_damaged_files_are_read_or_refused

    >>> text = b'net {} node a { states = ("yes" "no"); } potential (a) { data = (0.2 0.8); }'
    >>> parse(text)["a"].states
    ('yes', 'no')
    """
    words = Words(decode(data), _WORDS, file)
    return network(_Reader(words).record(), words, replace(reading, has_weights=True))


class _Reader:
    """A recursive-descent parser over the words of one file."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.name = ""
        self.variables: dict[str, VariableRecord] = {}
        self.tables: list[TableRecord] = []
        self.drawn: dict[str, Item] = {}

    def record(self) -> NetworkRecord:
        words = self.words
        if words.next == "class":
            raise words.error("expected 'net'; object-oriented networks are not read")
        words.expect("net", "at the start of the file")
        about = self._attributes("the network")
        for key, begin, end in about:
            if key == NAME:
                self.name = self._string(begin, end)
        while words.next != END:
            self._element()
        names = {key: record.name for key, record in self.variables.items()}
        tables = [
            TableRecord(names[t.child], tuple(names[p] for p in t.parents), t.values, t.mark, t.rows)
            for t in self.tables
        ]
        drawing = _drawing(self._item("net", about), self.drawn)
        return NetworkRecord(tuple(self.variables.values()), tuple(tables), self.name, drawing=drawing)

    def _item(self, tag: str, attributes: list[tuple[str, int, int]]) -> Item:
        """A block as a piece of a drawing: its attributes besides name and states; odd ones are left out."""
        texts = ((key, " ".join(self.words.words[begin:end])) for key, begin, end in attributes)
        return Item(tag, items=tuple(Item(k, t) for k, t in texts if k not in (NAME, "states") and _is_written(k, t)))

    def _element(self) -> None:
        words = self.words
        word = words.next
        if word in _OTHER:
            raise words.error("only discrete chance nodes are read")
        words.accept("discrete")
        if words.accept("node"):
            self._node()
        elif word == "potential":
            words.take()
            self._potential()
        else:
            raise words.error("expected 'node' or 'potential'")

    def _attributes(self, owner: str) -> list[tuple[str, int, int]]:
        """The attributes of a block: their names, and the word ranges of their values."""
        words = self.words
        words.expect("{", f"at the start of the block of {owner}")
        found: list[tuple[str, int, int]] = []
        while not words.accept("}"):
            key = words.name(f"an attribute or '}}' in the block of {owner}", _MARKS)
            words.expect("=", f"after the attribute {key!r}")
            begin, end = words.until(";", f"after the value of {key!r}")
            found.append((key, begin, end))
        return found

    def _node(self) -> None:
        words = self.words
        mark = words.at
        key = words.name("a node's name", _MARKS)
        if key in self.variables:
            raise words.error(f"the node {key!r} is declared twice", mark)
        name, states = key, None
        about = self._attributes(repr(key))
        for attribute, begin, end in about:
            if attribute == NAME:
                name = self._string(begin, end)
            elif attribute == "states" and states is None:
                states = self._states(key, begin, end)
        if states is None:
            raise words.error(f"the node {key!r} has no states", mark)
        self.variables[key] = VariableRecord(name, states, mark)
        self.drawn[name] = self._item("node", about)

    def _string(self, begin: int, end: int) -> str:
        if end - begin != 1 or not self.words.words[begin].startswith('"'):
            raise self.words.error("expected a quoted string", begin)
        return unquoted(self.words.words[begin])

    def _states(self, key: str, begin: int, end: int) -> tuple[str, ...]:
        words = self.words.words[begin:end]
        if len(words) < 3 or words[0] != "(" or words[-1] != ")":
            raise self.words.error(f"expected the states of {key!r} as a list in parentheses", begin)
        for offset, word in enumerate(words[1:-1], begin + 1):
            if word in _MARKS:
                raise self.words.error(f"expected a state of {key!r}", offset)
        return tuple(map(unquoted, words[1:-1]))

    def _potential(self) -> None:
        words = self.words
        words.expect("(", "after 'potential'")
        mark = words.at
        child = words.name("a node's name", _MARKS)
        parents: list[str] = []
        if words.accept("|"):
            while words.next != ")":
                parents.append(words.name("a parent's name", _MARKS))
        words.expect(")", f"or '|' after {child!r}; a potential has one child")
        check_family(child, parents, self.variables, words, mark)
        values = [(begin, end) for key, begin, end in self._attributes(f"the potential of {child!r}") if key == "data"]
        if len(values) != 1:
            raise words.error(f"the potential of {child!r} has {len(values)} 'data' attributes; it takes one", mark)
        self.tables.append(self._table(child, tuple(parents), *values[0], mark))

    def _table(self, child: str, parents: tuple[str, ...], begin: int, end: int, mark: int) -> TableRecord:
        depth, numbers, marks = 0, [], []
        for position in range(begin, end):
            word = self.words.words[position]
            if word == "(":
                depth += 1
            elif word == ")":
                depth -= 1
            elif depth:
                numbers.append(word)
                marks.append(position)
            if depth < 0 or (depth == 0 and word != ")"):
                raise self.words.error("expected numbers in balanced parentheses", position)
        if depth:
            raise self.words.error("expected ')' for each '(' of the numbers", end)
        values = self.words.weights(numbers, lambda i: marks[i], least=-NEGLIGIBLE)
        rows = marks[:: len(self.variables[child].states)]
        return TableRecord(child, parents, values, mark, rows)


def _is_written(key: str, text: str) -> bool:
    """Whether an attribute can be written as it stands: numbers, strings, and lists of them."""
    words = [word for word in _WORDS.findall(text) if word]
    is_closed = not words or not words[-1].startswith('"') or is_closed_quotation(words[-1])
    is_plain = is_closed and words.count("(") == words.count(")") and not set(words) & set("{}=;|")
    return is_plain and is_item_name(key) and " ".join(words) == text


def _drawing(network: Item, nodes: Mapping[str, Item]) -> Drawing:
    """The drawing of a file; titles are the labels that are not empty."""
    drawn = {name: item for name, item in nodes.items() if item.items}
    labels = {name: unquoted(label.text) for name, item in drawn.items() for label in item.all("label")}
    titles = {name: label for name, label in labels.items() if label.strip()}
    looks = {name: look for name, item in drawn.items() if (look := _look(item)) != UNSEEN}
    return (
        Drawing(titles, FORMAT, network=network, nodes=drawn, looks=mirrored(looks))
        if drawn or network.items
        else BLANK
    )


def _look(item: Item) -> Look:
    """How a node is drawn, with y upward as in the file."""
    texts = {part.tag: part.text for part in item.items}
    comment, group = (unquoted(texts.get(key, "")) for key in (COMMENT, GROUP))
    return Look(pair(texts.get("position", "")), color(unquoted(texts.get(COLOR, ""))), comment=comment, group=group)


def render(model: Model) -> bytes:
    """The network as a Hugin NET file; numbers are written so that they are read back exactly."""
    net = discrete_network(model, FORMAT)
    drawing = bayes_net(model, FORMAT).drawing.of(FORMAT)
    looks = mirrored({v.name: drawing.look(v.name) for v in net.variables})
    keys = identifiers([variable.name for variable in net.variables], "node", _RESERVED)
    head = [f"  {NAME} = {quoted(net.name)};"] if net.name else []
    lines = ["net", "{", *head, *_drawn_lines(drawing.network), "}"]
    for variable in net.variables:
        lines += _node_lines(variable, keys[variable.name], drawing, looks[variable.name])
    for table in net.tables:
        lines += _potential_lines(table, keys)
    return ("\n".join(lines) + "\n").encode()


def _node_lines(variable: VariableView, key: str, drawing: Drawing, look: Look) -> list[str]:
    name, drawn = variable.name, drawing.nodes.get(variable.name, NOTHING)
    states = " ".join(quoted(state) for state in variable.states)
    label = drawing.titles.get(name, "" if key == name else name)
    lines = [f"  label = {quoted(label)};"] if label and not any(drawn.all("label")) else []
    lines += [f"  {NAME} = {quoted(name)};"] if key != name else []
    lines += [f"  {tag} = {text};" for tag, text in _look_texts(look) if not any(drawn.all(tag))]
    return [f"node {key}", "{", *lines, *_drawn_lines(drawn), f"  states = ( {states} );", "}"]


def _look_texts(look: Look) -> Iterator[tuple[str, str]]:
    """The attributes that say how a node is drawn."""
    if look.position is not None:
        yield "position", f"({shown_pair(look.position, ' ')})"
    for tag, text in ((COMMENT, look.comment), (COLOR, look.color), (GROUP, look.group)):
        if text:
            yield tag, quoted(text)


def _drawn_lines(drawn: Item) -> list[str]:
    return [f"  {item.tag} = {item.text};" for item in drawn.items if _is_written(item.tag, item.text)]


def _potential_lines(table: TableView, keys: dict[str, str]) -> list[str]:
    parents = " ".join(keys[parent.name] for parent in table.parents)
    head = keys[table.child.name] + (f" | {parents}" if parents else "")
    rows = ["(" + " ".join(map(repr, row)) + ")" for row in table.rows.tolist()]
    for parent in reversed(table.parents):
        size = len(parent.states)
        rows = ["(" + "\n    ".join(rows[i : i + size]) + ")" for i in range(0, len(rows), size)]
    return [f"potential ( {head} )", "{", f"  data = {rows[0]};", "}"]
