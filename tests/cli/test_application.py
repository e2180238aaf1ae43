"""The application: all commands are there, and the version."""

from __future__ import annotations

from typer.testing import CliRunner

import sepset as ss
from sepset import cli

COMMANDS = {"info", "convert", "query", "map", "sample", "plan", "fit", "evaluate", "impute", "warm"}


def test_help_lists_every_command():
    found = CliRunner().invoke(cli.app, ["--help"])
    assert found.exit_code == 0
    assert set(found.output.split()) >= COMMANDS


def test_the_version_is_printed():
    assert CliRunner().invoke(cli.app, ["--version"]).output == f"sepset {ss.__version__}\n"
