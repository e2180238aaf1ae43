"""XML as a small tree, read without entities, external parts or deep nesting; each element has its position."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from sepset.base.arraytypes import Floats
from sepset.errors import FileFormatError, NotApplicable
from sepset.io.lexer import BadNumber, reals, shown, weights
from sepset.models.drawing import Item, is_item_name

DEPTH = 64
"""The largest depth to which elements may nest."""

_ENCODINGS = frozenset({"utf-8", "utf8", "utf-16", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1"})
_DECLARED = re.compile(rb"<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([A-Za-z0-9._-]{1,40})[\"']")
_UNCARRIED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class Element:
    """An element: its tag as written and in capitals without a namespace, attributes, text, children, and number."""

    written: str
    tag: str
    attributes: dict[str, str]
    mark: int
    parts: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its text, stripped of spaces at both ends unless `xml:space` preserves them."""
        text = "".join(self.parts)
        return text if self.attributes.get("xml:space") == "preserve" else text.strip()

    def all(self, *tags: str) -> Iterator[Element]:
        """The children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def first(self, *tags: str) -> Element | None:
        """The first child with one of these tags, if there is one."""
        return next(self.all(*tags), None)

    def item(self) -> Item:
        """The element as a piece of a drawing; odd names, which no tool writes, are left out.

        The text of an element that has children is what remains without the space between them.
        """
        attributes = tuple((k, v) for k, v in self.attributes.items() if is_item_name(k))
        inside = tuple(child.item() for child in self.children if is_item_name(child.written))
        text = "".join(self.parts)
        return Item(self.written, text.strip() if inside else text, attributes, inside)


class Document:
    """A parsed file: the root element, and where each element starts."""

    __slots__ = ("elements", "file", "places", "root")

    def __init__(self, data: bytes, file: str) -> None:
        self.file = file
        self.places: list[tuple[int, int]] = []
        self.elements: list[Element] = []
        self.root = _Builder(self, data).root()

    def error(self, message: str, mark: int) -> FileFormatError:
        """The error about an element, given its number."""
        line, column = self.places[mark]
        tag = self.elements[mark].tag
        return FileFormatError(f"in <{tag.lower()}>: {message}", file=self.file, line=line, column=column)

    def one(self, parent: Element, *tags: str) -> Element:
        """The only child with one of these tags; raises if there are none or several."""
        found = list(parent.all(*tags))
        if len(found) != 1:
            count = "none" if not found else f"{len(found)} of them"
            mark = found[1].mark if found else parent.mark
            raise self.error(f"expected one <{tags[0].lower()}> in <{parent.tag.lower()}>; found {count}", mark)
        return found[0]

    def name(self, element: Element) -> str:
        """The text of an element as a name."""
        if not element.text:
            raise self.error("expected a name; found nothing", element.mark)
        return element.text

    def weights(self, element: Element) -> Floats:
        """The text of an element as finite numbers of at least zero."""
        return self._numbers(element, weights)

    def reals(self, element: Element) -> Floats:
        """The text of an element as finite numbers."""
        return self._numbers(element, reals)

    def _numbers(self, element: Element, read: Callable[[list[str]], Floats]) -> Floats:
        words = "".join(element.parts).replace(",", " ").split()
        try:
            return read(words)
        except BadNumber as bad:
            raise self.error(f"found {shown(words[bad.index])}; {bad.reason}", element.mark) from None


class _Builder:
    """The handlers of one run of the XML parser."""

    def __init__(self, document: Document, data: bytes) -> None:
        self.document, self.data = document, data.lstrip(b" \t\r\n")  # spaces before the declaration are common
        self.skipped = data[: len(data) - len(self.data)].count(b"\n")
        self.stack: list[Element] = []
        self.found: Element | None = None
        self.parser = expat.ParserCreate(self._encoding())
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse("an entity declaration")
        self.parser.UnparsedEntityDeclHandler = self._refuse("an entity declaration")
        self.parser.NotationDeclHandler = self._refuse("a notation declaration")
        self.parser.ExternalEntityRefHandler = self._refuse("a reference to another file")
        self.parser.SkippedEntityHandler = self._refuse("an unknown entity")

    def root(self) -> Element:
        try:
            self.parser.Parse(self.data, True)
        except expat.ExpatError as error:
            line, column = max(error.lineno, 1), error.offset + 1
            found = f"found {self._near(line, column)}; {expat.ErrorString(error.code)}"
            raise self._error(found, line + self.skipped, column) from None
        except (LookupError, ValueError) as error:
            if isinstance(error, FileFormatError):
                raise
            raise self._error(f"the encoding cannot be read: {error}", 1, 1) from None
        assert self.found is not None, "expat refuses a document without a root"
        return self.found

    def _encoding(self) -> str | None:
        """The encoding to force: Latin-1 for a file that declares UTF-8 or nothing and is not UTF-8."""
        declared = _DECLARED.match(self.data[:400].lstrip(b"\xef\xbb\xbf \t\r\n"))
        name = declared.group(1).decode().lower() if declared else "utf-8"
        if name not in _ENCODINGS:
            raise self._error(f"found the encoding {name!r}; expected UTF-8, UTF-16, ASCII or Latin-1", 1, 1)
        if name not in ("utf-8", "utf8") or self.data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return None
        try:
            self.data.decode("utf-8")
        except UnicodeDecodeError:
            return "iso-8859-1"
        return None

    def _error(self, message: str, line: int, column: int) -> FileFormatError:
        return FileFormatError(message, file=self.document.file, line=line, column=column)

    def _near(self, line: int, column: int) -> str:
        """The text at a position, for the message."""
        lines = self.data.split(b"\n", line)
        here = lines[line - 1][column - 1 : column + 29] if line <= len(lines) else b""
        return shown(here.decode("utf-8", "replace").strip())

    def _here(self) -> tuple[int, int]:
        return self.parser.CurrentLineNumber + self.skipped, self.parser.CurrentColumnNumber + 1

    def _refuse(self, what: str) -> Callable[..., int]:
        def handler(*_: object) -> int:
            raise self._error(f"found {what}; only elements and their declarations are read", *self._here())

        return handler

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        place = self._here()
        if len(self.stack) >= DEPTH:
            raise self._error(f"found <{tag}>; elements nest at most {DEPTH} deep", *place)
        plain = tag.rpartition(":")[2].upper()  # the prefix of a namespace says nothing here
        element = Element(tag, plain, attributes, len(self.document.places))
        self.document.places.append(place)
        self.document.elements.append(element)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.found = element
        self.stack.append(element)

    def _end(self, tag: str) -> None:
        self.stack.pop()

    def _text(self, text: str) -> None:
        if self.stack:
            self.stack[-1].parts.append(text)


def escaped(text: str, format: str) -> str:
    """The text with markup escaped; raises if it has a character that XML cannot express.

    >>> escaped("<0.5 & more", "XMLBIF")
    '&lt;0.5 &amp; more'
    """
    bad = _UNCARRIED.search(text)
    if bad:
        raise NotApplicable(f"{format} cannot express the character {bad.group()!r} of {text!r}. Write it as .json.")
    for char, code in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("\r", "&#13;")):
        text = text.replace(char, code)
    return text


def attribute(text: str, format: str) -> str:
    """The text as an attribute's value, with quotes; line ends and tabs are preserved."""
    body = escaped(text, format).replace("\n", "&#10;").replace("\t", "&#9;")
    return f'"{body}"'


def carried(text: str) -> str:
    """The text without the characters that XML cannot express."""
    return _UNCARRIED.sub("", text)


def rendered(item: Item, format: str) -> str:
    """A piece of a drawing as an element.

    >>> rendered(Item("node", items=(Item("name", "Is x < 3?"), Item("outline"))), "XDSL")
    '<node><name>Is x &lt; 3?</name><outline/></node>'
    """
    head = item.tag + written_attributes(dict(item.attributes), format)
    body = escaped(item.text, format) + "".join(rendered(inside, format) for inside in item.items)
    return f"<{head}>{body}</{item.tag}>" if body else f"<{head}/>"


def written_attributes(attributes: Mapping[str, str], format: str) -> str:
    """Attributes as they stand in a tag, each after a space."""
    return "".join(f" {name}={attribute(value, format)}" for name, value in attributes.items())


def tagged(tag: str, text: str, format: str) -> str:
    """An element with this text; spaces at its ends are marked to be preserved."""
    space = ' xml:space="preserve"' if text != text.strip() else ""
    return f"<{tag}{space}>{escaped(text, format)}</{tag}>"
