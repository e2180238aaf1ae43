"""Pictures on matplotlib axes: the same shapes, legible sizes, names are not formulas."""

from __future__ import annotations

import pytest

import sepset as ss

figure = pytest.importorskip("matplotlib.figure")


def edges(axes):
    return [patch for patch in axes.patches if patch.get_gid() == "edge"]


def test_shapes():
    axes = ss.draw(ss.MixedGraph.parse("a -> b - c")).plot(figure.Figure().subplots())
    assert [text.get_text() for text in axes.texts] == ["a", "b", "c"]
    assert len(edges(axes)) == 2
    axes.figure.canvas.draw()


def test_arrows_end_at_the_boxes():
    axes = ss.draw(ss.DAG.parse("a -> b")).plot(figure.Figure().subplots())
    (edge,) = edges(axes)
    start, end = edge.get_path().vertices[[0, -1]]
    places = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert places["a"] > start[1] > end[1] > places["b"]


def test_names_are_as_large_as_fits():
    sizes = []
    for width in (3, 12):
        axes = ss.draw(ss.DAG(["a long name of a node", "and another"])).plot(figure.Figure((width, 6)).subplots())
        sizes.append(axes.texts[0].get_fontsize())
    assert sizes[0] < sizes[1]


def test_names_are_not_formulas_and_circles_are_drawn():
    axes = ss.draw(ss.graphs.PAG([], [("$x^$", "o->", "_y{")])).plot(figure.Figure().subplots())
    axes.figure.canvas.draw()
    assert sum(type(patch).__name__ == "Circle" for patch in axes.patches) == 1


def test_beliefs():
    axes = ss.draw(ss.datasets.load("asia"), given={"xray": "yes"}).plot(figure.Figure().subplots())
    assert "given xray = yes" in {text.get_text() for text in axes.texts}
    axes.figure.canvas.draw()
