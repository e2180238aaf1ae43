"""Pictures of graphs: boxes, arrows, circles, styles."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.graphs.picture import EdgeStyle, draw, legend, union

figure = pytest.importorskip("matplotlib.figure")
patches = pytest.importorskip("matplotlib.patches")


@pytest.fixture
def axes():
    return figure.Figure(figsize=(6, 4)).subplots()


def arrows(axes):
    return [patch for patch in axes.patches if isinstance(patch, patches.FancyArrowPatch)]


def heads(axes):
    return [type(patch.get_arrowstyle()).__name__ for patch in arrows(axes)]


def test_arrows_end_at_the_boxes(axes):
    draw(ss.DAG.parse("a -> b"), axes)
    (arrow,) = arrows(axes)
    start, end = arrow._path_original.vertices[[0, -1]]
    assert 0.0 > start[1] > end[1] > -1.0
    assert {text.get_text() for text in axes.texts} == {"a", "b"}
    axes.figure.canvas.draw()


def test_lines_arrows_and_circles(axes):
    draw(ss.MixedGraph.parse("a -> b - c"), axes)
    assert sorted(heads(axes)) == ["Curve", "CurveFilledB"]
    other = figure.Figure().subplots()
    draw(ss.graphs.PAG.parse("A o-> B <-> C; C o-o D; D -o E"), other)
    assert sorted(heads(other)) == ["Curve", "Curve", "CurveFilledAB", "CurveFilledB"]
    assert len(other.lines) == 4
    assert min(line.get_zorder() for line in other.lines) > max(text.get_zorder() for text in other.texts)
    other.figure.canvas.draw()


def test_styles_and_labels(axes):
    graph = ss.UndirectedGraph.parse("a - b - c")
    draw(graph, axes, styles={("b", "a"): EdgeStyle("red", 3.0, "--", "0.9")})
    assert "0.9" in {text.get_text() for text in axes.texts}
    assert sorted(arrow.get_linewidth() for arrow in arrows(axes)) == [1.0, 3.0]
    legend(axes, {"sure": EdgeStyle("red", 3.0)})
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["sure"]
    axes.figure.canvas.draw()


def test_long_edges_and_edges_within_a_layer(axes):
    draw(ss.DAG.parse("a -> b -> c -> d; a -> d"), axes)
    assert max(len(arrow._path_original.vertices) for arrow in arrows(axes)) == 10
    draw(ss.UndirectedGraph.parse("m - a; m - b; m - c; m - d; a - d"), figure.Figure().subplots())


def test_names_are_as_large_as_fits():
    sizes = []
    for width in (3, 12):
        axes = figure.Figure(figsize=(width, 6)).subplots()
        draw(ss.DAG(["a long name of a node", "and another"], []), axes)
        sizes.append(axes.texts[0].get_fontsize())
    assert 4.0 <= sizes[0] < sizes[1] <= 11.0


def test_unions_keep_the_edges_of_the_first():
    found = union(ss.DAG.parse("a -> b; c"), ss.DAG.parse("b -> a; b -> c"))
    assert found == ss.MixedGraph.parse("a -> b -> c")
