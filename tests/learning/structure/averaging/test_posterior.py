"""Questions to a posterior over structures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import BDeu
from sepset.errors import ArgumentError, ScopeError
from sepset.learning.structure.averaging import posterior
from sepset.learning.structure.averaging.exhaustive import Exhaustive
from sepset.learning.structure.averaging.posterior import as_edges, reachability
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask
from support.score_tables import COUNTS_22, ROW_22

FOUND = Exhaustive().average(StructureTask(Columns.of(ROW_22, weights=COUNTS_22), BDeu(1.0)))


def test_the_table_of_edges():
    frame = FOUND.to_frame()
    assert frame.probability.is_monotonic_decreasing
    assert (frame.source[0], frame.target[0]) == ("c", "b")
    assert len(frame) == 6
    assert "c" in str(FOUND)
    assert repr(FOUND) == "StructurePosteriorResult(3 columns; Exhaustive(); completed)"


@pytest.mark.parametrize(
    ("diagnostics", "words"),
    [
        ({"r_hat": 1.7, "scatter": 0.0, "effective_draws": 100.0}, "R-hat is 1.70"),
        ({"r_hat": np.nan, "scatter": 0.0, "effective_draws": 100.0}, "too few draws"),
        ({"r_hat": 1.0, "scatter": 0.9, "effective_draws": 100.0}, "disagree about an edge by 0.90"),
        ({"r_hat": 1.0, "scatter": 0.0, "effective_draws": 2.0}, "worth 2 of equal weight"),
    ],
)
def test_doubts_are_printed(diagnostics, words):
    told = replace(FOUND, diagnostics=diagnostics)
    assert len(told.warnings) == 1
    assert all(words in text for text in (repr(told), str(told), told._repr_html_()))
    assert not replace(FOUND, diagnostics={"r_hat": 1.02, "scatter": 0.1, "effective_draws": 500.0}).warnings
    assert not FOUND.warnings


def test_graphs_are_distinct_and_ranked():
    weights = [g.weight for g in FOUND.graphs]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1.0)
    assert set(FOUND.consensus().edges) == {("c", "a"), ("c", "b")}


def test_bad_features():
    with pytest.raises(ScopeError, match="no column 'd'"):
        FOUND.probability("a -> d")
    with pytest.raises(ArgumentError, match="A feature is"):
        FOUND.probability("a")


def test_edges_and_paths_of_masks():
    edges = as_edges([(0, 1, 2)], 3)[0]
    assert edges.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert reachability(edges).tolist() == [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    assert np.array_equal(reachability(np.zeros((0, 0))), np.zeros((0, 0)))


def test_paths_in_pieces(monkeypatch):
    """Against powers of the matrices of edges, one structure at a time."""
    monkeypatch.setattr(posterior, "PIECE_CELLS", 20)
    powers = [sum(np.linalg.matrix_power(g.astype(int), k) for k in range(3)) for g in FOUND.parents]
    expected = sum(weight * (power > 0) for weight, power in zip(FOUND.weights, powers, strict=True))
    assert replace(FOUND, paths_of=None).paths == pytest.approx(expected)
