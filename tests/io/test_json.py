from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.errors import FileFormatError, NotApplicable
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.potentials import Potts
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.io import bif, json as codec
from sepset.io.record import Reading
from sepset.models.bayesnet import BayesNet
from sepset.models.blocks import pairwise, unary
from sepset.models.features import Feature
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Discrete, Real
from support.file_laws import accept_or_refuse, assert_same_network, mutated, refusal
from support.shared_files import one_shared
from support.strategies import bayes_nets, chain_graphs, markov_nets

A, B = Discrete("a", (False, True)), Discrete("b", ("x", "y", "z"))


@given(bayes_nets())
def test_bayesian_networks_come_back(net):
    back = codec.parse(codec.render(net))
    assert back.variables == net.variables
    assert_same_network(back, net, printed=False)


@given(markov_nets())
def test_markov_networks_come_back(net):
    back = codec.parse(codec.render(net))
    assert back.variables == net.variables
    assert [f.scope for f in back.factors] == [f.scope for f in net.factors]
    assert all(f.flat.tobytes() == g.flat.tobytes() for f, g in zip(back.factors, net.factors, strict=True))


@given(chain_graphs())
def test_chain_graphs_come_back(model):
    back = codec.parse(codec.render(model))
    assert back.variables == model.variables
    assert back.graph == model.graph
    for ours, theirs in zip(model.components, back.components, strict=True):
        assert (ours.variables, ours.parents) == (theirs.variables, theirs.parents)
        assert [f.values.tobytes() for f in ours.factors] == [f.values.tobytes() for f in theirs.factors]


def test_a_bayesian_network_as_a_chain_graph_stays_normalized():
    from sepset.models.chaingraph import ChainGraph

    model = ChainGraph(TableCPD(A, [0.5, 0.5]), TableCPD(B, [[0.5, 0.5, 0], [0, 0, 1]], given=A))
    back = codec.parse(codec.render(model))
    assert [part.is_normalized for part in back.components] == [True, True]
    assert len(back.problem().blocks) == len(model.problem().blocks)


def test_lazy_arrays_blocks_and_potentials_come_back():
    pixel = Discrete.array("pixel", (3, 4), states=("paper", "ink"))
    logs = np.random.default_rng(0).normal(size=(3, 4, 2))
    net = MarkovNet(
        unary(pixel, logs),
        pairwise(pixel.grid_edges(), Potts(1.5)),
        SparseTable((A, B), [[0, 0], [1, 2]], values=[1.0, 0.5]),
        Table.from_log(A, [0.0, -1e5]),
        CanonicalGaussian((Real("r"),), [[1.0]], h=[0.5], g=0.0),
        variables=[pixel, A, B],
        name="image",
        notes=("a note",),
    )
    back = codec.parse(codec.render(net))
    assert back.variables.parts == net.variables.parts
    assert (back.name, back.notes) == ("image", ("a note",))
    assert [type(block) for block in back.blocks] == [type(block) for block in net.blocks]
    codes = np.random.default_rng(1).integers(0, 2, (5, 15))
    for ours, theirs in zip(net.blocks[:3], back.blocks[:3], strict=True):
        assert ours.log_values(codes).tolist() == theirs.log_values(codes).tolist()
    assert codec.render(back) == codec.render(net)


def test_hidden_variables_come_back():
    parents = [Discrete(f"p{i}") for i in range(6)]
    net = BayesNet(*(TableCPD(p, [0.5, 0.5]) for p in parents), NoisyOr(A, dict.fromkeys(parents, 0.5))).markov_net()
    assert net.auxiliaries
    back = codec.parse(codec.render(net))
    assert back.auxiliaries == net.auxiliaries
    assert codec.render(back) == codec.render(net)


def test_features_come_back():
    features = [Feature((A, B), lambda a, b: float(a and b == "x"), name="both"), Feature(B, [0.5, -1, 2])]
    net = MarkovNet.log_linear(features, [0.75, -2.0], name="features")
    back = codec.parse(codec.render(net))
    assert back.weights.tolist() == [0.75, -2.0]
    assert [f.name for f in back.features] == ["both", ""]
    assert all((f.values == g.values).all() for f, g in zip(back.features, features, strict=True))


def test_structured_names_and_tied_parameters_come_back():
    days = [Discrete("rain", (True, False), index=(t,)) for t in range(3)]
    net = BayesNet(
        TableCPD(days[0], [0.5, 0.5]),
        *(TableCPD(days[t], [[0.7, 0.3], [0.3, 0.7]], given=days[t - 1], block="daily") for t in (1, 2)),
        LinearGaussian(Real("x", lag=1), covariance=1.0),
    )
    back = codec.parse(codec.render(net))
    assert back.variables == net.variables
    assert [cpd.block for cpd in back.cpds] == [cpd.block for cpd in net.cpds]
    assert back.num_parameters == net.num_parameters


