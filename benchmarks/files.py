"""Reading network files: every network as plain BIF, from the path to a model in memory."""

from __future__ import annotations

from benchmarks import networks
from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

TARGETS = {"munin": "0.4 s"}


def read_sepset(path: str) -> Timing:
    import sepset as ss

    return measure(lambda: ss.read(path))


def read_pyagrum(path: str) -> Timing:
    import pyagrum as gum

    return measure(lambda: gum.loadBN(path))


def read_pgmpy(path: str) -> Timing:
    from pgmpy.readwrite import BIFReader

    return measure(lambda: BIFReader(path).get_model())


def compared(lab: Lab, name: str, path: str) -> Comparison:
    peers = {
        "pyagrum": seconds(lab.ask("pyagrum", read_pyagrum, path)),
        "pgmpy": seconds(lab.ask("pgmpy", read_pgmpy, path)),
    }
    return Comparison(
        name,
        seconds(lab.ask("sepset", read_sepset, path)),
        peers,
        target=TARGETS.get(name, ""),
        headline=f"read {name}.bif" if name in TARGETS else "",
    )


def run(lab: Lab) -> list[Report]:
    """One table: seconds to read each network."""
    rows = [compared(lab, name, path) for name, path in networks.paths().items()]
    note = "pyAgrum's reader keeps float32; sepset and pgmpy keep float64. sepset checks every row's sum."
    return [Report("Reading BIF files", rows, note)]
