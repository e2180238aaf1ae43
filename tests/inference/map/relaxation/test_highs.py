"""Programs that are solved in another thread, for a limited time."""

import threading

import numpy as np
import pytest

from sepset.inference.map.relaxation import highs
from sepset.inference.map.relaxation.highs import integer_optimum, linear_optimum
from sepset.inference.map.relaxation.polytope import Polytope
from sepset.inference.map.relaxation.regions import Regions
from support.planted import best_of_parts, planted_union


def test_the_thread_changes_nothing(monkeypatch):
    wiring, parts = planted_union(np.random.default_rng(4), 10)
    polytope = Polytope.of(Regions.of(wiring))
    at_once = linear_optimum(polytope), integer_optimum(polytope)
    monkeypatch.setattr(highs, "SMALL", 0)
    waited = linear_optimum(polytope), integer_optimum(polytope)
    np.testing.assert_array_equal(at_once[0].columns, waited[0].columns)
    np.testing.assert_array_equal(at_once[0].equal, waited[0].equal)
    assert at_once[1].bound == waited[1].bound
    assert wiring.constant + waited[1].bound == pytest.approx(best_of_parts(wiring, parts))


def test_waiting_ends_with_the_time_and_errors_come_back():
    held = threading.Event()
    assert highs.waited(held.wait, 10**6, -0.6) is None  # a solver that does not look at the clock
    held.set()

    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        highs.waited(fails, 10**6, 5.0)
