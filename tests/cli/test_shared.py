"""What commands share: models by file or name, answers in two forms, one line for errors."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sepset as ss
from sepset.cli.shared import load, one_line_errors, plain, require_place, show


def test_models_by_file_or_by_name(tmp_path):
    path = tmp_path / "asia.bif"
    ss.write(ss.datasets.load("asia"), path)
    assert len(load(str(path)).variables) == len(load("asia").variables) == 8
    with pytest.raises(ss.ScopeError, match="Did you mean 'asia'"):
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
        raise ss.DataError("two\nlines")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "sepset: two lines\n"
    with pytest.raises(ZeroDivisionError), one_line_errors():
        raise ZeroDivisionError
    with pytest.raises(SystemExit) as ended, one_line_errors():
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capsys.readouterr().err == "sepset: interrupted\n"


def test_places_are_checked_before_work_is_done(tmp_path):
    require_place(tmp_path / "model.json")
    with pytest.raises(ss.FileFormatError, match="no directory"):
        require_place(tmp_path / "none" / "model.json")
