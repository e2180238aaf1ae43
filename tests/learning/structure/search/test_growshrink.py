"""Grown and shrunk parents: against a plain loop, and under constraints."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.learning.structure.constraints import Allowed, Constraints
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.scores.likelihood import AIC
from sepset.learning.structure.search.growshrink import GrowShrink, mask_of
from support.enumerated_classes import chained_columns


def plainly(scorer: Scorer, allowed: Allowed, child: int, before: set[int]) -> set[int]:
    """Add the best column while one improves, then remove the worst while that does."""
    required = set(np.flatnonzero(allowed.required[:, child]).tolist())
    parents = set(required)
    free = {x for x in before if not allowed.forbidden[x, child]}
    while len(parents) < allowed.max_parents and free - parents:
        best = max(sorted(free - parents), key=lambda x: scorer.family(child, parents | {x}))
        if scorer.family(child, parents | {best}) <= scorer.family(child, parents):
            break
        parents.add(best)
    while parents - required:
        best = max(sorted(parents - required), key=lambda x: scorer.family(child, parents - {x}))
        if scorer.family(child, parents - {best}) <= scorer.family(child, parents):
            break
        parents.remove(best)
    return parents


@pytest.mark.parametrize(
    "constraints",
    [Constraints(), Constraints(max_parents=1), Constraints(required=["v0 -> v3"], forbidden=["v2 -> v3"])],
    ids=repr,
)
@pytest.mark.parametrize("seed", range(3))
def test_trees_give_what_a_plain_loop_does(constraints: Constraints, seed: int) -> None:
    columns = chained_columns(seed)
    scorer, allowed = Scorer(columns, AIC()), constraints.bind(columns.names)
    families = GrowShrink(scorer, allowed)
    rng = np.random.default_rng(seed)
    for _ in range(40):
        child = int(rng.integers(6))
        before = {x for x in range(6) if x != child and (rng.random() < 0.6 or allowed.required[x, child])}
        found = families.best(child, mask_of(before))
        assert set(found.parents) == plainly(scorer, allowed, child, before)
        assert found.score == pytest.approx(scorer.family(child, found.parents))


def test_an_order_is_a_dag() -> None:
    columns = chained_columns(5)
    families = GrowShrink(Scorer(columns, AIC()), Constraints().bind(columns.names))
    order = [3, 0, 5, 1, 4, 2]
    for y, family in enumerate(families.order(order)):
        assert all(order.index(x) < order.index(y) for x in family.parents)
