"""Searches that draw: all moves are listed, weights have mean one, settings are checked."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.search.moves import SearchedGraph
from sepset.learning.structure.search.stochastic import Annealing, DataPerturbation, FirstAscent, moves, reweighted
from support.enumerated_classes import chained_columns


def test_all_moves_are_listed_with_their_gains() -> None:
    task = StructureTask(chained_columns(3), ss.BIC())
    graph = SearchedGraph(task.scorer, task.allowed, [[], [0], [1], [1], [3], []])
    found = list(moves(graph))
    best = graph.best()
    assert best is not None
    assert max(found, key=lambda move: move.gain).gain == pytest.approx(best.gain)
    for move in found:
        other = SearchedGraph(task.scorer, task.allowed, graph.parents_of())
        other.make(move)
        assert other.score - graph.score == pytest.approx(move.gain, abs=1e-7)
    assert list(moves(graph, 0.0)) == [move for move in found if move.gain > 0.0]


def test_perturbed_weights() -> None:
    columns = chained_columns(0, num_rows=4_000, n=8)
    made = reweighted(columns, 0.5, np.random.default_rng(0))
    places, counts = columns.cases
    assert counts.sum() == 4_000
    assert np.array_equal(made.codes, columns.codes[:, places])
    scaled = (np.asarray(made.weights) - counts) / np.sqrt(0.5 * counts)  # k rows that are equal: variance k t
    assert scaled.mean() == pytest.approx(0.0, abs=4 / np.sqrt(len(counts)))
    assert scaled.var() == pytest.approx(1.0, abs=0.15)


BAD = [(FirstAscent, {"restarts": -1}), (Annealing, {"temperature": 0.0}), (Annealing, {"decay": 1.5})]
WORSE = [(Annealing, {"moves": 0}), (DataPerturbation, {"variance": 0.0}), (DataPerturbation, {"rounds": 0})]


@pytest.mark.parametrize(("method", "settings"), [*BAD, *WORSE])
def test_bad_settings(method: type, settings: dict[str, float]) -> None:
    with pytest.raises(ss.SepsetError, match=next(iter(settings))):
        method(**settings)
