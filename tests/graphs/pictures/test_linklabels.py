"""Labels of edges are next to their edges, and on nothing else where there is room."""

from __future__ import annotations

import itertools

import numpy as np

from sepset.graphs.pictures.linklabels import Rectangle, label_places
from sepset.graphs.pictures.scene import Text, scene
from sepset.graphs.pictures.sketch import Link, Sketch
from sepset.graphs.pictures.textsize import text_width

DOWN = [(0.0, 0.0), (0.0, 20.0), (0.0, 40.0), (0.0, 60.0)]


def test_a_label_leaves_a_box_and_another_label_free():
    assert label_places(["", ""], [DOWN, DOWN], [], size=10.0) == [None, None]
    ((x, y),) = label_places(["0.50"], [DOWN], [], size=10.0)
    assert (x, y) == (4.0, 33.5)
    wide = text_width("0.50", 10.0)
    ((x, y),) = label_places(["0.50"], [DOWN], [(20.0, 30.0, 30.0, 100.0)], size=10.0)
    assert x + wide < 0.0
    first, second = label_places(["0.50", "0.25"], [DOWN, DOWN], [], size=10.0)
    assert first != second


def test_labels_of_a_dense_graph_are_not_on_one_another():
    names = [f"v{k}" for k in range(6)]
    pairs = list(itertools.combinations(range(6), 2))
    graph = Sketch.of(names, [(names[a], "->", names[b]) for a, b in pairs])
    drawn = scene(graph.with_links([Link(a, b, head="arrow", label=f"{a / (b + 1):.2f}") for a, b in pairs]))
    texts = [shape for group in drawn.groups for shape in group.shapes if isinstance(shape, Text)]
    labels = [text for text in texts if text.anchor == "start"]
    assert len(labels) == len(pairs)
    areas = [Rectangle(t.x, t.y - 8.0, t.x + text_width(t.text, t.size), t.y) for t in labels]
    assert sum(one.overlap(two) > 0 for one, two in itertools.combinations(areas, 2)) <= 1


def test_points_inside():
    assert Rectangle(0.0, 0.0, 2.0, 2.0).num_inside(np.array([[1.0, 1.0], [3.0, 1.0], [0.5, 1.9]])) == 2
