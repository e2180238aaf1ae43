"""Graphs with marks: notation, edges, and what they refuse."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.errors import FileFormatError, ModelError, ScopeError
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph
from sepset.graphs.pag import ARROW, CIRCLE, NO_EDGE, PAG, TAIL

KINDS = ("->", "<-", "<->", "o->", "<-o", "o-o", "o-", "-o", "-")


@st.composite
def graphs(draw):
    names = draw(st.lists(st.text('abo -;"\\', min_size=1, max_size=4), min_size=0, max_size=5, unique=True))
    kinds = draw(st.lists(st.sampled_from((*KINDS, "")), min_size=10, max_size=10))
    pairs = itertools.combinations(names, 2)
    return PAG(names, [(x, kind, y) for (x, y), kind in zip(pairs, kinds, strict=False) if kind])


@given(graphs())
def test_what_is_printed_is_read_again(pag):
    if all(name.strip() == name for name in pag.nodes):
        assert PAG.parse(str(pag)) == pag
    assert pickle.loads(pickle.dumps(pag)) == pag
    assert PAG.from_marks(pag.nodes, pag.marks) == pag


@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_says_nothing(pag, random):
    order = list(pag.nodes)
    random.shuffle(order)
    turned = PAG(order, [(y, kind.translate(str.maketrans("<>", "><"))[::-1], x) for x, kind, y in pag.edges])
    assert turned == pag
    assert hash(turned) == hash(pag)


@pytest.mark.parametrize(
    ("kind", "at_x", "at_y"),
    [("->", TAIL, ARROW), ("<-o", ARROW, CIRCLE), ("<->", ARROW, ARROW), ("o-", CIRCLE, TAIL), ("-", TAIL, TAIL)],
)
def test_marks_of_kinds(kind, at_x, at_y):
    pag = PAG("xy", [("x", kind, "y")])
    assert (pag.marks[1, 0], pag.marks[0, 1]) == (at_x, at_y)
    assert pag.marks[0, 0] == NO_EDGE


def test_neighbors_parents_and_skeleton():
    pag = PAG.parse("A o-> B <-> C; B -> D <- C; E")
    assert pag.nodes == ("A", "B", "C", "D", "E")
    assert pag.adjacent("B") == ("A", "C", "D")
    assert pag.parents("D") == ("B", "C")
    assert pag.parents("B") == ()
    assert pag.has_edge("C", "B")
    assert not pag.has_edge("A", "C")
    assert pag.skeleton == UndirectedGraph.parse("A - B - C - D - B; E")
    assert pag.mark("A", "C") == "none"
    assert (len(pag), pag.num_edges) == (5, 4)


def test_graphs_without_circles():
    mixed = MixedGraph.parse("A -> B - C")
    assert PAG.of(mixed).to_mixed() == mixed
    assert PAG.of(DAG.parse("A -> B")) == PAG.parse("A -> B")
    with pytest.raises(ModelError, match="A o-> B"):
        PAG.parse("A o-> B").to_mixed()


@pytest.mark.parametrize("text", ["A ->", "-> A", "A -> -> B", "A -> ; B", "A => B"])
def test_bad_texts(text):
    with pytest.raises(FileFormatError):
        PAG.parse(text)


def test_bad_edges():
    for edges in (
        [("A", "o->", "A")],
        [("A", "->", "B"), ("B", "o-o", "A")],
        [("A", "=>", "B")],
        [("A", "B")],
        ["A->B"],
    ):
        with pytest.raises(ModelError):
            PAG("AB", edges)
    with pytest.raises(ModelError, match="each"):
        PAG.from_marks("AB", np.array([[0, 2], [0, 0]]))
    with pytest.raises(ModelError, match="square"):
        PAG.from_marks("AB", np.array([[1, 2], [1, 0]]))
    with pytest.raises(ScopeError, match="AB"):
        PAG.parse("AB -> C").mark("AC", "C")


def test_nothing_and_many():
    assert str(PAG()) == ""
    assert PAG.parse("") == PAG()
    names = [f"v{i}" for i in range(40)]
    assert repr(PAG(names, [(x, "->", y) for x, y in itertools.pairwise(names)])) == "PAG(40 nodes, 39 edges)"
    assert PAG("A")._repr_html_()
    assert PAG("A") != DAG("A")


def test_it_cannot_be_changed():
    pag = PAG.parse("A -> B")
    with pytest.raises(ValueError, match="read-only"):
        pag.marks[0, 1] = CIRCLE
    with pytest.raises(AttributeError):
        pag.nodes = ()
