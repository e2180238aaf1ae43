"""Graphviz files: shapes, marks, quotes."""

from __future__ import annotations

from sepset.graphs.pictures.dot import dot, quoted
from sepset.graphs.pictures.sketch import Box, Link, Row, Sketch


def test_boxes_and_links():
    boxes = (Box("a", rows=(Row("yes", (0.25,)),), observed=True), Box("f0", "factor"))
    found = dot(Sketch(boxes, (Link(0, 1, "circle", "arrow", 3.0, True, "red", "0.9"),), caption="given a = yes"))
    assert 'n0 [label="a\\nyes 25.0%" shape=box style="rounded" color="#d9822b" penwidth=2];' in found
    assert "arrowtail=odot arrowhead=normal" in found
    assert 'color="#d1495b" style=dashed penwidth=3 label="0.9"' in found
    assert 'label="given a = yes";' in found


def test_quotes():
    assert quoted('a"b\\') == r'"a\"b\\"'
    assert quoted("one\ntwo", "three") == r'"one two\nthree"'
