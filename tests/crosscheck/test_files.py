"""Networks as this library and its peers read them."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from sepset import datasets
from sepset.io import bif
from sepset.io.files import read, write
from sepset.io.record import Reading
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
