"""The Bayesian interchange format (BIF), as the bnlearn repository and its peers write it.

Names and states that are not plain words are quoted on writing; states read from a file are strings. The numbers of a
`table` run over the child first (slowest), then the parents; those of a row `(states)` belong to that row.
Properties are the network's `Drawing`, and are written again, in quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.text import listing, nearest
from sepset.io.discrete import TableView, bayes_net, discrete_network
from sepset.io.lexer import END, QUOTED, Words, decode, quoted, unquoted
from sepset.io.looks import PROPERTIES, properties, property_drawing, property_item, property_texts
from sepset.io.record import READING, NetworkRecord, Reading, TableRecord, VariableRecord, check_family, network
from sepset.models.bayesnet import BayesNet
from sepset.models.drawing import NOTHING, Drawing
from sepset.models.model import Model

_COMMENT = r"//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/"
_WORD = r'(?:[^\s{}()\[\];|,"/]++|/(?![/*]))++'
_WORDS = re.compile(rf"{_COMMENT}|({QUOTED}|[{{}}()\[\];|]|{_WORD}|/\*.*+)", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9_.+<>=\-/]+")
_MARKS = frozenset("{}()[];|")
_KEYWORDS = frozenset({"network", "variable", "probability", "type", "discrete", "property", "table", "default"})

FILL = 1 << 24
"""The largest number of values that all `default` entries of a file together may fill in."""


def parse(data: bytes, file: str = "<text>", reading: Reading = READING) -> BayesNet:
    """The network in a BIF file.

    Reference: Bayesian Interchange Format, as the bnlearn repository writes it.
    Guarantee: models round-trip; any bytes are read or raise one error.
    Tested by: io/test_bif.py::test_damaged_files_are_read_or_refused

    >>> text = b"network n { } variable a { type discrete [ 2 ] { yes, no }; } probability ( a ) { table 0.2, 0.8; }"
    >>> parse(text)["a"].states
    ('yes', 'no')
    """
    words = Words(decode(data), _WORDS, file)
    return network(_Reader(words).record(), words, reading)


class _Reader:
    """A recursive-descent parser over the words of one file."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.name = ""
        self.variables: dict[str, VariableRecord] = {}
        self.codes: dict[str, dict[str, int]] = {}
        self.tables: list[TableRecord] = []
        self.fill = FILL
        self.about: list[str] = []
        self.drawn: dict[str, list[str]] = {}
        self.tabled: dict[str, list[str]] = {}

    def record(self) -> NetworkRecord:
        self._network()
        while (word := self.words.next) != END:
            if word == "variable":
                self._variable()
            elif word == "probability":
                self._probability()
            else:
                raise self.words.error("expected 'variable' or 'probability'")
        return NetworkRecord(tuple(self.variables.values()), tuple(self.tables), self.name, drawing=self._drawing())

    def _drawing(self) -> Drawing:
        tables = {name: [property_item("table", texts)] for name, texts in self.tabled.items() if texts}
        nodes = {
            name: property_item("variable", texts, tables.get(name, ()))
            for name, texts in self.drawn.items()
            if texts or name in tables
        }
        return property_drawing(property_item("network", self.about), nodes)

    def _network(self) -> None:
        words = self.words
        words.expect("network", "at the start of the file")
        if words.next != "{":
            plain = words.next
            self.name = words.name("the network's name", _MARKS)
            self.name = "" if plain == "unknown" else self.name
        words.expect("{", "after the network's name")
        while not words.accept("}"):
            self.about.append(self.property("in the network's block"))

    def property(self, where: str) -> str:
        """The text of the next property."""
        self.words.expect("property", where)
        return self.words.written(*self.words.until(";", "at the end of a property"))

    def _variable(self) -> None:
        words = self.words
        words.take()
        mark = words.at
        name = words.name("a variable's name", _MARKS)
        if name in self.variables:
            raise words.error(f"the variable {name!r} is declared twice", mark)
        words.expect("{", f"after the name of {name!r}")
        states: tuple[str, ...] = ()
        drawn = self.drawn.setdefault(name, [])
        while not words.accept("}"):
            if words.next == "type" and not states:
                states = self._states(name)
            else:
                drawn.append(self.property(f"or '}}' in the block of {name!r}"))
        if not states:
            raise words.error(f"the variable {name!r} has no type", mark)
        self.variables[name] = VariableRecord(name, states, mark)
        self.codes[name] = {state: code for code, state in enumerate(states)}

    def _states(self, name: str) -> tuple[str, ...]:
        words = self.words
        words.take()
        words.expect("discrete", f"as the type of {name!r}; other types are not read")
        words.expect("[", "before the number of states")
        declared = words.integer("the number of states", 1)
        words.expect("]", "after the number of states")
        words.expect("{", "before the states")
        start, stop = words.until("}", "after the states")
        found = words.words[start:stop]
        for offset, word in enumerate(found):
            if word in _MARKS:
                raise words.error(f"expected a state of {name!r}", start + offset)
        states = tuple(map(unquoted, found))
        if len(states) != declared:
            raise words.error(f"{name!r} declares {declared} states and lists {len(states)}", stop)
        if len(set(states)) != len(states):
            firsts = {state: i for i, state in reversed(list(enumerate(states)))}
            twice = next(i for i, state in enumerate(states) if firsts[state] < i)
            raise words.error(f"{name!r} lists this state twice", start + twice)
        words.accept(";")
        return states

    def _probability(self) -> None:
        words = self.words
        words.take()
        words.expect("(", "after 'probability'")
        mark = words.at
        child = words.name("a variable's name", _MARKS)
        parents: list[str] = []
        if words.accept("|"):
            while words.next != ")":
                parents.append(words.name("a parent's name", _MARKS))
        words.expect(")", f"after the variables of the table of {child!r}")
        check_family(child, parents, self.variables, words, mark)
        words.expect("{", f"before the numbers of {child!r}")
        self.tables.append(_Entries(self, child, tuple(parents), mark).record())

    def spend(self, size: int, mark: int) -> None:
        """Raise if the `default` entries together fill in more numbers than a file may."""
        self.fill -= size
        if self.fill < 0:
            raise self.words.error(f"the defaults of this file stand for more than {FILL:,} numbers", mark)


