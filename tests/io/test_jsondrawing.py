from __future__ import annotations

import json as text

import pytest

import sepset as ss
from sepset.io import json, net
from sepset.io.markup import DEPTH
from sepset.models.drawing import BLANK, Drawing, Item
from support.file_laws import refusal

DRAWN = Drawing(
    {"a": "Age"},
    "XDSL",
    network=Item("smile", items=(Item("textbox", "  old "),)),
    nodes={"a": Item("node", attributes=(("diagtype", "target"),))},
)


def model(drawing: Drawing = DRAWN) -> ss.BayesNet:
    return ss.BayesNet(ss.TableCPD(ss.Discrete("a", ("x", "y")), [0.5, 0.5]), drawing=drawing)


def test_a_drawing_is_stored():
    assert json.parse(json.render(model())).drawing == DRAWN
    assert b"drawing" not in json.render(ss.BayesNet(*model().cpds))


def changed(item: object) -> str:
    return text.dumps(text.loads(json.render(model())) | {"drawing": {"format": "NET", "nodes": {"a": item}}})


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"tag": "a b"}, "letters, digits"),
        ({"tag": 3}, "expected a string"),
        ({"text": "x"}, "expected the key 'tag'"),
        ({"tag": "x", "color": "red"}, "unknown key"),
        ({"tag": "x", "attributes": {"<": "y"}}, "letters, digits"),
        ({"tag": "x", "items": [3]}, "expected an object"),
    ],
)
def test_what_is_no_drawing_is_refused(item, message):
    assert message in str(refusal(json, changed(item)))


def test_items_nest_so_deep_and_no_deeper():
    item = {"tag": "x"}
    for _ in range(DEPTH):
        item = {"tag": "x", "items": [item]}
    assert "nest at most" in str(refusal(json, changed(item)))
    json.parse(changed(item["items"][0]).encode())


@pytest.mark.parametrize("value", ["1; } node b { states = (x y", "( 1", '"open', "{", "a = b", "% comment", "1, 2"])
def test_values_that_are_more_than_values_are_not_written(value):
    hostile = json.parse(changed({"tag": "node", "items": [{"tag": "position", "text": value}]}).encode())
    back = net.parse(net.render(hostile))
    assert back == hostile
    assert back.drawing == BLANK


@pytest.mark.parametrize(
    ("look", "message"),
    [
        ({"position": [1, 2, 3]}, "expected 2 numbers"),
        ({"position": ["a", 2]}, "number"),
        ({"color": "red"}, "six digits"),
        ({"comment": 3}, "expected a string"),
        ({"place": [1, 2]}, "unknown key"),
    ],
)
def test_what_is_not_a_look_is_refused(look, message):
    document = text.loads(json.render(model())) | {"drawing": {"looks": {"a": look}}}
    assert message in str(refusal(json, text.dumps(document)))
