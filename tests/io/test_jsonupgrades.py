"""Files of version 1 are read: every kind of CPD as the first release wrote it, the shipped data sets, broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sepset as ss
from sepset.cpds.kerneldensity import KernelCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.io import json as codec
from sepset.io.jsonupgrades import from_version_1
from sepset.io.jsonvariables import variable_document
from support.file_laws import accept_or_refuse, mutated

from .test_jsoncpds import KINDS, A, B, P, R

REALS = [
    LinearGaussian(R, 1.5, covariance=2.0),
    LinearGaussian(R, [0.0, 1.5], covariance=[0.25, 0.5], by=A, block="both"),
    LinearGaussian(
        P, [[0.0, 1.0]] * 3, coefficients=np.arange(6.0).reshape(3, 2, 1), covariance=np.eye(2), given=R, by=B
    ),
    LinearGaussian(R, coefficients=[[1.0, -2.0]], covariance=0.0, given=P),
    KernelCPD(R, {"r": [0.1, 2.0]}, width=0.3),
    KernelCPD(R, given=P, by=A),
    KernelCPD(R, given=P, width=[1.0, 2.0, 3.0]),
    KernelCPD(R, {"a": [True], "p": [[1.0, 2.0]], "r": [3.0]}, width=1, given=P, by=A, weights=[0.5], block="k"),
]

# What version 0.1.0 wrote for each of them, one per line.
WRITTEN = (Path(__file__).parents[1] / "support" / "version_1.jsonl").read_text().splitlines()


def document(cpd, written):
    """A network of that CPD and roots for its parents, as version 1."""
    roots = []
    for parent in cpd.parents:
        if parent.is_discrete:
            rows = [[1.0 / parent.num_states] * parent.num_states]
            roots.append({"kind": "table", "child": parent.name, "given": [], "rows": rows})
        else:
            spread = np.eye(parent.size).reshape(-1).tolist()
            line = {"intercept": [0.0] * parent.size, "coefficients": [], "covariance": spread}
            roots.append({"kind": "linear_gaussian", "child": parent.name, "given": [], "by": []} | line)
    variables = [variable_document(v) for v in cpd.scope]
    head = {"format": "sepset", "version": 1, "kind": "bayes_net", "variables": variables}
    return head | {"cpds": [*roots, json.loads(written)]}


def numbers(cpd):
    return {name: (array.shape, array.tobytes()) for name, array in cpd.parameters.arrays.items()}


X = {"name": "x", "states": 2}
CASES = list(zip([*KINDS, *REALS], WRITTEN, strict=True))


@pytest.mark.parametrize(("cpd", "written"), CASES, ids=lambda case: None if isinstance(case, str) else repr(case))
def test_every_kind_of_version_1_is_read_to_the_bit(cpd, written):
    found = codec.parse(json.dumps(document(cpd, written)).encode()).cpd(cpd.child.name)
    assert type(found) is type(cpd)
    assert (found.scope, found.block) == (cpd.scope, cpd.block)
    assert found.parameters.form == cpd.parameters.form
    ours, theirs = found.parameters.arrays, cpd.parameters.arrays
    assert {n: (a.shape, a.tobytes()) for n, a in ours.items()} == {
        n: (a.shape, a.tobytes()) for n, a in theirs.items()
    }


def test_shipped_data_sets_are_read():
    for name in ss.datasets.names():
        assert ss.datasets.load(name).variables


def test_components_of_chain_graphs_are_upgraded():
    written = json.loads(WRITTEN[13])
    made = from_version_1({"version": 1, "variables": [], "components": [{"cpd": written}, {"factors": []}]})
    assert made["components"][0]["cpd"]["effects"] == [row for part in written["effects"] for row in part]
    assert made["components"][1] == {"factors": []}


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"cpds": 3, "components": None, "variables": "x"},
        {"cpds": [3, {"kind": "tree"}, {"kind": "rule", "rules": 3}, {"kind": []}], "variables": [{"name": []}]},
        {
            "cpds": [{"kind": "noisy_or", "child": "x", "on": 1, "effects": [1], "leak": 0}],
            "variables": [{"name": "x"}],
        },
        {"cpds": [{"kind": "kernel", "samples": [3]}], "components": [3, {"cpd": 3}]},
    ],
)
def test_what_is_broken_stays_for_the_reader_to_refuse(broken):
    made = from_version_1({"version": 1, **broken})
    assert made == {"version": 2, **broken}


@given(st.data(), st.sampled_from(CASES))
@settings(max_examples=150, deadline=None)
def test_mutated_files_are_read_or_refused(data, case):
    accept_or_refuse(codec, data.draw(mutated(json.dumps(document(*case)).encode())))
