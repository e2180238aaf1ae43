"""Claims of the literature about structure learning, on rows of ALARM: the figures of each, beside what was claimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.claims import Figures, reports
from benchmarks.measure import now
from benchmarks.report import Report
from benchmarks.structuresearch import sampled
from benchmarks.worker import Lab

SIZES = (500, 1_000, 2_000, 5_000)
FRESH = 20_000
SNAPSHOTS = 40


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
            tree = ss.learn_structure(part, method=ss.ChowLiu(), score=score, threads=1).score
            gain = ss.structure.score(net.dag, part, score=score).total - tree
            found.append((f"true graph above the best tree, {type(score).__name__}, {size:,} rows", gain))
    return found


def evidence_predicts(sizes: Sequence[int] = (500, 1_000, 5_000)) -> Figures:
    """The correlation of the log evidence per row with the log-probability of fresh rows, over graphs of a chain.

    The chain starts without edges, so that its graphs are poor ones first and then those of the posterior; among the
    latter alone, the evidence differs by less than fresh rows can tell.
    """
    import numpy as np

    import sepset as ss

    net, found, prior = alarm(), Figures(), ss.BDeu(5.0)
    fresh, empty = net.sample(FRESH, seed=2), ss.DAG(list(net.variables.names))
    for size in sizes:
        rows = net.sample(size, seed=3)
        chain = ss.StructureMCMC(num_samples=SNAPSHOTS, thin=100, burn_in=0, num_chains=1)
        visited = ss.structure_posterior(
            rows, method=chain, score=prior, start=empty, constraints=few_parents(), threads=1
        )
        graphs = list(dict.fromkeys(one.graph for one in visited.graphs))
        evidence = np.array([ss.structure.score(graph, rows, score=prior).total / size for graph in graphs])
        log_probability = np.array([-loss(graph, rows, fresh) for graph in graphs])
        top = evidence >= np.median(evidence)
        known = {
            f"all {len(graphs)} graphs": np.corrcoef(evidence, log_probability)[0, 1],
            "the better half": np.corrcoef(evidence[top], log_probability[top])[0, 1],
        }
        found += [(f"correlation over {name}, {size:,} rows", float(r)) for name, r in known.items()]
        offset = float((log_probability - evidence).mean())
        found.append((f"mean of fresh rows less evidence, in nats, {size:,} rows", offset))
    return found


def few_parents() -> Any:
    """Up to four parents."""
    import sepset as ss

    return ss.structure.Constraints(max_parents=4)


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
            learned = ss.learn_structure(rows, method=ss.HillClimb(tabu=20, restarts=4), score=score, threads=1).dag
            name = f"{type(score).__name__}, {size:,} rows"
            found.append((f"divergence of the learned, {name}", loss(learned, rows, fresh) - truth))
            found.append((f"edges of the learned (46 are true), {name}", float(learned.num_edges)))
    return found


def a_hundred_variables() -> Figures:
    """Seconds of a tabu search with restarts on 100 columns of 5,000 rows."""
    import sepset as ss

    data = sampled(100, 5_000)
    ss.learn_structure(data[:200], method=ss.HillClimb(tabu=5), until=3, threads=1)
    start = now()
    found = ss.learn_structure(data, method=ss.HillClimb(tabu=20, restarts=5), threads=1)
    return [("seconds", now() - start), ("edges", float(found.graph.num_edges))]


def two_chains(chain: Any, rows: Any) -> Figures:
    """Two chains, from no edges and from the end of a search: last scores, and edges on which they disagree."""
    import numpy as np

    import sepset as ss

    prior, limits = ss.BDeu(5.0), few_parents()
    search = ss.HillClimb(tabu=20, restarts=4)
    starts = [
        ss.DAG(list(rows.variables.names)),
        ss.learn_structure(rows, method=search, score=prior, constraints=limits, threads=1).dag,
    ]
    one, two = (
        ss.structure_posterior(rows, method=chain, score=prior, start=start, constraints=limits, seed=seed, threads=1)
        for seed, start in enumerate(starts)
    )
    gap = abs(one.edges - two.edges)
    lines = abs((one.edges + one.edges.T) - (two.edges + two.edges.T))[np.triu_indices(len(gap), 1)]
    last = [float(np.mean(found.trace[len(found.trace) // 2 :])) for found in (one, two)]
    return [
        ("last half's mean score, from a search less from no edges", last[1] - last[0]),
        ("edges that differ by 0.5", float((gap > 0.5).sum())),
        ("edges that differ by 0.9", float((gap > 0.9).sum())),
        ("edges that differ by 0.5, whatever the direction", float((lines > 0.5).sum())),
        ("largest difference", float(gap.max())),
        ("correlation of edges", float(np.corrcoef(one.edges.ravel(), two.edges.ravel())[0, 1])),
    ]


def chains_over_orders_agree() -> Figures:
    """Burn-in of 20,000 steps, then 100 draws, one every 2,000 steps: structures, orders and partitions."""
    import sepset as ss

    net, found = alarm(), Figures()
    settings = {"num_samples": 100, "thin": 2_000, "burn_in": 10, "num_chains": 1}
    single, both = ss.StructureMCMC(reversals=0.0, **settings), ss.StructureMCMC(**settings)
    longer = ss.StructureMCMC(reversals=0.0, **settings | {"thin": 20_000})
    chains = {
        500: {"single edges": single, "single edges, ten times as many": longer, "edges and reversals": both},
        1_000: {
            "single edges": single,
            "edges and reversals": both,
            "orders": ss.OrderMCMC(**settings),
            "partitions": ss.PartitionMCMC(**settings),
        },
    }
    for size, several in chains.items():
        rows = net.sample(size, seed=6)
        for name, chain in several.items():
            found += [(f"{name}, {size:,} rows: {what}", value) for what, value in two_chains(chain, rows)]
    return found


def few_columns_mix(sizes: Sequence[int] = (4, 8, 11, 14)) -> Figures:
    """The largest error of an edge of a chain over structures, against the sum over all DAGs."""
    import sepset as ss

    rows, found = alarm().sample(500, seed=10), Figures()
    names = list(rows.variables.names)
    for size in sizes:
        part = rows.select(names[-size:])
        exact = ss.structure_posterior(part, method=ss.structure.TianHe(), score=ss.BDeu(5.0), threads=1).edges
        chain = ss.structure_posterior(part, method=ss.StructureMCMC(num_samples=4_000), score=ss.BDeu(5.0), threads=1)
        found.append((f"largest error of an edge, {size} columns", float(abs(chain.edges - exact).max())))
        found.append((f"R-hat, {size} columns", float(chain.diagnostics["r_hat"])))
    return found


def basket_populations(num_users: int = 30_000, num_fresh: int = 2_000, seed: int = 0) -> dict[str, tuple[Any, Any]]:
    """Rows of users who share tastes, and of users whose purchases replace each other: to learn from, and to test."""
    import numpy as np

    rng = np.random.default_rng(seed)
    tastes = np.clip((rng.random((12, 80)) < 0.1) * rng.random((12, 80)) * 1.6, 0.0, 1.0)

    def by_tastes(count: int) -> Any:
        has = rng.random((count, len(tastes))) < 0.15
        kept = np.prod(1.0 - 0.5 * has[:, :, None] * tastes[None], axis=1)
        return (rng.random(kept.shape) < 1.0 - 0.98 * kept).astype(np.int8)

    def by_replacement(count: int) -> Any:
        """Each item follows one of two earlier ones, and is not needed by those who have both."""
        found = np.zeros((count, 80), np.int8)
        parents = np.random.default_rng(1)
        for item in range(80):
            a, b = parents.choice(max(item, 2), 2, replace=False) if item > 1 else (0, 0)
            share = np.where(found[:, a] != found[:, b], 0.7, 0.03) if item > 11 else np.full(count, 0.25)
            found[:, item] = rng.random(count) < share
        return found

    made = {"shared tastes": by_tastes, "items that replace others": by_replacement}
    return {name: (draw(num_users), draw(num_fresh)) for name, draw in made.items()}


def networks_recommend(sizes: Sequence[int] = (3_000, 30_000)) -> Figures:
    """The expected utility of recommendations, in percent of the best list: networks over items, and earlier ways."""
    import sepset as ss

    recommend, found = ss.recommend, Figures()
    methods = [
        recommend.BayesRecommender(),
        recommend.DependencyRecommender(),
        recommend.Similarity(),
        recommend.Popularity(),
    ]
    for size in sizes:
        for name, (rows, fresh) in basket_populations(size).items():
            for method in methods:
                judged = recommend.evaluate_ranking(method.fit(recommend.Baskets(rows)), recommend.Baskets(fresh))
                found.append((f"{name}, {size:,} users: {type(method).__name__}", float(judged["accuracy"])))
    return found


CLASSES = (
    ("alarm", "CATECHOL"),
    ("alarm", "INTUBATION"),
    ("alarm", "LVFAILURE"),
    ("child", "Disease"),
    ("hailfinder", "Scenario"),
    ("insurance", "Accident"),
    ("insurance", "PropCost"),
    ("insurance", "SocioEcon"),
)


def trees_classify(classes: Sequence[tuple[str, str]] = CLASSES, size: int = 2_000, fresh: int = 5_000) -> Figures:
    """By how many percent of the rows naive Bayes and tree-augmented naive Bayes are right, from a few rows."""
    import sepset as ss
    from sepset.sklearn import BayesNetClassifier

    found = Figures()
    for network, target in classes:
        rows = ss.datasets.load(network).sample(size + fresh, seed=9).to_frame("pandas").astype(str)
        features = [name for name in rows if name != target and rows[name][:size].nunique() > 1]
        known = rows[features].apply(lambda column: column.isin(set(column[:size]))).all(axis=1)
        judged = known & (rows.index >= size)
        for structure in ("naive", "tan"):
            model = BayesNetClassifier(structure).fit(rows[features][:size], rows[target][:size])
            share = model.score(rows[features][judged], rows[target][judged])
            found.append((f"{network}, {target}: {structure}", 100.0 * float(share)))
    return found


def known_orders_help() -> Figures:
    """Scores below that of a tabu search: K2's greedy search along a true order and along random ones."""
    import numpy as np

    import sepset as ss

    net, rng = alarm(), np.random.default_rng(0)
    rows = net.sample(2_000, seed=7)
    best = ss.learn_structure(rows, method=ss.HillClimb(tabu=20, restarts=4), score=ss.BIC(), threads=1).score
    found: Figures = []
    for name, orders in {
        "a true order": [list(net.dag.topological_order)],
        "random orders, mean of 5": [rng.permutation(net.dag.nodes).tolist() for _ in range(5)],
    }.items():
        scores = [
            ss.learn_structure(
                rows, method=ss.structure.KnownOrder(order, is_greedy=True), score=ss.BIC(), threads=1
            ).score
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
        learned = ss.learn_structure(rows, method=method, score=ss.BIC(), threads=1)
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
    "Chains over orders agree where chains of single edges stay in different regions (with reversals of edges, they "
    "agree too)": chains_over_orders_agree,
    "A good order helps a greedy search, a random one does not": known_orders_help,
    "Search over classes does well although rows are few": classes_are_found,
    "Chains over structures suffice for few variables": few_columns_mix,
    "Bayesian networks recommend as well as dependency networks, and better than earlier ways (of few users who share "
    "tastes, similarity is as good)": networks_recommend,
    "Trees among the features improve on naive Bayes": trees_classify,
}
QUICK = (3, 5)


def run(lab: Lab) -> list[Report]:
    """A table for each claim."""
    return reports(lab, CLAIMS, QUICK, iter)
