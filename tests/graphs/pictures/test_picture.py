"""Pictures as values: formats, files, displays, equality."""

from __future__ import annotations

import itertools
import pickle
from xml.etree import ElementTree

import numpy as np
import pytest

import sepset as ss
from sepset.graphs.pictures.picture import LARGEST, Picture, require_format, with_picture
from sepset.graphs.pictures.sketch import Sketch

DAG = ss.DAG.parse("a -> b <- c; d")


def test_values():
    picture = ss.draw(DAG)
    assert picture == ss.draw(DAG)
    assert hash(picture) == hash(ss.draw(DAG))
    assert picture != ss.draw(ss.DAG.parse("a -> b"))
    assert pickle.loads(pickle.dumps(picture)) == picture
    assert repr(picture) == "Picture(4 nodes, 2 edges)"
    assert str(picture) == picture.to_text()
    with pytest.raises(AttributeError):
        picture.sketch = None


def test_the_same_graph_has_the_same_picture():
    one, two = (ss.draw(ss.datasets.load("alarm")) for _ in range(2))
    assert one.to_svg() == two.to_svg() == Picture(two.sketch).to_svg()


@pytest.mark.parametrize("suffix", [".svg", ".dot", ".mmd", ".txt", ".png", ".pdf"])
def test_files(suffix, tmp_path):
    if suffix in (".png", ".pdf"):
        pytest.importorskip("matplotlib")
    path = tmp_path / f"picture{suffix}"
    ss.draw(DAG).save(path)
    assert path.stat().st_size > 50
    if suffix == ".svg":
        ElementTree.parse(path)


def test_unknown_formats():
    with pytest.raises(ss.errors.FileFormatError, match=r"'\.sgv' is not a known format of pictures.*\.svg"):
        require_format("picture.sgv")


def test_displays():
    picture = ss.draw(DAG)
    html = picture._repr_html_()
    ElementTree.fromstring(html)
    assert "<style" not in html
    assert picture._repr_svg_() == picture.to_svg()


def test_empty_and_large():
    assert with_picture("facts", 0, ss.DAG()) == "facts"
    assert ElementTree.fromstring(Picture(Sketch()).to_svg()) is not None
    assert str(Picture(Sketch())) == ""
    names = [f"v{k}" for k in range(LARGEST + 1)]
    long = ss.DAG(names, itertools.pairwise(names))
    assert "<svg" not in long._repr_html_()
    assert "401 nodes" in long._repr_html_()


def test_dense_graphs_are_refused_and_shown_without_a_picture():
    count = 60
    left, right = np.triu_indices(count, 1)
    dense = ss.UndirectedGraph.from_arrays([f"v{k}" for k in range(count)], sources=left, targets=right)
    with pytest.raises(ss.TooLarge, match="too dense"):
        ss.draw(dense).to_svg()
    assert "too dense" in dense._repr_html_()
    assert len(str(ss.draw(dense)).splitlines()) == count


@pytest.mark.parametrize(
    "shown",
    [
        lambda: ss.datasets.load("asia"),
        lambda: ss.datasets.load("misconception"),
        lambda: ss.datasets.load("misconception").factor_graph(),
        lambda: ss.prepare(ss.datasets.load("asia")).observe({"xray": "yes"}),
        lambda: ss.graphs.tree_decomposition(ss.UndirectedGraph.parse("a - b - c")),
        lambda: ss.graphs.PAG.parse("a o-> b"),
    ],
)
def test_notebooks_show_pictures(shown):
    assert shown()._repr_html_().count("<svg") == 1
