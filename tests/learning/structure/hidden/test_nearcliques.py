"""Near-cliques against their definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.learning.structure.hidden.nearcliques import near_cliques
from support.blocks import in_blocks


@in_blocks("seed", range(6))
@pytest.mark.parametrize("share", [0.5, 0.7, 1.0])
def test_every_set_fits_and_none_can_grow(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((8, 8)) < 0.5, 1)
    adjacent = upper | upper.T

    def fits(members: tuple[int, ...]) -> bool:
        inside = adjacent[np.ix_(members, members)].sum(axis=1)
        return bool((inside >= share * (len(members) - 1) - 1e-9).all())

    found = near_cliques(adjacent, share)
    assert all(fits(members) for members in found)
    for members in found:
        assert not any(fits((*members, k)) for k in range(8) if k not in members)
    if share == 1.0:
        cliques = [c for size in range(3, 9) for c in itertools.combinations(range(8), size) if fits(c)]
        largest = {c for c in cliques if not any(set(c) < set(d) for d in cliques)}
        assert set(found) <= largest
        assert all(any(set(t) <= set(c) for c in found) for t in cliques if len(t) == 3)


def test_graphs_without_triangles_have_none() -> None:
    assert near_cliques(np.zeros((4, 4), dtype=bool), 0.5) == []
    assert near_cliques(np.zeros((0, 0), dtype=bool), 0.5) == []
