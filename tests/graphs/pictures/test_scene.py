"""Scenes: everything inside the picture, texts inside their boxes, marks at the ends of edges."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sepset as ss
from sepset.graphs.pictures.scene import MOST_ROWS, Line, Polygon, Rectangle, Ring, Text, box_size, placed, scene
from sepset.graphs.pictures.sketch import Box, Link, Row, Sketch
from sepset.graphs.pictures.textsize import text_width

ASIA = ss.datasets.load("asia")


def shapes(found, kind):
    return [shape for group in found.groups for shape in group.shapes if isinstance(shape, kind)]


def test_everything_is_inside():
    found = scene(ss.draw(ASIA, given={"xray": "yes"}, compare={}, groups={"a group": ["tub"]}).sketch)
    for text in shapes(found, Text):
        width = text_width(text.text, text.size)
        left = {"start": text.x, "middle": text.x - width / 2.0, "end": text.x - width}[text.anchor]
        assert left >= -1e-6
        assert left + width <= found.width + 1e-6
        assert 0.0 < text.y <= found.height
    for box in shapes(found, Rectangle):
        assert -1e-6 <= box.x <= box.x + box.width <= found.width + 1e-6
        assert -1e-6 <= box.y <= box.y + box.height <= found.height + 1e-6


def test_bars_are_as_long_as_probabilities():
    box = Box("x", rows=(Row("no", (0.25,)), Row("yes", (0.75,), True)))
    _, _, track, first, other_track, second = shapes(scene(Sketch((box,))), Rectangle)
    assert first.width / track.width == pytest.approx(0.25)
    assert second.width / other_track.width == pytest.approx(0.75)
    assert first.fill != second.fill


def test_many_states_are_counted():
    box = Box("x", rows=tuple(Row(str(k), (0.05,)) for k in range(20)))
    texts = [text.text for text in shapes(scene(Sketch((box,))), Text)]
    assert texts[-1] == f"… {20 - MOST_ROWS + 1} more"
    assert box_size(box)[1] == box_size(replace(box, rows=box.rows[:MOST_ROWS]))[1]


def test_marks():
    found = scene(Sketch.of("abc", [("a", "o->", "b"), ("b", "<->", "c"), ("c", "-", "a")]))
    assert len(shapes(found, Polygon)) == 3
    assert len(shapes(found, Ring)) == 1
    assert len(shapes(found, Line)) == 3


def test_arrows_from_the_tail_go_down_too():
    """A link written backward is drawn as the same arrow."""
    one = placed(Sketch((Box("a"), Box("b")), (Link(0, 1, head="arrow"),)))
    two = placed(Sketch((Box("a"), Box("b")), (Link(1, 0, tail="arrow"),)))
    assert one.centers == two.centers
    assert one.curves[0] == two.curves[0][::-1]


def test_labels_and_captions():
    sketch = Sketch((Box("a"), Box("b")), (Link(0, 1, label="0.9"),), caption="a caption")
    texts = [text.text for text in shapes(scene(sketch), Text)]
    assert texts == ["0.9", "a", "b", "a caption"]


def test_nothing():
    found = scene(Sketch())
    assert (found.groups, found.width, found.height) == ([], 0.0, 0.0)
