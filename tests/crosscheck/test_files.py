"""Networks as this library and its peers read them."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from sepset.io import bif
from shared_files import each_shared

pytestmark = pytest.mark.crosscheck

SINGLE = 1e-6  # pyAgrum's BIF reader keeps single precision


def plain(path, tmp_path):
    target = tmp_path / path.name.removesuffix(".gz")
    target.write_bytes(gzip.decompress(path.read_bytes()))
    return target


def ours(path):
    return bif.parse(gzip.decompress(path.read_bytes()), normalize=False)


@each_shared("nets/*.bif.gz")
def test_pyagrum_reads_the_same(path, tmp_path):
    gum = pytest.importorskip("pyagrum")
    net = ours(path)
    peer = gum.loadBN(str(plain(path, tmp_path)))
    assert {peer.variable(n).name() for n in peer.nodes()} == set(net.variables.names)
    for name in net.variables.names:
        table = peer.cpt(name)
        scope = [table.variable(i) for i in range(table.nbrDim())]
        # Axes of toarray go from the last variable to the first.
        order = [v.name() for v in reversed(scope)]
        moved = net.cpd(name).table.align(order)
        labels = {v.name(): v.labels() for v in scope}
        states = [[v.states.index(label) for label in labels[v.name]] for v in moved.scope]
        assert np.abs(moved.values[np.ix_(*states)] - table.toarray()).max() < SINGLE


@each_shared("nets/*.bif.gz")
def test_pgmpy_reads_the_same(path, tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    if path.stat().st_size > 20_000:
        pytest.skip("takes pgmpy minutes")
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
