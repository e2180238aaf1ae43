"""Graphs of one kind where another is wanted: moralized, seen as mixed, or refused."""

from __future__ import annotations

import pytest

from sepset.errors import ModelError
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph
from sepset.graphs.kinds import directed, mixed, undirected, without_directions

ARROWS, LINES, BOTH = DAG.parse("a -> c <- b"), UndirectedGraph.parse("a - b - c"), MixedGraph.parse("a -> b - c")


def test_undirected_graphs_are_moral_graphs():
    assert undirected(LINES) is LINES
    assert undirected(ARROWS) == UndirectedGraph.parse("a - c - b - a")
    assert undirected(BOTH) == UndirectedGraph.parse("a - b - c")


def test_every_graph_is_a_mixed_one():
    assert mixed(BOTH) is BOTH
    assert (mixed(ARROWS).directed, mixed(ARROWS).undirected) == (ARROWS.directed, ())
    assert (mixed(LINES).directed, mixed(LINES).undirected) == ((), LINES.undirected)


@pytest.mark.parametrize(
    ("ask", "graph", "message"),
    [
        (directed, LINES, "d_separated is asked of a DAG; found an undirected graph. Ask separated of it."),
        (directed, BOTH, "found a mixed graph. Ask chain_separated of it."),
        (without_directions, ARROWS, "is asked of an undirected graph; found a DAG. Ask d_separated of it."),
    ],
)
def test_other_kinds_are_refused_with_the_right_question(ask, graph, message):
    name = "d_separated" if ask is directed else "separated"
    with pytest.raises(ModelError) as refused:
        ask(graph, name)
    assert message in str(refused.value)
    with pytest.raises(ModelError, match="A graph is wanted; found a int"):
        ask(3, name)
    assert directed(ARROWS, name) is ARROWS
    assert without_directions(LINES, name) is LINES


def test_questions_that_are_not_about_separation_recommend_none():
    with pytest.raises(ModelError, match=r"cpdag is asked of a DAG; found an undirected graph\.$"):
        directed(LINES, "cpdag")
