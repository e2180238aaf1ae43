"""Searches over orders by swaps and tucks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.search.growshrink import GrowShrink
from sepset.learning.structure.search.moves import SearchedGraph
from sepset.learning.structure.search.ordersearch import OrderSearch, OrderState, OrderStateCodec, at_peak, order_score
from sepset.learning.structure.search.permutations import OBS, GRaSP, best_swap, tuck
from support.enumerated_classes import chained_columns, expected_counts, sampled


@pytest.mark.parametrize("method", [OBS(2), OBS(2, tabu=4), GRaSP()], ids=repr)
def test_no_move_improves(method: OrderSearch) -> None:
    data = sampled(1, 300)
    found = ss.learn_structure(data, method=method, seed=1)
    task = StructureTask(Columns.of(data), ss.BIC(), start=found.graph)
    best = SearchedGraph(task.scorer, task.allowed, task.start_parents()).best()
    assert best is None or best.gain <= TOLERANCE
    assert found.guarantees["structure"] is ss.Guarantee.LOCAL_OPTIMUM


@pytest.mark.parametrize("method", [OBS(2), GRaSP()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_expected_counts_give_the_class_back(method: OrderSearch, seed: int) -> None:
    dag, cells, mass = expected_counts(seed, 5)
    start = ss.DAG(sorted(cells), [])
    found = ss.learn_structure(cells, weights=1e9 * mass, method=method, start=start)
    assert found.cpdag == ss.graphs.cpdag(dag)


@pytest.mark.parametrize("method", [OBS(2), OBS(2, tabu=4), GRaSP()], ids=repr)
def test_constraints_hold(method: OrderSearch) -> None:
    constraints = Constraints(required=["xray -> asia"], forbidden=["lung -> either"], max_parents=2)
    found = ss.learn_structure(sampled(2, 300), method=method, constraints=constraints, seed=3)
    place = {name: k for k, name in enumerate(found.columns.names)}
    parents = [[place[p] for p in found.graph.parents(name)] for name in found.columns.names]
    assert constraints.bind(found.columns.names).permits(parents)


def test_the_best_swap_against_whole_orders() -> None:
    task = StructureTask(chained_columns(2), ss.structure.AIC(), constraints=Constraints(required=["v0 -> v1"]))
    families, order = GrowShrink(task.scorer, task.allowed), [0, 1, 5, 2, 4, 3]
    gains = []
    for k in range(5):
        swapped = order.copy()
        swapped[k], swapped[k + 1] = order[k + 1], order[k]
        gains.append(order_score(families, swapped) - order_score(families, order))
    assert gains[0] == -np.inf
    place, gain = best_swap(families, order)
    assert gain == pytest.approx(max(gains))
    assert gains[place] == pytest.approx(gain)


def test_a_tuck_takes_ancestors_along() -> None:
    task = StructureTask(chained_columns(2), ss.BIC())
    families = GrowShrink(task.scorer, task.allowed)
    order = [0, 1, 2, 3, 4, 5]
    found = families.order(order)
    for y in order:
        for x in found[y].parents:
            tucked = tuck(order, x, y, found)
            assert sorted(tucked) == order
            assert tucked.index(y) < tucked.index(x)


def test_a_tabu_list_against_plain_bookkeeping() -> None:
    """The same walk by whole orders: bar the swapped pair, unless it leads to a new best order; end without one."""
    task = StructureTask(chained_columns(3), ss.structure.AIC())
    families, method = GrowShrink(task.scorer, task.allowed), OBS(1, tabu=3, patience=6)
    order = [4, 2, 0, 5, 1, 3]
    score = order_score(families, order)
    state = OrderState(order, score, [], -np.inf, families=families)
    best, idle, until, step = score, 0, dict[frozenset[int], int](), 0
    while (moved := method.moved(state, np.random.default_rng(0))) is not None:
        options = []
        for k in range(5):
            swapped = [*order[:k], order[k + 1], order[k], *order[k + 2 :]]
            value = order_score(families, swapped)
            if until.get(frozenset(order[k : k + 2]), 0) <= step or value > best + TOLERANCE:
                options.append((value, swapped))
        assert moved.score == pytest.approx(max(options)[0])
        (pair,) = {frozenset((x, y)) for x, y in zip(order, moved.order, strict=True) if x != y}
        order, until[pair] = moved.order, step + 4
        idle = 0 if moved.score > best + TOLERANCE else idle + 1
        best, step = max(best, moved.score), step + 1
        state = replace(moved, step=step)
    assert idle == 6
    ended = at_peak(state)
    assert ended.score == pytest.approx(best)
    assert order_score(families, ended.order) == pytest.approx(best)
    assert OrderStateCodec().unpack(OrderStateCodec().pack(state)) == replace(state, families=None)


def test_a_tabu_list_is_no_worse() -> None:
    data = sampled(4, 200)
    plain, tabu = (
        ss.learn_structure(data, method=method, score=ss.structure.AIC()) for method in (OBS(1), OBS(1, tabu=5))
    )
    assert tabu.score >= plain.score - TOLERANCE
    with pytest.raises(ss.SepsetError, match="tabu"):
        OBS(tabu=-1)
