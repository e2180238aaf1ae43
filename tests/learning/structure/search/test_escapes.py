"""Leaving local optima: parities that single edges do not see, refusals, settings."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.search.escapes import BasinFlooding, OptimalReinsertion, PlateauWalk, SparseCandidate
from sepset.learning.structure.search.hillclimb import HillClimb


def parity() -> tuple[dict[str, np.ndarray], np.ndarray]:
    a, b, c = np.indices((2, 2, 2)).reshape(3, -1)
    return {"a": a, "b": b, "c": c}, 250 * np.where(c == a ^ b, 0.9, 0.1)


@pytest.mark.parametrize("method", [BasinFlooding(30), OptimalReinsertion(2)], ids=repr)
def test_a_parity_is_found(method: object) -> None:
    rows, weights = parity()
    assert ss.learn_structure(rows, weights=weights, method=HillClimb()).graph.num_edges == 0
    found = ss.learn_structure(rows, weights=weights, method=method)
    assert found.score == pytest.approx(-1732.10060, abs=1e-4)
    assert found.graph.num_edges == 2


def test_a_walk_through_a_class_needs_an_equivalent_score() -> None:
    with pytest.raises(ss.errors.NotApplicable, match="PlateauWalk"):
        ss.learn_structure(*parity()[:1], method=PlateauWalk(), score=ss.K2())


def test_few_candidates() -> None:
    data = ss.Dataset(ss.datasets.load("asia").sample(2_000, seed=3))
    one, all_of_them = (ss.learn_structure(data, method=SparseCandidate(k)) for k in (1, 7))
    assert all_of_them.score == pytest.approx(ss.learn_structure(data, method=HillClimb()).score)
    assert one.num_scores > 0


@pytest.mark.parametrize("method", [BasinFlooding, PlateauWalk, SparseCandidate])
def test_bad_settings(method: type) -> None:
    with pytest.raises(ss.SepsetError, match=method.__name__):
        method(0)
    with pytest.raises(ss.SepsetError, match="max_parents"):
        OptimalReinsertion(-1)
