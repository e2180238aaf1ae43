"""Forward sampling of ALARM into a pandas frame."""

from __future__ import annotations

from typing import Any

from benchmarks import networks
from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

SIZES = (10_000, 1_000_000)
WIDE = ("pigs", 100_000)


def _alarm() -> Any:
    import sepset as ss

    return ss.datasets.load("alarm")


def _model(path: str) -> Any:
    return networks.load(path) if path else _alarm()


def draw_sepset(rows: int, path: str = "") -> Timing:
    net = _model(path)
    return measure(lambda: net.sample(rows, seed=0, threads=1).to_frame("pandas"))


def draw_pyagrum(rows: int, path: str = "") -> Timing:
    import pyagrum as gum

    from benchmarks.peers import to_pyagrum

    bn = to_pyagrum(_model(path))

    def draw() -> object:
        generator = gum.BNDatabaseGenerator(bn)
        generator.drawSamples(rows)
        return generator.to_pandas()

    return measure(draw)


def draw_pgmpy(rows: int, path: str = "") -> Timing:
    from pgmpy.sampling import BayesianModelSampling

    from benchmarks.peers import to_pgmpy

    sampler = BayesianModelSampling(to_pgmpy(_model(path)))
    return measure(lambda: sampler.forward_sample(size=rows, seed=0, show_progress=False))


def compared(lab: Lab, case: str, rows: int, path: str = "") -> Comparison:
    peers = {
        "pyagrum": seconds(lab.ask("pyagrum", draw_pyagrum, rows, path)),
        "pgmpy": seconds(lab.ask("pgmpy", draw_pgmpy, rows, path)),
    }
    million = rows == max(SIZES)
    return Comparison(
        f"{case}, {rows:,} rows",
        seconds(lab.ask("sepset", draw_sepset, rows, path)),
        peers,
        target="20x" if million else "",
        headline=f"sample {rows:,} rows of {case} into pandas" if million else "",
    )


def run(lab: Lab) -> list[Report]:
    """One table: seconds from a model in memory to a pandas frame of states."""
    rows = [compared(lab, "ALARM", size) for size in SIZES]
    name, size = WIDE
    if name in networks.paths():
        rows.append(compared(lab, name, size, networks.paths()[name]))
    note = "sepset fills categorical columns, pgmpy integers, pyAgrum strings, which is most of its time."
    return [Report("Forward sampling", rows, note)]
