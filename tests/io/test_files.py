from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import stat
import threading
import zlib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import sepset as ss
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.errors import FileFormatError, ModelError, NotApplicable
from sepset.io import bif, files
from sepset.io.files import read, suffixes, write
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Discrete, Real
from support.file_laws import assert_same_network

RAIN, WET = Discrete("rain", ("yes", "no")), Discrete("wet", ("yes", "no"))
NET = BayesNet(TableCPD(RAIN, [0.25, 0.75]), TableCPD(WET, [[0.5, 0.5], [0.125, 0.875]], given=RAIN))
NAMED = [suffix for suffix in suffixes() if suffix != ".uai"]


@pytest.mark.parametrize("packed", ["", ".gz", ".GZ"])
@pytest.mark.parametrize("suffix", NAMED)
def test_every_suffix(tmp_path, suffix, packed):
    path = tmp_path / f"net.v1{suffix}{packed}"
    write(NET, path)
    assert_same_network(read(path), NET, printed=True)
    assert_same_network(read(str(path)), NET, printed=True)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == bool(packed)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_uai(tmp_path):
    write(NET, tmp_path / "net.uai")
    assert read(tmp_path / "net.uai").variables.names == ("x0", "x1")


def test_compressed_files_do_not_depend_on_the_clock(tmp_path):
    write(NET, tmp_path / "a.bif.gz")
    write(NET, tmp_path / "b.bif.gz")
    assert (tmp_path / "a.bif.gz").read_bytes() == (tmp_path / "b.bif.gz").read_bytes()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("net.biff", "Did you mean '.bif'"),
        ("net", "is not a known format; known are .bif"),
        ("net.gz", "is not a known format"),
        ("net.uai.evid", "read_evidence"),
        ("net.PR", "read_result"),
    ],
)
def test_unknown_suffixes(tmp_path, name, message):
    for use in (lambda path: read(path), lambda path: write(NET, path)):
        with pytest.raises(FileFormatError) as caught:
            use(tmp_path / name)
        assert message in str(caught.value)
        assert ".xdsl" in str(caught.value)


