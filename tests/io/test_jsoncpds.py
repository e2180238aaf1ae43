from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.deterministic import DeterministicCPD, MultiplexerCPD
from sepset.cpds.kerneldensity import KernelCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.partition import PartitionCPD
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.errors import FileFormatError, NotApplicable
from sepset.io import json as codec
from sepset.io.cursor import JsonSource
from sepset.io.jsoncpds import cpd_document, read_cpd
from sepset.io.record import Misses
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, Vector
from support.file_laws import refusal
from support.strategies import cpds, variable_lists

A, B, C = Discrete("a", (False, True)), Discrete("b", ("x", "y", "z")), Discrete("c", (0.5, 1))
S, X, Y = Discrete("s", 2), Discrete("x", 3), Discrete("y", 3)
R, P = Real("r"), Vector("p", 2)

KINDS = [
    TableCPD(A, [0.25, 0.75]),
    TableCPD(B, [[0.25, 0.75, 0], [0, 0, 1]], given=A, block="shared"),
    TableCPD(Discrete("one", ("only",)), [[1], [1]], given=A),
    DeterministicCPD(C, lambda a, b: 0.5 if a and b == "x" else 1, given=(A, B)),
    DeterministicCPD(C, lambda: 1),
    TreeCPD(C, Split(B, {"x": [0.5, 0.5], ("y", "z"): Split(A, {True: [1, 0], False: [0.25, 0.75]})}), given=(A, B, S)),
    TreeCPD(C, Split(B, {"x": [0.5, 0.5]}, otherwise=Split(B, {"y": [1, 0], "z": [0, 1]}))),
    TreeCPD(C, [0.5, 0.5]),
    RuleCPD(C, [({A: True, C: 1}, 0.25), ({A: True, C: 0.5}, 0.75), ({A: False, B: {"x", "z"}}, 0.5),
                ({A: False, B: "y", C: 1}, 1.0), ({A: False, B: "y", C: 0.5}, 0.0)], block="rules"),
    MultiplexerCPD(Discrete("m", 3), S, inputs=(X, Y)),
    MultiplexerCPD(Discrete("m", 3), S, inputs=(X, X)),
    NoisyOr(A, {B: [0, 0.25, 0.5], S: 0.125}, leak=0.0625),
    NoisyOr(C, {B: 0.5}, on=0.5),
    NoisyMax(B, {A: [[1, 0, 0], [0.5, 0.25, 0.25]], S: [[1, 0, 0], [0, 0.5, 0.5]]}, leak=[0.5, 0.5, 0]),
    LogisticCPD(B, {A: [[0, 0, 0], [1, -2, 3]], S: [[0, 1, 0], [0.5, 0, 0]]}, bias=[0.1, 0.2, 0.3]),
    LogisticCPD(A, {S: 2.0}, bias=-1.0),
    PartitionCPD(C, [0, 2, 0], distributions=[[0.25, 0.75], [0.5, 0.5], [1, 0]], given=B, block="parts"),
    PartitionCPD(C, 0, distributions=[[0.25, 0.75]]),
]  # fmt: skip


def cursor(document):
    return JsonSource(json.dumps(document, allow_nan=False), "f.json").root()


def back(cpd):
    return read_cpd(cursor(cpd_document(cpd)), Universe(cpd.scope), Misses())


@pytest.mark.parametrize("cpd", KINDS, ids=repr)
def test_every_kind_comes_back_as_it_was(cpd):
    again = back(cpd)
    assert type(again) is type(cpd)
    assert again.scope == cpd.scope
    assert again.block == cpd.block
    assert again.num_parameters == cpd.num_parameters
    assert again.to_table().table.flat.tobytes() == cpd.to_table().table.flat.tobytes()
    assert cpd_document(again) == cpd_document(cpd)


@pytest.mark.parametrize(
    "cpd",
    [
        LinearGaussian(R, 1.5, covariance=2.0),
        LinearGaussian(R, [0.0, 1.5], covariance=[0.25, 0.5], by=A, block="both"),
        LinearGaussian(
            P, [[0.0, 1.0]] * 3, coefficients=np.arange(6.0).reshape(3, 2, 1), covariance=np.eye(2), given=R, by=B
        ),
        LinearGaussian(R, coefficients=[[1.0, -2.0]], covariance=0.0, given=P),
    ],
    ids=repr,
)
def test_linear_gaussians_come_back(cpd):
    again = back(cpd)
    assert again.scope == cpd.scope
    assert again.block == cpd.block
    for key in ("intercept", "coefficients", "covariance"):
        assert getattr(again, key).tobytes() == getattr(cpd, key).tobytes()


