"""Search over interventional classes."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.classes.ges import GES
from sepset.learning.structure.classes.gies import GIES, told_apart
from support.blocks import in_blocks
from support.enumerated_classes import expected_counts, sampled


def intervened(seed: int, n: int, targets: list[str]) -> tuple[ss.DAG, dict[str, np.ndarray], np.ndarray, list]:
    """Expected counts of a random network, and of it with each target set uniformly."""
    dag, cells, mass = expected_counts(seed, n)
    masses, was_set = [mass], [[]] * len(mass)
    for name in targets:
        given = dag.parents(name)
        index = sum((cells[p] << k for k, p in enumerate((*given, name))), np.zeros(len(mass), np.int64))
        without = sum((cells[p] << k for k, p in enumerate(given)), np.zeros(len(mass), np.int64))
        joint, above = np.bincount(index, mass), np.bincount(without, mass)
        masses.append(0.5 * mass * above[without] / joint[index])
        was_set += [[name]] * len(mass)
    rows = {name: np.tile(column, len(masses)) for name, column in cells.items()}
    return dag, rows, np.concatenate(masses), was_set


@in_blocks("seed", range(6))
def test_interventions_direct_what_observation_cannot(seed: int) -> None:
    dag, rows, mass, was_set = intervened(seed, 4, ["v0", "v2"])
    found = ss.learn_structure(rows, weights=1e8 * mass, method=GIES(), interventions=was_set)
    assert found.cpdag == ss.graphs.cpdag(dag)
    for a, b in dag.edges:
        if {"v0", "v2"} & {a, b}:
            assert (a, b) in found.graph.directed
    everywhere = ss.learn_structure(
        *intervened(seed, 4, ["v0", "v1", "v2"])[1:2],
        weights=1e8 * intervened(seed, 4, ["v0", "v1", "v2"])[2],
        interventions=intervened(seed, 4, ["v0", "v1", "v2"])[3],
        method=GIES(),
    )
    assert set(everywhere.graph.directed) == set(dag.edges)


def test_without_interventions_it_is_the_search_over_classes() -> None:
    data = sampled(0, 700)
    assert ss.learn_structure(data, method=GIES()).graph == ss.learn_structure(data, method=GES()).graph


def test_a_column_that_was_always_set() -> None:
    rows = {"a": [0, 1, 1, 0], "b": [1, 0, 1, 0]}
    with pytest.raises(ss.errors.DataError, match="'a'"):
        ss.learn_structure(rows, method=GIES(), interventions=[["a"]] * 4)


def test_pairs_told_apart() -> None:
    masks = np.array([[True, False, False], [True, True, False], [False, False, False]])
    assert told_apart(masks).astype(int).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