class _Entries:
    """The entries of one `probability` block."""

    def __init__(self, reader: _Reader, child: str, parents: tuple[str, ...], mark: int) -> None:
        self.reader, self.words = reader, reader.words
        self.child, self.parents, self.mark = child, parents, mark
        self.codes = [reader.codes[parent] for parent in parents]
        self.width = len(reader.codes[child])
        self.rows: dict[int, int] = {}
        self.begins: list[int] = []
        self.numbers: list[str] = []
        self.table: TableRecord | None = None
        self.default: tuple[int, int] | None = None

    def record(self) -> TableRecord:
        words = self.words
        while not words.accept("}"):
            word = words.next
            if word == "(":
                self._row()
            elif word in ("table", "default") and self.table is None and self.default is None:
                self._block(word)
            elif word == "property":
                self.reader.tabled.setdefault(self.child, []).append(self.reader.property(""))
            else:
                raise words.error(f"expected '}}', 'table', 'default' or '(' in the table of {self.child!r}")
        if self.table is not None:
            return self.table
        return self._from_rows()

    def _row(self) -> None:
        words = self.words
        start = words.at
        words.at += 1
        first, close = words.until(")", "after the states of the parents")
        begin, end = words.until(";", "after the numbers of a row")
        if end - begin != self.width:
            raise words.error(f"the row has {end - begin} numbers; {self.child!r} has {self.width} states", end)
        code = self._code(first, close)
        if code in self.rows or self.table is not None:
            raise words.error(f"the table of {self.child!r} gives this row twice", start)
        self.rows[code] = start
        self.begins.append(begin)
        self.numbers += words.words[begin:end]

    def _code(self, first: int, close: int) -> int:
        """The index of a row, from the states of its parents."""
        if close - first != len(self.parents):
            raise self.words.error(f"{self.child!r} has {len(self.parents)} parents; expected a state of each", first)
        code, words = 0, self.words.words
        for position, codes in enumerate(self.codes, first):
            state = codes.get(words[position])
            if state is None:
                state = self._quoted_state(position, codes)
            code = code * len(codes) + state
        return code

    def _quoted_state(self, position: int, codes: dict[str, int]) -> int:
        state = codes.get(unquoted(self.words.words[position]))
        if state is None:
            parent = self.parents[self.codes.index(codes)]
            known = f"its states are {listing(codes)}.{nearest(self.words.words[position], codes)}"
            raise self.words.error(f"expected a state of {parent!r}; {known}", position)
        return state

    def _block(self, word: str) -> None:
        words = self.words
        mark = words.at
        words.at += 1
        begin, end = words.until(";", f"after the numbers of '{word}'")
        if word == "default":
            self.default = (begin, end)
        elif self.rows:
            raise words.error(f"the table of {self.child!r} has rows already", mark)
        else:
            self.table = self._from_table(begin, end)

    def _from_table(self, begin: int, end: int) -> TableRecord:
        """The numbers of a `table`: the child is the slowest axis there and becomes the last."""
        size = self.width * math.prod(map(len, self.codes))
        if end - begin != size:
            raise self.words.error(f"the table of {self.child!r} has {end - begin} numbers; it needs {size}", end)
        values = self.words.weights(self.words.words[begin:end], lambda i: begin + i)
        turned = np.ascontiguousarray(values.reshape(self.width, -1).T)
        marks = range(begin, begin + size // self.width)
        return TableRecord(self.child, self.parents, turned.reshape(-1), self.mark, marks)

    def _from_rows(self) -> TableRecord:
        """The table from its rows; missing rows take the default."""
        size = math.prod(map(len, self.codes))
        given = self.words.weights(self.numbers, lambda i: self.begins[i // self.width] + i % self.width)
        filler = self._default_row(size)
        values = np.empty((size, self.width))
        marks = np.full(size, self.mark if self.default is None else self.default[0])
        if filler is not None:
            values[:] = filler
        places = np.fromiter(self.rows, np.int64, len(self.rows))
        values[places] = given.reshape(-1, self.width)
        marks[places] = list(self.rows.values())
        return TableRecord(self.child, self.parents, values.reshape(-1), self.mark, marks.tolist())

    def _default_row(self, size: int) -> Floats | None:
        """The row for contexts that are not listed, after checking the table's size; None without a default."""
        if self.default is None:
            if len(self.rows) < size:
                raise self.words.error(self._missing(), self.mark)
            return None
        begin, end = self.default
        if end - begin != self.width:
            raise self.words.error(
                f"the default has {end - begin} numbers; {self.child!r} has {self.width} states", end
            )
        self.reader.spend((size - len(self.rows)) * self.width, begin)
        return self.words.weights(self.words.words[begin:end], lambda i: begin + i)

    def _missing(self) -> str:
        code = next(i for i in range(len(self.rows) + 1) if i not in self.rows)
        states: list[str] = []
        for codes in reversed(self.codes):
            code, state = divmod(code, len(codes))
            states.append(list(codes)[state])
        return f"the table of {self.child!r} has no row ({', '.join(reversed(states))}) and no default"


def render(model: Model) -> bytes:
    """The network as a BIF file; numbers are written so that they are read back exactly."""
    net = discrete_network(model, "BIF")
    drawing = bayes_net(model, "BIF").drawing.of(PROPERTIES)
    about = _property_lines(property_texts(drawing.network))
    lines = [f"network {_name(net.name, 'unknown')} {{", *about, "}"]
    for variable in net.variables:
        states = ", ".join(_word(state) for state in variable.states)
        lines += [
            f"variable {_word(variable.name)} {{",
            f"  type discrete [ {len(variable.states)} ] {{ {states} }};",
            *_property_lines(properties(drawing, variable.name)),
            "}",
        ]
    for table in net.tables:
        *rows, end = _table_lines(table)
        about = [
            text for item in drawing.nodes.get(table.child.name, NOTHING).all("table") for text in property_texts(item)
        ]
        lines += [*rows, *_property_lines(about), end]
    return ("\n".join(lines) + "\n").encode()


def _property_lines(texts: Iterable[str]) -> list[str]:
    return [f"  property {quoted(text)};" for text in texts]


def _name(name: str, default: str) -> str:
    if not name:
        return default
    return quoted(name) if name == default else _word(name)


def _table_lines(table: TableView) -> list[str]:
    if not table.parents:
        numbers = ", ".join(map(repr, table.rows[0].tolist()))
        return [f"probability ( {_word(table.child.name)} ) {{", f"  table {numbers};", "}"]
    parents = ", ".join(_word(parent.name) for parent in table.parents)
    lines = [f"probability ( {_word(table.child.name)} | {parents} ) {{"]
    for states, row in zip(table.contexts(_word), table.rows.tolist(), strict=True):
        lines.append(f"  ({', '.join(states)}) {', '.join(map(repr, row))};")
    return [*lines, "}"]


def _word(name: str) -> str:
    """The name unchanged if it is a plain word, otherwise quoted.

    >>> _word("Asy/Patch"), _word("two words"), _word("table")
    ('Asy/Patch', '"two words"', '"table"')
    """
    plain = _PLAIN.fullmatch(name) and "//" not in name and name not in _KEYWORDS
    return name if plain else quoted(name)