@pytest.mark.parametrize(
    "cpd",
    [
        KernelCPD(R, {"r": [0.1, 2.0]}, width=0.3),
        KernelCPD(R, given=P, by=A),
        KernelCPD(R, given=P, width=[1.0, 2.0, 3.0]),
        KernelCPD(R, {"a": [True], "p": [[1.0, 2.0]], "r": [3.0]}, width=1, given=P, by=A, weights=[0.5], block="k"),
    ],
    ids=repr,
)
def test_kernels_come_back(cpd):
    again = back(cpd)
    assert (again.scope, again.block) == (cpd.scope, cpd.block)
    assert (again.width is None) == (cpd.width is None)
    assert cpd.width is None or again.width.tobytes() == cpd.width.tobytes()
    for ours, theirs in zip(
        (*again.samples.points, *again.samples.weights), (*cpd.samples.points, *cpd.samples.weights), strict=True
    ):
        assert ours.shape == theirs.shape
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"child": "a"}, "has a real child"),
        ({"width": [0.0]}, "widths > 0"),
        ({"rows": []}, "expected 1 numbers; found 0"),
        ({"rows": [1.0]}, "one weight per row"),
        ({"rows": [1.5, 0.5]}, "expected 1 numbers; found 2"),
        ({"weights": [1.0, 0.0]}, "weights > 0"),
        ({"points": [[1.0, 2.0], [3.0, 4.0]]}, "one weight per row"),
    ],
)
def test_broken_kernels_are_refused(changes, message):
    document = cpd_document(KernelCPD(R, {"r": [0.1, 2.0]}, width=0.3)) | changes
    with pytest.raises(FileFormatError, match=message):
        read_cpd(cursor(document), Universe([A, R]), Misses())


def test_kernels_need_a_width_for_their_rows():
    document = cpd_document(KernelCPD(R, {"r": [0.1, 2.0]}, width=0.3))
    with pytest.raises(FileFormatError, match=r"1 widths > 0 for its rows; found \[\]"):
        read_cpd(cursor(document | {"width": []}), Universe([R]), Misses())
    del document["width"]
    with pytest.raises(FileFormatError, match="expected the key 'width'"):
        read_cpd(cursor(document), Universe([R]), Misses())


@given(st.data())
def test_tables_come_back(data):
    variables = data.draw(variable_lists(1, 4))
    cpd = data.draw(cpds(variables[0], variables[1:]))
    again = back(cpd)
    assert again.scope == cpd.scope
    assert again.table.flat.tobytes() == cpd.table.flat.tobytes()


def test_thirty_parents_need_no_table():
    parents = [Discrete(f"p{i}") for i in range(30)]
    cpd = NoisyOr(A, dict.fromkeys(parents, 0.25))
    assert len(back(cpd).effects) == 30


class Own(TableCPD):
    pass


def test_what_has_no_form():
    with pytest.raises(NotApplicable, match="no form for Own"):
        cpd_document(Own(A, [0.5, 0.5]))


def test_deep_trees():
    wide = Discrete("w", 500)
    tree = [0.5, 0.5]
    for code in range(499):
        tree = Split(wide, {code: [0.5, 0.5]}, otherwise=tree)
    try:
        cpd = TreeCPD(A, tree)
    except Exception:
        pytest.skip("the tree itself is refused")
    with pytest.raises(NotApplicable, match="300 tests deep"):
        cpd_document(cpd)


def document(cpd):
    variables = [{"name": v.base, "states": list(v.states)} for v in (A, B, C, S)] + [{"name": "r", "kind": "real"}]
    return {"format": "sepset", "version": 2, "kind": "bayes_net", "variables": variables, "cpds": [cpd]}


