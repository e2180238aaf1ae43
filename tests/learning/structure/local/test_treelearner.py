"""The tree of one column: parities, contexts, fitted leaves, displays, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.local.treelearner import learn_tree
from sepset.learning.structure.local.treescore import TreeScore


def parity(num_rows: int = 400, noise: float = 0.1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    a, b, c = rng.integers(0, 2, (3, num_rows))
    return {"a": a, "b": b, "c": c, "x": a ^ b ^ (rng.random(num_rows) < noise)}


@pytest.mark.parametrize("score", [ss.BIC(), ss.BDeu(4.0), ss.K2(), TreeScore(ss.BIC(), splits="value")], ids=repr)
def test_a_parity_is_found(score: ss.structure.FamilyScore) -> None:
    rows = parity()
    found = learn_tree(rows, "x", candidates=["a", "b"], score=score)
    assert {v.name for v in found.cpd.parents} == {"a", "b"}
    assert found.cpd.partition.num_leaves == 4
    assert found.gain > 50
    assert all(learn_tree(rows, "x", candidates=[one], score=score).gain == 0 for one in "ab")
    table = found.cpd.to_table()
    assert all((table[a, b][1] > 0.5) == bool(a ^ b) for a in (0, 1) for b in (0, 1))


def test_leaves_have_ratios_of_counts_or_posterior_means() -> None:
    u, x = np.array([0] * 30 + [1] * 10), np.array([0] * 24 + [1] * 6 + [0] * 1 + [1] * 9)
    plain = learn_tree({"u": u, "x": x}, "x", score=ss.BIC()).cpd.to_table()
    assert plain.values.tolist() == [[pytest.approx(0.8), pytest.approx(0.2)], [pytest.approx(0.1), pytest.approx(0.9)]]
    mean = learn_tree({"u": u, "x": x}, "x", score=ss.BDeu(8.0)).cpd.to_table()
    assert mean.values.tolist() == [
        [pytest.approx(26 / 34), pytest.approx(8 / 34)],
        [pytest.approx(3 / 14), pytest.approx(11 / 14)],
    ]


def test_weights_and_interventions() -> None:
    rows = parity(60, 0.2)
    weights = np.random.default_rng(0).integers(0, 3, 60)
    repeated = {name: np.repeat(column, weights) for name, column in rows.items()}
    one, two = learn_tree(rows, "x", weights=weights), learn_tree(repeated, "x")
    assert one.score == pytest.approx(two.score)
    assert np.allclose(one.cpd.distributions, two.cpd.distributions)
    away = np.arange(60) < 20
    kept = {name: column[~away] for name, column in rows.items()}
    marked = learn_tree(rows, "x", score=ss.K2(), interventions={"x": away})
    alone = learn_tree(kept, "x", score=ss.K2())
    assert marked.score == pytest.approx(alone.score)
    assert np.allclose(marked.cpd.distributions, alone.cpd.distributions)


def test_constant_columns_and_a_single_leaf() -> None:
    rows = {"one": np.zeros(20, int), "x": np.arange(20) % 2}
    found = learn_tree(rows, "x", variables=[ss.Discrete("one", (0,))])
    assert found.cpd.parents == ()
    assert found.gain == 0.0
    assert found.cpd.distributions.tolist() == [[0.5, 0.5]]
    alone = learn_tree({"x": [0, 1, 1, 1]}, "x")
    assert alone.cpd.distributions.tolist() == [[0.25, 0.75]]


def test_displays() -> None:
    found = learn_tree(parity(), "x", candidates=["a", "b"])
    assert "4 leaves" in repr(found)
    assert "gain" in repr(found)
    assert "(a=0, b=0)" in str(found)
    assert found.guarantees["tree"] is ss.Guarantee.HEURISTIC
    exact = learn_tree(parity(), "x", score=TreeScore(search="exact"))
    assert exact.guarantees["tree"] is ss.Guarantee.EXACT
    assert exact.score >= found.score


def test_bad_input() -> None:
    rows = parity(20)
    with pytest.raises(ss.errors.ScopeError, match="z"):
        learn_tree(rows, "z")
    with pytest.raises(ss.errors.ScopeError, match="itself"):
        learn_tree(rows, "x", candidates=["a", "x"])
    with pytest.raises(ss.errors.ScopeError, match="nothing"):
        learn_tree(rows, "x", candidates="nothing")
    with pytest.raises(ss.errors.NotApplicable, match="BIC, AIC"):
        learn_tree(rows, "x", score=ss.structure.FNML())
    with pytest.raises(ss.errors.NotApplicable, match="real"):
        learn_tree({"y": [0.5, 1.5, 2.5], "x": [0, 1, 1]}, "x")
