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

SINGLE = 1e-6  # pyAgrum's readers of BIF and UAI keep single precision


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


@pytest.mark.parametrize("suffix", [".bif", ".bifxml", ".net"])
@pytest.mark.parametrize("name", ["asia", "alarm", "survey"])
def test_pyagrum_reads_what_we_write(name, suffix, tmp_path):
    gum = pytest.importorskip("pyagrum")
    net = datasets.load(name)
    path = tmp_path / f"{name}{suffix}"
    write(net, path)
    assert_same_as_pyagrum(net, gum.loadBN(str(path)))


def first_parent_fastest(cpd):
    """The numbers of a table in file order, over its parents from the last to the first, then the child."""
    shape = [v.num_states for v in (*reversed(cpd.parents), cpd.child)]
    return [*reversed(cpd.parents), cpd.child], cpd.table.flat.reshape(shape)


@pytest.mark.parametrize("suffix", [".uai", ".xdsl"])
@pytest.mark.parametrize("seed", range(4))
def test_pyagrum_takes_the_first_parent_as_the_fastest(seed, suffix, tmp_path):
    """UAI and XDSL say the last one is: so does pgmpy, and so GeNIe writes. Nothing else differs."""
    gum = pytest.importorskip("pyagrum")
    net = random_network(seed, "words", least=2)
    write(net, tmp_path / f"net{suffix}")
    peer = gum.loadBN(str(tmp_path / f"net{suffix}"))
    names = {v.name: str(i) if suffix == ".uai" else v.name for i, v in enumerate(net.variables)}
    for cpd in net.cpds:
        table = peer.cpt(names[cpd.child.name])
        scope, values = first_parent_fastest(cpd)
        own = [names[v.name] for v in scope]
        order = [own.index(table.variable(i).name()) for i in reversed(range(table.nbrDim()))]
        assert np.abs(values.transpose(order) - table.toarray()).max() <= (SINGLE if suffix == ".uai" else 0.0)


@pytest.mark.parametrize("suffix", [".bif", ".bifxml", ".net", ".xdsl"])
def test_we_read_what_pyagrum_writes(suffix, tmp_path):
    gum = pytest.importorskip("pyagrum")
    peer = gum.fastBN("a{x|y}->b{u|v|w}<-c[4];b->d;a->d")
    path = tmp_path / f"net{suffix}"
    gum.saveBN(peer, str(path))
    assert_same_as_pyagrum(read(path), peer)


@pytest.mark.parametrize("suffix", [".bif", ".bifxml", ".net", ".xdsl"])
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


STATES = {
    "words": lambda rng, k: [f"s{i}" for i in range(k)],
    "numbers": lambda rng, k: rng.choice(50, k, replace=False).tolist(),
    "fractions": lambda rng, k: (rng.choice(50, k, replace=False) / 4).tolist(),
    "truth values": lambda rng, k: [True, False] if k == 2 else [f"t{i}" for i in range(k)],
}
each_kind = pytest.mark.parametrize("kind", STATES)


def random_row(rng, k):
    """A distribution: certain, with a zero, with a tiny number, or any."""
    row = rng.dirichlet(np.full(k, rng.choice([0.1, 1.0, 10.0])))
    case, place = rng.integers(5), rng.integers(k)
    if case == 0:
        row = np.eye(k)[place]
    elif case == 1 and k > 1:
        row[place] = 0.0
    elif case == 2 and k > 1:
        row[place] = 10.0 ** -rng.uniform(5, 300)
    return row / row.sum()


def random_network(seed, kind, least=1):
    """One to eight variables of `least` to five states, each with up to four parents in any order."""
    rng = np.random.default_rng(seed)
    variables = [Discrete(f"v{i}", STATES[kind](rng, int(rng.integers(least, 6)))) for i in range(rng.integers(1, 9))]
    order = rng.permutation(len(variables)).tolist()
    cpds = {}
    for place, i in enumerate(order):
        chosen = rng.choice(order[:place], min(place, int(rng.integers(5))), replace=False) if place else []
        given = [variables[j] for j in chosen]
        contexts = int(np.prod([v.num_states for v in given]))
        rows = [random_row(rng, variables[i].num_states) for _ in range(contexts)]
        cpds[i] = TableCPD(variables[i], np.concatenate(rows), given=given)
    return BayesNet(*(cpds[i] for i in range(len(variables))))


def printed(net):
    """The network with its states as text."""
    own = {v.name: Discrete(v.name, list(map(str, v.states))) for v in net.variables}
    return BayesNet(
        *(TableCPD(own[c.child.name], c.table.flat, given=[own[p.name] for p in c.parents]) for c in net.cpds)
    )


@each_kind
@pytest.mark.parametrize("seed", range(4))
def test_pyagrum_reads_random_networks(seed, kind, tmp_path):
    """Of one state each in XML alone; fractions as states not in BIF."""
    gum = pytest.importorskip("pyagrum")
    for suffix, least in {".bifxml": 1, ".net": 2, ".bif": 2}.items():
        if suffix != ".bif" or kind != "fractions":
            net = random_network(seed, kind, least)
            write(net, tmp_path / f"net{suffix}")
            assert_same_as_pyagrum(printed(net), gum.loadBN(str(tmp_path / f"net{suffix}")))


@each_kind
@pytest.mark.parametrize("seed", range(4))
def test_pgmpy_reads_random_networks(seed, kind, tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    net = random_network(seed, kind)
    for suffix, reader in {".bif": "BIFReader", ".xmlbif": "XMLBIFReader", ".net": "NETReader"}.items():
        write(net, tmp_path / f"net{suffix}")
        assert_same_as_pgmpy(net, getattr(readwrite, reader)(str(tmp_path / f"net{suffix}")).get_model())
    write(net, tmp_path / "net.xdsl")
    assert_same_as_pgmpy(net, readwrite.XDSLReader(str(tmp_path / "net.xdsl")).get_model(), names=net.variables.names)


def as_pyagrum(net, gum):
    peer = gum.BayesNet("net")
    for v in net.variables:
        peer.add(gum.LabelizedVariable(v.name, v.name, list(v.states)))
    for cpd in net.cpds:
        for parent in cpd.parents:
            peer.addArc(parent.name, cpd.child.name)
    for cpd in net.cpds:
        table = peer.cpt(cpd.child.name)
        names = [table.variable(i).name() for i in reversed(range(table.nbrDim()))]
        table.fillWith(cpd.table.align(names).values.reshape(-1).tolist())
    return peer


@each_kind
@pytest.mark.parametrize("seed", range(4))
def test_we_read_random_networks_of_pyagrum(seed, kind, tmp_path):
    """Its BIF files have no tables of variables of one state, and no fractions as states."""
    gum = pytest.importorskip("pyagrum")
    for suffix in (".bif", ".bifxml", ".net", ".xdsl"):
        if suffix != ".bif" or kind != "fractions":
            peer = as_pyagrum(printed(random_network(seed, kind, least=1 + (suffix == ".bif"))), gum)
            gum.saveBN(peer, str(tmp_path / f"net{suffix}"))
            assert_same_as_pyagrum(printed(read(tmp_path / f"net{suffix}")), peer)


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
    names = {
        "digits": ["node_1a", "node_2", "node_3_5"],
        "keywords": ["node_2" if suffix == ".net" else "node", "network", "table"],
        "truth values and numbers": ["a", "b", "c"],
    }
    assert_same_as_pgmpy(net, peer, names=names[kind])
