"""Joints across cliques: the cost of our merge order relative to a greedy one, and of all pairs to a calibration."""

from __future__ import annotations

import math
from typing import NamedTuple

from benchmarks import networks
from benchmarks.measure import Timing, measure, now
from benchmarks.report import Comparison, Figure, Report, geometric_mean, seconds
from benchmarks.worker import Lab

NETWORKS = ("alarm", "pigs", "munin1", "munin2", "munin3", "munin4")
NUM_QUERIES = 100
LARGEST = 1e7  # entries of an answer


class Costs(NamedTuple):
    """Multiplications of each query by our order and by the baseline, and the seconds that choosing took."""

    ours: list[int]
    baseline: list[int]
    seconds: list[float]


def merge_costs(path: str) -> Costs:
    """Random queries of two to eight variables that no clique contains; structure only, no table is made."""
    import numpy as np

    import sepset as ss
    from sepset.inference.treequery.orders import divided
    from sepset.inference.treequery.query import tree_query
    from sepset.inference.treequery.search import choose_merge_order

    net = networks.load(path)
    cards = {v.name: v.num_states for v in net.variables}
    graph = ss.graphs.moralize(net.dag)
    tree = ss.graphs.tree_decomposition(graph, ss.graphs.elimination_order(graph, cards))
    names, rng, costs = list(cards), np.random.default_rng(0), Costs([], [], [])
    while len(costs.ours) < NUM_QUERIES:
        targets = [names[i] for i in rng.permutation(len(names))[: int(rng.integers(2, 9))]]
        if math.prod(cards[name] for name in targets) > LARGEST:
            continue
        start = now()
        query = tree_query(tree, targets, cards=cards)
        if not query.edges:
            continue
        costs.ours.append(choose_merge_order(query).cost)
        costs.seconds.append(now() - start)
        costs.baseline.append(divided(query, absorb=False).cost)
    return costs


def pair_times(path: str) -> tuple[Timing, Timing, Timing]:
    """All pairs from a calibrated tree, one plain calibration, and every single marginal by the default method."""
    import sepset as ss
    from sepset.inference.treequery.pairs import PairSweep
    from sepset.variables.evidence import Evidence

    net = networks.load(path)
    prepared = ss.inference.BeliefUpdate().prepare(net.problem())
    calibration = prepared.calibrate(Evidence())
    sweep = PairSweep(calibration.tree, list(net.variables))
    engine = ss.prepare(net)

    def singles() -> None:
        answers = engine.marginals()
        for name in answers:
            _ = answers[name].values

    singles()  # compiles, if nothing is in the cache
    return (
        measure(lambda: sweep.run(calibration.beliefs)),
        measure(lambda: prepared.calibrate(Evidence())),
        measure(singles),
    )


def run(lab: Lab) -> list[Report]:
    """Costs as geometric means together with the worst query, the time of choosing, and all pairs."""
    known = networks.paths()
    costs: dict[str, Costs | str] = {
        name: lab.ask("sepset", merge_costs, known[name]) for name in NETWORKS if name in known
    }
    found = {name: each for name, each in costs.items() if isinstance(each, Costs)}
    note = f"{NUM_QUERIES} random queries of 2 to 8 variables, answers up to 1e7 entries, that no clique contains."
    return [
        Report(
            "Joints across cliques: multiplications, geometric mean",
            [_mean(name, each) for name, each in costs.items()],
            f"{note} GR0 divides the tree where the parts are smallest, without absorption.",
        ),
        Report(
            "Joints across cliques: multiplications of the query that gains least",
            [_worst(name, each) for name, each in found.items()],
        ),
        Report(
            "Joints across cliques: seconds to choose an order, median and longest",
            [c for name, each in found.items() for c in _choosing(name, each.seconds)],
            "Once for a set of targets and of observed variables; kept afterwards.",
        ),
        _pairs(lab, known["alarm"]),
    ]


def _mean(name: str, costs: Costs | str) -> Comparison:
    if isinstance(costs, str):
        return Comparison(name, costs, kind="entries")
    baseline = geometric_mean(costs.baseline)
    target = "2x" if name.startswith("munin") else "1x"
    return Comparison(name, geometric_mean(costs.ours), {"GR0": baseline}, kind="entries", target=target)


def _worst(name: str, costs: Costs) -> Comparison:
    pairs = zip(costs.ours, costs.baseline, strict=True)
    ours, baseline = min(pairs, key=lambda pair: pair[1] / max(pair[0], 1))
    return Comparison(name, float(ours), {"GR0": float(baseline)}, kind="entries", target="1x")


def _choosing(name: str, times: list[float]) -> list[Comparison]:
    ordered = sorted(times)
    return [
        Comparison(f"{name}, median", ordered[len(ordered) // 2]),
        Comparison(f"{name}, longest", ordered[-1]),
    ]


def _pairs(lab: Lab, path: str) -> Report:
    outcome = lab.ask("sepset", pair_times, path)
    times: list[Figure] = [outcome] * 3 if isinstance(outcome, str) else [seconds(each) for each in outcome]
    others: dict[str, Figure] = {"one calibration": times[1], "single marginals": times[2]}
    return Report(
        "All pairs",
        [Comparison("alarm, 666 pairs", times[0], others, target="0.017x")],
        "Relative to one calibration of the plain tree, and to every single marginal of the default engine.",
    )
