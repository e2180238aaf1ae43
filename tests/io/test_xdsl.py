from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.deterministic import DeterministicCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.table import TableCPD
from sepset.errors import NotApplicable
from sepset.io import xdsl
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete
from support.file_laws import accept_or_refuse, assert_same_network, mutated, refusal
from support.shared_files import one_shared
from support.strategies import bayes_nets

SMALL = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="Clinic" numsamples="10000">
<nodes>
<cpt id="Flu"><state id="present" /><state id="absent" /><probabilities>0.25 0.75</probabilities></cpt>
<cpt id="Cold"><state id="none" /><state id="some" /><state id="bad" />
  <parents>Flu</parents><probabilities>0.5 0.25 0.25 1 0 0</probabilities></cpt>
<deterministic id="Home"><state id="yes" /><state id="no" />
  <parents>Flu Cold</parents><resultingstates>yes yes yes no no yes</resultingstates></deterministic>
<noisymax id="Fever"><state id="high" /><state id="normal" />
  <parents>Flu Cold</parents><strengths>0 1 2 1 0</strengths>
  <parameters>0.8 0.2 0 1  0.5 0.5 0.25 0.75 0 1  0.125 0.875</parameters></noisymax>
<noisymax id="Ache"><state id="severe" /><state id="mild" /><state id="none" />
  <parents>Flu</parents><parameters>0.5 0.25 0.25 0 0 1 0 0.5 0.5</parameters></noisymax>