def test_missing_files_are_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.bif")


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "bad.bif"
    path.write_text("network x {\n nonsense }")
    with pytest.raises(FileFormatError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:2:2: found 'nonsense'; ")
    assert caught.value.__cause__ is None


def test_normalize_reaches_the_reader(tmp_path):
    net = BayesNet(TableCPD(RAIN, [0.3333333, 0.6666666], tolerance=1e-6))
    for suffix in suffixes():
        path = tmp_path / f"net{suffix}"
        write(net, path)
        assert len(read(path).notes) == 1
        kept = read(path, normalize=False)
        assert kept.notes == ()
        assert kept.cpds[0].values.tolist() == [0.3333333, 0.6666666]


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "net.json"
    ss.write(ss.datasets.load("asia"), path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: nothing was written: .*net\.json") as found:
        ss.write(ss.datasets.load("student"), path)
    assert (found.value.errno, found.value.filename) == (errno.ENOSPC, str(path))
    assert [p.name for p in tmp_path.iterdir()] == ["net.json"]
    assert path.read_bytes() == before


def test_writing_is_atomic(tmp_path, monkeypatch):
    path = tmp_path / "net.bif"
    write(NET, path)
    before = path.read_bytes()
    hybrid = BayesNet(LinearGaussian(Real("x"), covariance=1.0))
    with pytest.raises(NotApplicable):
        write(hybrid, path)

    def fails(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        write(BayesNet(TableCPD(RAIN, [1, 0])), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["net.bif"]


def test_links_and_modes_are_kept(tmp_path):
    target, link = tmp_path / "real.bif", tmp_path / "link.bif"
    target.write_text("old")
    link.symlink_to(target)
    write(NET, link)
    assert link.is_symlink()
    assert read(target).variables.names == NET.variables.names
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask


def test_names_that_are_not_text(tmp_path):
    with pytest.raises(FileFormatError, match="not a character"):
        write(BayesNet(TableCPD(Discrete("\ud800"), [0.5, 0.5])), tmp_path / "a.bif")
    assert list(tmp_path.iterdir()) == []


def refused(path: Path, **options) -> str:
    with pytest.raises(FileFormatError) as caught:
        read(path, **options)
    return str(caught.value)


def test_large_files_are_refused(tmp_path):
    path = tmp_path / "a.bif"
    path.write_bytes(b" " * 1001)
    assert "larger than 1,000 bytes" in refused(path, max_bytes=1000)
    packed = tmp_path / "a.bif.gz"
    packed.write_bytes(gzip.compress(b" " * 100_000))
    assert "decompresses to more than 1,000 bytes" in refused(packed, max_bytes=1000)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_a_pipe_has_no_size_and_is_read_to_its_end(tmp_path):
    path, data = tmp_path / "pipe.bif", bif.render(NET) + b" " * 100_000
    os.mkfifo(path)
    for limit in (len(data), len(data) - 1):
        writer = threading.Thread(target=path.write_bytes, args=(data,))
        writer.start()
        if limit == len(data):
            assert_same_network(read(path, max_bytes=limit), NET, printed=True)
        else:
            assert f"larger than {limit:,} bytes" in refused(path, max_bytes=limit)
        writer.join()


def test_bombs_are_refused_while_they_unfold(tmp_path):
    path = tmp_path / "bomb.bif.gz"
    squeeze = zlib.compressobj(9, wbits=31)
    zeros = bytes(1 << 20)
    path.write_bytes(b"".join([*(squeeze.compress(zeros) for _ in range(200)), squeeze.flush()]))
    assert "300 times its size" in refused(path)


@pytest.mark.parametrize("cut", [0, 1, 5, 20, -1, -8])
def test_damaged_gzip(tmp_path, cut):
    path = tmp_path / "a.bif.gz"
    path.write_bytes(gzip.compress(bif.render(NET))[:cut])
    assert "gzip" in refused(path)
    path.write_bytes(b"network n { }")
    assert "gzip data are damaged" in refused(path)


@given(st.binary(max_size=60), st.integers(0, 200))
def test_any_gzip_is_read_or_refused(noise, place):
    data = bytearray(gzip.compress(bif.render(NET), mtime=0))
    data[place : place + len(noise)] = noise
    with contextlib.suppress(FileFormatError):
        files.decompressed(bytes(data), "f.gz", 1 << 20)


def test_gzip_members_are_joined():
    members = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0"
    assert files.decompressed(members, "f.gz", 100) == b"one two"
    buffer = io.BytesIO()
    with gzip.GzipFile("name", "wb", fileobj=buffer) as file:
        file.write(b"x")
    assert files.decompressed(buffer.getvalue(), "f.gz", 100) == b"x"


class Raises:
    def __init__(self, error):
        self.error = error

    def parse(self, data, file, reading):
        raise self.error


@pytest.mark.parametrize("error", [ModelError("inner"), MemoryError()])
def test_whatever_a_reader_stumbles_over_is_one_error(error):
    with pytest.raises(FileFormatError, match=r"f\.bif:1:1: (inner|the file needs more memory)"):
        files.parsed(Raises(error), b"", "f.bif", normalize=True)


def test_a_kind_can_be_asked_for(tmp_path):
    write(BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5])), tmp_path / "coin.json")
    assert isinstance(read(tmp_path / "coin.json", kind=BayesNet), BayesNet)
    with pytest.raises(FileFormatError, match="the file has a BayesNet; kind= asks for a MarkovNet"):
        read(tmp_path / "coin.json", kind=MarkovNet)


@pytest.mark.parametrize("suffix", [".bif", ".xmlbif", ".net", ".xdsl", ".uai", ".json"])
def test_contents_and_streams_are_recognized(tmp_path, suffix):
    path = tmp_path / f"asia{suffix}"
    ss.write(ss.datasets.load("asia"), path)
    model, data = ss.read(path), path.read_bytes()
    for source in (data, bytearray(data), io.BytesIO(data), io.StringIO(data.decode()), gzip.compress(data)):
        assert ss.read(source) == model
    assert ss.read(data, format=suffix[1:]) == ss.read(data, format=suffix) == model
    with open(path, "rb") as stream:
        assert ss.read(stream) == model


def test_contents_that_are_not_recognized():
    for source in (b"", b"some words", io.BytesIO(b"\x00\x01")):
        with pytest.raises(FileFormatError, match="format="):
            ss.read(source)
    with pytest.raises(FileFormatError, match="a path, bytes or a stream"):
        ss.read(3)
    with pytest.raises(FileFormatError, match="more than 10 bytes"):
        ss.read(b"network asia { }", max_bytes=10)


class Trickle:
    """A stream that returns less than is asked for, as pipes do."""

    def __init__(self, data):
        self.rest = data

    def read(self, size=-1, /):
        found, self.rest = self.rest[: min(size, 100)], self.rest[min(size, 100) :]
        return found


def test_streams_are_read_to_their_end(tmp_path):
    path = tmp_path / "asia.bif"
    ss.write(ss.datasets.load("asia"), path)
    for data in (path.read_bytes(), path.read_text()):
        assert ss.read(Trickle(data)) == ss.datasets.load("asia")
        with pytest.raises(FileFormatError, match="more than 250 bytes"):
            ss.read(Trickle(data), max_bytes=250)
    with pytest.raises(FileFormatError, match="not a character"):
        ss.read(io.StringIO("network \udcff {}"))


def test_the_format_of_a_path_can_be_named(tmp_path):
    ss.write(ss.datasets.load("asia"), tmp_path / "asia.bif")
    path = (tmp_path / "asia.bif").rename(tmp_path / "asia.txt")
    assert ss.read(path, format="bif") == ss.datasets.load("asia")
    with pytest.raises(FileFormatError, match="suffix"):
        ss.read(path)


def test_only_paths_are_written_to():
    with pytest.raises(ss.SepsetError, match="write needs the path of a file, whose suffix is the format; found a Byt"):
        ss.write(ss.datasets.load("asia"), io.BytesIO())
