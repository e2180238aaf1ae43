"""Networks as this library and its peers read them."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from sepset import datasets
from sepset.cpds.table import TableCPD
from sepset.io import bif
from sepset.io.files import read, write
from sepset.io.record import Reading
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete
from support.shared_files import each_shared

pytestmark = pytest.mark.crosscheck

SINGLE = 1e-6  # pyAgrum's BIF reader keeps single precision


def plain(path, tmp_path):
    target = tmp_path / path.name.removesuffix(".gz")
    target.write_bytes(gzip.decompress(path.read_bytes()))
    return target


def ours(path):
    return bif.parse(gzip.decompress(path.read_bytes()), reading=Reading(normalize=False))


def assert_same_as_pyagrum(net, peer):
    """Every table, by the names and states of the peer."""
    assert {peer.variable(node).name() for node in peer.nodes()} == set(net.variables.names)
    for name in net.variables.names:
        table = peer.cpt(name)
        # Axes of toarray go from the last variable to the first.
        scope = [table.variable(i) for i in reversed(range(table.nbrDim()))]
        moved = net.cpd(name).table.align([v.name() for v in scope])
        order = [[o.states.index(s) for s in v.labels()] for o, v in zip(moved.scope, scope, strict=True)]
        assert np.abs(moved.values[np.ix_(*order)] - table.toarray()).max() < SINGLE


@each_shared("nets/*.bif.gz")
def test_pyagrum_reads_the_same(path, tmp_path):
    gum = pytest.importorskip("pyagrum")
    try:
        peer = gum.loadBN(str(plain(path, tmp_path)))
    except gum.GumException as error:
        pytest.skip(f"pyAgrum cannot read it: {error}")
    assert_same_as_pyagrum(ours(path), peer)


# pyAgrum lets the first parent run fastest in UAI and XDSL files, against both formats' descriptions.
@pytest.mark.parametrize("suffix", [".bif", ".bifxml", ".net"])
@pytest.mark.parametrize("name", ["asia", "alarm", "survey"])
def test_pyagrum_reads_what_we_write(name, suffix, tmp_path):
    gum = pytest.importorskip("pyagrum")
    net = datasets.load(name)
    path = tmp_path / f"{name}{suffix}"
    write(net, path)
    assert_same_as_pyagrum(net, gum.loadBN(str(path)))


@pytest.mark.parametrize("suffix", [".bif", ".bifxml", ".net"])
def test_we_read_what_pyagrum_writes(suffix, tmp_path):
    gum = pytest.importorskip("pyagrum")
    peer = gum.fastBN("a{x|y}->b{u|v|w}<-c[4];b->d;a->d")
    path = tmp_path / f"net{suffix}"
    gum.saveBN(peer, str(path))
    assert_same_as_pyagrum(read(path), peer)


@pytest.mark.parametrize("suffix", [".bif", ".bifxml", ".net"])
@pytest.mark.parametrize("seed", range(3))
def test_we_read_wide_rows_that_pyagrum_prints_with_few_digits(seed, suffix, tmp_path):
    gum = pytest.importorskip("pyagrum")
    gum.initRandom(seed + 1)
    peer = gum.fastBN("a[10]->b[20]->c[5]<-a;d[3]->c")
    path = tmp_path / f"net{suffix}"
    gum.saveBN(peer, str(path))
    assert_same_as_pyagrum(read(path), peer)


@pytest.mark.parametrize("name", ["asia", "survey"])
@pytest.mark.parametrize(("suffix", "reader"), [(".bif", "BIFReader"), (".xmlbif", "XMLBIFReader")])
def test_pgmpy_reads_every_number_that_we_write(name, suffix, reader, tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    net, path = datasets.load(name), tmp_path / f"{name}{suffix}"
    write(net, path)
    peer = getattr(readwrite, reader)(str(path)).get_model()
    assert {cpd.variable for cpd in peer.get_cpds()} == set(net.variables.names)
    for cpd in peer.get_cpds():
        table = net.cpd(cpd.variable).table.align(cpd.variables)
        order = [[list(map(str, v.states)).index(s) for s in cpd.state_names[v.name]] for v in table.scope]
        assert np.abs(table.values[np.ix_(*order)] - cpd.values).max() < 1e-12


@each_shared("nets/*.bif.gz")
def test_pgmpy_reads_the_same(path, tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    net = ours(path)
    try:
        peer = readwrite.BIFReader(str(plain(path, tmp_path))).get_model()
    except Exception as error:
        pytest.skip(f"pgmpy cannot read it: {error}")
    for cpd in peer.get_cpds():
        states = cpd.state_names
        moved = net.cpd(cpd.variable).table.align(cpd.variables)
        places = [[v.states.index(s) for s in states[v.name]] for v in moved.scope]
        assert np.abs(moved.values[np.ix_(*places)] - cpd.values).max() < 1e-6


@pytest.mark.parametrize("name", ["asia", "alarm", "survey"])
@pytest.mark.parametrize("suffix", [".xdsl", ".xmlbif"])
def test_pgmpy_reads_what_we_write(name, suffix, tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    net = datasets.load(name)
    path = tmp_path / f"{name}{suffix}"
    write(net, path)
    reader = {".xdsl": "XDSLReader", ".xmlbif": "XMLBIFReader"}[suffix]
    for cpd in getattr(readwrite, reader)(str(path)).get_model().get_cpds():
        assert np.abs(net.cpd(cpd.variable).table.align(cpd.variables).values - cpd.values).max() < 1e-6


AWKWARD = {
    "spaces": (("a b", "c d e", "f g"), (("x y", "z t"), ("u v", "v w", "w"), ("p", "q q"))),
    "letters of other scripts": (
        ("größe", "температура", "年"),
        (("klein", "groß"), ("низкая", "высокая", "é"), ("是", "否")),
    ),
    "quotes": (('a"b', "c'd", "e\\f"), (('x"y', "z"), ("u'v", "w"), ("p\\q", "q"))),
    "digits": (("1a", "2", "3.5"), (("1", "2"), ("0a", "1b", "2c"), ("10", "20"))),
    "words of Python": (("True", "None", "nan"), (("True", "False"), ("None", "NA", "x"), ("1.0", "2.0"))),
    "keywords": (("node", "network", "table"), (("variable", "states"), ("property", "data", "default"), ("a", "b"))),
    "markup": (("a<b", "b&c", "c>d"), (("x<y", "z&t"), ("u>v", "]]>", "<w/>"), ("p;", "q,r"))),
    "truth values and numbers": (("a", "b", "c"), ((True, False), (1.0, 2.5, -1.0), (1, 2))),
}
each_awkward = pytest.mark.parametrize("case", AWKWARD.values(), ids=AWKWARD)


def awkward_network(case):
    """Three variables, a -> b -> c <- a, with random tables."""
    a, b, c = (Discrete(name, states) for name, states in zip(*case, strict=True))
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(a.num_states)), rng.dirichlet(np.ones(b.num_states), a.num_states)
    third = rng.dirichlet(np.ones(c.num_states), (a.num_states, b.num_states))
    return BayesNet(TableCPD(a, first), TableCPD(b, second, given=a), TableCPD(c, third, given=[a, b]))


def assert_same_as_pgmpy(net, peer, names=None):
    """Every table, by names and states, or where these are given by the peer's names and the order of states."""
    own = dict(zip(net.variables.names if names is None else names, net.variables, strict=True))
    assert {cpd.variable for cpd in peer.get_cpds()} == set(own)
    for cpd in peer.get_cpds():
        table = net.cpd(own[cpd.variable].name).table.align([own[name].name for name in cpd.variables])
        order = [range(v.num_states) for v in table.scope]
        if names is None:
            order = [[list(map(str, v.states)).index(str(s)) for s in cpd.state_names[v.name]] for v in table.scope]
        assert np.abs(table.values[np.ix_(*order)] - cpd.values).max() < 1e-12


