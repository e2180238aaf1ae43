"""Sketches: boxes and links with the marks of edges."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.graphs.pictures.sketch import Box, Link, Sketch, Sketched


def test_marks_of_edges():
    found = Sketch.of("abcd", [("a", "o->", "b"), ("b", "<->", "c"), ("c", "o-o", "d"), ("d", "-", "a")])
    assert [(link.tail, link.head) for link in found.links] == [
        ("circle", "arrow"),
        ("arrow", "arrow"),
        ("circle", "circle"),
        ("", ""),
    ]
    assert [(link.source, link.target) for link in found.links] == [(0, 1), (1, 2), (2, 3), (3, 0)]


def test_notation():
    link = Link(0, 1, "arrow", "circle")
    assert (link.notation(), link.notation(turned=True), link.points_back) == ("<-o", "o->", True)
    assert Link(0, 1).notation() == "-"
    assert not Link(0, 1, "arrow", "arrow").points_back


def test_other_boxes_and_links():
    found = Sketch.of("ab", [("a", "->", "b")]).with_boxes([Box("x"), Box("y")]).with_links([Link(1, 0)])
    assert [box.name for box in found.boxes] == ["x", "y"]
    assert found.links == (Link(1, 0),)


@pytest.mark.parametrize(
    ("drawn", "boxes", "links"),
    [
        (ss.DAG.parse("a -> b; c"), 3, 1),
        (ss.UndirectedGraph.parse("a - b - c"), 3, 2),
        (ss.MixedGraph.parse("a -> b - c"), 3, 2),
        (ss.graphs.PAG.parse("a o-> b"), 2, 1),
        (ss.graphs.tree_decomposition(ss.UndirectedGraph.parse("a - b - c - d")), 5, 4),
        (ss.datasets.load("asia"), 8, 8),
        (ss.datasets.load("misconception"), 4, 4),
        (ss.datasets.load("misconception").factor_graph(), 8, 8),
    ],
    ids=lambda value: type(value).__name__,
)
def test_sketches_of_everything(drawn, boxes, links):
    assert isinstance(drawn, Sketched)
    found = ss.draw(drawn).sketch
    assert (len(found.boxes), len(found.links)) == (boxes, links)


def test_factors_and_sepsets_have_shapes_of_their_own():
    kinds = [box.kind for box in ss.draw(ss.datasets.load("misconception").factor_graph()).sketch.boxes]
    assert kinds == ["variable"] * 4 + ["factor"] * 4
    tree = ss.draw(ss.graphs.tree_decomposition(ss.UndirectedGraph.parse("a - b - c"))).sketch
    assert [(box.name, box.kind) for box in tree.boxes][-1] == ("b", "sepset")


def test_titles_of_a_network():
    asia = ss.datasets.load("asia")
    titled = ss.BayesNet(*asia.cpds, drawing=ss.models.Drawing({"tub": "Tuberculosis"}))
    assert {box.name: box.title for box in ss.draw(titled).sketch.boxes}["tub"] == "tub: Tuberculosis"
