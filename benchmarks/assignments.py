"""Assignments by search: gaps of grids within a time, and the rate of messages."""

from __future__ import annotations

from typing import Any

from benchmarks.measure import measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

SECONDS, PROOF_SECONDS = 2.0, 60.0
GRIDS = {"Potts 32 x 32 x 8": (32, 8, "0.04%"), "Potts 64 x 64 x 16": (64, 16, "0.12%")}


def potts(size: int, states: int) -> tuple[Any, float]:
    """A grid with whole costs, unary ones first, then one weight per edge; and the sum of the weights."""
    import numpy as np

    import sepset as ss
    from sepset.variables.array import Edges

    rng = np.random.default_rng(0)
    costs = rng.integers(0, 1001, (size * size, states)).astype(float)
    cells = np.arange(size * size, dtype=np.int32).reshape(size, size)
    across = np.stack([cells[:, :-1].reshape(-1), cells[:, 1:].reshape(-1)], axis=1)
    down = np.stack([cells[:-1].reshape(-1), cells[1:].reshape(-1)], axis=1)
    pairs = np.concatenate([across, down])
    weights = rng.integers(0, 401, len(pairs)).astype(float)
    label = ss.Discrete.array("label", (size, size), states=states)
    unary = -costs.reshape(size, size, states)
    return ss.MarkovNet.potts(label, weights, log_values=unary, edges=Edges(label, pairs)), float(weights.sum())


def gap(name: str) -> tuple[float, float, float]:
    """The energy, the gap relative to it, and the seconds."""
    import time

    import sepset as ss

    net, total = potts(*GRIDS[name][:2])
    method = ss.inference.AutomaticSearch()
    ss.map_assignment(net, method=method, until=2)
    start = time.perf_counter()
    found = ss.map_assignment(net, method=method, until=ss.Until(steps=None, tolerance=1e-9, seconds=SECONDS))
    energy = total - found.log_value
    return energy, 100.0 * found.gap / energy, time.perf_counter() - start


def proof(name: str) -> tuple[float, float]:
    """The gap relative to the energy, in percent, with triplets of variables, and the seconds."""
    import time

    import sepset as ss

    net, total = potts(*GRIDS[name][:2])
    method = ss.inference.ClusterPursuit()
    ss.map_assignment(net, method=method, until=2)
    start = time.perf_counter()
    found = ss.map_assignment(net, method=method, until=ss.Until(steps=None, tolerance=0.0, seconds=PROOF_SECONDS))
    return 100.0 * found.gap / (total - found.log_value), time.perf_counter() - start


def rate(_: str) -> float:
    """Messages times labels per second of sequential message passing on a grid of 256 x 256 with 16 labels."""
    import numpy as np

    import sepset as ss
    from sepset.inference.wiring import Wiring

    wiring = Wiring.of(potts(256, 16)[0].as_written())
    messages = np.zeros(int(wiring.wires.messages[-1]))
    timing = measure(lambda: ss.TRWS().passed(wiring, messages))
    return 2.0 * wiring.num_factors * 16 / float(seconds(timing)) / 1e6


def run(lab: Lab) -> list[Report]:
    """One table: grids and rates."""
    rows = []
    for name in lab.wanted(list(GRIDS)):
        found = lab.ask("sepset", gap, name)
        parts = [found] * 3 if isinstance(found, str) else list(found)
        rows += [
            Comparison(f"{name}: energy", parts[0], kind="number"),
            Comparison(
                f"{name}: gap, percent of the energy", parts[1], kind="number", target=f"at most {GRIDS[name][2]}"
            ),
            Comparison(f"{name}: seconds", parts[2]),
        ]
        closed = lab.ask("sepset", proof, name)
        ends = [closed] * 2 if isinstance(closed, str) else list(closed)
        rows += [
            Comparison(f"{name}: gap with triplets, percent", ends[0], kind="number", target="0 within 60 s"),
            Comparison(f"{name}: seconds with triplets", ends[1]),
        ]
    passed = lab.ask("sepset", rate, "256 x 256 x 16")
    rows.append(Comparison("messages x labels, millions per second", passed, kind="number", target="at least 150"))
    note = (
        f"The default search with {SECONDS:g} seconds: tree-reweighted message passing, then expansions; and "
        f"`ClusterPursuit` with {PROOF_SECONDS:g} seconds."
    )
    return [Report("Assignments by search", rows, note, has_mean=False)]