</nodes>
<extensions><genie version="1.0" app="GeNIe 3.0" name="A clinic"><node id="Flu"><name>Influenza</name></node></genie>
</extensions>
</smile>
"""


def test_all_kinds_of_node():
    net = xdsl.parse(SMALL.encode())
    assert net.name == "Clinic"
    assert net.variables.names == ("Flu", "Cold", "Home", "Fever", "Ache")
    assert net.cpd("Cold").values.tolist() == [[0.5, 0.25, 0.25], [1, 0, 0]]
    home = net.cpd("Home")
    assert isinstance(home, DeterministicCPD)
    assert home({"Flu": "absent", "Cold": "bad"}) == "yes"
    assert home({"Flu": "absent", "Cold": "none"}) == "no"


def test_a_binary_noisy_max_is_a_noisy_or():
    fever = xdsl.parse(SMALL.encode()).cpd("Fever")
    assert isinstance(fever, NoisyOr)
    assert (fever.on, fever.leak) == ("high", 0.125)
    table = fever.to_table()
    # Not high only if the flu, the cold and the leak all fail.
    for flu, p in (("present", 0.2), ("absent", 1.0)):
        for cold, q in (("none", 1.0), ("some", 0.75), ("bad", 0.5)):
            assert table[flu, cold] == pytest.approx([1 - p * q * 0.875, p * q * 0.875], abs=1e-15)


def test_a_graded_noisy_max_keeps_the_order_of_its_states():
    net = xdsl.parse(SMALL.encode())
    assert net["Ache"].states == ("severe", "mild", "none")
    # P(at most mild) = 0.5 * 1, P(none) = 0.25 * 0.5 with the flu; the leak alone without.
    assert net.cpd("Ache").to_table()["present"] == pytest.approx([0.5, 0.375, 0.125])
    assert net.cpd("Ache").to_table()["absent"] == pytest.approx([0, 0.5, 0.5])


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('<cpt id="Flu">', '<decision id="Flu">', 4, "mismatched tag"),
        ("0.25 0.75<", "0.25 0.7<", 4, "sums to 0.95"),
        ("<parents>Flu</parents>", "<parents>Flue</parents>", 5, "Did you mean 'Flu'?"),
        ("no no yes<", "no no maybe<", 8, "found 'maybe'; its states are 'yes', 'no'"),
        ("no no yes<", "no no<", 8, "found 5 states; the parents have 6"),
        ("0 1 2 1 0", "0 1 2 2 0", 10, "an order of the 3 states of 'Cold'"),
        ("0 1 2 1 0", "0 1 2 1 0 3", 10, "found 6 positions"),
        ("0.8 0.2 0 1 ", "0.8 0.2 0.5 0.5 ", 11, "absence with probability one"),
        ("0.8 0.2 0 1 ", "0.8 0.3 0 1 ", 11, "row 0 sums to 1.1"),
        ("0.125 0.875", "0.125", 11, "found 11 numbers; the node needs 12"),
        ('id="Cold"', 'id="Flu"', 5, "declared twice"),
        ('<state id="none" />', "<state />", 5, "expected an id"),
        ("<nodes>", "<nodes><utility id='u'/>", 3, "only cpt, deterministic and noisymax"),
        ("<smile", "<smiley", 17, "mismatched"),
    ],
)
def test_what_is_refused_and_where(old, new, line, message):
    assert old in SMALL
    error = refusal(xdsl, SMALL.replace(old, new, 1))
    assert message in str(error)
    assert error.line == line


def test_kinds_come_back_as_they_were():
    net = xdsl.parse(SMALL.encode())
    back = xdsl.parse(xdsl.render(net))
    assert [type(cpd) for cpd in back.cpds] == [type(cpd) for cpd in net.cpds]
    assert_same_network(back, net, printed=True)
    cough, ill = Discrete("cough", ("no", "a bit", "much")), Discrete("ill", (False, True))
    cause = NoisyMax(cough, {ill: [[1, 0, 0], [0.5, 0.25, 0.25]]}, leak=[0.5, 0.5, 0])
    after = TableCPD(Discrete("doctor", 2), [[1, 0], [0.5, 0.5], [0.25, 0.75]], given=cough)
    function = DeterministicCPD(Discrete("pill", 2), lambda c, i: int(c == "much" and i), given=(cough, ill))
    noisy = NoisyOr(Discrete("sick", (True, False)), {cough: [0, 0.25, 0.75], ill: 0.5}, leak=0.25)
    net = BayesNet(after, function, noisy, cause, TableCPD(ill, [0.75, 0.25]), name="two words")
    back = xdsl.parse(xdsl.render(net))
    assert back.name == "two words"
    assert [type(cpd) for cpd in back.cpds] == [type(cpd) for cpd in net.cpds]
    assert_same_network(back, net, printed=True)


def test_children_of_turned_nodes_are_written_in_file_order():
    cause, effect, child = (
        Discrete("cause", ("off", "on")),
        Discrete("effect", ("off", "on")),
        Discrete("child", ("a", "b")),
    )
    net = BayesNet(
        TableCPD(cause, [0.5, 0.5]),
        NoisyOr(effect, {cause: 0.75}),
        TableCPD(child, [[0.125, 0.875], [1, 0]], given=effect),
    )
    text = xdsl.render(net).decode()
    assert '<noisymax id="effect">\n  <state id="on" />\n  <state id="off" />' in text
    assert "<probabilities>1.0 0.0 0.125 0.875</probabilities>" in text
    stripped = "\n".join(line for line in text.splitlines() if "sepset_states" not in line)
    foreign = xdsl.parse(stripped.encode())
    assert foreign["effect"].states == ("on", "off")
    assert foreign.cpd("child").values.tolist() == [[1, 0], [0.125, 0.875]]
    assert foreign.cpd("effect").to_table().values.tolist() == [[0, 1], [0.75, 0.25]]


def test_a_noisy_or_without_neutral_states_becomes_a_table():
    a, x = Discrete("a"), Discrete("x")
    net = BayesNet(TableCPD(a, [0.5, 0.5]), NoisyOr(x, {a: [0.25, 0.5]}))
    back = xdsl.parse(xdsl.render(net))
    assert isinstance(back.cpd("x"), TableCPD)
    assert_same_network(back, net, printed=True)


def test_thirty_parents_need_no_table():
    parents = [Discrete(f"p{i}", (False, True)) for i in range(30)]
    net = BayesNet(
        *(TableCPD(p, [0.5, 0.5]) for p in parents),
        NoisyOr(Discrete("x", (False, True)), dict.fromkeys(parents, 0.125)),
    )
    back = xdsl.parse(xdsl.render(net)).cpd("x")
    assert isinstance(back, NoisyOr)
    assert all((effect == [0, 0.125]).all() for effect in back.effects.values())


AGRUM = """<?xml version="1.0" ?>
<smile version="1.0" id="n"><nodes>
<cpt id="a"><state id="0" /><state id="1" /><probabilities>0.25 0.75</probabilities></cpt>
<cpt id="b"><state id="x" /><state id="y" /><state id="z" /><probabilities>0.5 0.25 0.25</probabilities></cpt>
<cpt id="c"><state id="u" /><state id="v" /><parents>a b</parents>
  <probabilities>0 1 0.125 0.875 0.25 0.75 0.375 0.625 0.5 0.5 0.625 0.375</probabilities></cpt>
