"""Start-up: complete processes, including the interpreter."""

from __future__ import annotations

import subprocess
import sys

from benchmarks import networks
from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab, Outcome

# Imports alone are not informative if a library loads its parts on use: so also read a file and query.
FIRST_QUERY = {
    "sepset": "import sepset as ss; ss.query(ss.read({path!r}), 'lung', given={{'xray': 'yes'}}).values",
    "pyagrum": "import pyagrum as gum; bn = gum.loadBN({path!r}); ie = gum.LazyPropagation(bn); "
    "ie.setEvidence({{'xray': 'yes'}}); ie.makeInference(); ie.posterior('lung').toarray()",
    "pgmpy": "from pgmpy.readwrite import BIFReader; from pgmpy.inference import VariableElimination; "
    "VariableElimination(BIFReader({path!r}).get_model()).query(['lung'], {{'xray': 'yes'}}, show_progress=False)",
}


def _started(*command: str) -> Timing:
    return measure(lambda: subprocess.run(command, check=True, capture_output=True), seconds=2.0)


def start_python(code: str) -> Timing:
    return _started(sys.executable, "-c", code)


def start_help() -> Timing:
    return _started(sys.executable, "-m", "sepset.cli", "--help")


def importing(lab: Lab, library: str) -> float | str:
    return seconds(lab.ask(library, start_python, f"import {library}"))


def asking(lab: Lab, library: str) -> float | str:
    code = FIRST_QUERY[library].format(path=networks.paths()["asia"])
    return seconds(lab.ask(library, start_python, code))


def run(lab: Lab) -> list[Report]:
    """One table: seconds to import, to show the help, and to answer a first question."""
    bare: Outcome = lab.ask("sepset", start_python, "pass")
    imports = {name: importing(lab, name) for name in FIRST_QUERY}
    queries = {name: asking(lab, name) for name in FIRST_QUERY}
    rows = [
        Comparison("import", imports.pop("sepset"), imports, target="0.3 s"),
        Comparison("sepset --help", seconds(lab.ask("sepset", start_help)), target="0.5 s"),
        Comparison(
            "import, read asia.bif, one query",
            queries.pop("sepset"),
            queries,
            headline="a new process: import, read a file, one query",
        ),
    ]
    taken = f" The bare interpreter takes {seconds(bare):.2g} s of each." if isinstance(bare, Timing) else ""
    note = f"`import sepset` loads its parts when they are used, so the first query shows the whole cost.{taken}"
    return [Report("Start-up", rows, note)]
