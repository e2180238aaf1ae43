"""Claims of the literature about structure learning, on rows of ALARM: the figures of each, beside what was claimed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.measure import now
from benchmarks.report import Comparison, Report
from benchmarks.structuresearch import sampled
from benchmarks.worker import Lab

PATIENCE = 900.0
SIZES = (500, 1_000, 2_000, 5_000)
FRESH = 20_000
Figures = list[tuple[str, float]]
"""What was measured, and the figure."""


def alarm() -> Any:
    """The network."""
    import sepset as ss

    return ss.datasets.load("alarm")


def loss(graph: Any, rows: Any, fresh: Any, sample_size: float = 5.0) -> float:
    """Minus the log-probability of a fresh row under posterior means."""
    import numpy as np

    import sepset as ss

    model = ss.fit(graph, rows, ss.Bayes(ss.BDeu(sample_size))).model
    return -float(np.mean(model.log_probability(fresh)))


def simple_structures_win_on_few_rows() -> Figures:
    """By how much the true graph scores above the best tree, by BIC and by BDeu(5)."""
    import sepset as ss

    net, found = alarm(), Figures()
    rows = net.sample(5_000, seed=1)
    for size in (100, 200, 500, 1_000, 5_000):
        part = rows[:size]
        for score in (ss.BIC(), ss.BDeu(5.0)):
            tree = ss.learn_structure(part, method=ss.ChowLiu(), score=score).score
            gain = ss.structure.score(net.dag, part, score=score).total - tree
            found.append((f"true graph above the best tree, {type(score).__name__}, {size:,} rows", gain))
    return found


def evidence_predicts(sizes: Sequence[int] = (500, 1_000)) -> Figures:
    """The correlation of the log evidence per row with the log-probability of fresh rows, over graphs of a chain."""
    import numpy as np

    import sepset as ss

    net, found = alarm(), Figures()
    fresh = net.sample(FRESH, seed=2)
    for size in sizes:
        rows, prior = net.sample(size, seed=3), ss.BDeu(5.0)
        chain = ss.StructureMCMC(num_samples=40, thin=500, burn_in=0, num_chains=1)
        empty = ss.DAG(list(net.variables.names))
        visited = ss.structure_posterior(rows, method=chain, score=prior, start=empty).graphs
        graphs = [one.graph for one in visited][:40]
        evidence = [ss.structure.score(graph, rows, score=prior).total / size for graph in graphs]
        losses = [loss(graph, rows, fresh) for graph in graphs]
        found.append(
            (f"correlation over {len(graphs)} graphs, {size:,} rows", -float(np.corrcoef(evidence, losses)[0, 1]))
        )
    return found


def structure_costs_little(sizes: Sequence[int] = SIZES) -> Figures:
    """The divergence from the truth with the true graph, and with learned ones; edges of the learned."""
    import sepset as ss

    net, found = alarm(), Figures()
    fresh = net.sample(FRESH, seed=4)
    import numpy as np

    truth = -float(np.mean(net.log_probability(fresh)))
    for size in sizes:
        rows = net.sample(size, seed=5)
        found.append((f"divergence with the true graph, {size:,} rows", loss(net.dag, rows, fresh) - truth))
        for score in (ss.BDeu(1.0), ss.BIC()):
            learned = ss.learn_structure(rows, method=ss.HillClimb(tabu=20, restarts=4), score=score).dag
            name = f"{type(score).__name__}, {size:,} rows"
            found.append((f"divergence of the learned, {name}", loss(learned, rows, fresh) - truth))
            found.append((f"edges of the learned (46 are true), {name}", float(learned.num_edges)))
    return found


def a_hundred_variables() -> Figures:
    """Seconds of a tabu search with restarts on 100 columns of 5,000 rows."""
    import sepset as ss

    data = sampled(100, 5_000)
    ss.learn_structure(data[:200], method=ss.HillClimb(tabu=5), until=3)
    start = now()
    found = ss.learn_structure(data, method=ss.HillClimb(tabu=20, restarts=5))
    return [("seconds", now() - start), ("edges", float(found.graph.num_edges))]


def chains_over_orders_agree() -> Figures:
    """Two chains from different starts: edges whose probabilities differ by more than a half."""
    import sepset as ss

    net, found = alarm(), Figures()
    kinds = {"structures": ss.StructureMCMC, "orders": ss.OrderMCMC, "partitions": ss.PartitionMCMC}
    for size in (500, 1_000):
        rows = net.sample(size, seed=6)
        for name, kind in kinds.items():
            chains = ss.structure_posterior(
                rows, method=kind(num_samples=100, thin=1_000, burn_in=10), score=ss.BDeu(5.0)
            )
            one, two = chains.diagnostics["edges_by_chain"]
            found.append((f"edges that differ by 0.5, {name}, {size:,} rows", float((abs(one - two) > 0.5).sum())))
    return found


def known_orders_help() -> Figures:
    """Scores below that of a tabu search: K2's greedy search along a true order and along random ones."""
    import numpy as np

    import sepset as ss

    net, rng = alarm(), np.random.default_rng(0)
    rows = net.sample(2_000, seed=7)
    best = ss.learn_structure(rows, method=ss.HillClimb(tabu=20, restarts=4), score=ss.BIC()).score
    found: Figures = []
    for name, orders in {
        "a true order": [list(net.dag.topological_order)],
        "random orders, mean of 5": [rng.permutation(net.dag.nodes).tolist() for _ in range(5)],
    }.items():
        scores = [
            ss.learn_structure(rows, method=ss.structure.KnownOrder(order, is_greedy=True), score=ss.BIC()).score
            for order in orders
        ]
        found.append((f"below tabu search, greedy along {name}", best - float(np.mean(scores))))
    return found


def classes_are_found() -> Figures:
    """The structural Hamming distance to the truth of GES and of a tabu search."""
    import sepset as ss

    net = alarm()
    rows = net.sample(5_000, seed=8)
    methods = {"GES": ss.GES(), "tabu search": ss.HillClimb(tabu=20, restarts=4), "default": None}
    found: Figures = []
    for name, method in methods.items():
        learned = ss.learn_structure(rows, method=method, score=ss.BIC())
        found.append((f"distance, {name}", float(ss.structure.compare(net.dag, learned.dag).distance)))
    return found


CLAIMS: dict[str, Callable[[], Figures]] = {
    "Few rows favor simple structures (above 0 the true graph is ahead; under BDeu it always is)": (
        simple_structures_win_on_few_rows
    ),
    "The evidence of a graph predicts fresh rows": evidence_predicts,
    "A learned structure costs little beside learned parameters (with BDeu), and is simpler (with BIC)": (
        structure_costs_little
    ),
    "A hundred variables are learned in a minute": a_hundred_variables,
    "Chains over orders and partitions agree where chains over structures do not": chains_over_orders_agree,
    "A good order helps a greedy search, a random one does not": known_orders_help,
    "Search over classes does well although rows are few": classes_are_found,
}
QUICK = (3, 5)


def run(lab: Lab) -> list[Report]:
    """A table for each claim."""
    names = [name for k, name in enumerate(CLAIMS) if not lab.quick or k in QUICK]
    reports = []
    for name in lab.wanted(names):
        lab.progress(name)
        found = lab.ask("sepset", CLAIMS[name], limit=PATIENCE)
        figures = [(name, found)] if isinstance(found, str) else found
        rows = [
            Comparison(what, value if isinstance(value, str) or math.isfinite(value) else "infinite", kind="number")
            for what, value in figures
        ]
        reports.append(Report(name, rows, has_mean=False))
    return reports
