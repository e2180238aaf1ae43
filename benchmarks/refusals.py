"""Refusals: seconds until a question that is too large is refused, until Ctrl-C is heard, and memory against plans."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.largemodels import complete, grid, network, sparse
from benchmarks.measure import peak_memory
from benchmarks.report import Comparison, Figure, Report
from benchmarks.worker import Lab

REFUSED = {"goal": 2.0}  # seconds, up to 100,000 variables
HEARD = {"goal": 1.0}  # seconds
WITHIN = 1.2  # of a plan
EXACT = ("VariableElimination", "ShaferShenoy", "BeliefUpdate")
METHODS = ("CliqueTree", "VariableElimination", "RecursiveConditioning", "CutsetConditioning", "ShaferShenoy")


MODELS: Mapping[str, tuple[Callable[[int], Any], int]] = {
    "complete graph, 120 variables": (complete, 120),
    "complete graph, 300 variables": (complete, 300),
    "random graph, 20,000 variables": (sparse, 20_000),
    "grid 40 x 40": (grid, 40),
    "grid 70 x 70": (grid, 70),
    "grid 316 x 316": (grid, 316),
    "random network, 20,000 variables": (network, 20_000),
    "random network, 100,000 variables": (network, 100_000),
}


def _method(name: str) -> Any:
    import sepset as ss

    return getattr(ss, name, None) or getattr(ss.inference, name)


def refused(model: str, method: str) -> float | str:
    """Seconds until the slowest of three questions is refused, by a new engine for each."""
    import sepset as ss

    make, size = MODELS[model]
    large, small, chosen = make(size), make(3), _method(method)()
    name = large.variables.names[-1]  # of a network a leaf, which depends on much of it
    questions: list[Callable[[Any, str], Any]] = [
        lambda engine, name: engine.query(name),
        lambda engine, name: engine.marginals()[name],
        lambda engine, name: engine.map_assignment(),
    ]
    slowest = 0.0
    for question in questions:
        question(ss.prepare(small, method=chosen), small.variables.names[-1])  # compiles what is needed
        before = time.perf_counter()
        try:
            question(ss.prepare(large, method=chosen), name)
        except ss.TooLarge:
            slowest = max(slowest, time.perf_counter() - before)
        else:
            return "answered"
    return slowest


def divergence(size: int) -> Callable[[], Any]:
    """The divergence of two random networks."""
    import sepset as ss

    net = network(size)
    other = ss.BayesNet.random(net.dag, seed=1)
    return lambda: ss.evaluation.divergence(net, other)


def estimate(size: int) -> Callable[[], Any]:
    """EM where a single variable is observed."""
    import numpy as np

    import sepset as ss

    net = network(size)
    codes = {name: np.full(4, -1) for name in net.variables.names} | {"v1": np.array([0, 1, 0, 1])}
    rows = ss.Dataset.from_codes(net.variables, codes)
    return lambda: ss.fit(net, rows, ss.EM())


def estimate_graph(size: int) -> Callable[[], Any]:
    """EM of a graph alone, whose tables are made for it."""
    import sepset as ss

    net = network(size)
    rows = rows_of(net)
    return lambda: ss.fit(net.dag, rows, ss.EM())


def estimate_texts(kind: str) -> Callable[[int], Callable[[], Any]]:
    """EM of a graph over columns of text, half of which have a missing cell in each row, as a mapping or a frame."""

    def make(size: int) -> Callable[[], Any]:
        import importlib

        import sepset as ss

        dag = network(size).dag
        cells = ["a", "b", None, "b"], ["a", None, "a", "b"]
        columns = {name: cells[i % 2] for i, name in enumerate(dag.nodes)}
        data = columns if kind == "mapping" else importlib.import_module(kind).DataFrame(columns)
        return lambda: ss.fit(dag, data, ss.EM())

    return make


def rows_of(net: Any, every: int = 7) -> Any:
    """Four rows in which one variable of seven is observed."""
    import numpy as np

    import sepset as ss

    names = net.variables.names
    codes = {name: np.full(4, -1) for name in names} | {name: np.array([0, 1, 0, 1]) for name in names[::every]}
    return ss.Dataset.from_codes(net.variables, codes)


def imputation(size: int) -> Callable[[], Any]:
    """The missing cells of a few rows of a random network."""
    import sepset as ss

    net = network(size)
    rows = rows_of(net)
    return lambda: ss.impute(net, rows)


def evaluation(size: int) -> Callable[[], Any]:
    """The log-loss of a few rows of a random network."""
    import sepset as ss

    net = network(size)
    rows = rows_of(net)
    return lambda: ss.evaluate(net, rows, ss.evaluation.LogLoss())


def prediction(size: int) -> Callable[[], Any]:
    """The posterior of the last variable in a few rows of a random network."""
    import sepset as ss

    net = network(size)
    rows = rows_of(net)
    return lambda: ss.predict(net, rows, targets=net.variables.names[-1])


def counts(size: int) -> Callable[[], Any]:
    """The expected counts of a few rows of a random network."""
    import sepset as ss

    net = network(size)
    rows = rows_of(net)
    return lambda: ss.prepare(net).expected_counts(rows)


def width(size: int) -> Callable[[], Any]:
    """The treewidth of a random graph."""
    import sepset as ss

    graph = ss.graphs.moralize(network(size).dag)
    return lambda: ss.graphs.treewidth(graph)


def hard_estimate(size: int) -> Callable[[], Any]:
    """Hard EM of a few rows of a random network."""
    import sepset as ss

    net = network(size)
    rows = rows_of(net)
    return lambda: ss.fit(net, rows, ss.HardEM())


def best_few(size: int) -> Callable[[], Any]:
    """The three best assignments of a random network."""
    import sepset as ss

    net = network(size)
    return lambda: ss.map_assignment(net, k=3, method=ss.CliqueTree())


def classification(size: int) -> Callable[[], Any]:
    """The class in a few rows of a random network."""
    import sepset as ss

    net = network(size)
    rows = rows_of(net)
    return lambda: ss.classify.Classifier(net, net.variables.names[-1]).predict(rows)


def fit_check(size: int) -> Callable[[], Any]:
    """Whether a few rows could have come from a random network."""
    import sepset as ss

    net = network(size)
    rows = rows_of(net)
    return lambda: ss.evaluation.goodness_of_fit(net, rows)


def planning(size: int) -> Callable[[], Any]:
    """The plan of all marginals of a random network."""
    import sepset as ss

    net = network(size)
    return lambda: ss.plan(net)


def half_maximized(size: int) -> Callable[[], Any]:
    """The best assignment of every second variable of a random network."""
    import sepset as ss

    net = network(size)
    return lambda: ss.map_assignment(net, over=net.variables.names[::2])


def noisy(size: int) -> Any:
    """A network of noisy-ors, each variable with all earlier ones as causes of different strengths."""
    import numpy as np

    import sepset as ss

    v, rng = [ss.Discrete(f"v{i}") for i in range(size)], np.random.default_rng(0)
    causes = [dict(zip(v[:i], rng.uniform(0.1, 0.6, i).tolist(), strict=True)) for i in range(size)]
    return ss.BayesNet(*(ss.NoisyOr(x, given, leak=0.1) for x, given in zip(v, causes, strict=True)))


def best_of_noisy(size: int) -> Callable[[], Any]:
    """The best assignment of a network of noisy-ors."""
    import sepset as ss

    net = noisy(size)
    return lambda: ss.map_assignment(net)


def query_of_noisy(size: int) -> Callable[[], Any]:
    """The first cause in a network of noisy-ors, given the last effect."""
    import sepset as ss

    net = noisy(size)
    return lambda: ss.query(net, "v0", given={f"v{size - 1}": 1})


def findings(size: int, each: int = 10, most: int = 60, least: int = 30) -> Any:
    """A network of findings, each of 30 to 60 causes, of which there are ten for each finding, or other numbers."""
    import numpy as np

    import sepset as ss

    rng, causes = np.random.default_rng(0), [ss.Discrete(f"c{i}") for i in range(each * size)]
    rates = rng.uniform(0.01, 0.1, len(causes)).tolist()
    cpds: list[Any] = [ss.TableCPD(v, [1.0 - p, p]) for v, p in zip(causes, rates, strict=True)]
    for i in range(size):
        chosen = rng.choice(len(causes), min(len(causes), int(rng.integers(least, most + 1))), replace=False)
        effects = {causes[j]: float(rng.uniform(0.1, 0.6)) for j in chosen}
        cpds.append(ss.NoisyOr(ss.Discrete(f"f{i}"), effects, leak=0.05))
    return ss.BayesNet(*cpds)


def shared_findings(size: int) -> Callable[[], Any]:
    """The best causes of positive findings; the causes and the largest number of findings are 100,000 variables."""
    import sepset as ss

    net = findings(size, 9 if size >= 10_000 else 10)
    return lambda: ss.map_assignment(net, given={f"f{i}": 1 for i in range(size)})


def narrow_findings(size: int) -> Callable[[], Any]:
    """The best causes of positive findings of 30 causes each, whose tables would just fit one by one."""
    import sepset as ss

    net = findings(size, 9, most=30)
    return lambda: ss.map_assignment(net, given={f"f{i}": 1 for i in range(size)})


def few_causes(size: int) -> Callable[[], Any]:
    """The best causes of positive findings of ten causes each, whose tables are small, by elimination."""
    import sepset as ss

    net, tree = findings(size, 9, most=10, least=10), ss.CliqueTree()
    return lambda: ss.map_assignment(net, given={f"f{i}": 1 for i in range(size)}, method=tree)


def likely_causes(size: int) -> Callable[[], Any]:
    """Likely causes of a tenth as many positive findings of ten causes each, by a search."""
    import sepset as ss

    net = findings(size // 10 + 1, 9, most=10, least=10)
    return lambda: ss.map_assignment(net, given={name: 1 for name in net.variables.names if name.startswith("f")})


def plan_of_findings(size: int) -> Callable[[], Any]:
    """The plan of all marginals of causes and findings."""
    import sepset as ss

    net = findings(size, 9)
    return lambda: ss.plan(net)


def posteriors_of_findings(size: int) -> Callable[[], Any]:
    """The posteriors of the causes of positive findings."""
    import sepset as ss

    net = findings(size, 9)
    return lambda: ss.marginals(net, given={f"f{i}": 1 for i in range(size)})


def net_of_kind(kind: str, size: int, most: int = 4) -> Any:
    """A random network of CPDs of a kind, each with up to so many parents."""
    import numpy as np

    import sepset as ss

    states = 3 if kind in ("softmax", "noisy-max") else 2
    rng, v = np.random.default_rng(0), [ss.Discrete(f"v{i}", states) for i in range(size)]
    effect = [[1.0, 0.0, 0.0], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    makers: dict[str, Callable[[Any, list[Any]], Any]] = {
        "tree": lambda child, parents: ss.TreeCPD(child, _grown(parents, rng)),
        "function": lambda child, parents: ss.DeterministicCPD(child, lambda *x: max(x), given=parents),
        "logistic": lambda child, parents: ss.LogisticCPD(child, {p: float(rng.normal()) for p in parents}),
        "softmax": lambda child, parents: ss.LogisticCPD(child, {p: rng.normal(size=(3, 3)) for p in parents}),
        "noisy-or": lambda child, parents: ss.NoisyOr(child, {p: float(rng.random()) for p in parents}, leak=0.1),
        "noisy-max": lambda child, parents: ss.NoisyMax(child, dict.fromkeys(parents, effect), leak=[0.8, 0.1, 0.1]),
    }
    cpds: list[Any] = []
    for i, child in enumerate(v):
        parents = [v[j] for j in sorted(set(rng.integers(0, i, most).tolist()))] if i > size // 10 else []
        cpds.append(makers[kind](child, parents) if parents else ss.TableCPD(child, np.full(states, 1.0 / states)))
    return ss.BayesNet(*cpds)


def of_kind(kind: str, most: int = 4) -> Callable[[int], Callable[[], Any]]:
    """The posterior of one variable of a random network of CPDs of a kind, given some of the last."""

    def make(size: int) -> Callable[[], Any]:
        import sepset as ss

        net, given = net_of_kind(kind, size, most), {f"v{i}": 1 for i in range(size - min(20, size // 4), size)}
        return lambda: ss.query(net, "v0", given=given)

    return make


def best_of_kind(kind: str) -> Callable[[int], Callable[[], Any]]:
    """The largest values of each state in a random network of CPDs of a kind."""

    def make(size: int) -> Callable[[], Any]:
        import sepset as ss

        net = net_of_kind(kind, size, 3)
        return lambda: ss.max_marginals(net)

    return make


def counts_of_kind(kind: str) -> Callable[[int], Callable[[], Any]]:
    """The expected counts of a few rows of a random network of CPDs of a kind."""

    def make(size: int) -> Callable[[], Any]:
        import sepset as ss

        net = net_of_kind(kind, size, 3)
        rows = rows_of(net)
        return lambda: ss.prepare(net).expected_counts(rows)

    return make


def retraction(size: int) -> Callable[[], Any]:
    """A finding of a random network given the others."""
    import sepset as ss

    net = network(size)
    given = dict.fromkeys(net.variables.names[-min(20, size // 2) :], 1)
    return lambda: ss.prepare(net).retracted_marginals(given=given)[net.variables.names[-1]]


def covered(size: int) -> Any:
    """A random Markov network in which one of each five variables is on."""
    import numpy as np

    import sepset as ss

    rng, x = np.random.default_rng(0), ss.Discrete.array("x", size, states=2)
    scopes = np.sort(rng.integers(0, size, (size // 2, 5)), axis=1)
    scopes = scopes[(np.diff(scopes, axis=1) > 0).all(axis=1)]
    some = ss.potentials.over_scopes(scopes, ss.potentials.AtLeastOne(), array=x)
    return ss.MarkovNet(ss.potentials.unary(x, rng.normal(size=(size, 2))), some)


def best_cover(size: int) -> Callable[[], Any]:
    """The best state of a random Markov network."""
    import sepset as ss

    net = covered(max(size, 50))
    return lambda: ss.map_assignment(net)


def _grown(parents: Sequence[Any], rng: Any) -> Any:
    """A tree that reads one parent after the other as long as they are on."""
    from sepset.cpds.tree import Split

    p = float(rng.uniform(0.1, 0.9))
    return Split(parents[0], {0: [p, 1 - p], 1: _grown(parents[1:], rng)}) if parents else [1 - p, p]


def picture(what: str) -> Callable[[int], Callable[[], Any]]:
    """The picture of a random network with beliefs or strengths."""

    def make(size: int) -> Callable[[], Any]:
        import sepset as ss

        net = sparse(size)
        return lambda: ss.draw(net, **{what: True})

    return make


def canonical(size: int) -> Callable[[], Any]:
    """The canonical parameterization of a random network."""
    import sepset as ss

    net = network(size)
    return lambda: ss.models.canonical_form(net)


def on_graph(work: str) -> Callable[[int], Callable[[], Any]]:
    """Work on the moral graph of a random DAG, by the name of a function."""

    def make(size: int) -> Callable[[], Any]:
        import sepset as ss

        graph = ss.graphs.moralize(network(size).dag)
        return lambda: getattr(ss.graphs, work)(graph)

    return make


def by_cardinality(size: int) -> Callable[[], Any]:
    """The order of maximum cardinality search on the moral graph of a random DAG."""
    import sepset as ss

    graph = ss.graphs.moralize(network(size).dag)
    return lambda: ss.graphs.elimination_order(graph, method=ss.graphs.MaxCardinality())


def given_order(size: int) -> Callable[[], Any]:
    """The cliques of the moral graph of a random DAG, eliminated node by node."""
    import sepset as ss

    graph = ss.graphs.moralize(network(size).dag)
    return lambda: ss.graphs.eliminate_graph(graph, graph.nodes)


def into_one(work: str) -> Callable[[int], Callable[[], Any]]:
    """Work on a DAG in which one node is the child of all others, by the name of a function."""

    def make(size: int) -> Callable[[], Any]:
        import sepset as ss

        names = [f"v{i}" for i in range(size)]
        dag = ss.DAG(names, [(name, "v0") for name in names[1:]])
        return lambda: getattr(ss.graphs, work)(dag)

    return make


def all_joined(size: int) -> Callable[[], Any]:
    """Random tables of a DAG in which all nodes are joined."""
    import sepset as ss

    dag = ss.DAG([f"v{i}" for i in range(size)], [(f"v{i}", f"v{j}") for j in range(size) for i in range(j)])
    return lambda: ss.BayesNet.random(dag)


def component(size: int) -> Callable[[], Any]:
    """The factors of the chain graph of a random Markov network."""
    import sepset as ss

    chain = ss.models.to_chain_graph(sparse(size))
    return lambda: ss.prepare(chain)


def statements(size: int) -> Callable[[], Any]:
    """The independences of a random DAG."""
    import sepset as ss

    dag = network(size).dag
    return lambda: ss.graphs.independences(dag)


def effects(size: int) -> Callable[[], Any]:
    """The structural intervention distance of a random DAG from itself."""
    import sepset as ss

    dag = network(size).dag
    return lambda: ss.structure.intervention_distance(dag, dag)


def structure(method: str) -> Callable[[int], Callable[[], Any]]:
    """The structure of a mapping of many columns and four rows, by the name of a method or of a function."""

    def make(size: int) -> Callable[[], Any]:
        import sepset as ss

        rows = {f"v{i}": ["a", "b", "a", "b"] for i in range(size)}
        chosen = getattr(ss.structure, method)
        return lambda: chosen(rows) if method.islower() else ss.learn_structure(rows, method=chosen())

    return make


def augmented(size: int) -> Callable[[], Any]:
    """The tree of features below a class, of a mapping of many columns."""
    import sepset as ss

    rows = {f"v{i}": ["a", "b", "a", "b"] for i in range(size)}
    return lambda: ss.classify.tree_augmented(rows, "v0")


def missing_at_random(size: int) -> Callable[[], Any]:
    """The test whether cells of many discrete columns are missing completely at random."""
    import numpy as np

    import sepset as ss

    codes = np.random.default_rng(0).integers(-1, 2, (size, 60))
    rows = ss.Dataset.from_codes([ss.Discrete(f"v{i}") for i in range(size)], {f"v{i}": c for i, c in enumerate(codes)})
    return lambda: ss.missing.mcar_test(rows)


def averaged(method: str) -> Callable[[int], Callable[[], Any]]:
    """The posterior over structures of many columns, by the name of a method."""

    def make(size: int) -> Callable[[], Any]:
        import sepset as ss

        rows = {f"v{i}": [0, 1, 0, 1] for i in range(size)}
        return lambda: ss.structure_posterior(rows, method=getattr(ss.structure, method)())

    return make


def regression(size: int) -> Callable[[], Any]:
    """The fit of a real variable that is the child of all others."""
    import numpy as np

    import sepset as ss

    rng, names = np.random.default_rng(0), [f"x{i}" for i in range(size)]
    rows = ss.Dataset({name: rng.normal(size=30) for name in names})
    dag = ss.DAG(names, [(name, "x0") for name in names[1:]])
    return lambda: ss.fit(dag, rows)


def random_numbers(size: int) -> Any:
    """A random Gaussian network with up to three parents for each variable."""
    import numpy as np

    import sepset as ss

    rng, x = np.random.default_rng(0), [ss.Real(f"x{i}") for i in range(size)]
    parents = [[], *(sorted(set(rng.integers(0, i, 3).tolist())) for i in range(1, size))]
    return ss.BayesNet(
        ss.LinearGaussian(x[i], coefficients=[0.3] * len(above), covariance=1.0, given=[x[p] for p in above])
        for i, above in enumerate(parents)
    )


def gaussian(size: int) -> Callable[[], Any]:
    """The plan of a random Gaussian network."""
    import sepset as ss

    net = random_numbers(size)
    return lambda: ss.plan(net)


def gaussian_rows(size: int) -> Callable[[], Any]:
    """The posterior of the last variable of a random Gaussian network in rows with one variable of seven."""
    import sepset as ss

    net = random_numbers(size)
    names = net.variables.names
    return lambda: ss.predict(net, {name: [0.1, 0.2] for name in names[::7]}, targets=names[-1])


OTHERS: Mapping[str, tuple[Callable[[int], Callable[[], Any]], int]] = {
    "divergence of random networks, 100,000 variables": (divergence, 100_000),
    "EM of a random network, 100,000 variables": (estimate, 100_000),
    "EM of a random graph, 100,000 nodes": (estimate_graph, 100_000),
    "EM of a random graph, 100,000 columns of text": (estimate_texts("mapping"), 100_000),
    "EM of a random graph, 100,000 columns of a polars frame": (estimate_texts("polars"), 100_000),
    "EM of a random graph, 100,000 columns of a pandas frame": (estimate_texts("pandas"), 100_000),
    "hard EM of a random network, 100,000 variables": (hard_estimate, 100_000),
    "three best assignments of a random network, 100,000 variables": (best_few, 100_000),
    "imputation in a random network, 100,000 variables": (imputation, 100_000),
    "evaluation of a random network, 100,000 variables": (evaluation, 100_000),
    "prediction by a random network, 100,000 variables": (prediction, 100_000),
    "classification by a random network, 100,000 variables": (classification, 100_000),
    "goodness of fit of a random network, 100,000 variables": (fit_check, 100_000),
    "expected counts of a random network, 100,000 variables": (counts, 100_000),
    "treewidth of a random graph, 100,000 nodes": (width, 100_000),
    "plan of a random network, 100,000 variables": (planning, 100_000),
    "marginal MAP of half of a random network, 100,000 variables": (half_maximized, 100_000),
    "best assignment of 60 noisy-ors of all earlier ones": (best_of_noisy, 60),
    "query of 300 noisy-ors of all earlier ones": (query_of_noisy, 300),
    "best causes of 100 findings that share 1,000 causes": (shared_findings, 100),
    "best causes of 200 findings that share 2,000 causes": (shared_findings, 200),
    "best causes of 1,000 findings that share 10,000 causes": (shared_findings, 1000),
    "best causes of 3,000 findings that share 30,000 causes": (shared_findings, 3000),
    "best causes of 10,000 findings that share 90,000 causes": (shared_findings, 10_000),
    "best causes of 10,000 findings of 30 causes each, of 90,000": (narrow_findings, 10_000),
    "best causes of 5,000 findings of ten causes each, of 45,000, CliqueTree": (few_causes, 5000),
    "best causes of 10,000 findings of ten causes each, of 90,000, CliqueTree": (few_causes, 10_000),
    "posterior in a network of trees, 100,000 variables": (of_kind("tree"), 100_000),
    "posterior in a network of functions, 100,000 variables": (of_kind("function"), 100_000),
    "posterior in a network of logistic CPDs, 100,000 variables": (of_kind("logistic"), 100_000),
    "posterior in a network of noisy-ors, 100,000 variables": (of_kind("noisy-or"), 100_000),
    "posterior in a network of noisy-ors of three causes, 100,000 variables": (of_kind("noisy-or", 3), 100_000),
    "posterior in a network of softmax CPDs, 100,000 variables": (of_kind("softmax"), 100_000),
    "best values in a network of noisy-maxes, 100,000 variables": (best_of_kind("noisy-max"), 100_000),
    "expected counts in a network of trees, 100,000 variables": (counts_of_kind("tree"), 100_000),
    "expected counts in a network of noisy-ors, 100,000 variables": (counts_of_kind("noisy-or"), 100_000),
    "retracted finding of a random network, 100,000 variables": (retraction, 100_000),
    "posteriors of causes that 3,000 findings share, of 27,000": (posteriors_of_findings, 3000),
    "plan of 10,000 findings that share 90,000 causes": (plan_of_findings, 10_000),
    "picture of a random graph with beliefs, 100,000 variables": (picture("beliefs"), 100_000),
    "picture of a random graph with strengths, 100,000 variables": (picture("strengths"), 100_000),
    "canonical form of a random network, 100,000 variables": (canonical, 100_000),
    "elimination order of a random graph, 100,000 nodes": (on_graph("elimination_order"), 100_000),
    "triangulation of a random graph, 100,000 nodes": (on_graph("triangulate"), 100_000),
    "tree decomposition of a random graph, 100,000 nodes": (on_graph("tree_decomposition"), 100_000),
    "directed I-map of a random graph, 100,000 nodes": (on_graph("directed_imap"), 100_000),
    "maximum cardinality order of a random graph, 100,000 nodes": (by_cardinality, 100_000),
    "cliques of a random graph in a given order, 100,000 nodes": (given_order, 100_000),
    "moral graph of a node with 100,000 parents": (into_one("moralize"), 100_000),
    "immoralities of a node with 100,000 parents": (into_one("immoralities"), 100_000),
    "class PDAG of a node with 100,000 parents": (into_one("cpdag"), 100_000),
    "random tables of a complete DAG, 300 nodes": (all_joined, 300),
    "chain graph of a random graph, 100,000 variables": (component, 100_000),
    "independences of a random graph, 100,000 nodes": (statements, 100_000),
    "intervention distance of random graphs, 100,000 nodes": (effects, 100_000),
    "plan of a random Gaussian network, 100,000 variables": (gaussian, 100_000),
    "prediction by a random Gaussian network, 100,000 variables": (gaussian_rows, 100_000),
    "tree of features below a class, 100,000 columns": (augmented, 100_000),
    "exact search over 100,000 columns": (structure("ExactSearch"), 100_000),
    "best tree over 100,000 columns": (structure("ChowLiu"), 100_000),
    "structural EM over 100,000 columns": (structure("StructuralEM"), 100_000),
    "scores of parent sets of 100,000 columns": (structure("parent_set_scores"), 100_000),
    "average over all DAGs of 10,000 columns": (averaged("Exhaustive"), 10_000),
    "sum over all DAGs of 10,000 columns": (averaged("TianHe"), 10_000),
    "regression on 100,000 real columns": (regression, 100_000),
    "test of missing cells of 100,000 columns": (missing_at_random, 100_000),
    "dependency network of 100,000 columns": (structure("learn_dependency_net"), 100_000),
}
"""Work besides questions: what makes it, and its size."""


def refused_work(case: str) -> float | str:
    """Seconds until this work is refused."""
    import sepset as ss

    make, size = OTHERS[case]
    make(5)()  # compiles what is needed
    task = make(size)
    before = time.perf_counter()
    try:
        task()
    except ss.TooLarge:
        return time.perf_counter() - before
    return "answered"


LONG: Mapping[str, tuple[Callable[[int], Any], int, str]] = {
    "best state of a grid 24 x 24": (grid, 24, "map_assignment"),
    "marginals of a grid 24 x 24": (grid, 24, "marginals"),
    "plan of a random graph of 100,000 variables": (sparse, 100_000, "plan"),
}


def heard(case: str) -> float | str:
    """Seconds from a Ctrl-C, half a second after the question, until it is raised; or that all was done by then."""
    import sepset as ss

    make, size, question = LONG[case]
    getattr(ss.prepare(make(4)), question)()  # compiles what is needed
    engine = ss.prepare(make(size))
    try:
        return _interrupted(getattr(engine, question))
    except ss.TooLarge:
        return "refused before"


FILES = ("bif", "uai", "json")
"""The formats whose readers are interrupted."""


def read_heard(suffix: str, size: int = 100_000) -> float | str:
    """Seconds from a Ctrl-C, half a second after the start, until reading a chain of many variables is given up."""
    import tempfile
    from pathlib import Path

    import sepset as ss

    names = [f"v{i}" for i in range(size)]
    edges = list(itertools.pairwise(names))
    path = Path(tempfile.mkdtemp()) / f"chain.{suffix}"
    ss.write(ss.BayesNet.random(ss.DAG(names, edges)), path)
    return _interrupted(lambda: ss.read(path))


def comparing(size: int) -> Callable[[], Any]:
    """The comparison of two random graphs."""
    import sepset as ss

    dag = network(size).dag
    return lambda: ss.structure.compare(dag, dag)


def converting(size: int) -> Callable[[], Any]:
    """The chain graph of a random network."""
    import sepset as ss

    net = network(size)
    return lambda: ss.models.to_chain_graph(net)


def writing(suffix: str) -> Callable[[int], Callable[[], Any]]:
    """A random network written to a file that is there already, which stays as it was."""

    def make(size: int) -> Callable[[], Any]:
        import tempfile
        from pathlib import Path

        import sepset as ss

        path, net = Path(tempfile.mkdtemp()) / f"network.{suffix}", network(size)
        ss.write(network(3), path)
        before = path.read_bytes()

        def work() -> None:
            try:
                ss.write(net, path)
            except KeyboardInterrupt:
                assert path.read_bytes() == before
                assert [own.name for own in path.parent.iterdir()] == [path.name]
                raise

        return work

    return make


def exporting(size: int) -> Callable[[], Any]:
    """Many columns written to a CSV file."""
    import tempfile
    from pathlib import Path

    import numpy as np

    import sepset as ss

    variables = [ss.Discrete(f"v{i}") for i in range(size)]
    rows = ss.Dataset.from_codes(variables, {v.name: np.arange(64) % 2 for v in variables})
    path = Path(tempfile.mkdtemp()) / "rows.csv"
    return lambda: ss.data.write_dataset(rows, path)


def _drawn(num_rows: int) -> Any:
    """Rows of real numbers, no two of them equal, and a state."""
    import numpy as np

    import sepset as ss

    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=num_rows) for name in ("x", "y", "z")}
    return ss.Dataset(columns | {"c": rng.integers(0, 3, num_rows)})


def real_tree(size: int) -> Callable[[], Any]:
    """The best tree of real columns, one for each twenty of the size."""
    import numpy as np

    import sepset as ss

    rng = np.random.default_rng(0)
    rows = ss.Dataset({f"x{i}": rng.normal(size=50) for i in range(max(size // 20, 3))})
    return lambda: ss.learn_structure(rows, method=ss.ChowLiu())


def real_structure(make_method: Callable[[], Any]) -> Callable[[int], Callable[[], Any]]:
    """The structure of real columns, one for each twenty of the size."""

    def make(size: int) -> Callable[[], Any]:
        import numpy as np

        import sepset as ss

        rng = np.random.default_rng(0)
        rows = ss.Dataset({f"x{i}": rng.normal(size=50) for i in range(max(size // 20, 3))})
        return lambda: ss.learn_structure(rows, method=make_method())

    return make


def _pc() -> Any:
    import sepset as ss

    return ss.PC(test=ss.structure.FisherZ())


def _climb() -> Any:
    import sepset as ss

    return ss.HillClimb()


def _lasso() -> Any:
    import sepset as ss

    return ss.GraphicalLasso()


def real_chain(size: int) -> Callable[[], Any]:
    """Missing cells of real columns, one for each twenty of the size, filled in by a chain."""
    import numpy as np

    import sepset as ss

    rng, x = np.random.default_rng(0), [ss.Real(f"x{i}") for i in range(max(size // 20, 3))]
    lines = [ss.LinearGaussian(v, coefficients=[0.5], covariance=1.0, given=u) for u, v in itertools.pairwise(x)]
    net = ss.BayesNet(ss.LinearGaussian(x[0], covariance=1.0), *lines)
    values = np.where(rng.random((len(x), 100)) < 0.1, np.nan, rng.normal(size=(len(x), 100)))
    rows = ss.Dataset({v.name: column for v, column in zip(x, values, strict=True)})
    return lambda: ss.impute(net, rows)


def real_features(size: int) -> Callable[[], Any]:
    """The tree of real features below a class, one for each twenty of the size."""
    import numpy as np

    import sepset as ss

    rng = np.random.default_rng(0)
    features = {f"x{i}": rng.normal(size=100) for i in range(max(size // 20, 3))}
    rows = ss.Dataset({"c": rng.integers(0, 2, 100)} | features)
    return lambda: ss.classify.tree_augmented(rows, "c")


def chain_counts(size: int) -> Callable[[], Any]:
    """The expected counts of rows of a chain of discrete variables."""
    import numpy as np

    import sepset as ss

    names = [f"v{i}" for i in range(size)]
    net = ss.BayesNet.random(ss.DAG(names, list(itertools.pairwise(names))))
    codes = np.random.default_rng(0).integers(-1, 2, (size, 100)).astype(np.int8)
    rows = ss.Dataset.from_codes(net.variables, dict(zip(names, codes, strict=True)))
    return lambda: ss.prepare(net).expected_counts(rows)


def perturbing(size: int) -> Callable[[], Any]:
    """Searches on perturbed rows of real numbers, ten times as many as the size."""
    import sepset as ss

    rows = _drawn(10 * size).select(["x", "y", "z"])
    return lambda: ss.learn_structure(rows, method=ss.structure.DataPerturbation())


def collapsing(size: int) -> Callable[[], Any]:
    """Equal rows of real numbers made one, thirty times as many as the size."""
    return _drawn(30 * size).collapse


def hidden_start(size: int) -> Callable[[], Any]:
    """EM of a hidden class of rows of real numbers, thirty times as many as the size."""
    import sepset as ss

    rows, hidden = _drawn(30 * max(size, 10)), ss.Discrete("h", 2)
    dag = ss.DAG.parse("h -> x; h -> y; h -> z; h -> c")
    return lambda: ss.fit(dag, rows, ss.EM(), variables=[hidden], until=1)


def drawing(size: int) -> Callable[[], Any]:
    """Draws of a chain of real variables, three hundred times as many as the size."""
    import sepset as ss

    x = [ss.Real(f"x{i}") for i in range(5)]
    lines = [ss.LinearGaussian(v, coefficients=[0.5], covariance=1.0, given=u) for u, v in itertools.pairwise(x)]
    net = ss.BayesNet(ss.LinearGaussian(x[0], covariance=1.0), *lines)
    return lambda: ss.sample(net, 300 * size)


WORK: Mapping[str, Callable[[int], Callable[[], Any]]] = {
    "comparison of random graphs, 100,000 nodes": comparing,
    "chain graph of a random network, 100,000 variables": converting,
    "writing a random network to .json, 100,000 variables": writing("json"),
    "writing a random network to .bif, 100,000 variables": writing("bif"),
    "writing 100,000 columns to .csv": exporting,
    "best tree over 5,000 real columns": real_tree,
    "tests of 5,000 real columns": real_structure(_pc),
    "search over 5,000 real columns": real_structure(_climb),
    "graphical lasso of 5,000 real columns": real_structure(_lasso),
    "tree of 5,000 real features below a class": real_features,
    "missing cells of 5,000 real columns": real_chain,
    "expected counts of a chain of 100,000 variables": chain_counts,
    "searches on perturbed rows, 1,000,000 of them": perturbing,
    "collapsing 3,000,000 rows": collapsing,
    "EM of a hidden class of 3,000,000 rows": hidden_start,
    "drawing 30,000,000 rows of five real variables": drawing,
    "best state of 100,000 variables under at-least-one factors": best_cover,
    "likely causes of 10,000 findings of ten causes each, of 90,000": likely_causes,
}
"""Work that is not refused, and takes seconds."""


def work_heard(case: str, size: int = 100_000) -> float | str:
    """Seconds from a Ctrl-C, half a second after the start, until long work is given up."""
    make = WORK[case]
    make(5)()  # compiles what is needed
    return _interrupted(make(size))


def _interrupted(work: Callable[[], Any], after: float = 0.5) -> float | str:
    """Seconds from a Ctrl-C until it is raised, or until the best result so far is returned."""
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(after, interrupt)
    timer.start()
    try:
        found = work()
        if sent and getattr(getattr(found, "status", None), "name", "") == "INTERRUPTED":
            return time.perf_counter() - sent[0]
        time.sleep(2.0 * after)
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    finally:
        timer.cancel()
    return "answered before"


def memory_of(method: str, side: int = 18) -> tuple[float, float]:
    """Bytes that the plan of a method for a grid states, and that its answer takes above what was held before."""
    import sepset as ss

    chosen = _method(method)()
    small, model = grid(6), grid(side)
    ss.prepare(small, method=chosen).query(small.variables.names[0])  # compiles what is needed
    engine, name = ss.prepare(model, method=chosen), model.variables.names[0]
    planned, before = engine.plan(name).memory, peak_memory()
    engine.query(name)
    return float(planned), float(peak_memory() - before)


def memory(targets: int) -> tuple[float, float]:
    """Bytes that the plan of a joint of ALARM states, and that its answer takes above what was held before."""
    import sepset as ss

    net = ss.datasets.load("alarm")
    engine = ss.prepare(net)
    engine.query(net.variables.names[:8])  # compiles what is needed
    names = net.variables.names[:targets]
    planned, before = engine.plan(names).memory, peak_memory()
    engine.query(names)
    return float(planned), float(peak_memory() - before)


def run(lab: Lab) -> list[Report]:
    """Refusals of every method, interruptions, and memory against plans."""
    soon, ends, sizes = [], [], []
    for model in lab.wanted(MODELS):
        for method in METHODS:
            found: Figure = lab.ask("sepset", refused, model, method)
            soon.append(Comparison(f"{model}, {method}", found, REFUSED, target="2 s"))
    for case in lab.wanted(OTHERS):
        soon.append(Comparison(case, lab.ask("sepset", refused_work, case), REFUSED, target="2 s"))
    for case in lab.wanted(LONG):
        ends.append(Comparison(case, lab.ask("sepset", heard, case, fresh=True), HEARD, target="1 s"))
    for suffix in lab.wanted(FILES):
        found = lab.ask("sepset", read_heard, suffix, fresh=True)
        ends.append(Comparison(f"reading 100,000 variables from .{suffix}", found, HEARD, target="1 s"))
    for case in lab.wanted(WORK):
        ends.append(Comparison(case, lab.ask("sepset", work_heard, case, fresh=True), HEARD, target="1 s"))
    joints = {f"joint of {k} variables of ALARM": (memory, k) for k in ((18,) if lab.quick else (18, 19, 20))}
    methods = {f"grid 18 x 18, {name}": (memory_of, name) for name in (() if lab.quick else EXACT)}
    for case, (measure, argument) in (joints | methods).items():
        measured = lab.ask("sepset", measure, argument, fresh=True)
        if isinstance(measured, str):
            sizes.append(Comparison(case, measured))
        else:
            planned, taken = measured
            sizes.append(Comparison(case, taken, {"plan": planned}, "B"))
    note = "The slowest of a query, all marginals and the best state, by a new engine for each."
    return [
        Report("Seconds until a question is refused", soon, note, has_mean=False, versus="goal / sepset"),
        Report("Seconds until Ctrl-C is heard", ends, has_mean=False, versus="goal / sepset"),
        Report(
            "Peak memory against the plan",
            sizes,
            f"Above what the process held before; the goal is within {WITHIN} of the plan.",
            has_mean=False,
            versus="plan / sepset",
        ),
    ]
