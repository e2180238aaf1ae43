"""The tuned constants of inference: each is positive and documented, and has its value nowhere else."""

from __future__ import annotations

from sepset.inference import costs
from support.costs import check_costs


def test_every_constant_is_positive_and_says_what_it_decides():
    check_costs(costs, at_least=40)


def test_lanes_and_tasks_are_in_order():
    assert list(costs.LANES) == sorted(costs.LANES, reverse=True)
    assert costs.SHORTEST_TASK_SECONDS < costs.LONGEST_TASK_SECONDS
    assert costs.ENTRIES_PER_SINK_FOR_GROUPS_LATER < costs.ENTRIES_PER_SINK_FOR_GROUPS
