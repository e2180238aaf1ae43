"""Claims of the literature about structure learning, on few rows of ALARM; `benchmarks/structure_claims.py` has all."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss

NET = ss.datasets.load("alarm")
FRESH = NET.sample(5_000, seed=4)


def loss(graph, rows):
    """Minus the log-probability of a fresh row, with posterior means."""
    return -float(np.mean(ss.fit(graph, rows, ss.Bayes(ss.BDeu(5.0))).model.log_probability(FRESH)))


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
    entropy = -float(np.mean(NET.log_probability(FRESH)))
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
