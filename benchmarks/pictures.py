"""Pictures: a network as SVG, drawn again in the same process and for the first time in a new one; Graphviz as peer."""

from __future__ import annotations

import shutil
import subprocess

from benchmarks import networks
from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.startup import start_python
from benchmarks.worker import Lab

NETWORKS = ("asia", "child", "insurance", "alarm", "hailfinder", "win95pts", "hepar2", "andes", "pigs")
FIRST = "import sepset as ss; len(ss.draw(ss.read({path!r})).to_svg())"


def draw_sepset(path: str) -> Timing:
    """Layout and SVG of a model that is read already."""
    import sepset as ss

    model = ss.read(path)
    return measure(lambda: ss.draw(model).to_svg())


def draw_dot(path: str) -> Timing:
    """A process of Graphviz that draws the same boxes and arrows, its start included."""
    import sepset as ss

    program = shutil.which("dot")
    if program is None:
        raise ModuleNotFoundError("Graphviz is not installed")
    text = ss.draw(ss.read(path)).to_dot().encode()
    return measure(lambda: subprocess.run([program, "-Tsvg"], input=text, check=True, capture_output=True))


def run(lab: Lab) -> list[Report]:
    """Two tables: seconds for one picture, and for a process that reads a file and draws it."""
    chosen = [(name, networks.paths()[name]) for name in NETWORKS if name in networks.paths()]
    rows = [
        Comparison(
            name,
            seconds(lab.ask("sepset", draw_sepset, path)),
            {"dot": seconds(lab.ask("sepset", draw_dot, path))},
            target="100 ms" if name == "alarm" else "",
            headline="ALARM drawn as SVG, with its layout" if name == "alarm" else "",
        )
        for name, path in chosen
    ]
    path = networks.paths()["alarm"]
    first = seconds(lab.ask("sepset", start_python, FIRST.format(path=path)))
    read = seconds(lab.ask("sepset", start_python, f"import sepset as ss; ss.read({path!r})"))
    starts = [Comparison("import, read alarm.bif", read), Comparison("import, read alarm.bif, draw it", first)]
    note = "sepset lays out and draws in the process; dot is a process of its own, whose start is included."
    return [
        Report("One picture", rows, note),
        Report(
            "The first picture of a new process", starts, "The difference is what the picture takes.", has_mean=False
        ),
    ]
