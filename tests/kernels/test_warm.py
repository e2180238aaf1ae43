"""What is compiled ahead is what questions use."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

import sepset as ss
from sepset.kernels import compile as compiling, warm


def kernel_of(name):
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(f"sepset.kernels.{module}"), function)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_questions_need_no_other_signatures():
    engine = ss.prepare(ss.datasets.load("asia"))
    engine.marginals(given={"xray": "yes"})["lung"]
    engine.predict({"smoke": ["yes", "no", None], "dysp": [None, "no", "yes"]}, targets="lung")
    rows = ss.sample(ss.datasets.load("asia"), 20, seed=0)
    ss.fit(ss.datasets.load("asia").dag, rows, ss.Bayes(ss.BDeu(1)))
    ss.fit(ss.DAG.parse("a -> b"), {"a": [0, 1, None], "b": [0, None, 1]}, ss.EM(ss.BDeu(1)))
    for name, letters in warm.KERNELS.items():
        assert warm.signature(letters) in kernel_of(name).signatures, name


def test_compiling_ahead_goes_through_all_of_them():
    assert list(warm.compile_ahead()) == list(warm.KERNELS)


def test_the_program_ends_well():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "sepset.kernels.warm"],
        env={**os.environ, "SEPSET_WARM": "0"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def started(monkeypatch, **environment):
    calls = []
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    class Process:
        def __init__(self, command, **settings):
            calls.append((command, settings["env"]))

    monkeypatch.setattr(compiling.subprocess, "Popen", Process)
    compiling._warm_up()
    return calls


def test_a_process_is_started_where_it_is_welcome(monkeypatch):
    monkeypatch.setattr(compiling.os, "cpu_count", lambda: 2)
    ((command, environment),) = started(monkeypatch, SEPSET_WARM="1")
    assert command == [sys.executable, "-m", "sepset.kernels.warm"]
    assert environment["SEPSET_WARM"] == "0"


def test_no_process_is_started_where_it_is_not(monkeypatch):
    monkeypatch.setattr(compiling.os, "cpu_count", lambda: 2)
    assert started(monkeypatch, SEPSET_WARM="0") == []
    monkeypatch.setenv("SEPSET_WARM", "1")
    monkeypatch.setattr(compiling.sys, "frozen", True, raising=False)
    assert started(monkeypatch) == []
    monkeypatch.delattr(compiling.sys, "frozen")
    monkeypatch.setattr(compiling.os, "cpu_count", lambda: 1)
    assert started(monkeypatch) == []
