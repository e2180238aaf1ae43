"""The tuned constants of structure learning: each is positive and documented."""

from __future__ import annotations

from sepset.learning.structure import costs
from support.costs import check_costs


def test_every_constant_is_positive_and_says_what_it_decides():
    check_costs(costs, at_least=12)


def test_a_family_in_a_table_is_faster_than_alone():
    assert costs.SECONDS_LISTED < costs.SECONDS_ASKED
    assert costs.COLUMNS_FIXED < costs.COLUMNS_FOR_PARTS
