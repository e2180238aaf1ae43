"""Whatever is written to a file appears whole or not at all, with the mode that the file had."""

from __future__ import annotations

import errno
import os
import stat

import pytest

import sepset as ss
from sepset.io.files import suffixes
from sepset.io.results import write_evidence
from sepset.learning.structure.exact.scoretable import ScoreTable

NET = ss.BayesNet.random(ss.DAG.parse("a -> b"), seed=0)
ROWS = ss.Dataset({"x": ["u", None, "v"], "y": [0.5, 1.5, float("nan")]})
SCORES = ScoreTable.of_children(["a"], [([0], [-1.0])])
DRAWING = ss.draw(NET)


def write_rows(path):
    ss.data.write_dataset(ROWS, path)


def run(path):
    ss.fit(
        ss.DAG.parse("x -> y"), {"x": ["a", "b", None], "y": ["c", "d", "d"]}, ss.EM(), until=1, progress=False
    ).state.save(path)


WRITERS = {
    **{f"model{suffix}": lambda path: ss.write(NET, path) for suffix in suffixes()},
    **dict.fromkeys(("rows.csv", "rows.tsv.gz", "rows.parquet", "rows.feather"), write_rows),
    **dict.fromkeys([f"picture.{kind}" for kind in ("svg", "png", "pdf", "dot", "mmd", "txt")], DRAWING.save),
    "plot.png": lambda path: ss.plotting.save(lambda axes: axes.plot([0, 1]), path),
    "model.evid": lambda path: write_evidence({"a": NET["a"].states[0]}, path, model=NET),
    "table.scores": SCORES.write,
    "run.checkpoint": run,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_file(name, tmp_path, monkeypatch):
    if name == "rows.feather":
        pytest.importorskip("pyarrow")
    file = tmp_path / name
    file.write_text("old")
    file.chmod(0o600)

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left on device: nothing was") as found:
            WRITERS[name](file)
    assert (found.value.errno, found.value.filename) == (errno.ENOSPC, str(file))
    assert (file.read_text(), os.listdir(tmp_path)) == ("old", [name])
    WRITERS[name](file)
    assert file.read_bytes() != b"old"
    assert os.listdir(tmp_path) == [name]
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_is_no_file(name, tmp_path):
    if name == "rows.feather":
        pytest.importorskip("pyarrow")
    (tmp_path / name).mkdir()
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        WRITERS[name](tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert os.listdir(tmp_path / name) == []


@pytest.mark.parametrize("name", WRITERS)
def test_a_missing_folder_is_named(name, tmp_path):
    if name == "rows.feather":
        pytest.importorskip("pyarrow")
    file = tmp_path / "absent" / name
    with pytest.raises(FileNotFoundError, match="absent") as found:
        WRITERS[name](file)
    assert found.value.filename == str(file)
    with pytest.raises(ss.errors.FileFormatError, match="zero character"):
        WRITERS[name](f"{tmp_path}/\0{name}")
    assert os.listdir(tmp_path) == []


def test_places_are_refused_before_any_work_with_the_same_error(tmp_path):
    rows = {"x": ["a", "b", None], "y": ["c", "d", "d"]}
    for place, kind in ((tmp_path, IsADirectoryError), (tmp_path / "absent" / "run", FileNotFoundError)):
        with pytest.raises(kind) as found:
            ss.fit(ss.DAG.parse("x -> y"), rows, ss.EM(), checkpoint=place)
        assert found.value.filename == str(place)
