"""Changes of modules: gains, legality, and scores computed for the changed modules only."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from learning.structure.modules.test_pooledcounts import columns_of, rows_of
from sepset.graphs.graph import DAG
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.modules.assignment import (
    ADD,
    MOVE,
    Change,
    Modules,
    clustered,
    edges_between,
    is_acyclic,
)
from sepset.learning.structure.modules.pooledcounts import PooledCounts

N, K = 6, 3


def modules_of(seed: int, constraints: Constraints | None = None) -> Modules:
    columns = columns_of(rows_of(N, 25, seed))
    allowed = (constraints or Constraints()).bind(columns.names)
    assigned = np.random.default_rng(seed).integers(0, K, N)
    return Modules(PooledCounts(columns, ss.BDeu(1.0)), allowed, assigned, [[] for _ in range(K)])


def from_scratch(modules: Modules) -> float:
    return sum(modules.counts.of(modules.assigned == k, modules.parents[k]) for k in range(K))


@pytest.mark.parametrize("seed", range(3))
def test_gains_are_differences_of_whole_scores(seed: int) -> None:
    modules, rng = modules_of(seed), np.random.default_rng(seed)
    for _ in range(12):
        legal = [change for change in modules.changes() if modules.is_legal(change)]
        change, before = legal[int(rng.integers(len(legal)))], modules.score
        modules.make(change)
        assert modules.score == pytest.approx(from_scratch(modules), abs=1e-9)
        assert modules.score - before == pytest.approx(change.gain, abs=1e-9)
        again = Modules(modules.counts, modules.allowed, modules.assigned, modules.parents)
        for one, other in zip(modules.tables, again.tables, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_parents_chosen_again_are_better_or_as_before(seed: int) -> None:
    modules, rng, better = modules_of(seed), np.random.default_rng(seed), 0
    for _ in range(6):
        legal = [change for change in modules.changes() if change.kind == ADD and modules.is_legal(change)]
        modules.make(legal[int(rng.integers(len(legal)))])
    for _ in range(5):
        before, parents = modules.score, [list(given) for given in modules.parents]
        if modules.regrow(1e-9):
            better += 1
            assert modules.score > before
        else:
            assert modules.parents == parents
        assert modules.score == pytest.approx(from_scratch(modules), abs=1e-9)
        assert is_acyclic(edges_between(modules.assigned, modules.parents))
    assert better


def ground(assigned: np.ndarray, parents: list[list[int]]) -> bool:
    """Whether the network of all columns is acyclic."""
    edges = [(str(p), str(x)) for x, k in enumerate(assigned) for p in parents[k]]
    try:
        DAG([str(x) for x in range(len(assigned))], edges)
    except ss.SepsetError:
        return False
    return True


def test_modules_have_an_order_where_columns_have_one() -> None:
    rng, seen = np.random.default_rng(0), set()
    for _ in range(300):
        assigned = rng.integers(0, K, 5)
        filled = set(assigned.tolist())
        parents = [np.flatnonzero(rng.random(5) < 0.2).tolist() if k in filled else [] for k in range(K)]
        found = is_acyclic(edges_between(assigned, parents))
        assert found == ground(assigned, parents)
        seen.add(found)
    assert seen == {True, False}


def test_every_legal_change_keeps_the_order() -> None:
    modules, rng = modules_of(4), np.random.default_rng(4)
    for _ in range(15):
        for change in modules.changes():
            after_assigned, after_parents = modules.assigned.copy(), [list(p) for p in modules.parents]
            if change.kind == MOVE:
                after_assigned[change.column] = change.module
            elif change.kind == ADD:
                after_parents[change.module].append(change.column)
            else:
                after_parents[change.module].remove(change.column)
            filled = [p if (after_assigned == k).any() else [] for k, p in enumerate(after_parents)]
            if (after_assigned == change.module).any():
                assert modules.is_legal(change) == ground(after_assigned, filled), change
        legal = [change for change in modules.changes() if modules.is_legal(change)]
        modules.make(legal[int(rng.integers(len(legal)))])


def test_constraints_hold() -> None:
    modules = modules_of(1, Constraints(forbidden=["x0 -> x1"], max_parents=1))
    k = int(modules.assigned[1])
    assert not modules.is_legal(Change(ADD, 0, k, 0.0))
    other = next(j for j in range(K) if j not in (k, modules.assigned[0]))
    modules.assigned[modules.assigned == other] = k
    modules.parents[other] = [0]
    assert not modules.is_legal(Change(MOVE, 1, other, 0.0))
    assert not modules.is_legal(Change(ADD, 2, other, 0.0))


def test_columns_start_in_groups_of_similar_ones() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, 50), rng.integers(0, 2, 50)
    columns = columns_of({"a": a, "b": b, "c": a, "d": b})
    counts = PooledCounts(columns, ss.BDeu(1.0))
    found = clustered(counts.indicators, counts.weights, 2, rng)
    assert found[0] == found[2] != found[1] == found[3]
    assert len(clustered(counts.indicators, counts.weights, 9, rng)) == 4
