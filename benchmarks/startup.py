"""Start-up: complete processes, including the interpreter, with bytecode as an installed package has it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache

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


@cache
def environment() -> dict[str, str]:
    """The environment of the processes: bytecode is written once, whatever this process does."""
    folder = os.path.join(tempfile.gettempdir(), "sepset-bytecode")
    others = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**others, "PYTHONPYCACHEPREFIX": folder}


def _started(*command: str, **settings: str) -> Timing:
    """Seconds of the process, after a first run that writes bytecode."""

    def run() -> None:
        subprocess.run(command, check=True, capture_output=True, env={**environment(), **settings})

    run()
    return measure(run, seconds=2.0)


def start_python(code: str) -> Timing:
    return _started(sys.executable, "-c", code)


def start_help() -> Timing:
    return _started(sys.executable, "-m", "sepset", "--help")


ALARM = {
    "sepset": "import sepset as ss; print(ss.query(ss.read({path!r}), 'HYPOVOLEMIA', given={{'HRBP': 'HIGH'}}).values)",
    "pyagrum": "import pyagrum as gum; bn = gum.loadBN({path!r}); ie = gum.LazyPropagation(bn); "
    "ie.addTarget('HYPOVOLEMIA'); ie.setEvidence({{'HRBP': 'HIGH'}}); ie.makeInference(); "
    "print(ie.posterior('HYPOVOLEMIA').toarray())",
}
PEAK = "import resource; print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def start_empty(code: str) -> Timing:
    """The same with a kernel cache that does not exist."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"SEPSET_CACHE_DIR": os.path.join(folder, "none"), "SEPSET_WARM": "0"}
        return _started(sys.executable, "-c", code, **settings)


def start_query(path: str) -> Timing:
    return _started(sys.executable, "-m", "sepset", "query", path, "-t", "HYPOVOLEMIA", "-g", "HRBP=HIGH")


def peak_bytes(code: str) -> float:
    """The peak memory of a process that runs the code."""
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}], capture_output=True); {PEAK}"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    return 1024.0 * float(done.stdout)


def first_answers(lab: Lab) -> list[Comparison]:
    """ALARM from a file to a printed answer: the process from its start to its end, and its memory."""
    path = networks.paths()["alarm"]
    code = {name: text.format(path=path) for name, text in ALARM.items()}
    peers = {name: seconds(lab.ask(name, start_python, code[name])) for name in code if name != "sepset"}
    sizes = {name: lab.ask(name, peak_bytes, text) for name, text in code.items()}
    return [
        Comparison(
            "ALARM from a file to a printed answer",
            seconds(lab.ask("sepset", start_python, code["sepset"])),
            peers,
            target="0.45 s",
            headline="a new process: ALARM from a file to a printed answer",
        ),
        Comparison(
            "the same with an empty kernel cache",
            seconds(lab.ask("sepset", start_empty, code["sepset"])),
            peers,
            target="0.45 s",
        ),
        Comparison("sepset query", seconds(lab.ask("sepset", start_query, path)), peers, target="0.45 s"),
        Comparison("its peak memory", sizes.pop("sepset"), sizes, kind="B", target="70 MB"),
    ]


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
    return [Report("Start-up", [*rows, *first_answers(lab)], note)]
