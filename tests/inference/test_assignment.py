"""Methods that search: what they find is checked, and proved if their bound says so."""

from dataclasses import dataclass

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import AssignmentTask, Assigns, Found, assign, best_of
from sepset.inference.wiring import Wiring
from sepset.variables.evidence import Evidence

NET = ss.datasets.load("misconception")


@dataclass(frozen=True)
class Guess:
    """A method that knows its answer and claims a bound."""

    codes: tuple[int, ...]
    bound: float

    def assign(self, task: AssignmentTask) -> Found:
        return Found(np.array([self.codes]), (123.0,), self.bound)


def test_values_are_computed_again_and_gaps_decide_the_guarantee():
    task = AssignmentTask(NET.problem(), Evidence())
    best = float(np.log(5e6))
    assert isinstance(Guess((0, 1, 1, 0), best), Assigns)
    exact = assign(Guess((0, 1, 1, 0), best), task)
    assert exact.log_values == pytest.approx((best,))
    assert exact.guarantee is ss.inference.Guarantee.EXACT
    loose = assign(Guess((0, 0, 0, 0), best), task)
    assert loose.guarantee is ss.inference.Guarantee.HEURISTIC
    assert loose.log_values == pytest.approx((float(np.log(3e5)),))


def test_a_method_of_ones_own_answers_in_names():
    found = ss.map_assignment(NET, method=Guess((0, 1, 1, 0), 16.0))
    assert found.assignment == ss.map_assignment(NET).assignment
    assert found.gap == pytest.approx(16.0 - np.log(5e6))
    assert found.probability == pytest.approx(5_000_000 / 7_201_840)
    assert "gap 0.575" in repr(found)


def test_impossible_models_are_named():
    a = ss.Discrete("a")
    net = ss.MarkovNet(ss.Table(a, [0, 1]), ss.Table(a, [1, 0]))
    with pytest.raises(ss.errors.ImpossibleEvidence):
        ss.map_assignment(net, method=Guess((0,), -np.inf))


def test_the_best_of_several():
    wiring = Wiring.of(NET.problem())
    codes, value = best_of([[0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]], wiring)
    assert (codes.tolist(), value) == ([0, 1, 1, 0], pytest.approx(np.log(5e6)))


def test_certificates_are_checked_again():
    assert not ss.inference.Certificate("no", "because", lambda: False).check()
