"""Sparse evidence, and rows left out one at a time, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.scores.evidence import BDs, LeaveOneOut

COINS = {"x": ["h", "h", "t", "t"], "y": ["h", "t", "h", "t"]}
COUNTS = [27, 22, 25, 26]


def test_leaving_out_each_row() -> None:
    scorer = Scorer(Columns.of(COINS, weights=COUNTS), LeaveOneOut(ss.BDeu(4.0)))
    assert scorer.total([(), ()]) == pytest.approx(-140.480687, abs=1e-6)
    assert scorer.total([(), (0,)]) == pytest.approx(-141.299964, abs=1e-6)
    assert scorer.total([(1,), ()]) == pytest.approx(-141.299964, abs=1e-6)


def test_leaving_out_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (12, 2))
    found = 0.0
    for m in range(12):
        rest = np.delete(rows, m, 0)
        same = rest[rest[:, 0] == rows[m, 0]]
        found += np.log(((same[:, 1] == rows[m, 1]).sum() + 1) / (len(same) + 2))
    columns = Columns.of({"x": rows[:, 0], "y": rows[:, 1]})
    for score in (LeaveOneOut(ss.K2()).family(1, (0,), columns), Scorer(columns, LeaveOneOut(ss.K2())).family(1, (0,))):
        assert score == pytest.approx(found)


def test_sparse_contexts() -> None:
    columns = Columns.of({"u": [0, 1, 3, 3, 1], "x": [0, 1, 1, 0, 1]}, variables=[ss.Discrete("u", 4)])
    three = Columns.of({"u": [0, 1, 2, 2, 1], "x": [0, 1, 1, 0, 1]})
    expected = ss.BDeu(2.0).family(1, (0,), three)
    assert BDs(2.0).family(1, (0,), columns) == pytest.approx(expected)
    assert Scorer(columns, BDs(2.0)).family(1, (0,)) == pytest.approx(expected)
    assert not BDs(2.0).is_equivalent


@pytest.mark.parametrize("size", [0, -1.0, float("nan")])
def test_bad_sizes(size: float) -> None:
    with pytest.raises(ss.SepsetError, match="sample_size"):
        BDs(size)


@pytest.mark.parametrize("prior", [ss.K2(), ss.BDeu(2.5)], ids=repr)
def test_the_evidence_is_a_product_of_predictions(prior: ss.K2 | ss.BDeu) -> None:
    """Each row is predicted from those before it, by counts and pseudo-counts; the order of rows does not matter."""
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(0, 2, 25), rng.integers(0, 3, 25), rng.integers(0, 2, 25)], axis=1)
    cards, parents = (2, 3, 2), ([], [0], [0, 1])
    graph = ss.DAG("abc", [("a", "b"), ("a", "c"), ("b", "c")])
    for order in (np.arange(25), rng.permutation(25)):
        total, seen = 0.0, [np.zeros([cards[p] for p in given] + [cards[k]]) for k, given in enumerate(parents)]
        for row in rows[order]:
            for child, given in enumerate(parents):
                table, context = seen[child], tuple(row[given])
                pseudo = 1.0 if isinstance(prior, ss.K2) else prior.sample_size / table.size
                counts = table[context] + pseudo
                total += np.log(counts[row[child]] / counts.sum())
                table[(*context, row[child])] += 1
        columns = {name: rows[order, k] for k, name in enumerate("abc")}
        states = [ss.Discrete(name, list(range(card))) for name, card in zip("abc", cards, strict=True)]
        data = ss.Dataset(columns, states)
        assert ss.structure.score(graph, data, score=prior).total == pytest.approx(total, rel=1e-12)
