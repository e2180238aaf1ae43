"""The empirical distribution: shares of rows, the largest likelihood, and how little of the space it fills."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.api.learning import fit
from sepset.data.dataset import Dataset
from sepset.data.empirical import Empirical
from sepset.errors import DataError, NotApplicable
from sepset.graphs.graph import DAG
from sepset.models.bayesnet import BayesNet


def test_shares_of_rows():
    rows = BayesNet.random(DAG.parse("a -> b; c"), states={"a": 2, "b": 3, "c": 2}, seed=1).sample(50, seed=0)
    found = Empirical(rows)
    codes = rows.matrix()
    for cell in itertools.product(range(2), range(3), range(2)):
        given = {n: rows.variables[n].states[c] for n, c in zip("abc", cell, strict=True)}
        assert found.probability(given) == pytest.approx((codes == cell).all(axis=1).mean())
    assert found.probability({"b": {0, 2}}) == pytest.approx(np.isin(codes[:, 1], [0, 2]).mean())
    assert found.probability({"b": ss.Not(1)}) == pytest.approx((codes[:, 1] != 1).mean())
    assert found.probability({}) == pytest.approx(1.0)
    assert found.probabilities.sum() == pytest.approx(1.0)


def test_no_distribution_has_a_larger_likelihood():
    rows = BayesNet.random(DAG.parse("a -> b; a -> c"), seed=2).sample(80, seed=0)
    found = Empirical(rows)
    complete = fit(DAG.parse("a -> b; a -> c; b -> c"), rows)
    assert complete.log_likelihood == pytest.approx(found.log_likelihood)
    for seed in range(5):
        other = BayesNet.random(DAG.parse("a -> b; a -> c; b -> c"), seed=seed)
        assert other.log_probability(rows).sum() < found.log_likelihood
    assert fit(DAG.parse("a -> b; c"), rows).log_likelihood <= found.log_likelihood


@pytest.mark.parametrize("graph", ["a; b; c", "a -> b; c", "a -> b -> c", "b -> a; b -> c; a -> c"])
def test_maximum_likelihood_is_the_projection_of_it(graph):
    """Theorem 17.1, and the log-likelihood as -M (H + D): of the joints, written out cell by cell."""
    rows = BayesNet.random(DAG.parse("a -> b; a -> c; b -> c"), states=2, seed=5).sample(200, seed=0)
    cells = list(itertools.product(range(2), repeat=3))
    share = np.array([(rows.select(["a", "b", "c"]).matrix() == cell).all(axis=1).mean() for cell in cells])
    seen = share > 0
    entropy = -float(share[seen] @ np.log(share[seen]))

    def divergence(net):
        logs = np.array([net.log_probability(dict(zip("abc", cell, strict=True)))[0] for cell in cells])
        return float(share[seen] @ (np.log(share[seen]) - logs[seen]))

    found = fit(DAG.parse(graph), rows)
    assert found.log_likelihood == pytest.approx(-200 * (entropy + divergence(found.model)), rel=1e-12)
    assert Empirical(rows).entropy == pytest.approx(entropy, rel=1e-12)
    for seed in range(20):
        assert divergence(found.model) <= divergence(BayesNet.random(DAG.parse(graph), states=2, seed=seed)) + 1e-12


def test_a_hundred_binary_variables():
    codes = np.random.default_rng(0).integers(0, 2, (1000, 100))
    found = Empirical(Dataset.from_codes([ss.Discrete(f"x{k}") for k in range(100)], codes))
    assert found.num_cells == 1267650600228229401496703205376
    assert set(found.probabilities.tolist()) == {0.001}
    assert len(found.rows) == 1000
    assert found.log_likelihood == pytest.approx(1000 * math.log(0.001))


def test_it_converges_to_the_truth():
    net = BayesNet.random(DAG.parse("a -> b"), states=3, seed=3)
    joint = {(i, j): float(np.exp(net.log_probability({"a": i, "b": j})[0])) for i in range(3) for j in range(3)}
    found = Empirical(net.sample(200_000, seed=0))
    for (i, j), p in joint.items():
        assert abs(found.probability({"a": i, "b": j}) - p) < 5 * math.sqrt(p * (1 - p) / 200_000)


def test_weights_count():
    found = Empirical(Dataset({"a": [0, 1]}, weights=[3, 1]))
    assert found.probability({"a": 0}) == 0.75
    assert found.total == 4.0
    assert found.entropy == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
    assert "2 distinct rows of weight 4" in repr(found)


def test_what_has_no_empirical_distribution():
    with pytest.raises(NotApplicable, match="'x' are continuous"):
        Empirical(Dataset({"x": [0.5, 1.5]}))
    with pytest.raises(DataError, match="complete rows"):
        Empirical(Dataset({"a": [0, 1, None]}, [ss.Discrete("a")]))
    with pytest.raises(DataError, match="there are none"):
        Empirical(Dataset({"a": [0, 1]})[:0])
