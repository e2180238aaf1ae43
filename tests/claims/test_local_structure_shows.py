"""CPDs with local structure show their own form, cut with a count when it is long."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.deterministic import DeterministicCPD, MultiplexerCPD
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.partition import PartitionCPD
from sepset.cpds.rules import RuleCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.variables.variable import Discrete

A, B, X, Z = Discrete("a", ("no", "yes")), Discrete("b", 3), Discrete("x"), Discrete("z", 3)
MANY = [Discrete(f"v{k}") for k in range(30)]


def deep_tree():
    tree = [0.5, 0.5]
    for v in MANY:
        tree = Split(v, {0: tree, 1: [0.1, 0.9]})
    return TreeCPD(X, tree)


def lines(cpd):
    return [line.split() for line in str(cpd).splitlines()[1:]]


def test_a_tree():
    cpd = TreeCPD(X, Split(A, {"no": [0.8, 0.2], "yes": Split(B, {0: [0.9, 0.1]}, otherwise=[0.4, 0.6])}))
    assert str(cpd).splitlines() == [
        "TreeCPD(x[2] | a[2], b[3])",
        "  context            x=0  x=1",
        "  ├─ a=no            0.8  0.2",
        "  └─ a=yes",
        "     ├─ b=0          0.9  0.1",
        "     └─ b in {1, 2}  0.4  0.6",
    ]
    assert '<td style="text-align:left">&nbsp;&nbsp; ├─ b=0</td><td>0.9</td>' in cpd._repr_html_()


def test_rules():
    cpd = RuleCPD(X, [({A: "no", X: 0}, 0.3), ({A: "no", X: 1}, 0.7), ({A: "yes"}, 0.5)])
    assert [line[:-1] for line in lines(cpd)[1:]] == [
        ["a=no,", "x=0", "0.3"],
        ["a=no,", "x=1", "0.7"],
        ["a=yes", "0.5"],
    ]
    assert lines(RuleCPD(X, [({}, 0.5)]))[1][:2] == ["always", "0.5"]


def test_parts():
    cpd = PartitionCPD(X, [[0, 0, 0], [0, 1, 1]], distributions=[[0.9, 0.1], [0.2, 0.8]], given=(A, B))
    shown = str(cpd)
    assert "a=no, b=0; a=no, b=1; a=no, b=2; ... (4 in all)" in shown
    assert "a=yes, b=1; a=yes, b=2" in shown


def test_effects():
    cpd = NoisyOr(X, {A: 0.8, B: {0: 0.1, 1: 0.0, 2: 0.5}, MANY[0]: 0.0}, leak=0.01)
    assert [line[:2] for line in lines(cpd)[1:-1]] == [
        ["leak", "0.01"],
        ["a=yes", "0.8"],
        ["b=0", "0.1"],
        ["b=2", "0.5"],
        ["v0", "0"],
    ]
    graded = NoisyMax(Z, {A: [[1, 0, 0], [0.5, 0.3, 0.2]]})
    assert lines(graded)[1:3] == [["leak", "1", "0", "0"], ["a=yes", "0.5", "0.3", "0.2"]]


def test_weights():
    cpd = LogisticCPD(X, {A: 2.0, B: [0, -1, 3]}, bias=-1.0)
    assert lines(cpd)[1:] == [["bias", "-1"], ["a=yes", "2"], ["b=1", "-1"], ["b=2", "3"]]
    more = LogisticCPD(Z, {A: [[0, 0, 0], [1, 2, 3]]}, bias=[0, 1, 2])
    assert lines(more)[1:3] == [["bias", "0", "1", "2"], ["a=yes", "1", "2", "3"]]


def test_functions():
    cpd = DeterministicCPD(Z, lambda a, b: 0 if a == "no" else b, given=(A, B))
    assert lines(cpd) == [
        ["a", "b", "z"],
        *([a, str(b), str(0 if a == "no" else b)] for a in A.states for b in B.states),
    ]
    copies = MultiplexerCPD(Z, A, inputs=(B, Discrete("c", 3)))
    assert lines(copies) == [["a", "z", "is"], ["no", "b"], ["yes", "c"]]


@pytest.mark.parametrize(
    ("cpd", "count"),
    [
        (deep_tree(), "first 20 of 60 branches; 31 leaves"),
        (NoisyOr(X, dict.fromkeys(MANY, 0.5)), "first 20 of 31 terms"),
        (LogisticCPD(X, dict.fromkeys(MANY, 0.5)), "first 20 of 31 terms"),
        (DeterministicCPD(X, lambda *states: sum(states) % 2, given=MANY[:5]), "first 20 of 32 rows"),
        (
            PartitionCPD(X, np.arange(32), distributions=np.full((32, 2), 0.5), given=MANY[:5]),
            "first 20 of 32 parts",
        ),
        (RuleCPD(X, [({Discrete("w", 40): k}, 0.5) for k in range(40)]), "first 20 of 40 rules"),
        (
            MultiplexerCPD(X, Discrete("which", 30), inputs=MANY),
            "first 20 of 30 inputs",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_long_ones_are_cut_with_a_count(cpd, count):
    assert count in str(cpd)
    assert count in cpd._repr_html_()
    assert len(str(cpd).splitlines()) <= 24
