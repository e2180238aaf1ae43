"""Start-up: whole processes, interpreter included."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab, Outcome

FIRST_QUERY = "import sepset as ss; ss.query(ss.datasets.load('asia'), 'lung', given={'xray': 'yes'})"


def _started(*command: str) -> Timing:
    return measure(lambda: subprocess.run(command, check=True, capture_output=True), seconds=2.0)


def start_python(code: str) -> Timing:
    return _started(sys.executable, "-c", code)


def start_help() -> Timing:
    return _started(sys.executable, "-m", "sepset.cli", "--help")


def importing(lab: Lab, library: str) -> float | str:
    return seconds(lab.ask(library, start_python, f"import {library}"))


def run(lab: Lab) -> list[Report]:
    """One table: seconds to import, to show the help, and to answer a first question."""
    bare: Outcome = lab.ask("sepset", start_python, "pass")
    peers = {name: importing(lab, name) for name in ("pyagrum", "pgmpy")}
    rows = [
        Comparison("import", importing(lab, "sepset"), peers, target="0.3 s", headline="import the library"),
        Comparison("sepset --help", seconds(lab.ask("sepset", start_help)), target="0.5 s"),
        Comparison("import and first query", seconds(lab.ask("sepset", start_python, FIRST_QUERY))),
    ]
    note = f"The bare interpreter takes {seconds(bare):.2g} s of each." if isinstance(bare, Timing) else ""
    return [Report("Start-up", rows, note)]
