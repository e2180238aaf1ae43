"""Plain lines: read as the application reads them, answered the same, and all others left to it."""

from __future__ import annotations

import subprocess
import sys
from typing import get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from sepset import cli
from sepset.cli import answers
from sepset.cli.quick import LINES, quick, read


@pytest.mark.parametrize("name", LINES)
def test_a_line_takes_what_the_application_declares(name):
    command = typer.main.get_command(cli.app).commands[name]
    declared = {p.name: p for p in command.params if p.name != "help"}
    line = LINES[name]
    names = {written: option.name for written, option in line.options.items()}
    assert names == {written: p.name for p in declared.values() for written in p.opts if written.startswith("-")}
    assert list(line.arguments) == [p.name for p in declared.values() if p.param_type_name == "argument"]
    for option in line.options.values():
        assert (option.kind == "flag") == bool(declared[option.name].is_flag)
        assert (option.kind == "texts") == declared[option.name].multiple
        if option.kind == "number":
            assert (
                get_type_hints(command.callback, include_extras=True)[option.name].__metadata__[0].min == option.least
            )
    assert callable(getattr(answers, line.answer))


def test_words_become_parameters():
    words = ["asia", "-t", "lung", "--target=bronc", "-g", "xray=yes", "--given=smoke!=no", "--method", "elimination"]
    assert read(LINES["query"], words) == {
        "target": ["lung", "bronc"],
        "given": ["xray=yes", "smoke!=no"],
        "method": answers.MethodName.elimination,
        "file": "asia",
    }


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["--version"],
        ["query"],
        ["query", "asia", "alarm"],
        ["query", "--help"],
        ["query", "asia", "-t"],
        ["query", "asia", "-t", "--json"],
        ["query", "asia", "-tlung"],
        ["query", "asia", "--tar", "lung"],
        ["query", "asia", "--method", "guess"],
        ["query", "asia", "--json=yes"],
        ["query", "--", "asia"],
        ["map", "asia", "-k", "0"],
        ["map", "asia", "-k", "two"],
        ["map", "asia", "-k", "²"],
        ["sample", "asia", "-n", "-3"],
        ["sample", "asia", "-n", "9" * 5000],
        ["plan", "asia"],
        ["fit", "rows.csv"],
    ],
)
def test_other_lines_are_left_to_the_application(words):
    assert quick(words) is None


@pytest.mark.parametrize(
    "words",
    [
        ["query", "asia", "-t", "lung", "-g", "xray=yes"],
        ["query", "asia", "--json"],
        ["query", "asia", "-t", "lung", "-m", "elimination", "--likelihood=xray=0.5,1"],
        ["map", "asia", "-g", "xray=yes", "-k", "2", "--over", "lung", "--over", "bronc"],
        ["info", "asia", "--json"],
        ["sample", "asia", "-n", "3", "-s", "7", "--json"],
    ],
)
def test_the_answers_are_those_of_the_application(words, capsys):
    call = quick(words)
    assert call is not None
    call()
    plain = capsys.readouterr().out
    assert plain
    assert CliRunner().invoke(cli.app, words).output == plain


def test_files_are_written_as_by_the_application(tmp_path):
    for number, words in enumerate((["convert", "asia"], ["sample", "asia", "-n", "3", "-o"])):
        plain, other = tmp_path / f"{number}a.json", tmp_path / f"{number}b.json"
        if number:
            plain, other = plain.with_suffix(".csv"), other.with_suffix(".csv")
        call = quick([*words, str(plain)])
        assert call is not None
        call()
        assert CliRunner().invoke(cli.app, [*words, str(other)]).exit_code == 0
        assert plain.read_bytes() == other.read_bytes()


def test_a_plain_question_loads_no_parser():
    code = (
        "import sys; sys.argv = ['sepset', 'query', 'asia', '-t', 'lung', '--json']\n"
        "from sepset.cli import main; main()\n"
        "print([m for m in ('typer', 'click', 'pydantic', 'rich', 'numba', 'scipy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_an_error_is_one_line_with_the_same_exit_code(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sepset", "query", "asia", "-t", "lungs"])
    with pytest.raises(SystemExit) as exit_code:
        cli.main()
    assert exit_code.value.code == 2
    assert capsys.readouterr().err.startswith("sepset: Unknown variable 'lungs'. Did you mean 'lung'?")
