"""The command line tells its version, completes what it knows, and prints what can be read."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sepset as ss
from sepset.cli import app
from support.bounded import child

VERSION = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]["version"]
PROGRAM = """
    sys.argv = ["sepset"]
    from sepset.cli import main
    main()
"""


def test_the_command_tells_its_version():
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, VERSION in done.output) == (0, True)


def completions(*words: str) -> list[str]:
    """What bash is offered for the last word."""
    done = child(
        PROGRAM, _SEPSET_COMPLETE="complete_bash", COMP_WORDS=" ".join(["sepset", *words]), COMP_CWORD=str(len(words))
    )
    return done.stdout.split()


def test_commands_are_completed():
    assert completions("qu") == ["query"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(("query", "a"), {"alarm", "asia"}, id="networks"),
        pytest.param(("query", "asia", "--target", "l"), {"lung"}, id="variables"),
        pytest.param(("query", "asia", "--given", "smoke=y"), {"smoke=yes"}, id="states"),
    ],
)
def test_networks_variables_and_states_are_completed(words, expected):
    assert set(completions(*words)) >= expected


def test_a_list_of_many_explanations_can_be_read():
    done = CliRunner().invoke(app, ["map", "asia", "--best", "20"], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    assert "…" not in done.output
    assert all(name in done.output for name in ss.datasets.load("asia").variables.names)
