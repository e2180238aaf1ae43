"""Parts of searches over orders: places of a column, orders of graphs, random orders within constraints."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.search.growshrink import GrowShrink
from sepset.learning.structure.search.ordersearch import climb, improved, order_of, order_score, positions, random_order
from support.enumerated_classes import chained_columns


@pytest.mark.parametrize("seed", range(4))
def test_places_score_as_whole_orders_do(seed: int) -> None:
    columns = chained_columns(seed)
    constraints = Constraints(required=["v1 -> v4"])
    task = StructureTask(columns, ss.structure.AIC(), constraints=constraints)
    families = GrowShrink(task.scorer, task.allowed)
    order = random_order(task, np.random.default_rng(seed))
    assert order.index(1) < order.index(4)
    for column in range(6):
        rest, scores = positions(families, order, column)
        for place in range(6):
            whole = [*rest[:place], column, *rest[place:]]
            if whole.index(1) < whole.index(4):
                assert scores[place] == pytest.approx(order_score(families, whole))
            else:
                assert scores[place] == -np.inf


def test_orders_of_graphs() -> None:
    assert order_of([[2], [0], []]) == [2, 0, 1]
    assert order_of([]) == []


@pytest.mark.parametrize("score", [ss.BDeu(5.0), ss.K2()], ids=repr)
def test_greedy_searches_improve(score: object) -> None:
    task = StructureTask(chained_columns(7), score)
    empty = task.start_parents()
    for parents, found in (climb(task, empty), improved(task, empty)):
        assert found == pytest.approx(task.scorer.total(parents))
        assert found > task.scorer.total(empty)
        assert climb(task, parents)[1] == pytest.approx(found)
