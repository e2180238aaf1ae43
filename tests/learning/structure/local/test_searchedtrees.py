"""Trees under search: gains are differences of scores, what is kept is what a fresh start computes, no cycles."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.local.searchedtrees import Change, SearchedTrees
from sepset.learning.structure.local.treescore import TreeScore


@pytest.mark.parametrize("splits", ["complete", "value"])
@pytest.mark.parametrize("prior", [None, ss.structure.EdgePenalty(0.3)], ids=repr)
def test_gains_are_differences_of_scores(splits: str, prior: ss.structure.EdgePenalty | None) -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, (5, 150))
    codes[3] = np.where(rng.random(150) < 0.8, (codes[0] + codes[1]) % 3, codes[3])
    codes[4] = np.where(rng.random(150) < 0.8, codes[3] > 0, codes[4])
    columns = Columns.of({f"v{k}": code for k, code in enumerate(codes)})
    allowed = Constraints(required=["v4 -> v2"], max_parents=3).bind(columns.names)
    scorer = Scorer(columns, TreeScore(ss.BDeu(2.0), splits=splits), prior)
    searched = SearchedTrees(scorer, allowed, [0] * 5)
    made = set()
    for _ in range(40):
        change = searched.best()
        if change is None:
            break
        before = searched.score
        searched.make(change)
        made.add(change.kind)
        assert searched.score == pytest.approx(before + change.gain, abs=1e-7)
        fresh = SearchedTrees(scorer, allowed, searched.trees())
        assert fresh.score == pytest.approx(searched.score, abs=1e-9)
        assert np.allclose(fresh.gains, searched.gains)
        assert np.allclose(fresh.merges, searched.merges)
        assert ss.DAG(columns.names, [(f"v{p}", f"v{c}") for c, ps in enumerate(searched.parents_of()) for p in ps])
        assert 4 in searched.parents_of()[2]
        assert max(map(len, searched.parents_of())) <= 3
    assert change is None
    assert "split" in made


def test_merges_undo_splits() -> None:
    rng = np.random.default_rng(0)
    columns = Columns.of({name: rng.integers(0, 2, 60) for name in "abc"})
    allowed = Constraints().bind(columns.names)
    searched = SearchedTrees(Scorer(columns, TreeScore(ss.BIC())), allowed, [0, 0, 0])
    start = searched.score
    searched.make(Change(0.0, "split", 2, 0))
    searched.make(Change(0.0, "split", 2, 1))
    assert searched.score < start
    assert searched.parents_of() == [[], [], [0, 1]]
    change = searched.best()
    assert change is not None
    assert change.kind == "merge"
    while (change := searched.best()) is not None:
        searched.make(change)
    assert searched.trees() == (0, 0, 0)
    assert searched.score == pytest.approx(start)