</nodes><extensions><genie version="1.0" app="aGrUM 3.3.1" name="n"></genie></extensions></smile>
"""


def test_files_of_agrum_are_read_in_their_order_and_written_in_ours():
    net = xdsl.parse(AGRUM.encode())
    assert net.cpd("c").values[:, :, 0].tolist() == [[0, 0.25, 0.5], [0.125, 0.375, 0.625]]
    assert net.notes == ("Read the tables as aGrUM 3.3.1 wrote them: the first parent is the fastest.",)
    back = xdsl.parse(xdsl.render(net))
    assert_same_network(back, net, printed=True)
    assert not back.notes
    other = xdsl.parse(AGRUM.replace("aGrUM", "GeNIe").encode())
    assert other.cpd("c").values[:, :, 0].tolist() == [[0, 0.125, 0.25], [0.375, 0.5, 0.625]]
    assert "it needs 12" in str(refusal(xdsl, AGRUM.replace("<probabilities>0 1", "<probabilities>")))


def test_identifiers_of_states_resemble_them():
    states = (1, 0, -1, 2.5, "a b", "yes")
    text = xdsl.render(BayesNet(TableCPD(Discrete("first node", states), [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]))).decode()
    assert '<cpt id="first_node">' in text
    found = [line.split('"')[1] for line in text.splitlines() if "<state " in line]
    assert found == ["state_1", "state_0", "minus_1", "state_2_5", "a_b", "yes"]


@given(bayes_nets())
def test_networks_come_back(net):
    assert_same_network(xdsl.parse(xdsl.render(net)), net, printed=True)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_comes_back_or_is_refused(name):
    net = BayesNet(TableCPD(Discrete(name, (name, name + "'")), [0.25, 0.75]), name=name)
    try:
        data = xdsl.render(net)
    except NotApplicable:
        assert any(ord(c) < 32 or c in "\ufffe\uffff" for c in name)
        return
    back = xdsl.parse(data)
    assert back.name == name
    assert_same_network(back, net, printed=True)


OURS = xdsl.render(
    BayesNet(
        TableCPD(Discrete("a b", (False, True)), [0.5, 0.5]),
        NoisyOr(Discrete("x", (0, 1)), {Discrete("a b", (False, True)): 0.5}),
    )
)


@given(mutated(SMALL.encode()) | mutated(OURS))
def test_damaged_files_are_read_or_refused(data):
    accept_or_refuse(xdsl, data)


@given(st.text(alphabet='<>/="cpt idnodes01.').map(str.encode))
def test_noise_is_refused(data):
    accept_or_refuse(xdsl, data)
    accept_or_refuse(xdsl, b"<smile><nodes>" + data + b"</nodes></smile>")


def test_a_graded_noisy_max_too_large_for_a_table_is_refused():
    parents = "".join(
        f'<cpt id="p{i}"><state id="a"/><state id="b"/><probabilities>1 0</probabilities></cpt>' for i in range(25)
    )
    names, numbers = " ".join(f"p{i}" for i in range(25)), "0.5 0.5 0 0 0 1 " * 25 + "0 0 1"
    node = f'<noisymax id="x"><state id="u"/><state id="v"/><state id="w"/><parents>{names}</parents>'
    text = f"<smile><nodes>{parents}{node}<parameters>{numbers}</parameters></noisymax></nodes></smile>"
    assert "more than 1,048,576 numbers" in str(refusal(xdsl, text))


def test_a_file_from_genie():
    net = xdsl.parse(one_shared("formats/benefits.xdsl").read_bytes())
    assert len(net.variables) == 14
    assert net.parents("Benefits") == ("Project_management", "Application_suitability", "Reengineering_iintention")
    assert net.cpd("Benefits")["HIGH", "LOW", "LOW"] == pytest.approx([0.715, 0.285])
    assert np.allclose(net.cpd("Maintenance")["LOW", "HIGH"], [0.546, 0.454])
