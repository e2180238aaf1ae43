"""The command that fills the cache of compiled kernels."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from sepset.cli import app, warm
from sepset.kernels import compile as compiling, warm as ahead
from support.bounded import child


@pytest.fixture
def quick(monkeypatch):
    """Nothing is compiled; the environment and the known folder are restored."""
    monkeypatch.setenv("SEPSET_CACHE_DIR", "")
    monkeypatch.setenv("SEPSET_WARM", "0")
    monkeypatch.setattr(ahead, "compile_ahead", lambda: iter(["run"]))
    monkeypatch.setattr(warm, "rehearse", lambda: iter(()))
    yield
    compiling.cache_directory.cache_clear()


def test_a_folder_is_made_and_filled(quick, tmp_path, monkeypatch):
    def compile_ahead():
        (compiling.cache_directory() / "run.nbi").write_bytes(b"12345")
        return iter(["run"])

    monkeypatch.setattr(ahead, "compile_ahead", compile_ahead)
    done = CliRunner().invoke(app, ["warm", "--into", str(tmp_path / "new" / "cache"), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told == {
        "folder": str(tmp_path / "new" / "cache" / "sepset" / "kernels"),
        "steps": 1,
        "files": 1,
        "bytes": 5,
    }


def test_the_answer_is_one_line(quick, tmp_path):
    done = CliRunner().invoke(app, ["warm", "--into", str(tmp_path)])
    assert done.exit_code == 0
    assert "0 files, 0 bytes, in" in done.output


def test_a_folder_that_cannot_be_made_is_said(quick, monkeypatch):
    monkeypatch.setattr(compiling, "cache_directory", lambda: None)
    monkeypatch.setattr(compiling.cache_directory, "cache_clear", lambda: None, raising=False)
    done = CliRunner().invoke(app, ["warm"])
    assert "Name one with --into" in done.output


def test_after_the_rehearsal_no_question_waits_for_the_compiler():
    """One process compiles everything into the cache of this machine; another process compiles nothing.

    Both are new: a process that ran other tests may hold kernels that were saved elsewhere, or not at all.
    """
    first = child(
        """
        from sepset.cli.warm import rehearse
        from sepset.kernels.warm import compile_ahead
        print(len(list(compile_ahead())) > 0, len(list(rehearse())))
        """
    )
    assert first.stdout == "True 6\n", first.stdout + first.stderr
    done = child(
        """
        from sepset.kernels.kernel import load
        load()
        from sepset.kernels import compile as compiling
        compiled = []
        compiling._KernelCache._notice = lambda self: compiled.append(self._name)
        from sepset.cli.warm import rehearse
        print(len(list(rehearse())), compiled)
        """
    )
    assert done.stdout.split(" ", 1) == ["6", "[]\n"], done.stdout + done.stderr
