from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from sepset.cpds.table import TableCPD
from sepset.errors import NotApplicable
from sepset.io import bif, xmlbif
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete
from support.file_laws import accept_or_refuse, assert_same_network, mutated, refusal
from support.shared_files import each_shared, one_shared
from support.strategies import bayes_nets

SMALL = """<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
<BIF VERSION="0.3"><NETWORK><NAME>Dog &amp; co</NAME>
<!-- a comment -->
<VARIABLE TYPE="nature"><NAME>family-out</NAME><OUTCOME>true</OUTCOME><OUTCOME>&lt;0.5</OUTCOME></VARIABLE>
<VARIABLE><NAME>light on</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME><OUTCOME>c</OUTCOME></VARIABLE>
<DEFINITION><FOR>family-out</FOR><TABLE>0.15 0.85</TABLE></DEFINITION>
<DEFINITION><FOR>light on</FOR><GIVEN>family-out</GIVEN><TABLE>
  0.6 0.3 0.1 <!-- yes --> 0.05 0.9 0.05 </TABLE></DEFINITION>
</NETWORK></BIF>
"""


def test_the_child_runs_fastest():
    net = xmlbif.parse(SMALL.encode())
    assert net.name == "Dog & co"
    assert net["family-out"].states == ("true", "<0.5")
    assert net.cpd("light on").values.tolist() == [[0.6, 0.3, 0.1], [0.05, 0.9, 0.05]]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("<BIF VERSION", "<BIFF VERSION", 10, "mismatched tag"),
        ("0.15 0.85", "0.15 x", 7, "found 'x'; expected a number"),
        ("0.15 0.85", "0.15 0.8", 7, "the row of family-out sums to 0.95"),
        ("0.15 0.85", "0.15 0.8 0.05", 7, "has 3 numbers; it needs 2"),
        ("0.15 0.85", "NaN 1", 7, "expected a number"),
        ('TYPE="nature"', 'TYPE="decision"', 5, "only 'nature' is read"),
        ("<FOR>light on</FOR>", "", 8, "expected one <for>"),
        ("<GIVEN>family-out<", "<GIVEN>family<", 8, "Did you mean 'family-out'?"),
        ("<OUTCOME>a<", "<OUTCOME>b<", 6, "twice"),
        ("<OUTCOME>true</OUTCOME>", "<OUTCOME></OUTCOME>", 5, "expected a name; found nothing"),
        ("<NAME>light on</NAME>", "<NAME>family-out</NAME>", 6, "declared twice"),
    ],
)
def test_what_is_refused_and_where(old, new, line, message):
    assert old in SMALL
    error = refusal(xmlbif, SMALL.replace(old, new, 1))
    assert message in str(error)
    assert error.line == line


def test_another_root_is_refused():
    assert "expected <bif>" in str(refusal(xmlbif, "<smile/>"))


@given(bayes_nets())
def test_networks_come_back(net):
    assert_same_network(xmlbif.parse(xmlbif.render(net)), net, printed=True)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_comes_back_or_is_refused(name):
    net = BayesNet(TableCPD(Discrete(name, (name, name + "'")), [0.25, 0.75]), name=name)
    try:
        data = xmlbif.render(net)
    except NotApplicable:
        assert any(ord(c) < 32 or c in "\ufffe\uffff" for c in name)
        return
    back = xmlbif.parse(data)
    assert back.name == name
    assert_same_network(back, net, printed=True)


@given(mutated(SMALL.encode()))
def test_damaged_files_are_read_or_refused(data):
    accept_or_refuse(xmlbif, data)


@given(st.binary(max_size=100) | st.text(alphabet='<>/?!&;"=- aBIF').map(str.encode))
def test_noise_is_refused(data):
    accept_or_refuse(xmlbif, data)
    accept_or_refuse(xmlbif, b"<BIF><NETWORK>" + data + b"</NETWORK></BIF>")


@each_shared("formats/*.bifxml")
def test_other_files(path):
    accept_or_refuse(xmlbif, path.read_bytes())


def test_alarm_agrees_with_the_published_one():
    net = xmlbif.parse(one_shared("formats/alarm.bifxml").read_bytes())
    accept_or_refuse(bif, bif.render(net))
    assert len(net.variables) == 37
    assert sum(len(cpd.parents) for cpd in net.cpds) == 46
    assert net.cpd("HR").values.tolist() == [[0.05, 0.9, 0.05], [0.01, 0.09, 0.9]]
