"""The tuned constants of the search for orders: each is positive and documented, and they bound the search."""

from __future__ import annotations

from sepset.graphs import costs
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.ordering import Portfolio, elimination_order
from support.costs import check_costs


def test_every_constant_is_positive_and_says_what_it_decides():
    check_costs(costs, at_least=9)


def test_a_part_of_a_large_graph_is_smaller_than_it():
    assert costs.TIMES_OF_PART > 1
    assert [*costs.PARTS_OF_LARGE_GRAPH] == sorted(costs.PARTS_OF_LARGE_GRAPH)
    assert costs.PARTS_OF_LARGE_GRAPH[0] > costs.SMALL_GRAPH


def test_one_try_is_an_order_too(monkeypatch):
    grid = UndirectedGraph.parse("A - B - C - F - I - H - G - D - A; B - E - H; D - E - F")
    monkeypatch.setattr(costs, "MOST_TRIES", 1)
    assert sorted(elimination_order(grid, method=Portfolio(seed=3)).order) == list("ABCDEFGHI")
