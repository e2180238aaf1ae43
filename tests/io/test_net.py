from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.table import TableCPD
from sepset.io import bif, net
from sepset.models.bayesnet import BayesNet
from sepset.models.drawing import BLANK
from sepset.variables.variable import Discrete
from support.bounded import within
from support.file_laws import accept_or_refuse, assert_same_network, mutated, refusal
from support.shared_files import each_shared, one_shared
from support.strategies import bayes_nets

SMALL = r"""net
{
    node_size = (80 40); name = "a; \"b\" {";
}
node A { label = ""; states = ("State 1" "2"); position = (457 413); }
discrete node B { states = ("x" "y" "z"); subtype = number; state_values = (1 2 3); }
node C { states = ("u" "v"); }   % a comment { (
potential (A) { data = ( 0.25 0.75 ); }
potential ( B | A ) { data = (( 0.1 0.2 0.7 )	%  A=State 1
   ( 1 0 0 )); experience = (10 20); }
potential ( C | A B ) { data = ((( 1 0 )( 0.5 0.5 )( 0 1 ))((0.25 0.75)(0.125 0.875)(0 1))) ; }
"""


def test_parents_run_before_the_child():
    read = net.parse(SMALL.encode())
    assert read["A"].states == ("State 1", "2")
    assert read.cpd("B").values.tolist() == [[0.1, 0.2, 0.7], [1, 0, 0]]
    assert read.cpd("C").values.tolist() == [[[1, 0], [0.5, 0.5], [0, 1]], [[0.25, 0.75], [0.125, 0.875], [0, 1]]]
    assert read.parents("C") == ("A", "B")


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("net\n", "nett\n", 1, 1, "expected 'net' at the start"),
        ("net\n", "class X\n", 1, 1, "object-oriented networks are not read"),
        ("discrete node B", "continuous node B", 6, 1, "only discrete chance nodes are read"),
        ("discrete node B", "utility B", 6, 1, "only discrete chance nodes are read"),
        ("node C", "node A", 7, 6, "declared twice"),
        ('states = ("u" "v");', "", 7, 6, "has no states"),
        ('("u" "v")', '"u"', 7, 19, "as a list in parentheses"),
        ('"u" "v"', '"u" "u"', 7, 6, "twice"),
        ("0.25 0.75 );", "0.25 0.85 );", 8, 26, "the row of A sums to 1.1"),
        ("0.25 0.75 );", "0.25 -0.75 );", 8, 31, "found '-0.75'"),
        ("0.25 0.75 );", "0.25 );", 8, 12, "has 1 numbers; it needs 2"),
        ("0.25 0.75 );", "0.25 0.75 ));", 8, 37, "balanced parentheses"),
        ("0.25 0.75 );", "0.25 0.75 ;", 8, 36, "expected ')' for each '('"),
        ("data = ( 0.25 0.75 );", "", 8, 12, "has 0 'data' attributes"),
        ("| A )", "| A D )", 9, 13, "no variable 'D' is declared"),
        ("( B | A )", "( B A )", 9, 15, "a potential has one child"),
        ("( 0.1 0.2 0.7 )", "( 0.1 0.2 0.6 )", 9, 33, "the row of B given A='State 1' sums to 0.9"),
    ],
)
def test_what_is_refused_and_where(old, new, line, column, message):
    assert old in SMALL
    error = refusal(net, SMALL.replace(old, new, 1))
    assert message in str(error)
    assert (error.line, error.column) == (line, column)


@given(bayes_nets())
def test_networks_come_back(model):
    assert_same_network(net.parse(net.render(model)), model, printed=True)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_comes_back(name):
    model = BayesNet(
        TableCPD(Discrete(name, (name, name + "'")), [0.25, 0.75]),
        TableCPD(Discrete("node_0", 1), [1]) if name != "node_0" else TableCPD(Discrete("x", 1), [1]),
        name=name,
    )
    back = net.parse(net.render(model))
    assert back.name == name
    assert_same_network(back, model, printed=True)


