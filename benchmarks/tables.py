"""Building large Markov networks: Potts grids of 4 states, time and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.measure import Timing, measure, peak_memory
from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

SIDES = (32, 128, 1024)
STATES = 4
WEIGHT = 1.5
TIME, MEMORY = "0.3 s", "200 MB"

Built = tuple[Timing, int]


def _built(build: Callable[[], object]) -> Built:
    """The time to build, and the increase of peak memory by the first build."""
    before = peak_memory()
    kept = build()
    grown = peak_memory() - before
    del kept
    return measure(build), grown


def build_sepset(side: int) -> Built:
    import sepset as ss

    ss.MarkovNet.potts(ss.Discrete.array("warm", (2, 2), states=STATES), WEIGHT)
    return _built(lambda: ss.MarkovNet.potts(ss.Discrete.array("pixel", (side, side), states=STATES), WEIGHT))


def _pairs(side: int) -> list[tuple[int, int]]:
    right = [(r * side + c, r * side + c + 1) for r in range(side) for c in range(side - 1)]
    down = [(r * side + c, (r + 1) * side + c) for r in range(side - 1) for c in range(side)]
    return right + down


def _potts() -> Any:
    import numpy as np

    return np.exp(WEIGHT * np.eye(STATES))


def build_pyagrum(side: int) -> Built:
    import pyagrum as gum

    pairs, table = _pairs(side), _potts()

    def build() -> object:
        net = gum.MarkovRandomField()
        for i in range(side * side):
            net.add(gum.RangeVariable(f"x{i}", "", 0, STATES - 1))
        for first, second in pairs:
            net.addFactor([f"x{first}", f"x{second}"])[:] = table
        return net

    return _built(build)


def build_pgmpy(side: int) -> Built:
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.models import DiscreteMarkovNetwork

    pairs, table = _pairs(side), _potts()

    def build() -> object:
        net = DiscreteMarkovNetwork()
        net.add_nodes_from(f"x{i}" for i in range(side * side))
        net.add_edges_from((f"x{first}", f"x{second}") for first, second in pairs)
        net.add_factors(*(DiscreteFactor([f"x{a}", f"x{b}"], [STATES, STATES], table) for a, b in pairs))
        return net

    return _built(build)


def run(lab: Lab) -> list[Report]:
    """Two tables: seconds, and the growth of the process's peak memory."""
    times, sizes = [], []
    for side in SIDES:
        ours = lab.ask("sepset", build_sepset, side, fresh=True)
        peers = {
            "pyagrum": lab.ask("pyagrum", build_pyagrum, side, fresh=True),
            "pgmpy": lab.ask("pgmpy", build_pgmpy, side, fresh=True),
        }
        large = side == max(SIDES)
        case = f"{side} x {side}"
        times.append(
            Comparison(
                case,
                _time(ours),
                {name: _time(built) for name, built in peers.items()},
                target=TIME if large else "",
                headline=f"build a {case} Potts grid" if large else "",
            )
        )
        sizes.append(
            Comparison(
                case,
                _memory(ours),
                {name: _memory(built) for name, built in peers.items()},
                kind="B",
                target=MEMORY if large else "",
                headline=f"memory of a {case} Potts grid" if large else "",
            )
        )
    note = "sepset keeps one named table for all edges; the peers are given one table per edge."
    return [Report("Building a Potts grid: seconds", times, note), Report("Building a Potts grid: memory", sizes, note)]


def _time(built: Built | str) -> float | str:
    return built if isinstance(built, str) else built[0].best


def _memory(built: Built | str) -> float | str:
    return built if isinstance(built, str) else float(built[1])
