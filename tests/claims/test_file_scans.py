"""Fitting to a file reads the file once or twice, however many columns and families there are."""

from __future__ import annotations

from pathlib import Path

import pytest

import sepset as ss

COUNTERS = Path("/proc/self/io")
pytestmark = pytest.mark.skipif(not COUNTERS.is_file(), reason="the system does not count the bytes that are read")


def bytes_read() -> int:
    """What this process has read so far, from the disk or from memory."""
    counts = dict(line.split(": ") for line in COUNTERS.read_text().splitlines())
    return int(counts["rchar"])


@pytest.fixture(scope="module")
def network() -> ss.BayesNet:
    return ss.datasets.load("insurance")  # 27 variables


@pytest.fixture(scope="module")
def folder(network, tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("rows")
    rows = ss.sample(network, 5000, seed=0)
    for suffix in ("csv", "parquet"):
        ss.data.write_dataset(rows, made / f"rows.{suffix}")
    return made


def scans(path: Path, work) -> float:
    """How often the work reads a file, by the bytes that are read."""
    work()  # imports what it needs
    before = bytes_read()
    work()
    return (bytes_read() - before) / path.stat().st_size


def test_reading_a_file_is_one_scan(folder):
    path = folder / "rows.csv"
    assert scans(path, lambda: ss.data.read_dataset(path)) < 1.5


@pytest.mark.parametrize(
    ("suffix", "is_network"),
    [
        pytest.param(suffix, is_network, id=f"{suffix}, {'a network' if is_network else 'a graph'}")
        for suffix in ("csv", "parquet")
        for is_network in (False, True)
    ],
)
def test_fitting_to_a_file_takes_few_scans(network, folder, suffix, is_network):
    path, structure = folder / f"rows.{suffix}", network if is_network else network.dag
    assert scans(path, lambda: ss.fit(structure, path, ss.Bayes(ss.BDeu(1)))) < 2.5


@pytest.mark.parametrize("method", [ss.MLE(unseen="uniform"), ss.Bayes(ss.BDeu(1)), ss.EM(ss.BDeu(1))], ids=repr)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_fit_is_the_same_whether_the_rows_are_in_memory_or_in_a_file(network, folder, suffix, method):
    path, until = folder / f"rows.{suffix}", ss.Until(steps=2)
    options = {"until": until} if isinstance(method, ss.EM) else {}
    found = ss.fit(network.dag, path, method, **options).model
    expected = ss.fit(network.dag, ss.data.read_dataset(path), method, **options).model
    for cpd in expected.cpds:
        assert found.variables[cpd.child.name] == cpd.child
        assert (found.cpd(cpd.child.name).values == cpd.values).all()


def test_a_file_that_is_too_large_to_be_read_whole_stays_where_it_is(network, folder, monkeypatch):
    from sepset.data import filecolumns

    expected = ss.fit(network.dag, folder / "rows.csv", ss.Bayes(ss.BDeu(1))).model
    monkeypatch.setattr(filecolumns, "LARGEST", 1000)
    found = ss.fit(network.dag, folder / "rows.csv", ss.Bayes(ss.BDeu(1))).model
    for cpd in expected.cpds:
        assert abs(found.cpd(cpd.child.name).values - cpd.values).max() < 1e-12
