"""Assignments by search: gaps of grids within a time, and the rate of messages."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from benchmarks import toulbar2
from benchmarks.measure import measure, now
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

SECONDS, PROOF_SECONDS, PEER_SECONDS, PATIENCE = 2.0, 60.0, 60.0, 600.0
MILLION = 1e6


class Grid(NamedTuple):
    """A square grid of whole costs: its size, its labels, and what is asked of the gap.

    Attributes:
        kind: "Potts" for one weight per edge; "glass" if half of the weights favor unequal labels; "linear" for one
            weight times a truncated distance.
    """

    kind: str
    size: int
    labels: int
    target: str = ""


GRIDS = {
    "Potts 32 x 32 x 8": Grid("Potts", 32, 8, "at most 0.04%"),
    "Potts 64 x 64 x 16": Grid("Potts", 64, 16, "at most 0.12%"),
    "spin glass 40 x 40": Grid("glass", 40, 2),
    "truncated linear 48 x 48 x 16": Grid("linear", 48, 16),
}
SMALLEST, BEST = "Potts 32 x 32 x 8", 5
"""The grid of which several assignments are asked for, and how many."""

WEIGHT, LIMIT = 120.0, 3.0
"""Of truncated distances."""


def costs(grid: Grid) -> tuple[Any, Any, Any]:
    """Unary costs, the pairs, and the weight of each: unary ones are drawn first, then one weight per edge."""
    import numpy as np

    rng, size = np.random.default_rng(0), grid.size
    alone = rng.integers(0, 1001, (size * size, grid.labels)).astype(float)
    cells = np.arange(size * size, dtype=np.int32).reshape(size, size)
    across = np.stack([cells[:, :-1].reshape(-1), cells[:, 1:].reshape(-1)], axis=1)
    down = np.stack([cells[:-1].reshape(-1), cells[1:].reshape(-1)], axis=1)
    pairs = np.concatenate([across, down])
    low = -400 if grid.kind == "glass" else 0
    weights = rng.integers(low, 401, len(pairs)).astype(float)
    return alone, pairs, np.full(len(pairs), WEIGHT) if grid.kind == "linear" else weights


def model(grid: Grid) -> tuple[Any, float]:
    """The grid as a model, and what its log values are to be subtracted from for an energy."""
    import sepset as ss
    from sepset.variables.array import Edges

    alone, pairs, weights = costs(grid)
    label = ss.Discrete.array("label", (grid.size, grid.size), states=grid.labels)
    edges, unary = Edges(label, pairs), -alone.reshape(grid.size, grid.size, grid.labels)
    if grid.kind == "linear":
        smooth = ss.potentials.pairwise(edges, ss.potentials.TruncatedLinear(WEIGHT, LIMIT))
        return ss.MarkovNet(ss.potentials.unary(label, unary), smooth), 0.0
    return ss.MarkovNet.potts(label, weights, log_values=unary, edges=edges), float(weights.sum())


def gap(name: str) -> tuple[float, float, float]:
    """The energy, the gap relative to it, and the seconds."""
    import time

    import sepset as ss

    net, total = model(GRIDS[name])
    method = ss.inference.AutomaticSearch()
    ss.map_assignment(net, method=method, until=2)
    start = time.perf_counter()
    found = ss.map_assignment(net, method=method, until=ss.Until(steps=None, tolerance=1e-9, seconds=SECONDS))
    energy = total - found.log_value
    return energy, 100.0 * found.gap / abs(energy), time.perf_counter() - start


def proof(name: str) -> tuple[float, float, float]:
    """The bound on the energy, the gap relative to it, in percent, with triplets of variables, and the seconds."""
    import sepset as ss

    net, total = model(GRIDS[name])
    method = ss.inference.ClusterPursuit()
    ss.map_assignment(net, method=method, until=2)
    start = now()
    found = ss.map_assignment(net, method=method, until=ss.Until(steps=None, tolerance=0.0, seconds=PROOF_SECONDS))
    return total - found.bound, 100.0 * found.gap / abs(total - found.log_value), now() - start


def several(name: str) -> tuple[float, float]:
    """The seconds of the best assignments, and how many of them are proved to be."""
    import sepset as ss

    net, _ = model(GRIDS[name])
    ss.map_assignment(net, k=BEST, until=2)
    start = now()
    found = ss.map_assignment(net, k=BEST, until=ss.Until(steps=None, tolerance=0.0, seconds=PROOF_SECONDS))
    is_proved = found.guarantees["assignment"] is ss.Guarantee.EXACT
    return now() - start, float(len(found.assignments) if is_proved else 0)


def energy_of_toulbar2(name: str, vac: int) -> float:
    """The energy that toulbar2 finds in its time, without and with virtual arc consistency at every depth."""
    import numpy as np

    grid = GRIDS[name]
    alone, pairs, weights = costs(grid)
    apart = np.abs(np.subtract.outer(np.arange(grid.labels), np.arange(grid.labels))).astype(float)
    apart = np.minimum(apart, LIMIT) if grid.kind == "linear" else (apart > 0.0).astype(float)
    functions = [([i], row) for i, row in enumerate(alone.tolist())]
    functions += [
        (pair, (weight * apart).reshape(-1).tolist()) for pair, weight in zip(pairs.tolist(), weights, strict=True)
    ]
    whole = toulbar2.Costs([grid.labels] * len(alone), functions, {})
    codes = np.array(toulbar2.solve(whole, PEER_SECONDS, vac=vac).codes, np.int64)
    if not len(codes):
        return math.inf
    first, second = codes[pairs].T
    return float(alone[np.arange(len(codes)), codes].sum() + (weights * apart[first, second]).sum())


def rate(_: str) -> float:
    """Messages times labels per second of sequential message passing on a grid of 256 x 256 with 16 labels."""
    import numpy as np

    import sepset as ss
    from sepset.inference.wiring import Wiring

    wiring = Wiring.of(model(Grid("Potts", 256, 16))[0].as_written())
    messages = np.zeros(int(wiring.wires.messages[-1]))
    timing = measure(lambda: ss.TRWS().passed(wiring, messages))
    return 2.0 * wiring.num_factors * 16 / float(seconds(timing)) / MILLION


def compared(lab: Lab, name: str) -> list[Comparison]:
    """The rows of one grid."""
    found, closed = lab.ask("sepset", gap, name), lab.ask("sepset", proof, name, limit=PATIENCE)
    if isinstance(found, str) or isinstance(closed, str):
        return [Comparison(name, found if isinstance(found, str) else closed, kind="number")]
    peers: dict[str, float | str] = {}
    asked = {} if lab.quick or not GRIDS[name].target else {"toulbar2": 0, "toulbar2, VAC": 1000000}
    for label, vac in asked.items():
        energy = lab.ask("pytoulbar2", energy_of_toulbar2, name, vac, limit=PATIENCE)
        if isinstance(energy, str):
            peers[label] = energy  # why there is none, such as "not installed"
        else:
            is_known = energy < math.inf
            peers[label] = f"{100.0 * (energy - closed[0]) / abs(energy):.4g}" if is_known else "no assignment"
    target = "" if name != SMALLEST else "0 within 60 s"
    return [
        Comparison(f"{name}: energy", found[0], kind="number"),
        Comparison(
            f"{name}: gap in {SECONDS:g} s, percent of the energy", found[1], kind="number", target=GRIDS[name].target
        ),
        Comparison(f"{name}: seconds", found[2]),
        Comparison(f"{name}: gap with triplets, percent", closed[1], peers, kind="number", target=target),
        Comparison(f"{name}: seconds with triplets", closed[2]),
    ]


def run(lab: Lab) -> list[Report]:
    """One table: grids and rates."""
    rows = [row for name in lab.wanted(list(GRIDS)) for row in compared(lab, name)]
    ranked = lab.ask("sepset", several, SMALLEST, limit=PATIENCE)
    times = ranked if isinstance(ranked, str) else ranked[0]
    rows.append(Comparison(f"{SMALLEST}: seconds of the {BEST} best", times))
    proofs = ranked if isinstance(ranked, str) else ranked[1]
    rows.append(Comparison(f"{SMALLEST}: proved of the {BEST} best", proofs, kind="number", target=f"{BEST}"))
    passed = lab.ask("sepset", rate, "256 x 256 x 16")
    rows.append(Comparison("messages x labels, millions per second", passed, kind="number", target="at least 150"))
    note = (
        f"The default search with {SECONDS:g} seconds: tree-reweighted message passing, then expansions; and "
        f"`ClusterPursuit` with {PROOF_SECONDS:g} seconds. Of toulbar2 with {PEER_SECONDS:g} seconds, the energy above "
        "our bound, percent, on the Potts grids, by its default and with virtual arc consistency at every depth."
    )
    return [Report("Assignments by search", rows, note, has_mean=False)]
