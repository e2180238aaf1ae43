"""The text notation of graphs: `A -> B <- C; C - D; E`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sepset.errors import FileFormatError

_TOKEN = re.compile(r'\s*(?:(?P<edge>->|<-|-)|(?P<end>;)|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s;"<>-]+))')
_BARE = re.compile(r'[^\s;"<>-]+')
_ESCAPE = re.compile(r"\\(.)")


class Token(NamedTuple):
    """One token: its kind (`name`, `edge`, `end`), its text, and where it begins."""

    kind: str
    text: str
    line: int
    column: int

    def error(self, expected: str) -> FileFormatError:
        """The error that says what was found here and what was expected."""
        found = "the end" if self.text == "" and self.kind == "end" else repr(self.text)
        return FileFormatError(f"found {found}, expected {expected}.", line=self.line, column=self.column)


class Statements(NamedTuple):
    """The contents of a text: its nodes in order of appearance, its directed and its undirected edges."""

    nodes: tuple[str, ...]
    directed: tuple[tuple[str, str], ...]
    undirected: tuple[tuple[str, str], ...]


def parse_statements(text: str, edges: tuple[str, ...] = ("->", "<-", "-")) -> Statements:
    """The nodes and edges that `text` states; statements end at `;` or at the end of a line.

    >>> parse_statements("A -> B <- C; C - D").directed
    (('A', 'B'), ('C', 'B'))
    """
    nodes: dict[str, None] = {}
    directed: list[tuple[str, str]] = []
    undirected: list[tuple[str, str]] = []
    wanted = f"one of {', '.join(edges)} or ';'"
    left, edge = None, None
    for token in _tokens(text):
        if token.kind == "name" and (left is None or edge is not None):
            nodes.setdefault(token.text)
            if left is not None:
                (undirected if edge == "-" else directed).append(
                    (token.text, left) if edge == "<-" else (left, token.text)
                )
            left, edge = token.text, None
        elif token.kind == "edge" and left is not None and edge is None:
            if token.text not in edges:
                raise token.error(wanted)
            edge = token.text
        elif token.kind == "end" and edge is None:
            left = None
        else:
            raise token.error(wanted if left is not None and edge is None else "a name")
    return Statements(tuple(nodes), tuple(directed), tuple(undirected))


def _tokens(text: str) -> Iterator[Token]:
    for number, line in enumerate(text.split("\n"), start=1):
        position, end = 0, len(line.rstrip())
        while position < end:
            match = _TOKEN.match(line, position)
            if match is None:
                raise _unreadable(line, position, number)
            kind = match.lastgroup or ""
            column = match.start(kind) + (kind != "quoted")
            name = _ESCAPE.sub(_unescaped, match["quoted"]) if kind == "quoted" else match[kind]
            yield Token("name" if kind in ("quoted", "bare") else kind, name, number, column)
            position = match.end()
        yield Token("end", "", number, len(line) + 1)


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def _unreadable(line: str, position: int, number: int) -> FileFormatError:
    column = position + len(line[position:]) - len(line[position:].lstrip())
    found = line[column]
    reason = "a closing quote" if found == '"' else "a name or one of ->, <-, -"
    return FileFormatError(f"found {found!r}, expected {reason}.", line=number, column=column + 1)


def quoted(name: str) -> str:
    """The name as the notation writes it: bare if possible, else in double quotes.

    >>> quoted("grade"), quoted("my node")
    ('grade', '"my node"')
    """
    if _BARE.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def statements(
    directed: Iterable[tuple[str, str]], undirected: Iterable[tuple[str, str]], isolated: Iterable[str]
) -> Iterator[str]:
    """Each edge and each isolated node as one statement."""
    for source, target in directed:
        yield f"{quoted(source)} -> {quoted(target)}"
    for left, right in undirected:
        yield f"{quoted(left)} - {quoted(right)}"
    for node in isolated:
        yield quoted(node)
