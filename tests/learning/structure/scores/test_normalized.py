"""Normalized maximum likelihood: normalizers by enumeration, and scores from them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.scores import normalized
from sepset.learning.structure.scores.normalized import FNML, QNML, log_binary_regret, log_regret_of_states, log_regrets


def by_enumeration(n: int, states: int) -> float:
    """The sum over all count vectors."""
    found = 0.0
    for counts in itertools.product(range(n + 1), repeat=states):
        if sum(counts) == n:
            ways = math.factorial(n) // math.prod(map(math.factorial, counts))
            found += ways * math.prod((c / n) ** c for c in counts if c)
    return found if n else 1.0


@pytest.mark.parametrize("states", [1, 2, 3, 4])
def test_regrets_by_enumeration(states: int) -> None:
    n = np.arange(7.0)
    expected = [by_enumeration(int(size), states) for size in n]
    assert np.exp(log_regrets(n, states)) == pytest.approx(expected, rel=1e-12)
    for size, value in zip(n[1:], expected[1:], strict=True):
        assert np.exp(log_regret_of_states(size, np.array([float(states)])))[0] == pytest.approx(value, rel=1e-12)


def test_the_expansion_for_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    n = np.array([500.0, 1500.0, 2000.0])
    exact = log_binary_regret(n.copy())
    monkeypatch.setattr(normalized, "EXACT_ROWS", 0)
    assert log_binary_regret(n) == pytest.approx(exact, abs=1e-10)


def test_the_approximation_for_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    states = np.array([5_000.0, 15_000.0])
    exact = log_regret_of_states(100.0, states)
    monkeypatch.setattr(normalized, "EXACT_STATES", 0)
    monkeypatch.setattr(normalized, "by_states", lambda n: np.zeros(1))
    assert log_regret_of_states(100.0, states) == pytest.approx(exact, abs=1e-2)


def columns_of(seed: int) -> Columns:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, 30), rng.integers(0, 3, 30)
    return Columns.of({"a": a, "b": b, "c": (a + b + rng.integers(0, 2, 30)) % 2})


@pytest.mark.parametrize("score", [FNML(), QNML()], ids=repr)
def test_the_engine_is_the_score(score: FNML | QNML) -> None:
    columns = columns_of(0)
    scorer = Scorer(columns, score)
    for child, parents in [(0, ()), (2, (0,)), (2, (0, 1)), (1, (0, 2))]:
        assert scorer.family(child, parents) == pytest.approx(score.family(child, parents, columns), abs=1e-9)


def test_quotients() -> None:
    columns = columns_of(1)
    scorer = Scorer(columns, QNML())
    assert scorer.total([(), (0,), (1,)]) == pytest.approx(scorer.total([(1,), (2,), ()]))
    assert scorer.total([(), (0,), ()]) == pytest.approx(scorer.total([(1,), (), ()]))
    one = columns.counts(1, (0,))
    likelihood = (one * np.log(np.where(one > 0, one, 1))).sum() - (one.sum(1) * np.log(one.sum(1))).sum()
    penalty = log_regret_of_states(30.0, np.array([6.0, 2.0]))
    assert scorer.family(1, (0,)) == pytest.approx(likelihood - penalty[0] + penalty[1])


def test_factorized_normalizers() -> None:
    columns = columns_of(2)
    one = columns.counts(1, (0,))
    likelihood = (one * np.log(np.where(one > 0, one, 1))).sum() - (one.sum(1) * np.log(one.sum(1))).sum()
    assert Scorer(columns, FNML()).family(1, (0,)) == pytest.approx(likelihood - log_regrets(one.sum(1), 3).sum())
