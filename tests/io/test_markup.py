from __future__ import annotations

import contextlib

import pytest

from sepset.errors import FileFormatError, NotApplicable
from sepset.io.markup import DEPTH, Document, attribute, escaped, tagged
from support.bounded import within

DOUBLES = "".join(f'<!ENTITY l{i} "&l{i - 1};&l{i - 1};">' for i in range(1, 31))
LAUGHS = f'<!DOCTYPE a [<!ENTITY l0 "ha">{DOUBLES}]><a>&l30;</a>'


def refused(data: bytes | str) -> FileFormatError:
    with pytest.raises(FileFormatError) as caught:
        Document(data.encode() if isinstance(data, str) else data, "f.xml")
    assert caught.value.line >= 1
    assert caught.value.column >= 1
    return caught.value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "entity declaration"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "entity declaration"),
        ('<!DOCTYPE a [<!ENTITY % p SYSTEM "http://example.org/x.dtd"> %p;]><a/>', "entity declaration"),
        ('<!DOCTYPE a [<!NOTATION n SYSTEM "n">]><a/>', "notation"),
        ('<!DOCTYPE a SYSTEM "x.dtd"><a>&undefined;</a>', "unknown entity"),
        ("<a>&undefined;</a>", "undefined entity"),
        ("<a>" * (DEPTH + 1), "at most 64 deep"),
        ("<a>" * 1_000_000, "at most 64 deep"),
        ("", "the end of the file"),
        ("<a></b>", "mismatched tag"),
        ("<a>\x01</a>", "not well-formed"),
        ('<?xml version="1.0" encoding="cp037"?><a/>', "expected UTF-8"),
        ('<?xml version="1.0" encoding="rot13"?><a/>', "expected UTF-8"),
    ],
)
def test_hostile_files_are_refused_at_once(text, message):
    assert message in str(within(3.0, lambda: refused(text)))


def test_deep_element_declarations_do_no_harm():
    data = "<!DOCTYPE a [<!ELEMENT a " + "(" * 100_000 + "b" + ")" * 100_000 + ">]><a/>"
    with contextlib.suppress(FileFormatError):
        Document(data.encode(), "f.xml")


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", ""),
        ("latin-1", ""),
        ("latin-1", '<?xml version="1.0" encoding="ISO-8859-1"?>'),
        ("latin-1", '<?xml version="1.0" encoding="UTF-8"?>'),
        ("utf-8-sig", '<?xml version="1.0"?>'),
        ("utf-16", '<?xml version="1.0" encoding="UTF-16"?>'),
    ],
)
def test_encodings(encoding, declared):
    assert Document(f"{declared}<a>größe</a>".encode(encoding), "f.xml").root.text == "größe"


def test_places_count_skipped_lines():
    document = Document(b'\n\n  <?xml version="1.0"?>\n<a><b/>\n <c>1 x</c></a>', "f.xml")
    c = document.root.children[1]
    error = document.error("oh", c.mark)
    assert (error.line, error.column) == (5, 2)
    with pytest.raises(FileFormatError, match="found 'x'; expected a number"):
        document.weights(c)
    assert document.reals(Document(b"<a>-1, 2</a>", "f").root).tolist() == [-1, 2]


def test_one_child_is_one():
    document = Document(b"<a><b/><b/></a>", "f.xml")
    for tag, found in (("B", "2 of them"), ("C", "none")):
        with pytest.raises(FileFormatError, match=f"found {found}"):
            document.one(document.root, tag)


def test_text_survives():
    for text in (" blank ", "a\r\nb", "tab\t", "<&>\"'", "]]>"):
        data = f"<r a={attribute(text, 'X')}>{tagged('b', text, 'X')}</r>".encode()
        root = Document(data, "f.xml").root
        assert root.attributes["a"] == text
        assert root.children[0].text == text
    with pytest.raises(NotApplicable, match="cannot express the character"):
        escaped("a\x00", "X")
