"""Wide beams are exact; narrow ones have a bound."""

import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import assign
from sepset.inference.map import beam
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import best_value, random_problem, task_of


@in_blocks("seed", range(60))
def test_wide_beams_are_exact(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    best, entries = best_value(wiring), int(rng.integers(1, 9))
    if best == -np.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            assign(ss.inference.BeamSearch(width=math.inf, entries=entries), task_of(wiring))
        return
    wide = assign(ss.inference.BeamSearch(width=math.inf, entries=entries), task_of(wiring))
    assert wide.log_values[0] == pytest.approx(best, abs=1e-8)
    assert wide.guarantee is ss.Guarantee.EXACT
    narrow = assign(ss.inference.BeamSearch(width=2, entries=entries), task_of(wiring))
    assert narrow.log_values[0] <= best + 1e-9 <= narrow.bound + 2e-9
    if narrow.guarantee is ss.Guarantee.EXACT:
        assert narrow.log_values[0] == pytest.approx(best, abs=1e-8)


def test_bad_settings_and_empty_models(monkeypatch):
    with pytest.raises(ss.errors.ArgumentError, match="width"):
        ss.inference.BeamSearch(width=0)
    with pytest.raises(ss.errors.ArgumentError, match="entries"):
        ss.inference.BeamSearch(entries=0)
    assert ss.map_assignment(ss.MarkovNet(), method=ss.inference.BeamSearch()).log_value == 0.0
    pixel = ss.Discrete.array("pixel", (6, 6), states=(-1, 1))
    net = ss.MarkovNet.ising(pixel, -0.5)
    monkeypatch.setattr(beam, "MOST_KEPT", 2**10)
    with pytest.raises(ss.TooLarge, match="Use a width"):
        ss.map_assignment(net, method=ss.inference.BeamSearch(width=math.inf))
