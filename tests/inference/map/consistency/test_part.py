"""The search of one part: its best assignments and its bound at every stage."""

import numpy as np
import pytest

from sepset.base.threads import NEVER
from sepset.inference.map.consistency import part as parts
from sepset.inference.map.consistency.part import Part, rows
from support.cost_networks import assignments, random_costs


@pytest.mark.parametrize("seed", range(25))
def test_bounds_rise_to_the_optimum(seed, monkeypatch):
    monkeypatch.setattr(parts, "SHORT", 1)
    rng = np.random.default_rng(seed)
    costs, _ = random_costs(rng)
    k = int(rng.integers(1, 5))
    units = {codes: costs.cost(np.array(codes)) for codes in assignments(costs)}
    part = Part(costs, k, np.zeros(len(costs.variables), np.int64), int(rng.integers(0, 3)))
    progress, lower = part.begun(), []
    while not progress.is_done:
        lower.append(progress.lower)
        progress = part.advanced(progress, 1, NEVER)
    lower.append(progress.lower)
    assert lower == sorted(lower)
    assert lower[-1] <= min(units.values())
    wanted = sorted(units.values())[:k]
    assert progress.best.tolist()[: len(wanted)] == wanted
    found = rows(progress, costs)
    if wanted[0] < costs.most:
        assert [units[tuple(codes)] for codes in found.tolist()] == [u for u in wanted if u < costs.most]
        assert len({tuple(codes) for codes in found.tolist()}) == len(found)
