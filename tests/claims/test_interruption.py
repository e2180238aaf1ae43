"""Ctrl-C as a user presses it: a real signal to a process that is fitting."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import pytest

PROGRAM = """
    import sepset as ss

    truth = ss.BayesNet.random(ss.DAG.parse("h -> a; h -> b; h -> c; a -> d"), states=3, seed=1)
    rows = ss.missing.hide_cells(truth.sample(2000, 2).select(["a", "b", "c", "d"]), ss.missing.MCAR(0.3), seed=3)
    dag, hidden = truth.dag, [truth.variables["h"]]

    def go(**settings):
        return ss.fit(dag, rows, ss.{method}, variables=hidden, seed=5, progress=False, **settings)

    go(until=1)  # compiles
    print("ready", flush=True)
    found = go(until=ss.Until(steps=None, tolerance=None, seconds=120), checkpoint={file!r})
    rises = all(b >= a - 1e-12 * abs(a) for a, b in zip(found.trace, found.trace[1:]))
    print(found.status.value, rises, found.num_iterations == len(found.trace))
    again = go(until=found.num_iterations + 2, checkpoint={file!r})
    print(again.num_iterations > found.num_iterations, again.trace[: len(found.trace)].tolist() == found.trace.tolist())
"""


@pytest.mark.parametrize("method", ["EM()", "learning.IncrementalEM()"])
def test_a_signal_ends_a_fit_with_the_best_so_far(method, tmp_path):
    text = textwrap.dedent(PROGRAM).format(method=method, file=str(tmp_path / "run.bin"))
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        while not (tmp_path / "run.bin").exists():  # until the first steps are done
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.splitlines()[0] == "interrupted True True"
    assert output.splitlines()[1].endswith("True")
