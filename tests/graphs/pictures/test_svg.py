"""SVG: well-formed, names are never markup, one element each, light and dark."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import sepset as ss
from sepset.graphs.pictures.scene import scene
from sepset.graphs.pictures.sketch import Box, Row, Sketch
from sepset.graphs.pictures.svg import quoted, svg

SPACE = "{http://www.w3.org/2000/svg}"
WICKED = ["<script>alert(1)</script>", "a & b", "\"quoted'", "]]>", "a\x00b\x1f", "\ud800", "–é漢", "x" * 300, " "]


def test_names_are_text():
    boxes = tuple(Box(name, title=name, rows=(Row(name, (0.5,)),)) for name in WICKED)
    text = svg(scene(Sketch(boxes, caption=WICKED[0])), page=True, label=WICKED[0])
    root = ElementTree.fromstring(text)
    assert {element.tag.removeprefix(SPACE) for element in root.iter()} == {
        "svg",
        "style",
        "g",
        "title",
        "rect",
        "text",
    }
    titles = [element.text for element in root.iter(f"{SPACE}title")]
    assert titles[:3] == WICKED[:3]
    text.encode("utf-8")


@pytest.mark.parametrize("name", ["alarm", "asia"])
def test_one_group_for_each_node_and_edge(name):
    model = ss.datasets.load(name)
    root = ElementTree.fromstring(ss.draw(model, beliefs=True).to_svg())
    groups = root.findall(f"{SPACE}g")
    assert len(groups) == len(model) + model.dag.num_edges
    titles = [group.find(f"{SPACE}title").text for group in groups]
    assert set(model.variables.names) <= set(titles)
    assert {f"{a} -> {b}" for a, b in model.dag.edges} <= set(titles)


def test_a_file_has_colors_of_its_own_and_a_notebook_none():
    page, inside = (svg(scene(Sketch.of("ab", [])), page=page) for page in (True, False))
    assert "prefers-color-scheme:dark" in page
    assert "<style" not in inside
    assert "currentColor" in inside


def test_escapes():
    assert quoted("<&>\"'") == "&lt;&amp;&gt;&quot;&#x27;"
    assert quoted("\x08") == "\N{REPLACEMENT CHARACTER}"
