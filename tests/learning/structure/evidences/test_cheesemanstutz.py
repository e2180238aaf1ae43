"""Cheeseman and Stutz's evidence: exact for complete rows, below the sum over completions otherwise."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss


def test_complete_rows_have_the_score_of_their_families() -> None:
    rng = np.random.default_rng(0)
    rows = {n: rng.integers(0, 3, 40) for n in "abc"}
    graph = ss.DAG.parse("a -> b -> c; a -> c")
    for prior in (ss.BDeu(4), ss.K2()):
        found = ss.structure.log_evidence(graph, rows, method=ss.structure.CheesemanStutz(prior))
        assert found.value == pytest.approx(ss.structure.score(graph, rows, score=prior).total, abs=1e-8)
        assert found.terms["entropy_of_missing_cells"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_it_is_a_lower_bound_wherever_em_stops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = {n: rng.choice(np.array([0, 1, None], dtype=object), 9) for n in "ab"}
    net = ss.classify.latent_class([ss.Discrete("a"), ss.Discrete("b")], 2)
    exact = ss.structure.log_evidence(net, rows, method=ss.structure.CompletionSum(ss.BDeu(1))).value
    for steps in (1, 3, 1000):
        bound = ss.structure.log_evidence(net, rows, until=steps, seed=seed)
        assert bound.value <= exact + 1e-9


def test_approximate_inference_promises_nothing() -> None:
    rows = {"a": [0, 1, None], "b": [1, 1, 0]}
    em = ss.EM(inference=ss.inference.BruteForce())
    found = ss.structure.log_evidence(ss.DAG.parse("a -> b"), rows, em=em)
    assert found.guarantees["log_evidence"] is ss.Guarantee.LOWER_BOUND
