"""Persistent states belong to a best assignment, strict ones to all; searches of what is left find the best."""

import numpy as np
import pytest

import sepset as ss
from sepset.base.threads import OutOfTime, ending_at
from sepset.inference.map.consistency import persistency
from sepset.inference.map.consistency.persistency import without_needless
from sepset.inference.map.dual import assigned
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.sparse import joint, sparse_wiring
from support.wired import random_pairs, random_problem, task_of


def random_wiring(rng, kind):
    if kind == 0:
        return Wiring.of(random_problem(rng))
    if kind == 1:
        return random_pairs(rng, tables=bool(rng.integers(2)), zeros=0.1)
    return sparse_wiring(rng, n=6, factors=6, ties=bool(rng.integers(2)), zeros=0.1)


@in_blocks("seed", range(60))
def test_persistent_states_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    wiring, strict = random_wiring(rng, seed % 3), seed % 2 == 0
    values, task = joint(wiring), task_of(wiring)
    method = ss.inference.Persistency(int(rng.integers(1, 30)), strict=strict)
    best = values.max()
    if best == -np.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            assigned(method, task)
        return
    found = assigned(method, task)
    assert found.log_values[0] <= best + 1e-9 <= found.bound + 2e-9
    if found.persistent is None:  # messages decoded no assignment of a positive value
        return
    assert found.certificate.check()
    where = np.argwhere(values >= best - 1e-10)
    agree = (where[:, found.persistent] == found.codes[0][found.persistent]).all(axis=1)
    assert agree.all() if strict else agree.any()


@in_blocks("seed", range(24))
def test_states_that_are_left_have_a_best_assignment(seed):
    rng = np.random.default_rng([2, seed])
    wiring = random_wiring(rng, seed % 3).consistent
    best = joint(wiring).max()
    if best == -np.inf:
        return
    reduced = without_needless(wiring, wiring.modes, int(rng.integers(1, 20)))
    assert joint(reduced).max() == pytest.approx(best, abs=1e-9)
    found = assigned(ss.inference.HybridBestFirst(2, persistency=True), task_of(wiring))
    assert found.log_values[0] == pytest.approx(best, abs=1e-9)
    assert found.guarantee is ss.Guarantee.EXACT
    assert found.certificate.check()


@pytest.mark.parametrize("rounds", [1, 100])
def test_strict_states_of_a_proved_assignment_are_those_of_every_best_one(rounds):
    """The first variable is decided, the second and third are tied, and the fourth is in no factor."""
    decided, left, right, free = (ss.Discrete(name, 3) for name in ("decided", "left", "right", "free"))
    net = ss.MarkovNet(
        ss.Table([decided], [1.0, 4.0, 2.0]),
        ss.Table([left, right], np.eye(3) + 1.0),
        variables=[decided, left, right, free],
    )
    strict = ss.map_assignment(net, method=ss.inference.Persistency(rounds, strict=True))
    assert strict.guarantees["assignment"] is ss.Guarantee.EXACT
    assert dict(strict.persistent) == {"decided": 1}
    assert set(ss.map_assignment(net, method=ss.inference.Persistency(rounds)).persistent) == set(strict.assignment)


@in_blocks("seed", range(12))
def test_without_time_nothing_is_proved_that_is_not_so(seed):
    rng = np.random.default_rng([3, seed])
    wiring = random_wiring(rng, seed % 3)
    best, until = joint(wiring).max(), ss.Until(seconds=1e-9, steps=None)
    if best == -np.inf:
        return
    found = assigned(ss.inference.Persistency(strict=seed % 2 == 0), task_of(wiring, until=until))
    assert found.persistent is None or found.info["removed_states"] == 0
    assert found.status is ss.Status.TIME_LIMIT
    with pytest.raises(OutOfTime), ending_at(0.0):
        without_needless(wiring.consistent, wiring.modes, 100)
    hybrid = ss.inference.HybridBestFirst(virtual=10**6, persistency=True)
    for each in (found, assigned(hybrid, task_of(wiring, until=until))):
        assert each.log_values[0] <= best + 1e-9 <= each.bound + 2e-9
        assert each.certificate is None or each.certificate.check()


def test_fixing_persistent_states_leaves_a_smaller_search():
    rng = np.random.default_rng(1)
    shade = ss.Discrete.array("shade", (6, 6), states=4)
    net = ss.MarkovNet.potts(shade, 0.7, log_values=rng.normal(size=(6, 6, 4)))
    found, exact = ss.map_assignment(net, method=ss.inference.Persistency()), ss.map_assignment(net)
    assert len(found.persistent) > 18
    rest = ss.map_assignment(net, given=found.persistent, method=ss.BranchAndBound())
    assert rest.log_value == pytest.approx(exact.log_value)
    assert rest.guarantees["assignment"] is ss.Guarantee.EXACT
    assert dict(ss.map_assignment(ss.MarkovNet(), method=ss.inference.Persistency()).persistent) == {}


def test_an_interrupt_keeps_the_assignment_and_the_bound(monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(persistency.Mapping, "improving", stopped)
    net = ss.datasets.load("misconception")
    found = ss.map_assignment(net, method=ss.inference.Persistency())
    assert found.status is ss.Status.INTERRUPTED
    assert found.log_value <= found.bound + 1e-9
    assert dict(found.persistent) == {}


def test_bad_questions_are_refused():
    net = ss.datasets.load("misconception")
    with pytest.raises(ss.errors.ArgumentError, match="rounds"):
        ss.inference.Persistency(rounds=0)
    with pytest.raises(ss.errors.NotApplicable, match="Persistency finds one assignment; found k=2"):
        ss.map_assignment(net, k=2, method=ss.inference.Persistency())
    with pytest.raises(ss.errors.NotApplicable, match=r"persistency=True\) keeps one best assignment; found k=2"):
        ss.map_assignment(net, k=2, method=ss.inference.HybridBestFirst(persistency=True))
