"""One of each kind of thing that a user holds: models, graphs, answers, fits, structures, evaluations, data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import sepset as ss

A, X, Y = ss.Discrete("a", ("low", "high")), ss.Real("x"), ss.Real("y")
B, C, D = (ss.Discrete(name, ("no", "yes")) for name in "bcd")
V = ss.Vector("v", 2)
CASES = {"d": [0, 1, None], "a": [0, 0, 0]}
PRIOR = ss.priors.Dirichlet(1.0)


@cache
def net() -> ss.BayesNet:
    """Four discrete variables: a -> b, a -> c, and d given both."""
    return ss.BayesNet(
        ss.TableCPD(A, [0.25, 0.75]),
        ss.TableCPD(B, [[0.5, 0.5], [0.1, 0.9]], given=A),
        ss.TableCPD(C, [[0.25, 0.75], [0.75, 0.25]], given=A),
        ss.TableCPD(D, [[[0.9, 0.1], [0.7, 0.3]], [[0.6, 0.4], [0.2, 0.8]]], given=[B, C]),
    )


@cache
def hybrid() -> ss.BayesNet:
    """A mixture: x given a, y given x."""
    return ss.BayesNet(
        ss.TableCPD(A, [0.25, 0.75]),
        ss.LinearGaussian(X, [0.5, 2.5], covariance=[1.0, 0.25], by=A),
        ss.LinearGaussian(Y, 1.5, coefficients=[2.0], covariance=0.5, given=X),
    )


@cache
def rows() -> ss.Dataset:
    return net().sample(80, 1)


@cache
def holes() -> ss.Dataset:
    return ss.missing.hide_cells(rows(), ss.missing.MCAR(0.2), seed=3)


@cache
def engine() -> Any:
    return ss.prepare(net())


@cache
def learned() -> Any:
    return ss.learn_structure(rows(), method=ss.HillClimb(), progress=False)


@cache
def fitted() -> Any:
    return ss.fit(net().dag, rows(), ss.Bayes(PRIOR))


@cache
def trained() -> Any:
    return ss.fit(net().dag, holes(), ss.EM(), until=3)


def learner() -> Any:
    return ss.evaluation.Learner(net().dag, ss.Bayes(PRIOR))


def moral() -> Any:
    return ss.graphs.moralize(net().dag)


def wide() -> ss.BayesNet:
    """A network with 70 variables, the first with 60 states."""
    many = ss.Discrete("many", tuple(range(60)))
    rest = [ss.TableCPD(ss.Discrete(f"v{k}", 2), [0.25, 0.75]) for k in range(69)]
    return ss.BayesNet(ss.TableCPD(many, np.full(60, 1 / 60)), *rest)


def agreement(data: ss.Dataset) -> float:
    """The number of rows in which b and d agree."""
    return float((data.codes("b") == data.codes("d")).sum())


@cache
def dependent() -> Any:
    """A dependency network that is not consistent."""
    copy = ss.TableCPD(A, [[0.9, 0.1], [0.1, 0.9]], given=B)
    return ss.models.DependencyNet(copy, ss.TableCPD(B, [0.5, 0.5]))


def baskets() -> Any:
    return ss.recommend.Baskets([["bread", "milk"], ["milk"], ["bread", "beer"], ["milk", "beer"]])


def popular() -> Any:
    return ss.recommend.Popularity().fit(baskets())


def drawn(method: Any, columns: Any = None, **settings: Any) -> Any:
    """What a method learns from the rows."""
    return ss.learn_structure(rows() if columns is None else columns, method=method, progress=False, **settings)


def two_reals() -> dict[str, Any]:
    return {"x": np.arange(20.0), "y": np.sin(np.arange(20.0))}


ANSWERS: dict[str, Callable[[], Any]] = {
    "query": lambda: ss.query(net(), "a", given={"d": "yes"}),
    "joint query": lambda: ss.query(net(), ["a", "b"], given={"d": "yes"}),
    "real query": lambda: ss.query(hybrid(), "y", given={"a": "low"}),
    "mixture query": lambda: ss.query(hybrid(), "y"),
    "hybrid query": lambda: ss.query(hybrid(), ["a", "x"]),
    "hybrid query of two": lambda: ss.query(hybrid(), ["a", "x", "y"]),
    "real joint query": lambda: ss.query(hybrid(), ["x", "y"], given={"a": "low"}),
    "marginals": lambda: ss.marginals(net(), given={"d": "yes"}),
    "hybrid marginals": lambda: ss.marginals(hybrid()),
    "loopy marginals": lambda: ss.marginals(net(), method=ss.LoopyBP()),
    "comparison": lambda: ss.marginals(net()).compare(ss.marginals(net(), given={"d": "yes"})),
    "best assignment": lambda: ss.map_assignment(net(), given={"d": "yes"}),
    "best assignments": lambda: ss.map_assignment(net(), k=4),
    "max marginals": lambda: ss.max_marginals(net()),
    "log probability": lambda: ss.log_probability(net(), given={"d": "yes"}),
    "view": lambda: engine().observe({"d": "yes"}),
    "information": lambda: ss.value_of_information(net(), "a", costs={"b": 1.0, "c": 2.0, "d": 3.0}),
    "sensitivity": lambda: ss.sensitivity(net(), "a", state="low", given={"d": "yes"}),
    "prediction": lambda: ss.predict(net(), rows().select(["b", "d"]), targets="a"),
    "plan": lambda: ss.plan(net()),
    "recursive plan": lambda: ss.prepare(net(), method=ss.inference.RecursiveConditioning()).plan(),
    "cutset plan": lambda: ss.prepare(net(), method=ss.inference.CutsetConditioning(memory=200)).plan(),
    "check": lambda: engine().check(),
    "one check": lambda: made("check").checks[0],
    "one parameter": lambda: made("sensitivity")[0],
    "pairs": lambda: engine().pairwise_marginals(given={"d": "yes"}),
    "classification": lambda: ss.classify.Classifier(net(), "a").predict({"d": ["no", "yes"]}),
    "certificate of an assignment": lambda: ss.map_assignment(net(), method=ss.BranchAndBound()).certificate,
    "cut": lambda: ss.inference.FlowGraph(
        2, [[0, 1]], forward=[3.0], backward=[0.0], from_source=[5.0, 0.0], to_sink=[1.0, 4.0]
    ).min_cut(),
}
"""Answers to questions: all of them print, and can be read as plain values."""

RESULTS: dict[str, Callable[[], Any]] = {
    "trail": lambda: ss.graphs.active_trail(net().dag, "b", "c"),
    "independence": lambda: ss.graphs.independences(net().dag)[0],
    "elimination": lambda: ss.graphs.elimination_order(moral()),
    "fit": fitted,
    "EM": trained,
    "hybrid fit": lambda: ss.fit(hybrid().dag, hybrid().sample(60, 2), ss.MLE()),
    "parameter posterior": lambda: fitted().posterior,
    "standard errors": lambda: ss.learning.standard_errors(net(), rows()),
    "evaluation": lambda: ss.evaluate(net(), rows()),
    "validation": lambda: ss.cross_validate(learner(), rows()),
    "learning curve": lambda: ss.evaluation.learning_curve({"mine": learner()}, rows(), sizes=[20, 40], repeats=2),
    "calibration": lambda: ss.evaluation.calibration_curve(net(), rows(), target="a"),
    "divergence": lambda: ss.evaluation.divergence(net(), fitted().model),
    "goodness of fit": lambda: ss.evaluation.goodness_of_fit(net(), rows(), num_draws=19),
    "bootstrap": lambda: ss.evaluation.bootstrap_mean([1.0, 2.0, 3.5]),
    "paired comparison": lambda: ss.evaluation.paired_comparison([1.0, 2.0, 3.0], [2.0, 3.0, 5.0]),
    "missing patterns": lambda: ss.missing.missing_patterns(holes()),
    "MCAR test": lambda: ss.missing.mcar_test(holes()),
    "imputation": lambda: ss.impute(net(), holes(), seed=1),
    "case weights": lambda: ss.missing.inverse_probability_weights(CASES, "d", given="a"),
    "learned structure": learned,
    "PC": lambda: ss.learn_structure(rows(), method=ss.PC(), progress=False),
    "FCI": lambda: ss.learn_structure(rows(), method=ss.FCI(), progress=False),
    "structure posterior": lambda: ss.structure_posterior(rows(), method=ss.structure.KoivistoSood(num_graphs=20)),
    "certificate": lambda: ss.structure.certify(net().dag, rows()),
    "recovery": lambda: ss.structure.compare(learned().dag, net().dag),
    "independence test": lambda: ss.structure.independence_test(rows(), between=("a", "b")),
    "family scores": lambda: ss.structure.score(net().dag, rows()),
    "log evidence": lambda: ss.structure.log_evidence(net().dag, holes()),
    "intervention distance": lambda: ss.structure.intervention_distance(net().dag, learned().dag),
    "risk": lambda: made("evaluation")[ss.evaluation.LogLoss()],
    "validated risk": lambda: made("validation")[ss.evaluation.LogLoss()],
    "bias and variance": lambda: ss.evaluation.bias_variance(
        learner(), net(), target="d", test=rows(), num_rows=40, repeats=3
    ),
    "nested validation": lambda: ss.evaluation.nested_cross_validate(
        {"mine": learner()}, rows(), outer=ss.evaluation.Holdout(0.5)
    ),
    "permutation test": lambda: ss.evaluation.permutation_test(rows(), agreement, column="d", num_draws=19),
    "selection": lambda: ss.evaluation.select_learner({"mine": learner()}, rows()),
    "coverage": lambda: ss.learning.context_coverage(net(), rows()),
    "maximum of a likelihood": lambda: ss.learning.maximum_likelihood(
        lambda t, x: -0.5 * (x - t[0]) ** 2, np.array([1.0, 2.0, 4.0]), start=[0.0]
    ),
    "fitted regression": lambda: ss.learning.fit_regression(
        {"u": [0, 1, 2, 3], "x": [1.0, 3.0, 2.0, 5.0]}, "x", given="u"
    ),
    "interval of a proportion": lambda: ss.learning.proportion_interval(35, 100),
    "moments of the log probability": lambda: ss.evaluation.log_probability_moments(net()),
    "pooled estimate": lambda: ss.missing.pool_estimates([1.0, 1.2, 0.8], [0.04, 0.05, 0.03]),
    "consistency": lambda: dependent().consistency(),
    "conversion": lambda: dependent().markov_net(num_rows=50),
    "learned dependency network": lambda: ss.structure.learn_dependency_net(rows()),
    "recommendations": lambda: popular().recommend([["milk"]]),
    "ranking scores": lambda: ss.recommend.evaluate_ranking(popular(), baskets()),
    "local tree": lambda: ss.structure.learn_tree(rows(), "d", score=ss.BDeu(4)),
    "identifiability": lambda: ss.missing.identifiability(net(), ["b", "c", "d"]),
    "states of a hidden variable": lambda: ss.structure.hidden_cardinality(
        ss.DAG.parse("h -> b; h -> c"), rows().select(["b", "c"]), hidden="h", max_states=2
    ),
    "penalties": lambda: made("graphical lasso").path[0],
    "recovery of edges": lambda: ss.structure.edge_recovery(net().dag, made("structure posterior")),
    "mixture of trees": lambda: drawn(ss.structure.MixtureOfTrees(1)),
    "modules": lambda: drawn(
        ss.structure.ModuleSearch(1, restarts=1), rows().select(["b", "c", "d"]), score=ss.BDeu(1)
    ),
    "graphical lasso": lambda: drawn(ss.GraphicalLasso(), two_reals()),
    "neighborhoods": lambda: drawn(ss.structure.NeighborhoodSelection()),
    "structural EM": lambda: drawn(ss.StructuralEM(), holes()),
    "latent tree": lambda: drawn(ss.structure.LatentTree(num_trees=1)),
    "context": lambda: ss.cpds.ContextIndependence({"selector": 0}, (B,)),
    "description": lambda: ss.datasets.describe("asia"),
    "regions": lambda: ss.graphs.cluster_variation_graph([("A", "B"), ("B", "C")]),
    "discretization": lambda: ss.discretize({"x": np.arange(20.0)}, bins=4),
}
"""What learning, evaluation and graphs give: all of them print, and can be read as plain values."""

THINGS: dict[str, Callable[[], Any]] = {
    "network": net,
    "hybrid network": hybrid,
    "Markov network": lambda: ss.MarkovNet(ss.Table([A, B], [[1.0, 2.0], [3.0, 4.0]]), ss.Table(B, [1.0, 5.0])),
    "DAG": lambda: net().dag,
    "undirected graph": moral,
    "equivalence class": lambda: ss.graphs.cpdag(net().dag),
    "clique tree": lambda: ss.graphs.tree_decomposition(moral()),
    "cluster graph": lambda: ss.graphs.ClusterGraph([("A", "B"), ("B", "C"), ("C", "A")], [(0, 1), (1, 2), (2, 0)]),
    "factor graph": lambda: made("Markov network").factor_graph(),
    "dependency network": dependent,
    "classifier": lambda: ss.classify.Classifier(net(), "a"),
    "baskets": baskets,
    "counts": lambda: ss.data.Counts.of(rows(), net().cpds),
    "moments": lambda: ss.data.Moments.of({"x": [1.0, 3.0, 8.0], "k": ["a", "a", "b"]}, ["x"], given="k"),
    "empirical distribution": lambda: ss.data.Empirical(rows()),
    "picture": lambda: ss.draw(net(), given={"d": "yes"}),
    "engine": engine,
    "dataset": rows,
    "incomplete dataset": holes,
    "table": lambda: ss.Table(A, [0.25, 0.75]),
    "Gaussian": lambda: ss.Gaussian([X, V], [0.5, 1.0, 2.0], covariance=np.diag([1.0, 2.0, 3.0])),
    "Gaussian mixture": lambda: ss.GaussianMixture(X, [0.25, 0.75], means=[0.0, 2.0], covariances=[1.0, 2.0]),
    "canonical form": lambda: ss.factors.CanonicalGaussian(X, 2.0, h=1.5, g=0.5),
    "table of canonical forms": lambda: ss.factors.CanonicalTable((A, X), [1.0, 0.0], h=[0.0, 1.0], g=[0.5, 0.25]),
    "Student t": lambda: ss.factors.StudentT(8, 2.5, dispersion=1.5),
    "TableCPD": lambda: net().cpd("d"),
    "LinearGaussian": lambda: hybrid().cpd("x"),
    "LinearGaussian of a vector": lambda: ss.LinearGaussian(V, [0.5, 1.5], covariance=np.eye(2)),
    "NoisyOr": lambda: ss.NoisyOr(B, {C: 0.9, D: 0.75}, leak=0.125),
    "LogisticCPD": lambda: ss.LogisticCPD(B, {C: 1.0, D: 2.0}, bias=0.5),
    "DeterministicCPD": lambda: ss.DeterministicCPD(B, lambda c, d: c, given=[C, D]),
    "TreeCPD": lambda: ss.TreeCPD(B, ss.cpds.Split(C, {"no": [0.75, 0.25], "yes": [0.5, 0.5]})),
    "NoisyMax": lambda: ss.NoisyMax(D, {B: [[1.0, 0.0], [0.25, 0.75]], C: [[1.0, 0.0], [0.5, 0.5]]}),
    "RuleCPD": lambda: ss.RuleCPD(D, [({B: "no", D: "no"}, 0.25), ({B: "no", D: "yes"}, 0.75), ({B: "yes"}, 0.5)]),
    "PartitionCPD": lambda: ss.PartitionCPD(D, [0, 1], distributions=[[0.75, 0.25], [0.5, 0.5]], given=B),
    "MultiplexerCPD": lambda: ss.MultiplexerCPD(D, A, inputs=(B, C)),
    "chain graph": lambda: ss.ChainGraph(
        ss.TableCPD(A, [0.5, 0.5]),
        ss.models.ChainComponent((B, C), ss.Table((A, B), [[1, 2], [3, 1]]), ss.Table((B, C), [[5, 1], [1, 5]])),
    ),
    "sparse table": lambda: ss.factors.SparseTable((B, C), [[0, 0], [1, 1]], values=[1.0, 2.0]),
    "PAG": lambda: made("FCI").graph,
    "KernelCPD": lambda: ss.KernelCPD(X, {"x": [0.0, 1.0, 2.5]}, width=0.75),
}
"""Models, graphs, distributions, CPDs and data: all of them print."""

EVERYTHING = {**ANSWERS, **RESULTS, **THINGS}


@cache
def made(name: str) -> Any:
    """The thing with this name, made once."""
    return EVERYTHING[name]()


LONG: dict[str, Callable[[], Any]] = {
    "marginals": lambda: ss.marginals(wide()),
    "query": lambda: ss.query(wide(), "many"),
    "joint query": lambda: ss.query(wide(), ["many", "v0"]),
    "best assignment": lambda: ss.map_assignment(wide()),
    "best assignments": lambda: ss.map_assignment(wide(), k=60),
    "max marginals": lambda: ss.max_marginals(wide()),
    "comparison": lambda: ss.marginals(wide()).compare(ss.marginals(wide(), given={"v0": 1})),
    "CPD": lambda: wide().cpd("many"),
    "dataset": lambda: wide().sample(200, 1),
    "missing patterns": lambda: ss.missing.missing_patterns(
        ss.missing.hide_cells(wide().sample(80, 1).select([f"v{k}" for k in range(6)]), ss.missing.MCAR(0.4), seed=1)
    ),
    "family scores": lambda: ss.structure.score(wide().dag, wide().sample(40, 1)),
    "Gaussian": lambda: ss.Gaussian([ss.Vector("v", 50)], np.zeros(50), covariance=np.eye(50)),
    "mixture": lambda: ss.GaussianMixture(X, np.full(40, 0.025), means=np.arange(40.0), covariances=np.ones(40)),
}
"""What is too long to be shown whole."""
