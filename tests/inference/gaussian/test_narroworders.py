"""Orders of many numbers, from the graph alone."""

from __future__ import annotations

import numpy as np

from sepset.inference import costs
from sepset.inference.gaussian.narroworders import narrow_order


def star(num):
    """A number with many children: the child of each regression, and the child or its parent."""
    return np.concatenate([np.arange(num), np.arange(1, num)]), np.concatenate([np.arange(num), np.zeros(num - 1, int)])


def test_those_asked_for_come_last():
    every, none = np.ones(6, np.bool_), np.zeros(6, np.bool_)
    last = np.array([False, False, True, False, False, True])
    found = narrow_order(star(6), np.ones(6, np.int64), every, none, last)
    assert set(found.order[-2:].tolist()) == {2, 5}
    assert np.diff(found.start).max() == 2  # the center is eliminated while two are left


def test_large_cliques_are_refused(monkeypatch):
    child, member = np.tril_indices(40)
    every, none = np.ones(40, np.bool_), np.zeros(40, np.bool_)
    asked = (child, member), np.ones(40, np.int64), every, none, every
    assert np.diff(narrow_order(*asked).start).max() == 39
    monkeypatch.setattr(costs, "PAIRS_REVERSED", 1000)
    assert narrow_order(*asked) is None
    monkeypatch.setattr(costs, "TRIANGLES_REVERSED", 1000)
    assert narrow_order(*asked) is None
