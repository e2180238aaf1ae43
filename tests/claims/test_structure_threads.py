"""Structure learning gives the same answer, to the last digit, with any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure import costs

METHODS = {
    "restarts": ss.HillClimb(tabu=3, restarts=2),
    "classes": ss.GES(),
    "orders": ss.structure.BOSS(2),
    "dynamic": ss.ExactSearch("dynamic"),
    "integer": ss.ExactSearch("integer"),
    "tests and scores": ss.MMHC(),
}
AVERAGES = {
    "orders": ss.OrderMCMC(num_samples=12, temperatures=(1.0, 2.0), num_chains=3),
    "partitions": ss.PartitionMCMC(num_samples=12),
    "structures": ss.StructureMCMC(num_samples=12, num_chains=3),
    "candidates": ss.PartitionMCMC(num_samples=6, candidates=3),
    "bootstrap": ss.structure.BootstrapStructures(ss.HillClimb(restarts=1), num_replicates=3),
    "order sums": ss.structure.KoivistoSood(20),
    "DAG sums": ss.structure.TianHe(20),
}


@pytest.fixture(autouse=True)
def _few_rows_are_divided(monkeypatch):
    monkeypatch.setattr(costs, "ROWS_UNINTERRUPTED", 0)
    monkeypatch.setattr(costs, "COLUMNS_FOR_PARTS", 4)


def _rows(num_rows: int = 300, num_columns: int = 7) -> dict[str, list[int]]:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, (num_columns, num_rows))
    for k in range(2, num_columns):
        codes[k] = np.where(rng.random(num_rows) < 0.6, (codes[k - 1] + codes[k - 2]) % 3, codes[k])
    return {f"x{k}": column.tolist() for k, column in enumerate(codes)}


def _weights(num_rows: int = 300) -> np.ndarray:
    return np.random.default_rng(6).random(num_rows)  # sums of fractions depend on their order


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("weights", [None, _weights()], ids=["unit", "fractions"])
def test_learned_structures(name, weights):
    def learned(threads):
        return ss.learn_structure(
            _rows(), method=METHODS[name], score=ss.BDeu(5), weights=weights, threads=threads, seed=3
        )

    one = learned(1)
    for threads in (2, 5):
        found = learned(threads)
        assert found.graph == one.graph
        assert found.score == one.score
        assert found.num_scores == one.num_scores
        assert np.array_equal(found.trace, one.trace)


@pytest.mark.parametrize("name", AVERAGES)
def test_posteriors(name):
    def averaged(threads):
        return ss.structure_posterior(_rows(200, 5), method=AVERAGES[name], threads=threads, seed=3)

    one = averaged(1)
    for threads in (2, 5):
        found = averaged(threads)
        assert np.array_equal(found.edges, one.edges)
        assert np.array_equal(found.parents, one.parents)
        assert np.array_equal(found.weights, one.weights)


def test_missing_cells():
    rng, rows = np.random.default_rng(1), _rows(120, 4)
    data = {name: [None if rng.random() < 0.1 else v for v in column] for name, column in rows.items()}
    one, two = (ss.learn_structure(data, method=ss.StructuralEM(), threads=k) for k in (1, 2))
    assert one.graph == two.graph
    assert one.score == two.score


def test_the_number_of_threads_is_checked():
    with pytest.raises(ss.errors.ArgumentError, match="threads"):
        ss.learn_structure({"a": [0, 1], "b": [1, 0]}, threads=0)
