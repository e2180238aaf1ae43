"""What is compiled ahead is what questions use."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from sepset.kernels import compile as compiling, warm
from support.bounded import child


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_questions_need_no_other_signatures():
    """In a process of its own, where nothing else has compiled a kernel for other kinds of arguments."""
    done = child(
        """
        import importlib
        import sepset as ss
        from sepset.kernels import compile, warm
        from sepset.kernels.forms import one_form
        from sepset.kernels.kernel import load_all

        load_all()
        compile.OFTEN = 0
        engine = ss.prepare(ss.datasets.load("asia"))
        engine.marginals(given={"xray": "yes"})["lung"]
        engine.map_assignment(given={"xray": "yes"})
        in_order = ss.CliqueTree(order=ss.graphs.MinFill())
        ss.prepare(ss.datasets.load("asia"), method=in_order).marginals(given={"xray": "yes"})["lung"]
        engine.predict({"smoke": ["yes", "no", None], "dysp": [None, "no", "yes"]}, targets="lung")
        rows = ss.sample(ss.datasets.load("asia"), 20, seed=0)
        ss.fit(ss.datasets.load("asia").dag, rows, ss.Bayes(ss.BDeu(1)))
        ss.fit(ss.DAG.parse("a -> b"), {"a": [0, 1, None], "b": [0, None, 1]}, ss.EM(ss.BDeu(1)))
        from sepset.inference import costs
        from sepset.inference.compiled import dense
        costs.NANOSECONDS_FOR_THREADS, costs.WORK_OF_A_FIRST_RUN = 0.0, -1
        costs.WORK_OF_A_SHORT_RUN, costs.WORK_UNDIVIDED = -1, -1
        dense.is_ready = lambda: True
        a, b = ss.Discrete("a", 20), ss.Discrete("b", 20)
        pair = ss.MarkovNet(ss.Table([a, b], [[1.0] * 20] * 20), ss.Table(b, [1.0] * 20))
        ss.query(pair, [a, b], method=ss.CliqueTree(threads=2))
        costs.FACTORS_AT_ONCE, costs.ENTRIES_SLICED, costs.ENTRIES_OF_A_SLICE = -1, 8, 20
        costs.NANOSECONDS_PER_PRODUCT = costs.NANOSECONDS_PER_ENTRY = 0.0
        several = [ss.Discrete(f"x{i}", 3) for i in range(6)]
        pairs = (ss.Table([x, y], [[1.0] * 3] * 3) for i, x in enumerate(several) for y in several[:i])
        ss.marginals(ss.MarkovNet(*pairs), method=ss.CliqueTree(threads=2))["x0"]
        for name, letters in warm.KERNELS.items():
            module, _, function = name.rpartition(".")
            kernel = getattr(importlib.import_module("sepset.kernels." + module), function)
            if kernel.signatures != [one_form(kernel.py_func, warm.signature(letters))]:
                print(name, kernel.signatures)
        """
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


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
            self.pid = 1
            calls.append((command, settings["env"]))

    monkeypatch.setattr(compiling.subprocess, "Popen", Process)
    compiling._warm_up()
    return calls


def test_a_process_is_started_where_it_is_welcome(monkeypatch):
    monkeypatch.setattr(compiling, "num_processors", lambda: 2)
    ((command, environment),) = started(monkeypatch, SEPSET_WARM="1")
    assert command == [sys.executable, "-m", "sepset.kernels.warm"]
    assert environment["SEPSET_WARM"] == "0"


def test_no_process_is_started_where_it_is_not(monkeypatch):
    monkeypatch.setattr(compiling, "num_processors", lambda: 2)
    assert started(monkeypatch, SEPSET_WARM="0") == []
    monkeypatch.setenv("SEPSET_WARM", "1")
    monkeypatch.setattr(compiling.sys, "frozen", True, raising=False)
    assert started(monkeypatch) == []
    monkeypatch.delattr(compiling.sys, "frozen")
    monkeypatch.setattr(compiling, "num_processors", lambda: 1)
    assert started(monkeypatch) == []


def test_a_background_process_ends_soon_after_its_parent():
    """The parent starts one that would sleep on; it says when it began, and is gone a moment after the parent."""
    script = """
        import os, subprocess, sys
        work = (
            "import os, time; from sepset.kernels.warm import end_with; end_with(os.getppid(), patience=0.5);"
            "print(os.getpid(), flush=True); time.sleep(600)"
        )
        command = [sys.executable, "-c", work]
        started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        print(started.stdout.readline().strip(), flush=True)
        os._exit(0)
    """
    done = child(script)
    number = int(done.stdout)
    for _ in range(600):
        if not os.path.exists(f"/proc/{number}"):
            return
        time.sleep(0.1)
    pytest.fail("still there a minute later")


def test_the_log_names_the_background_process(monkeypatch, caplog):
    monkeypatch.setattr(compiling, "num_processors", lambda: 2)
    monkeypatch.setenv("SEPSET_WARM", "1")

    class Process:
        pid = 77

        def __init__(self, command, **settings):
            pass

    monkeypatch.setattr(compiling.subprocess, "Popen", Process)
    with caplog.at_level("INFO", logger="sepset"):
        compiling._warm_up()
    assert "process 77 compiles other kernels" in caplog.text
    assert "SEPSET_WARM=0" in caplog.text
