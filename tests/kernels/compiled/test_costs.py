"""The costs of instructions: each is positive and documented, and steps cost more the further they go."""

from __future__ import annotations

from sepset.kernels.compiled import costs
from support.costs import check_costs


def test_every_constant_is_positive_and_says_what_it_decides():
    check_costs(costs, at_least=11)


def test_longer_steps_cost_more():
    assert (
        costs.STEP_TO_NEIGHBOR
        < costs.STEP_IN_LINE
        < costs.STEP_BEYOND_LINE
        < costs.STEP_BEYOND_CACHE
        < costs.STEP_TO_MEMORY
        < costs.TILED_PRODUCT
    )
    assert costs.INNER_LOOP < costs.THREE_LOOPS < costs.BATCH_STATE < costs.PANELS_CALL
    assert costs.INNER_LOOP < costs.PANEL < costs.BATCH_STATE
