"""Neighborhood selection: recovery, rules, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sepset as ss
from sepset.errors import ArgumentError, DataError, NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.undirected.neighborhoods import LassoNeighborhoods

Selection = ss.structure.NeighborhoodSelection


def chain(seed, size=5, rows=300):
    x = np.random.default_rng(seed).normal(size=(size, rows))
    for i in range(1, size):
        x[i] += x[i - 1]
    return {f"x{i}": column for i, column in enumerate(x)}


def ising(num_rows, seed):
    spins = ss.Discrete.array("s", (3, 3), states=(-1, 1))
    net = ss.MarkovNet.ising(spins, 0.5, field=0.1)
    return net, ss.sample(net, num_rows, seed=seed)


def test_an_ising_model_is_recovered():
    net, data = ising(1_500, 1)
    found = ss.learn_structure(data, method=Selection())
    assert set(map(frozenset, found.graph.edges)) == set(map(frozenset, net.graph.edges))
    assert found.guarantees["structure"] is ss.Guarantee.EXACT
    fitted = found.fit()
    couplings = [
        0.25 * math.log(t[0, 0] * t[1, 1] / t[0, 1] / t[1, 0])
        for t in (f.values for f in fitted.model.factors)
        if t.ndim == 2
    ]
    assert max(abs(w - 0.5) for w in couplings) < 0.15


def test_a_chain_of_numbers_is_recovered_by_both_rules():
    expected = ss.UndirectedGraph.parse("x0 - x1 - x2 - x3 - x4")
    for rule in ("and", "or"):
        found = ss.learn_structure(chain(0), method=Selection(rule=rule))
        assert found.graph == expected
    assert found.fit().model.graph == expected


def test_rules_and_conditions_of_optimality():
    rows = chain(1, 6, 40)
    both, one = (ss.learn_structure(rows, method=Selection(0.15, rule=rule)) for rule in ("and", "or"))
    chosen = both.path[0].selected
    assert both.graph.num_edges == (chosen & chosen.T).sum() // 2
    assert one.graph.num_edges == (chosen | chosen.T).sum() // 2
    found: LassoNeighborhoods = both.path[0].estimate
    S = np.corrcoef(np.array(list(rows.values())))
    for j, beta in enumerate(found.coefficients):
        slope = np.delete(S[j] - S @ beta, j)
        beta = np.delete(beta, j)
        assert (np.abs(slope) <= 0.15 + 1e-4).all()
        np.testing.assert_allclose(slope[beta != 0], 0.15 * np.sign(beta[beta != 0]), atol=1e-4)


def test_likelihoods_of_regressions():
    rows = chain(2, 3, 50)
    found = ss.learn_structure(rows, method=Selection(1e-9, tolerance=1e-9)).path[0].estimate
    X = np.array(list(rows.values()))
    X = (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True)
    expected = 0.0
    for j in range(3):
        others = np.delete(X, j, 0).T
        left = X[j] - others @ np.linalg.lstsq(others, X[j], rcond=None)[0]
        expected -= 0.5 * 50 * math.log((left**2).mean())
    assert found.refitted() == pytest.approx(expected)
    assert 50 * found.log_likelihood(Columns.of(rows)) == pytest.approx(expected - 75.0, abs=1e-4)


def test_more_columns_than_rows_and_copies():
    rows = chain(3, 12, 8)
    with pytest.raises(DataError, match="'x0' is a linear function of 'copy'"):
        ss.learn_structure(rows | {"copy": rows["x0"]}, method=Selection())
    copied = ss.learn_structure(rows | {"copy": rows["x0"]}, method=Selection(0.2))
    assert copied.graph.has_edge("x0", "copy")
    found = ss.learn_structure(rows, method=Selection())
    assert found.graph.num_edges < 60
    assert all(point.gap <= 1e-4 for point in found.path)


def test_choices_of_the_penalty_apply():
    _, data = ising(300, 2)
    for choice in (ss.structure.StARS(num_draws=3), ss.evaluation.KFold(2)):
        method = Selection(choice, num_penalties=6)
        one, two = (ss.learn_structure(data, method=method, seed=3) for _ in range(2))
        assert one.graph == two.graph
        assert one.penalty == two.penalty


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 40)
    rows = {"a": a, "b": a ^ (rng.random(40) < 0.2), "c": rng.integers(0, 3, 40)}
    weights = rng.integers(1, 4, 40)
    one = ss.learn_structure(rows, method=Selection(0.05), weights=weights)
    two = ss.learn_structure({k: np.repeat(v, weights) for k, v in rows.items()}, method=Selection(0.05))
    assert one.graph == two.graph
    np.testing.assert_allclose(one.path[0].estimate.coefficients, two.path[0].estimate.coefficients, atol=1e-3)


def test_what_does_not_apply():
    with pytest.raises(NotApplicable, match="one kind; 'x' is real"):
        ss.learn_structure({"x": [0.5, 1.5, 2.5], "y": [0, 1, 1]}, method=Selection())
    with pytest.raises(DataError, match="'y' is constant"):
        ss.learn_structure({"x": [0, 1, 1], "y": ["a", "a", "a"]}, method=Selection())
    with pytest.raises(ArgumentError, match="rule="):
        Selection(rule="xor")
    with pytest.raises(ArgumentError, match="tolerance="):
        Selection(tolerance=0)
    found = ss.learn_structure(chain(4, 3, 30), method=Selection(0.2))
    with pytest.raises(NotApplicable, match="prior="):
        found.fit(prior=ss.priors.NormalWeights(1))
