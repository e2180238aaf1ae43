from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, strategies as st

from sepset.errors import FileFormatError
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph
from sepset.graphs.notation import parse_statements, quoted


def test_chains_isolated_nodes_and_both_arrows():
    stated = parse_statements("A -> B <- C; C - D; E;; ")
    assert stated.nodes == ("A", "B", "C", "D", "E")
    assert stated.directed == (("A", "B"), ("C", "B"))
    assert stated.undirected == (("C", "D"),)


def test_lines_end_statements_and_spaces_are_optional():
    assert parse_statements("A->B\nC<-B\n\nX[0,1] - é").nodes == ("A", "B", "C", "X[0,1]", "é")
    assert parse_statements("").nodes == ()


def test_quoted_names():
    stated = parse_statements(r'"my node" -> B; "a\"b\\" - "x->y"')
    assert stated.nodes == ("my node", "B", 'a"b\\', "x->y")


@pytest.mark.parametrize(
    ("text", "column", "found", "expected"),
    [
        ("A B", 3, "'B'", "one of"),
        ("A -> ; B", 6, "';'", "a name"),
        ("A ->", 5, "the end", "a name"),
        ("-> A", 1, "'->'", "a name"),
        ("A -> -> B", 6, "'->'", "a name"),
        ('A -> "B', 6, "'\"'", "closing quote"),
        ("A > B", 3, "'>'", "a name or"),
    ],
)
def test_errors_say_where_what_and_what_was_expected(text, column, found, expected):
    with pytest.raises(FileFormatError, match="expected") as caught:
        parse_statements(text)
    assert (caught.value.line, caught.value.column) == (1, column)
    assert f"found {found}" in str(caught.value)
    assert expected in str(caught.value)


def test_errors_on_later_lines_name_the_line():
    with pytest.raises(FileFormatError, match="2:3") as caught:
        parse_statements("A -> B\nC D")
    assert caught.value.line == 2


def test_each_graph_takes_its_own_edges_only():
    with pytest.raises(FileFormatError, match=r"1:3: found '-', expected one of ->, <- or ';'"):
        DAG.parse("A - B")
    with pytest.raises(FileFormatError, match="found '->'"):
        UndirectedGraph.parse("A -> B")
    assert MixedGraph.parse("A -> B - C").edges == (("A", "B"), ("B", "C"))


@given(st.text(max_size=30))
def test_any_text_parses_or_raises_the_one_error(text):
    with contextlib.suppress(FileFormatError):
        assert all(name in stated.nodes for stated in [parse_statements(text)] for e in stated.directed for name in e)


@given(st.lists(st.text(max_size=6), unique=True, max_size=6))
def test_quoting_round_trips_any_name(nodes):
    assert parse_statements("; ".join(map(quoted, nodes))).nodes == tuple(nodes)
