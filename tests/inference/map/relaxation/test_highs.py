"""Programs that are solved in another thread, for a limited time."""

import threading

import numpy as np
import pytest

from sepset.factors.block import FactorBlock
from sepset.inference.map.relaxation import highs
from sepset.inference.map.relaxation.highs import integer_optimum, linear_optimum
from sepset.inference.map.relaxation.polytope import Polytope
from sepset.inference.map.relaxation.regions import Regions
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete
from support.planted import best_of_parts, planted_union
from support.wired import best_value


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


def test_bounds_leave_room_for_the_tolerances_of_the_solver():
    variables = Universe([Discrete(f"v{i}") for i in range(8)])
    for seed in range(10):
        rng = np.random.default_rng([5, seed])
        scopes = [rng.permutation(8)[:2].tolist() for _ in range(14)]
        logs = np.where(rng.random((14, 2, 2)) < 0.1, -1e8 * rng.random((14, 2, 2)), 1e-4 * rng.normal(size=(14, 2, 2)))
        blocks = tuple(FactorBlock([s], (2, 2), values=t, space="log") for s, t in zip(scopes, logs, strict=True))
        wiring = Wiring.of(Problem(variables, blocks))
        found = integer_optimum(Polytope.of(Regions.of(wiring)))
        assert wiring.constant + found.bound >= best_value(wiring)
