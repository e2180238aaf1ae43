"""Probabilities of edges in spanning trees."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.propagation import treeweights
from sepset.inference.propagation.treeweights import edge_probabilities
from sepset.inference.wiring import Wiring
from sepset.potentials import Potts, over_scopes


def wired(edges, n):
    return Wiring.of(ss.MarkovNet(over_scopes(edges, Potts(1.0), array=ss.Discrete.array("x", n))).as_written())


def is_tree(edges, n):
    label = list(range(n))
    for i, j in edges:
        if label[i] == label[j]:
            return False
        label = [label[i] if c == label[j] else c for c in label]
    return True


@pytest.mark.parametrize(
    ("edges", "n"),
    [
        ([(0, 1), (1, 2), (2, 0), (2, 3)], 4),
        (list(itertools.combinations(range(4), 2)), 4),
        ([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4), (4, 0)], 5),
    ],
)
def test_probabilities_are_those_of_all_spanning_trees(edges, n):
    trees = [t for t in itertools.combinations(range(len(edges)), n - 1) if is_tree([edges[e] for e in t], n)]
    exact = [np.mean([e in t for t in trees]) for e in range(len(edges))]
    assert edge_probabilities(wired(edges, n)) == pytest.approx(exact, abs=1e-12)


def test_components_and_parallel_factors():
    found = edge_probabilities(wired([(0, 1), (1, 0), (2, 3), (3, 4), (4, 2)], 6))
    assert found == pytest.approx([0.5, 0.5, 2 / 3, 2 / 3, 2 / 3])
    assert len(edge_probabilities(wired(np.zeros((0, 2), int), 3))) == 0


def test_large_graphs_are_covered_by_trees(monkeypatch):
    monkeypatch.setattr(treeweights, "DENSE", 5)
    grid = ss.Discrete.array("x", (6, 7))
    found = edge_probabilities(Wiring.of(ss.MarkovNet.potts(grid, 1.0).as_written()))
    assert found.sum() == pytest.approx(41)
    assert 0.0 < found.min() <= found.max() <= 1.0


def test_informations_of_tiny_probabilities_are_finite():
    table = np.array([[1.0, 0.0], [0.0, 1e-200]])
    wiring = Wiring.of(ss.MarkovNet(ss.Table([ss.Discrete("a"), ss.Discrete("b")], table)).as_written())
    with np.errstate(all="raise"):
        found = treeweights.informations(ss.LoopyBP().propagate(wiring))
    assert found == pytest.approx([0.0], abs=1e-9)
