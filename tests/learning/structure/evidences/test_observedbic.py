"""The BIC of incomplete rows and its effective dimension."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss


def test_the_effective_dimension_of_a_latent_class() -> None:
    """Five parameters of a hidden coin with two binary children are three numbers of what is observed."""
    rows = {"a": [0, 0, 1, 1, 1], "b": [0, 0, 1, 1, 0]}
    net = ss.classify.latent_class([ss.Discrete("a"), ss.Discrete("b")], 2)
    effective = ss.structure.log_evidence(net, rows, method=ss.structure.ObservedBIC())
    plain = ss.structure.log_evidence(net, rows, method=ss.structure.ObservedBIC("parameters"))
    assert (effective.dimension, plain.dimension) == (3, 5)
    assert effective.value - plain.value == pytest.approx(np.log(5.0), abs=1e-6)
    saturated = ss.structure.score(ss.DAG.parse("a -> b"), rows, score=ss.BIC()).total
    assert effective.value == pytest.approx(saturated, abs=1e-5)


@pytest.mark.parametrize(("children", "rank"), [(3, 7), (4, 9)])
def test_three_children_identify_a_hidden_coin(children: int, rank: int) -> None:
    rng = np.random.default_rng(0)
    names = "abcd"[:children]
    net = ss.classify.latent_class([ss.Discrete(n) for n in names], 2)
    rows = {n: rng.integers(0, 2, 12) for n in names}
    assert ss.structure.log_evidence(net, rows, method=ss.structure.ObservedBIC(), until=2).dimension == rank


def test_complete_rows_have_the_ordinary_bic() -> None:
    rng = np.random.default_rng(1)
    rows = {n: rng.integers(0, 3, 40) for n in "abc"}
    graph = ss.DAG.parse("a -> b -> c")
    found = ss.structure.log_evidence(graph, rows, method=ss.structure.ObservedBIC())
    assert found.value == pytest.approx(ss.structure.score(graph, rows, score=ss.BIC()).total, abs=1e-8)