@given(mutated(SMALL.encode()))
def test_damaged_files_are_read_or_refused(data):
    accept_or_refuse(net, data)


@given(st.binary(max_size=200) | st.text(alphabet='{}()=;|"% ab01\n').map(str.encode))
def test_noise_is_refused(data):
    accept_or_refuse(net, data)
    accept_or_refuse(net, b"net { } " + data)


def test_deep_parentheses_are_just_counted():
    within(5.0, lambda: refusal(net, SMALL.replace("( 0.25 0.75 )", "(" * 300_000)))
    data = SMALL.replace("( 0.25 0.75 )", "(" * 100_000 + "0.25 0.75" + ")" * 100_000).encode()
    assert within(5.0, lambda: net.parse(data)).cpd("A").values.tolist() == [0.25, 0.75]


@each_shared("formats/*.net")
def test_other_files(path):
    accept_or_refuse(net, path.read_bytes())


def test_files_of_counts_are_read_as_weights():
    read = net.parse(one_shared("formats/test1.net").read_bytes())
    assert read.notes == ("Took 10 rows as weights and divided by their sums.",)
    np.testing.assert_allclose(read.cpd("C3").values.sum(axis=-1), 1.0, rtol=1e-15)
    (note,) = net.parse(one_shared("formats/test2.net").read_bytes()).notes
    assert "1.15e-06, in that of Systeme_7" in note


@pytest.mark.parametrize(("row", "total"), [("0.2 0.2", "0.4"), ("0.6 0.8", "1.4"), ("0 0", "0")])
def test_rows_that_are_neither_probabilities_nor_weights_are_refused(row, total):
    error = refusal(net, SMALL.replace("0.25 0.75", row))
    advice = " (read(..., tolerance=) allows more)" if total != "0" else ""
    assert str(error).endswith(f"the row of A sums to {total}; it should sum to one{advice}")


def test_alarm_is_the_published_one():
    import gzip

    read = net.parse(one_shared("formats/alarm.net").read_bytes())
    published = bif.parse(gzip.decompress(one_shared("nets/alarm.bif.gz").read_bytes()))
    for name in published.variables.names:
        ours, theirs = published.cpd(name).table, read.cpd(name).table
        moved = theirs.align([v.name for v in ours.scope])
        states = [
            [theirs_.states.index(s) for s in v.states] for v, theirs_ in zip(ours.scope, moved.scope, strict=True)
        ]
        assert np.abs(moved.values[np.ix_(*states)] - ours.values).max() < 1e-6


DRAWN = """net { node_size = (80 40); HR_Desc = "a % no comment; \\"quoted\\""; HR_Zoom = 1.5; }
node a { label = "An age"; position = (457 413); states = ("x" "y"); HR_Group = "0"; subtype = label; }
node b { label = ""; states = ("x" "y"); state_values = (0, 1); }
potential (a) { data = (0.25 0.75); } potential (b | a) { data = ((1 0) (0.5 0.5)); experience = (1 2); }
"""


def test_attributes_of_the_network_and_its_nodes_are_written_again():
    first = net.parse(DRAWN.encode())
    assert first.drawing.titles == {"a": "An age"}
    text = net.render(first)
    again = net.parse(text)
    assert (again, again.drawing, net.render(again)) == (first, first.drawing, text)
    for line in ("node_size = ( 80 40 );", 'HR_Desc = "a % no comment; \\"quoted\\"";', "HR_Zoom = 1.5;"):
        assert f"  {line}\n".encode() in text
    for line in ("position = ( 457 413 );", 'HR_Group = "0";', "subtype = label;", "state_values = ( 0 1 );"):
        assert f"  {line}\n".encode() in text
    assert b"experience" not in text


def test_a_file_without_attributes_has_no_drawing():
    assert net.parse(b'net {} node a { states = ("x" "y"); } potential (a) { data = (0.2 0.8); }').drawing == BLANK