@each_awkward
def test_peers_read_awkward_names_from_xml(case, tmp_path):
    gum, readwrite = pytest.importorskip("pyagrum"), pytest.importorskip("pgmpy.readwrite")
    net = awkward_network(case)
    write(net, tmp_path / "net.bifxml")
    write(net, tmp_path / "net.xmlbif")
    assert_same_as_pgmpy(net, readwrite.XMLBIFReader(str(tmp_path / "net.xmlbif")).get_model())
    printed = awkward_network((case[0], [tuple(map(str, states)) for states in case[1]]))
    assert_same_as_pyagrum(printed, gum.loadBN(str(tmp_path / "net.bifxml")))


@each_awkward
def test_pgmpy_reads_the_factors_of_awkward_names_from_uai(case, tmp_path):
    """The format has neither names nor states. Of BAYES files pgmpy takes a table's numbers by the child first."""
    readwrite = pytest.importorskip("pgmpy.readwrite")
    net, path = awkward_network(case).markov_net(), tmp_path / "net.uai"
    write(net, path)
    place = {f"var_{i}": v.name for i, v in enumerate(net.variables)}
    found = readwrite.UAIReader(str(path)).get_model().get_factors()
    own = {frozenset(v.name for v in factor.scope): factor for factor in net.factors}
    assert len(found) == len(own) == 3
    for factor in found:
        names = [place[name] for name in factor.variables]
        assert np.abs(own[frozenset(names)].align(names).values - factor.values).max() < 1e-12


@pytest.mark.parametrize("suffix", [".net", ".xdsl"])
@pytest.mark.parametrize("kind", ["digits", "keywords", "truth values and numbers"])
def test_pgmpy_reads_identifiers_in_place_of_awkward_names(kind, suffix, tmp_path):
    """NET and XDSL name nodes by identifiers; the names are labels, which pgmpy does not read."""
    readwrite = pytest.importorskip("pgmpy.readwrite")
    net, path = awkward_network(AWKWARD[kind]), tmp_path / f"net{suffix}"
    write(net, path)
    peer = getattr(readwrite, {".net": "NETReader", ".xdsl": "XDSLReader"}[suffix])(str(path)).get_model()
    names = [
        name if name.isidentifier() and name != "node" else f"node_{i}" for i, name in enumerate(net.variables.names)
    ]
    assert_same_as_pgmpy(net, peer, names=names)
