"""Learners of one conditional: tables by greedy search, logistic CPDs."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.dependency.learners import LogisticLearner, TableLearner, TreeLearner
from sepset.learning.structure.familyscores import Scorer


@pytest.mark.parametrize("seed", range(3))
def test_no_parent_more_or_less_improves(seed: int) -> None:
    net = ss.BayesNet.random(ss.DAG.parse("a -> b; a -> c; b -> d; c -> d; d -> e"), states=3, seed=seed)
    columns = Columns.of(net.sample(500, seed=seed))
    scorer = Scorer(columns, ss.BDeu(1.0))
    for child in range(5):
        found = TableLearner().learn(child, np.arange(5), columns)
        parents = [columns.names.index(p.name) for p in found.cpd.parents]
        assert found.score == pytest.approx(scorer.family(child, parents))
        others = np.nan_to_num(scorer.toggles(child, parents), nan=-np.inf)
        others[child] = -np.inf
        assert (others <= found.score + 1e-7).all()


def test_estimates_are_posterior_means() -> None:
    columns = Columns.of({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 1] * 5})
    cpd = TableLearner(prior=ss.K2()).learn(1, np.arange(2), columns).cpd
    np.testing.assert_allclose(np.asarray(cpd.values), [[11 / 12, 1 / 12], [1 / 12, 11 / 12]])
    none = TableLearner(max_parents=0).learn(1, np.arange(2), columns).cpd
    assert none.parents == ()


def test_weights_count() -> None:
    columns = Columns.of({"a": [0, 1]}, weights=[3.0, 1.0])
    cpd = TableLearner(prior=None).learn(0, np.arange(1), columns).cpd
    np.testing.assert_allclose(np.asarray(cpd.values), [0.75, 0.25])


def test_logistic_conditionals_of_an_ising_chain() -> None:
    rng, rows = np.random.default_rng(0), [np.zeros(4_000, np.int64)]
    rows[0] = rng.integers(0, 2, 4_000)
    for _ in range(3):
        rows.append(np.where(rng.random(4_000) < 0.8, rows[-1], 1 - rows[-1]))
    columns = Columns.of({f"x{k}": row for k, row in enumerate(rows)})
    found = LogisticLearner(prior=ss.priors.LaplaceWeights(0.05)).learn(1, np.arange(4), columns)
    assert [p.name for p in found.cpd.parents] == ["x0", "x2"]
    odds = np.log(0.8 / 0.2)
    table = np.asarray(found.cpd.to_table().values)
    assert np.log(table[1, 1, 1] / table[1, 1, 0]) == pytest.approx(2 * odds, abs=0.4)
    assert np.isfinite(found.score)


def test_trees_find_parities() -> None:
    """No single parent helps, so that tables of one more parent at a time find nothing."""
    cells = np.indices((2, 2)).reshape(2, -1).repeat(10, axis=1)
    columns = Columns.of({"a": cells[0], "b": cells[1], "x": cells[0] ^ cells[1]})
    found = TreeLearner().learn(2, np.arange(3), columns)
    assert [p.name for p in found.cpd.parents] == ["a", "b"]
    assert found.score > TableLearner().learn(2, np.arange(3), columns).score
    table = np.asarray(found.cpd.to_table().values)
    assert table[0, 1, 1] == pytest.approx(11 / 12)
    bic = TreeLearner(score=ss.structure.TreeScore(ss.BIC())).learn(2, np.array([1]), columns)
    assert bic.cpd.parents == ()


def test_settings_are_checked() -> None:
    with pytest.raises(ss.SepsetError, match="max_parents"):
        TableLearner(max_parents=-1)
    with pytest.raises(ss.SepsetError, match="smallest"):
        LogisticLearner(smallest=-1.0)
