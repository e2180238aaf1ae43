"""Elimination orders: how long the default portfolio takes and how many table entries its cliques have."""

from __future__ import annotations

import math
from typing import Any

from benchmarks import networks
from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

# Total entries that a quick portfolio of greedy heuristics finds: our goals.
QUICK = {
    "munin": 1.39e7,
    "munin1": 1.88e8,
    "munin2": 4.16e6,
    "munin3": 3.11e6,
    "munin4": 1.39e7,
    "link": 2.73e7,
    "barley": 1.84e7,
    "mildew": 5.16e6,
    "diabetes": 9.99e6,
    "water": 3.66e6,
    "pigs": 6.79e5,
    "andes": 3.90e5,
}

Ordered = tuple[Timing, float]


def order_sepset(path: str) -> Ordered:
    import sepset as ss

    net = networks.load(path)
    graph = ss.graphs.moralize(net.dag)
    cards = {v.name: v.num_states for v in net.variables}
    found: list[Any] = []
    timing = measure(lambda: found.append(ss.graphs.elimination_order(graph, cards)), seconds=0.3)
    return timing, float(found[-1].total_size)


def order_pyagrum(path: str) -> Ordered:
    import pyagrum as gum

    from benchmarks.peers import pyagrum_of

    bn = pyagrum_of(path)
    trees: list[Any] = []
    timing = measure(lambda: trees.append(gum.JunctionTreeGenerator().junctionTree(bn)), seconds=0.3)
    tree = trees[-1]
    sizes = (math.prod(bn.variable(v).domainSize() for v in tree.clique(node)) for node in tree.nodes())
    return timing, float(sum(sizes))


def run(lab: Lab) -> list[Report]:
    """Two tables: seconds, and total entries of the clique tables."""
    times, entries = [], []
    for name, path in networks.paths().items():
        ours, theirs = lab.ask("sepset", order_sepset, path), lab.ask("pyagrum", order_pyagrum, path)
        munin = name == "munin"
        times.append(
            Comparison(
                name,
                seconds(ours[0]) if isinstance(ours, tuple) else ours,
                {"pyagrum": seconds(theirs[0]) if isinstance(theirs, tuple) else theirs},
                target="60 ms" if munin else "",
            )
        )
        entries.append(
            Comparison(
                name,
                ours[1] if isinstance(ours, tuple) else ours,
                {"pyagrum": theirs[1] if isinstance(theirs, tuple) else theirs},
                kind="entries",
                target=f"{QUICK[name]:.3g}" if name in QUICK else "",
                headline=f"clique table entries, {name}" if name in ("munin", "link") else "",
            )
        )
    note = "sepset tries up to 128 orders and keeps the best; pyAgrum makes one order and its junction tree."
    return [
        Report("Ordering: seconds", times, note),
        Report("Ordering: entries of all clique tables", entries, "The target is the result of a quick portfolio."),
    ]
