"""Pooled counts of modules: scores against sums written out, and every change against counting again."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.modules.pooledcounts import PooledCounts

R = 3
STATES = tuple(range(R))


def rows_of(n: int, num_rows: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, R, num_rows)
    noise = rng.integers(0, R, (n, num_rows))
    return {f"x{k}": np.where(rng.random(num_rows) < 0.5, first, noise[k]) for k in range(n)}


def columns_of(rows: dict[str, np.ndarray], weights: np.ndarray | None = None) -> Columns:
    return Columns.of(rows, variables=[ss.Discrete(name, STATES) for name in rows], weights=weights)


def written_out(rows: dict[str, np.ndarray], members: list[int], parents: list[int], score: object) -> float:
    """The score of pooled counts, cell by cell."""
    if not members:
        return 0.0
    columns, total = list(rows.values()), 0.0
    num_rows, q = len(columns[0]), R ** len(parents)
    alpha = {"BDeu": 2.0 * len(members) / (q * R), "K2": 1.0}.get(type(score).__name__, 0.0)
    for context in itertools.product(STATES, repeat=len(parents)):
        counts = [0.0] * R
        for row in range(num_rows):
            if all(columns[p][row] == u for p, u in zip(parents, context, strict=True)):
                for x in members:
                    counts[columns[x][row]] += 1
        if alpha:
            total += math.lgamma(R * alpha) - math.lgamma(R * alpha + sum(counts))
            total += sum(math.lgamma(alpha + c) - math.lgamma(alpha) for c in counts)
        else:
            total += sum(c * math.log(c / sum(counts)) for c in counts if c)
            total -= 0.5 * math.log(num_rows) * (R - 1) * isinstance(score, ss.BIC)
    return total


@pytest.mark.parametrize("score", [ss.BDeu(2.0), ss.K2(), ss.BIC(), ss.structure.LogLikelihood()], ids=repr)
def test_scores_are_those_of_pooled_counts(score: object) -> None:
    rows = rows_of(5, 30, seed=1)
    counts = PooledCounts(columns_of(rows), score)  # type: ignore[arg-type]
    members, parents = [0, 2], [1, 4]
    mask = np.isin(np.arange(5), members)
    found = counts.tables(mask, parents)
    assert found.now == pytest.approx(written_out(rows, members, parents, score))
    assert counts.of(mask, parents) == pytest.approx(found.now)
    for x in range(5):
        toggled = sorted(set(members) ^ {x})
        assert found.toggled[x] == pytest.approx(written_out(rows, toggled, parents, score))
        if x not in parents:
            assert found.added[x] == pytest.approx(written_out(rows, members, [*parents, x], score))
    assert np.isnan(found.added[parents]).all()
    expected = [written_out(rows, members, [p for p in parents if p != gone], score) for gone in parents]
    assert found.removed.tolist() == pytest.approx(expected)


def test_an_empty_module_scores_zero() -> None:
    rows = rows_of(3, 20, seed=2)
    counts = PooledCounts(columns_of(rows), ss.BIC())
    found = counts.tables(np.zeros(3, np.bool_), [])
    assert found.now == 0.0
    assert found.toggled[1] == pytest.approx(written_out(rows, [1], [], ss.BIC()))


def test_weights_are_repeated_rows() -> None:
    rows, weights = rows_of(4, 15, seed=3), np.arange(15) % 3 + 1
    repeated = {name: np.repeat(values, weights) for name, values in rows.items()}
    mask = np.array([True, False, True, False])
    one = PooledCounts(columns_of(rows, weights), ss.BDeu(2.0)).tables(mask, [1])
    other = PooledCounts(columns_of(repeated), ss.BDeu(2.0)).tables(mask, [1])
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_scores_without_pooled_counts_are_refused() -> None:
    with pytest.raises(ss.SepsetError, match="does not score pooled counts"):
        PooledCounts(columns_of(rows_of(2, 5, seed=0)), ss.structure.QNML())
