"""What commands share: models by file or name, answers in two forms, one line for errors."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

import sepset as ss
from sepset.cli.shared import (
    load,
    one_line_errors,
    plain,
    require_model_file,
    require_rows_file,
    show,
)


def test_models_by_file_or_by_name(tmp_path):
    path = tmp_path / "asia.bif"
    ss.write(ss.datasets.load("asia"), path)
    assert len(load(str(path)).variables) == len(load("asia").variables) == 8
    with pytest.raises(ss.errors.ScopeError, match="Did you mean 'asia'"):
        load("assia")


def test_answers_for_programs_and_for_people(capsys):
    show({"values": np.array([0.5, 0.5]), "name": "λ"}, True, lambda: "unused")
    assert json.loads(capsys.readouterr().out) == {"values": [0.5, 0.5], "name": "λ"}
    show({}, False, lambda: "for people")
    assert capsys.readouterr().out == "for people\n"
    assert plain(np.int64(3)) == 3
    assert plain(ss.Not("a")) == str(ss.Not("a"))


def test_errors_are_one_line(capsys):
    with pytest.raises(SystemExit) as ended, one_line_errors():
        raise ss.errors.DataError("two\nlines")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "sepset: two lines\n"
    with pytest.raises(ZeroDivisionError), one_line_errors():
        raise ZeroDivisionError
    with pytest.raises(SystemExit) as ended, one_line_errors():
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capsys.readouterr().err == "sepset: interrupted\n"


def test_too_little_memory_is_one_line(capsys):
    with pytest.raises(SystemExit) as ended, one_line_errors():
        raise MemoryError("Unable to allocate 7 TiB")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "sepset: this needs more memory than is available. Unable to allocate 7 TiB\n"


def test_places_are_checked_before_work_is_done(tmp_path):
    require_model_file(tmp_path / "model.json.gz")
    require_rows_file(tmp_path / "rows.csv.gz")
    with pytest.raises(FileNotFoundError, match="no directory"):
        require_model_file(tmp_path / "none" / "model.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        require_model_file(tmp_path / "folder.json")
    with pytest.raises(ss.errors.FileFormatError, match="known format"):
        require_model_file(tmp_path / "model.csv")
    with pytest.raises(ss.errors.FileFormatError, match="format of rows"):
        require_rows_file(tmp_path / "rows.json")


COMMAND = [sys.executable, "-m", "sepset"]


def test_a_reader_that_has_enough_is_no_error():
    many = [*COMMAND, "sample", "asia", "-n", "20000", "--json"]
    with subprocess.Popen(many, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(9) == b'{"rows": '
        process.stdout.close()
        told = process.stderr.read()
        process.wait(timeout=60)
    assert b"Traceback" not in told


def test_a_signal_ends_quietly():
    many = [*COMMAND, "sample", "asia", "-n", "200000", "--json"]
    with subprocess.Popen(many, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(1)  # it is writing, and waits for its reader
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told in (b"", b"sepset: interrupted\n")


def test_help_is_quick_and_needs_no_engine():
    text = "import sys; sys.argv = ['sepset', 'fit', '--help']; import sepset.cli as c\n"
    text += (
        "try: c.main()\nexcept SystemExit: pass\nprint([m for m in ('numba', 'scipy', 'pandas') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
    assert told.splitlines()[-1] == "[]"
    assert "--checkpoint" in told
