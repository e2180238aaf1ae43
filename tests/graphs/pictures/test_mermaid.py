"""Mermaid flowcharts: shapes, marks, escapes."""

from __future__ import annotations

from sepset.graphs.pictures.mermaid import escaped, mermaid
from sepset.graphs.pictures.sketch import Box, Link, Row, Sketch


def test_links():
    edges = [("a", "->", "b"), ("b", "-", "c"), ("c", "o-o", "a"), ("a", "<->", "d")]
    found = mermaid(Sketch.of("abcd", edges)).splitlines()
    assert found[5:] == ["  n0 --> n1", "  n1 --- n2", "  n2 o--o n0", "  n0 <--> n3"]


def test_boxes():
    boxes = (Box("a", rows=(Row("yes", (0.25,)),), observed=True), Box("x, y", "cluster"))
    found = mermaid(Sketch(boxes, (Link(0, 1, head="arrow", dashed=True, label="0.9"),)))
    assert 'n0["a<br/>yes 25.0%"]' in found
    assert 'n1(["x, y"])' in found
    assert 'n0 -.->|"0.9"| n1' in found
    assert "n0 -.- n1" in mermaid(Sketch((Box("a"), Box("b")), (Link(0, 1, dashed=True),)))
    assert "class n0 observed" in found


def test_escapes():
    assert escaped('"]; end') == "#34;#93;#59; end"
    assert escaped("é_1") == "é_1"