def test_lone_surrogates_survive():
    net = BayesNet(TableCPD(Discrete("\ud800", ("\udfff", "y")), [0.5, 0.5]))
    assert codec.parse(codec.render(net)).variables == net.variables


NET = BayesNet(
    TableCPD(A, [0.25, 0.75]),
    TreeCPD(B, Split(A, {False: [0.5, 0.25, 0.25], True: [0, 0, 1]})),
    NoisyOr(Discrete("c"), {A: 0.5}, leak=0.125),
    name="small",
)
FILE = codec.render(NET, source="here")
MARKOV = codec.render(
    MarkovNet(Table((A, B), np.arange(6.0)), pairwise(Discrete.array("p", 3).grid_edges(), Potts(1.0)))
)


def changed(**keys) -> str:
    return json.dumps(json.loads(FILE) | keys, indent=1)


def test_versions():
    assert json.loads(FILE)["version"] == 2
    assert codec.parse(changed(version=2).encode()).name == "small"
    error = refusal(codec, changed(version=3))
    assert "format version 3; this sepset reads versions up to 2. Install a newer one" in str(error)
    assert error.line == 3
    for bad in (0, -1, "1", True, 1.0, None):
        refusal(codec, changed(version=bad))


def test_older_versions_are_upgraded(monkeypatch):
    def upgrade(document):
        return {**document, "name": document["name"] + " of old", "version": 3}

    monkeypatch.setattr(codec, "UPGRADES", (lambda document: document, upgrade))
    monkeypatch.setattr(codec, "VERSION", 3)
    assert codec.parse(changed(version=2).encode()).name == "small of old"
    assert codec.parse(changed(version=3).encode()).name == "small"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected an object"),
        ("{}", "expected the key 'format'"),
        (changed(format="other"), "expected the format 'sepset'"),
        (changed(kind="net"), "expected one of bayes_net, markov_net, chain_graph"),
        (changed(color="red"), "unknown key"),
        (changed(name=3), "name: expected a string"),
        (changed(notes="x"), "expected a list"),
        (changed(cpds=[]), "found 0 conditional distributions of 3 variables"),
        (changed(cpds=json.loads(FILE)["cpds"][:1] * 3), "cpds: "),
        (changed(variables=json.loads(FILE)["variables"] + [{"name": "a", "states": 2}]), "a"),
    ],
)
def test_what_is_refused(text, message):
    assert message in str(refusal(codec, text))


def test_cycles_are_refused():
    table = {"kind": "table", "rows": [[0.5, 0.5]] * 2}
    cpds = [table | {"child": "a", "given": ["b"]}, table | {"child": "b", "given": ["a"]}]
    text = changed(variables=[{"name": "a", "states": 2}, {"name": "b", "states": 2}], cpds=cpds)
    assert "cycle" in str(refusal(codec, text))


def test_small_misses_are_scaled_and_noted_or_kept():
    net = BayesNet(TableCPD(A, [0.3333333, 0.6666666], tolerance=1e-6))
    read = codec.parse(codec.render(net))
    assert read.cpd("a").values.sum() == pytest.approx(1, abs=1e-15)
    assert len(read.notes) == 1
    kept = codec.parse(codec.render(net), reading=Reading(normalize=False))
    assert kept.cpd("a").values.tolist() == [0.3333333, 0.6666666]
    assert kept.notes == ()


def test_a_file_speaks_of_itself():
    data = codec.render(NET, source="a book", license="free")
    assert codec.about(data) == {"name": "small", "source": "a book", "license": "free"}
    assert codec.parse(data).name == "small"


class Strange:
    name, notes = "", ()


def test_other_models_have_no_form():
    with pytest.raises(NotApplicable, match="JSON files store"):
        codec.render(Strange())


@given(mutated(FILE) | mutated(MARKOV))
def test_damaged_files_are_read_or_refused(data):
    accept_or_refuse(codec, data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_any_value_in_any_place_is_read_or_refused(data):
    root = json.loads(data.draw(st.sampled_from([FILE, MARKOV])))
    inner, key = root, data.draw(st.sampled_from(sorted(root)))
    while isinstance(inner[key], dict | list) and inner[key] and data.draw(st.booleans()):
        inner = inner[key]
        key = data.draw(st.sampled_from(sorted(inner)) if isinstance(inner, dict) else st.integers(0, len(inner) - 1))
    inner[key] = data.draw(JSON)
    accept_or_refuse(codec, json.dumps(root).encode())


def test_published_networks_come_back():
    net = bif.parse(gzip.decompress(one_shared("nets/insurance.bif.gz").read_bytes()))
    back = codec.parse(codec.render(net))
    assert_same_network(back, net, printed=False)
    assert back.notes == net.notes
    with pytest.raises(FileFormatError):
        codec.parse(codec.render(net)[:-100])
