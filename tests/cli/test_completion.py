"""What the shell is offered."""

from __future__ import annotations

import click
import pytest

import sepset as ss
from sepset.cli.completion import findings, networks, variables


def on_line(file):
    context = click.Context(click.Command("query"))
    context.params = {"file": file}
    return context


def test_networks_files_and_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asians").mkdir()
    (tmp_path / "asia.bif").write_text("")
    assert networks("asia") == ["asia", "asia.bif", "asians/"]
    assert networks(f"{tmp_path}/asia.") == [f"{tmp_path}/asia.bif"]
    assert networks("nowhere/x") == []


def test_variables_and_states_of_the_model_on_the_line(tmp_path):
    assert variables(on_line("asia"), "s") == ["smoke"]
    assert findings(on_line("asia"), "smoke=") == ["smoke=", "smoke=yes", "smoke=no"]
    ss.write(ss.datasets.load("student"), tmp_path / "own.bif")
    assert findings(on_line(str(tmp_path / "own.bif")), "sat=h") == ["sat=high"]


@pytest.mark.parametrize("file", ["", "none", "/"])
def test_nothing_where_there_is_no_model(file):
    assert variables(on_line(file), "") == []
    assert findings(on_line(file), "") == []
