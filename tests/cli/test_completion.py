"""What the shell is offered."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

import sepset as ss
from sepset.cli.completion import findings, networks, states, variables


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
    assert findings(on_line("asia"), "smoke=") == findings(on_line("asia"), "sm") == ["smoke=yes", "smoke=no"]
    assert findings(on_line("asia"), "") == [f"{name}=" for name in ss.datasets.load("asia").variables.names]
    assert findings(on_line("asia"), "x=") == []
    ss.write(ss.datasets.load("student"), tmp_path / "own.bif")
    assert findings(on_line(str(tmp_path / "own.bif")), "sat=h") == ["sat=high"]


def test_states_of_the_target_on_the_line():
    context = on_line("asia")
    assert states(context, "") == []
    context.params["target"] = "lung"
    assert states(context, "y") == ["yes"]


@pytest.mark.parametrize(
    ("typed", "place", "offered"),
    [
        ("sepset query asia --given xray =", 5, ["yes", "no"]),
        ("sepset query asia --given xray = yes --given smo", 8, ["smoke=yes", "smoke=no"]),
    ],
)
def test_bash_splits_words_at_equals_signs(typed, place, offered):
    """What bash passes for `xray=y` are three words, of which it replaces the last."""
    asked = {"_SEPSET_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(typed.split()), "COMP_CWORD": str(place)}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['sepset']; from sepset.cli import main; main()"],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == offered


@pytest.mark.parametrize("file", ["", "none", "/"])
def test_nothing_where_there_is_no_model(file):
    assert variables(on_line(file), "") == []
    assert findings(on_line(file), "") == []
