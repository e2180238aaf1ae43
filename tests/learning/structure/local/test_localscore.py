"""Scores of local structures: families that are too large are refused one by one, and left out of searches."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.local import decisiongraphs, treescore
from sepset.learning.structure.local.decisiongraphs import DecisionGraphScore
from sepset.learning.structure.local.localscore import LocalScore
from sepset.learning.structure.local.treescore import TreeScore

SCORES = [DecisionGraphScore(), TreeScore(search="exact")]
METHODS = [ss.HillClimb(), ss.HillClimb(tabu=5), ss.structure.BOSS(), ss.structure.OBS(), ss.ExactSearch()]


def majority_rows() -> dict[str, np.ndarray]:
    """A column that is the majority of three others."""
    codes = np.random.default_rng(0).integers(0, 2, (3, 400))
    return {**{f"v{k}": row for k, row in enumerate(codes)}, "x": (codes.sum(0) > 1).astype(int)}


@pytest.mark.parametrize("method", METHODS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("score", SCORES, ids=lambda one: type(one).__name__)
def test_searches_stay_where_families_fit(score: LocalScore, method: object, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, settings = majority_rows(), {"score": score, "method": method}
    free = ss.learn_structure(rows, **settings)  # type: ignore[arg-type]
    assert max(len(free.dag.parents(name)) for name in rows) == 3
    few = ss.structure.Constraints(max_parents=2)
    bound = ss.learn_structure(rows, constraints=few, **settings)  # type: ignore[arg-type]
    monkeypatch.setattr(decisiongraphs, "MOST_CONTEXTS", 4)
    monkeypatch.setattr(treescore, "MOST_CONTEXTS", 2 * 3**2)
    found = ss.learn_structure(rows, **settings)  # type: ignore[arg-type]
    assert max(len(found.dag.parents(name)) for name in rows) == 2
    assert found.score == pytest.approx(bound.score)


@pytest.mark.parametrize("score", SCORES, ids=lambda one: type(one).__name__)
def test_additions_by_single_families(score: LocalScore) -> None:
    columns = Columns.of({f"v{k}": np.arange(24) % (k + 2) for k in range(4)})
    found = score.additions(0, (2,), np.array([1, 3]), columns)
    assert found.tolist() == [score.family(0, (1, 2), columns), score.family(0, (2, 3), columns)]
    wide = Columns.of({f"v{k}": np.arange(12) % 3 for k in range(16)})
    assert score.additions(0, tuple(range(2, 16)), np.array([1]), wide).tolist() == [-np.inf]
