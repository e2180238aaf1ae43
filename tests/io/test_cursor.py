from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, strategies as st

from sepset.errors import FileFormatError, ModelError
from sepset.io.cursor import Cursor, JsonSource, values
from support.bounded import within

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def walked(value, path=()):
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from walked(inner, (*path, key))


@given(JSON, st.sampled_from([None, 1]))
def test_every_value_is_found_where_it_stands(value, indent):
    text = json.dumps(value, indent=indent)
    found = list(values(text))
    assert [path for path, _ in found] == [path for path, _ in walked(value)]
    for (_, offset), (_, inner) in zip(found, walked(value), strict=True):
        assert json.JSONDecoder().raw_decode(text, offset)[0] == inner


@given(st.text(alphabet='{}[]:,"a1 \\\n'))
def test_any_text_is_walked(text):
    for _, offset in values(text):
        assert 0 <= offset < len(text)
    with contextlib.suppress(FileFormatError):
        JsonSource(text, "f").root()


def cursor(text: str) -> Cursor:
    return JsonSource(text, "f.json").root()


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the end of the file"),
        ('{"a": 1,\n "a": 2}', 2, 7, "key twice"),
        ('{"a": [1, {"b": 1, "b": 2}]}', 1, 25, "key twice"),
        ('{"a": NaN}', 1, 1, "NaN is not a JSON number"),
        ('{"a": -Infinity}', 1, 1, "-Infinity is not a JSON number"),
        ('{"a":\n tru}', 2, 2, "found 'tru'; not JSON"),
        ("[" * 100_000, 1, 1, "nest too deep"),
        ('{"a": ' * 100_000, 1, 1, "nest too deep"),
        ("1" * 5000, 1, 1, "not JSON"),
        ('"open', 1, 1, "unterminated string"),
    ],
)
def test_what_is_no_document(text, line, column, message):
    with pytest.raises(FileFormatError) as caught:
        within(3.0, lambda: cursor(text))
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "ask", "message"),
    [
        ('{"a": 1}', lambda c: c["b"], "expected the key 'b'"),
        ('{"ab": 1}', lambda c: c.keys("abc"), "unknown key. Did you mean 'abc'?"),
        ("[1]", lambda c: c["a"], "expected an object"),
        ("{}", list, "expected a list"),
        ("1", lambda c: c.text(), "expected a string"),
        ("true", lambda c: c.whole(), "expected a whole number"),
        ("1.0", lambda c: c.whole(), "expected a whole number"),
        ("-1", lambda c: c.whole(), "at least 0"),
        ("true", lambda c: c.real(), "expected a number"),
        ("1e999", lambda c: c.real(), "finite"),
        ("1" + "0" * 400, lambda c: c.real(), "finite"),
        ('["1"]', lambda c: c.reals(), "expected numbers"),
        ("[true]", lambda c: c.reals(), "expected numbers"),
        ("[1e999]", lambda c: c.reals(), "finite"),
        ("[[1], [1, 2]]", lambda c: c.reals(), "rows of equal length"),
        ("[[1], 2]", lambda c: c.reals(), "rows of equal length"),
        ("[[[1]]]", lambda c: c.reals(), "expected numbers"),
        ("[1, null, []]", lambda c: c.logs(), "expected numbers"),
        ("[1.0]", lambda c: c.wholes(), "whole numbers"),
        ("[3]", lambda c: c.wholes(0, 2), "not above 2"),
    ],
)
def test_what_is_not_as_expected(text, ask, message):
    with pytest.raises(FileFormatError) as caught:
        ask(cursor(text))
    assert message in str(caught.value)


def test_places_are_those_of_the_value():
    root = cursor('{"a": [\n 1,\n {"b": "x"}]}')
    with pytest.raises(FileFormatError) as caught:
        list(root["a"])[1]["b"].whole()
    assert str(caught.value) == "f.json:3:8: found '\"x\"'; a[1].b: expected a whole number"


def test_values():
    root = cursor('{"r": [[1, 2.5]], "l": [0, null], "w": [3], "e": [], "t": "x", "n": 2}')
    assert root["r"].reals().tolist() == [[1, 2.5]]
    assert root["l"].logs().tolist() == [0, -float("inf")]
    assert root["w"].wholes().tolist() == [3]
    assert root["e"].reals().shape == (0,)
    assert (root["t"].text(), root["n"].whole(), root["n"].real(), len(root["w"])) == ("x", 2, 2.0, 1)
    assert [key for key, _ in root.items()] == ["r", "l", "w", "e", "t", "n"]


def test_errors_of_ours_get_a_place():
    def make():
        raise ModelError("no good")

    with pytest.raises(FileFormatError, match=r"f\.json:1:1: .*no good"):
        cursor("[]").made(make)
