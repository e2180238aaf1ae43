"""Every search ends with its time, whatever it is doing then: with the best so far, and a bound that holds.

The clock is one that ticks when it is looked at, so that what is left undone does not depend on the machine.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import sepset as ss
from sepset.base import threads
from sepset.inference import iterate
from sepset.inference.map.choice import automatic
from sepset.inference.map.minibuckets import MiniBuckets
from sepset.inference.map.search.boundedtree import BoundedTree

I = ss.inference
METHODS = (
    ss.BranchAndBound(),
    I.HybridBestFirst(),
    I.HybridBestFirst(sweeps=3, virtual=20, persistency=True),
    I.AndOrSearch(entries=8),
    ss.LargeNeighborhood(entries=16, restarts=1000),
    I.BeamSearch(width=5),
    ss.ICM(restarts=1000),
    I.Annealing(sweeps=1000),
    I.LocalSearch(restarts=1000),
    I.DualDecomposition(),
    I.DualDecomposition("smoothed"),
    I.DualDecomposition("admm", over="factors"),
    ss.LinearProgram(),
    ss.LinearProgram(integer=True, tighten="cycles"),
    I.ClusterPursuit(),
    I.Persistency(),
    ss.TRWS(),
    ss.MPLP(),
    ss.AlphaExpansion(),
    ss.AlphaBetaSwap(),
    ss.LoopyBP(),
    ss.TreeReweighted(),
    I.ConvexBP(),
    I.ClusterBP(2),
    I.AutomaticSearch(),
    None,
)
TICKS = (0, 1, 4, 20, 70)
AFTER = 150
"""The most looks at the clock after the end: what is left to do then does not grow with the model."""


class Clock:
    """A clock that ticks by one second when it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    for module in (threads, iterate):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=made.monotonic))
    return made


def grid(side, states, seed):
    """A grid of random tables."""
    rng = np.random.default_rng(seed)
    places = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [np.stack([a.ravel(), b.ravel()], 1) for a, b in ((places[:, :-1], places[:, 1:]), (places[:-1], places[1:]))]
    )
    pairs = ss.factors.FactorBlock(
        edges, (states, states), values=rng.normal(size=(len(edges), states, states)), space="log"
    )
    alone = ss.factors.FactorBlock(
        places.reshape(-1, 1), (states,), values=rng.normal(size=(side * side, states)), space="log"
    )
    return ss.MarkovNet(alone, pairs, variables=[ss.Discrete.array("x", (side, side), states=states)])


@pytest.mark.parametrize("method", METHODS, ids=lambda method: repr(method)[:40])
def test_searches_end_with_their_time(method, clock):
    net = grid(6, 3, 0)
    best = ss.map_assignment(net, method=I.CliqueTree()).log_value
    for ticks in TICKS:
        since = clock.now
        found = ss.map_assignment(net, method=method, until=ss.Until(steps=None, tolerance=0.0, seconds=ticks))
        assert clock.now - since <= ticks + AFTER
        assert found.log_value <= best + 1e-9 <= found.bound + 2e-9
        assert found.status is ss.Status.TIME_LIMIT or ticks > 0 or found.guarantees["assignment"].value == "exact"
        assert found.gap == pytest.approx(found.bound - found.log_value)


@pytest.mark.parametrize("search", ["auto", "exact", "local", "branch"])
def test_sums_and_maxima_end_with_their_time(search, clock):
    net, over = grid(4, 2, 1), ["x[0,0]", "x[1,2]", "x[3,3]", "x[2,0]"]
    best = ss.map_assignment(net, over=over, method=I.CliqueTree()).log_value
    for ticks in TICKS:
        since, rule = clock.now, ss.Until(steps=None, tolerance=None, seconds=ticks)
        found = ss.map_assignment(net, over=over, method=I.MarginalMAP(search), until=rule)
        assert clock.now - since <= ticks + AFTER
        assert found.log_value <= best + 1e-9 <= found.bound + 2e-9


@pytest.mark.parametrize(("method", "prepares"), [(ss.BranchAndBound(), MiniBuckets), (I.AndOrSearch(), BoundedTree)])
def test_an_interrupt_before_a_search_begins_keeps_what_messages_found(method, prepares, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    net = grid(5, 3, 2)
    best = ss.map_assignment(net, method=I.CliqueTree()).log_value
    monkeypatch.setattr(prepares, "of", stopped)
    found = ss.map_assignment(net, method=method)
    assert found.status is ss.Status.INTERRUPTED
    assert best - 2.0 < found.log_value <= best + 1e-9 <= found.bound + 2e-9
    assert found.bound < best + 5.0
    assert found.certificate.check()


def test_a_given_time_is_not_ended_by_a_number_of_steps(monkeypatch):
    """The default method gives its searches all of the time, however many steps that is."""
    rules, assigned = [], automatic.assigned
    monkeypatch.setattr(automatic, "assigned", lambda method, task: rules.append(task.until) or assigned(method, task))
    zeros = np.where(np.random.default_rng(0).random((2, 2, 2)) < 0.2, 0.0, 1.0)
    net = ss.MarkovNet(*(ss.Table([ss.Discrete(n) for n in names], zeros) for names in ("abc", "bcd", "cda")))
    for until in (None, ss.Until(seconds=50)):
        ss.map_assignment(net, method=I.AutomaticSearch(), until=until)
        assert rules
        assert all(rule.steps is None and rule.seconds > 5 for rule in rules)
        rules.clear()
    ss.map_assignment(net, method=I.AutomaticSearch(), until=3)
    assert [rule.steps for rule in rules] == [3] * len(rules)