TABLE = {"kind": "table", "child": "b", "given": ["a"], "rows": [[0.5, 0.5, 0], [0, 0, 1]]}
TREE = {"kind": "tree", "child": "c", "given": ["a"], "rows": [[0.5, 0.5], [0.25, 0.75]]}
RULE = {"kind": "rule", "child": "c", "given": ["a"]}
NOISY = {"kind": "noisy_or", "child": "a", "given": ["s"], "effects": [[1, 0], [0.5, 0.5]], "leak": [1, 0]}
LINE = {"kind": "linear_gaussian", "child": "r", "given": [], "intercept": [0], "coefficients": [], "covariance": [1]}


def split(*branches):
    return {"tree": {"test": "a", "branches": list(branches)}}


@pytest.mark.parametrize(
    ("cpd", "message"),
    [
        (TABLE | {"kind": "tables"}, "expected one of deterministic, "),
        (TABLE | {"child": "bb"}, "Unknown variable 'bb'"),
        (TABLE | {"child": "r"}, "expected a discrete variable"),
        (TABLE | {"given": ["r"]}, "expected a discrete variable"),
        (TABLE | {"given": ["b"]}, "cpds[0]"),
        (TABLE | {"rows": [[0.5, 0.5, 0]]}, "expected 2 x 3 numbers; found 3"),
        (TABLE | {"rows": []}, "expected 2 x 3 numbers; found 0"),
        (TABLE | {"rows": [[0.5, 0.5, 0], [0, 0, 0.9]]}, "the row of b given a=True sums to 0.9; it should sum to one"),
        (TABLE | {"rows": [[0.5, 0.5, 0], [-1, 1, 1]]}, "finite and >= 0"),
        (TABLE | {"rows": [[[0.5]], [[0.5]]]}, "expected numbers"),
        (TABLE | {"block": ""}, "non-empty"),
        (TABLE | {"tree": []}, "unknown key"),
        ({"kind": "deterministic", "child": "c", "given": ["a"], "codes": [0]}, "found 1 codes"),
        ({"kind": "deterministic", "child": "c", "given": ["a"], "codes": [0, 2]}, "not above 1"),
        (TREE | {"tree": {"test": "b", "branches": []}}, "Unknown variable 'b'"),
        (TREE | split(), "more rows than leaves"),
        (TREE | split() | {"rows": []}, "no branch for"),
        (TREE | split({"codes": [0]}, {"codes": [0]}), "have a branch already"),
        (TREE | split({"codes": [0]}, {"codes": [1]}, {"codes": [0, 1]}), "no row for this leaf"),
        (TREE | split({"codes": [0], "then": [1]}, {"codes": [1]}), "expected an object"),
        (TREE | {"rows": [[0.5, 0.6]]}, "sums to 1.1"),
        (TREE | {"rows": [[0.5, 0.5, 0.5]]}, "expected rows of 2 numbers"),
        (RULE | {"contexts": [{"c": [0]}], "probability": [1]}, "no rule applies"),
        (RULE | {"contexts": [{"b": [0]}], "probability": [1]}, "Unknown variable 'b'"),
        (RULE | {"contexts": [{"c": []}], "probability": [1]}, "allows no state"),
        (RULE | {"contexts": [{"c": [0]}], "probability": []}, "expected 1 numbers; found 0"),
        (NOISY | {"effects": []}, "expected 2 x 2 numbers; found 0"),
        (NOISY | {"effects": [[1, 0], [-1, 2]]}, "finite and >= 0"),
        (NOISY | {"leak": [0.5, 0.4]}, "sums to 0.9"),
        (NOISY | {"top": 2}, "not above 1"),
        (NOISY | {"child": "b"}, "two states"),
        ({"kind": "multiplexer", "child": "b", "given": ["s"], "selector": "s", "inputs": ["a", "a"]}, "Unknown var"),
        ({"kind": "partition", "child": "c", "given": ["a"], "parts": [0, 1], "rows": [[1, 0]]}, "parts 0 to 0"),
        (LINE | {"child": "a"}, "real child"),
        (LINE | {"covariance": [-1]}, "ovariance"),
        (LINE | {"intercept": [0, 1]}, "expected 1 x 1 numbers; found 2"),
    ],
)
def test_what_is_refused(cpd, message):
    error = refusal(codec, json.dumps(document(cpd), indent=1))
    assert message in str(error)
    assert error.line > 1
