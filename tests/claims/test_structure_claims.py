"""Claims of the literature about structure learning, on few rows of ALARM; `benchmarks/structure_claims.py` has all."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sepset as ss

structure_claims = pytest.importorskip("benchmarks.structure_claims")

NET = ss.datasets.load("alarm")


@cache
def fresh():
    return NET.sample(5_000, seed=4)


def loss(graph, rows):
    """Minus the log-probability of a fresh row, with posterior means."""
    return -float(np.mean(ss.fit(graph, rows, ss.Bayes(ss.BDeu(5.0))).model.log_probability(fresh())))


def test_few_rows_favor_simple_structures_under_bic_and_not_under_bdeu():
    rows = NET.sample(5_000, seed=1)
    ahead = {}
    for size in (200, 5_000):
        for score in (ss.BIC(), ss.BDeu(5.0)):
            tree = ss.learn_structure(rows[:size], method=ss.ChowLiu(), score=score).score
            ahead[type(score).__name__, size] = ss.structure.score(NET.dag, rows[:size], score=score).total - tree
    assert ahead["BIC", 200] < 0 < ahead["BIC", 5_000]
    assert 0 < ahead["BDeu", 200] < ahead["BDeu", 5_000]


@pytest.mark.parametrize("size", [500, 2_000])
def test_a_learned_structure_costs_less_than_a_penalty_does(size):
    """With BDeu the divergence is at most 1.7 times that with the true graph; BIC finds fewer edges, and costs more."""
    rows = NET.sample(size, seed=5)
    entropy = -float(np.mean(NET.log_probability(fresh())))
    search = ss.HillClimb(tabu=20, restarts=4)
    bayesian, simple = (ss.learn_structure(rows, method=search, score=s).dag for s in (ss.BDeu(1.0), ss.BIC()))
    true, by_bdeu, by_bic = (loss(graph, rows) - entropy for graph in (NET.dag, bayesian, simple))
    assert 0 < true < by_bdeu < 1.7 * true
    assert by_bic > by_bdeu
    assert simple.num_edges < NET.dag.num_edges
    assert simple.num_edges < bayesian.num_edges or bayesian.num_edges == NET.dag.num_edges


def test_a_true_order_helps_a_greedy_search_and_a_random_one_does_not():
    rows = NET.sample(1_000, seed=7)
    random = np.random.default_rng(0).permutation(NET.dag.nodes).tolist()
    best = ss.learn_structure(rows, method=ss.HillClimb(tabu=20)).score
    along = [
        ss.learn_structure(rows, method=ss.structure.KnownOrder(order, is_greedy=True)).score
        for order in (NET.dag.topological_order, random)
    ]
    assert along[1] < along[0] < best + 50
    assert best - along[1] > 200


def test_the_evidence_of_a_graph_predicts_fresh_rows():
    """Over the graphs that a search passes: the evidence per row, and the mean log-probability of fresh rows."""
    rows = NET.sample(500, seed=3)
    graphs = [ss.learn_structure(rows, method=ss.HillClimb(), score=ss.BDeu(5.0), until=k).dag for k in range(1, 50, 6)]
    evidence = [ss.structure.score(graph, rows, score=ss.BDeu(5.0)).total / 500 for graph in graphs]
    assert evidence == sorted(evidence)
    assert np.corrcoef(evidence, [-loss(graph, rows) for graph in graphs])[0, 1] > 0.99


def test_networks_over_items_recommend_alike_and_better_than_what_does_not_look_at_contexts():
    rows, fresh = structure_claims.basket_populations(1_000, 300)["items that replace others"]
    names = ("BayesRecommender", "DependencyRecommender", "Similarity", "Popularity")
    accuracy = {}
    for name in names:
        fitted = getattr(ss.recommend, name)().fit(ss.recommend.Baskets(rows))
        accuracy[name] = ss.recommend.evaluate_ranking(fitted, ss.recommend.Baskets(fresh))["accuracy"]
    assert abs(accuracy["BayesRecommender"] - accuracy["DependencyRecommender"]) < 10
    assert min(accuracy[name] for name in names[:2]) > 1.3 * accuracy["Similarity"] > 1.3 * accuracy["Popularity"]


def test_trees_among_the_features_improve_on_naive_bayes():
    found = dict(structure_claims.trees_classify([("insurance", "Accident")], 1_000, 1_000))
    assert found["insurance, Accident: tan"] > found["insurance, Accident: naive"] + 3


def test_chains_of_single_edges_stay_where_chains_over_orders_agree():
    """15 columns, 1,000 rows: edges are certain in a chain from no edges and absent in one from a search, or reversely.

    Reversals with new parents, and orders, lead both chains to the same edges.
    """
    net = ss.datasets.load("alarm")
    rows = net.sample(1_000, seed=6).select(list(net.variables.names)[21:36])
    settings = {"num_samples": 100, "thin": 300, "burn_in": 50, "num_chains": 1}
    apart = dict(structure_claims.two_chains(ss.StructureMCMC(reversals=0.0, **settings), rows))
    assert apart["last half's mean score, from a search less from no edges"] > 30
    assert apart["edges that differ by 0.9"] >= 5
    for chain in (ss.StructureMCMC(**settings), ss.OrderMCMC(**settings | {"thin": 100})):
        found = dict(structure_claims.two_chains(chain, rows))
        assert abs(found["last half's mean score, from a search less from no edges"]) < 3
        assert found["edges that differ by 0.5"] == 0
        assert found["correlation of edges"] > 0.98
