"""Probabilities of edges against a true graph, by counting."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

import sepset as ss
from sepset.errors import ArgumentError, ModelError

recovery = ss.structure.edge_recovery
TRUTH = ss.DAG.parse("a -> b -> c; d")


def chances(seed, names="abcd"):
    edges = np.round(np.random.default_rng(seed).uniform(0, 0.5, (len(names), len(names))), 1)
    np.fill_diagonal(edges, 0.0)
    return SimpleNamespace(names=tuple(names), edges=edges)


@pytest.mark.parametrize("is_directed", [False, True])
def test_areas_and_precisions_by_counting(is_directed):
    for seed in range(5):
        found = chances(seed)
        p = found.edges if is_directed else np.minimum(1, found.edges + found.edges.T)
        pairs = list(itertools.permutations(range(4), 2) if is_directed else itertools.combinations(range(4), 2))
        true = [pair for pair in pairs if pair in ((0, 1), (1, 2))]
        others = [pair for pair in pairs if pair not in true]
        wins = [1.0 if p[a] > p[b] else 0.5 if p[a] == p[b] else 0.0 for a in true for b in others]
        precisions = [sum(p[b] >= p[a] for b in true) / sum(p[b] >= p[a] for b in pairs) for a in true]
        got = recovery(TRUTH, found, is_directed=is_directed)
        assert got.area == pytest.approx(np.mean(wins))
        assert got.precision == pytest.approx(np.mean(precisions))
        assert got.brier == pytest.approx(np.mean([(p[pair] - (pair in true)) ** 2 for pair in pairs]))
        assert got.calibration.weights.sum() == len(pairs)


def test_the_order_of_names_does_not_matter():
    found = chances(3)
    order = [2, 0, 3, 1]
    other = SimpleNamespace(names=tuple("abcd"[k] for k in order), edges=found.edges[np.ix_(order, order)])
    assert recovery(TRUTH, found).area == recovery(TRUTH, other).area


def test_of_a_posterior():
    rows = ss.BayesNet.random(TRUTH, seed=1).sample(300, seed=1)
    found = ss.structure_posterior(rows, method=ss.structure.Exhaustive())
    got = recovery(TRUTH, found)
    assert 0.0 <= got.brier <= 1.0
    assert "average precision" in str(got)


def test_extremes_and_refusals():
    assert math.isnan(recovery(ss.DAG(list("abcd"), []), chances(0)).area)
    assert math.isnan(recovery(ss.DAG(list("abcd"), []), chances(0)).precision)
    assert recovery(ss.UndirectedGraph.parse("a - b - c; d"), chances(1)).brier == recovery(TRUTH, chances(1)).brier
    with pytest.raises(ModelError, match="same nodes"):
        recovery(TRUTH, chances(0, "abc"))
    with pytest.raises(ArgumentError, match="is_directed"):
        recovery(ss.UndirectedGraph.parse("a - b - c; d"), chances(1), is_directed=True)
