"""The M best assignments by best max-marginal first, beside enumeration."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import random_forest, spin_glass
from sepset.errors import NotApplicable
from sepset.inference.propagation import passing
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks


def ranked(wiring):
    values = [wiring.log_value(x) for x in itertools.product(*map(range, wiring.plugs.cards.tolist()))]
    return sorted((v for v in values if v > -np.inf), reverse=True)


@in_blocks("seed", range(30))
def test_the_best_of_a_forest_by_enumeration(seed):
    net = random_forest(np.random.default_rng(seed), zeros=0.2 * (seed % 3 == 0))
    expected = ranked(Wiring.of(net.as_written()))
    if not expected:
        return
    found = ss.map_assignment(net, method=ss.LoopyBP(), k=6)
    assert len(found.assignments) == min(6, len(expected))
    assert found.log_values == pytest.approx(expected[:6], abs=1e-8)
    assert len({tuple(a.codes.tolist()) for a in found.assignments}) == len(found.assignments)
    assert found.guarantees["assignment"] is ss.Guarantee.EXACT


def test_ties_are_listed_once():
    bit = ss.Discrete.array("b", 3)
    net = ss.MarkovNet(ss.potentials.over_scopes([[0, 1], [1, 2]], ss.potentials.Potts(1.0), array=bit))
    found = ss.map_assignment(net, method=ss.LoopyBP(), k=20)
    assert np.round(found.log_values, 9).tolist() == [2, 2, 1, 1, 1, 1, 0, 0]
    assert len({tuple(a.codes.tolist()) for a in found.assignments}) == 8


def test_loops_are_close():
    close = 0
    for seed in range(6):
        net = spin_glass(np.random.default_rng(seed), 3, 3, 0.4)
        found = ss.map_assignment(net, method=ss.LoopyBP(), k=4)
        assert len({tuple(a.codes.tolist()) for a in found.assignments}) == 4
        assert list(found.log_values) == sorted(found.log_values, reverse=True)
        close += np.allclose(found.log_values, ranked(Wiring.of(net.as_written()))[:4])
    assert close >= 4


def test_checkpoints_and_sums_are_refused_and_budgets_are_not(tmp_path):
    net = spin_glass(np.random.default_rng(0), 2, 2)
    assert len(ss.map_assignment(net, method=ss.LoopyBP(), k=2, until=5).assignments) == 2
    assert len(ss.map_assignment(net, method=ss.LoopyBP(), k=2, until=ss.Until(seconds=0)).assignments) == 1
    with pytest.raises(NotApplicable, match="checkpoint="):
        ss.map_assignment(net, method=ss.LoopyBP(), k=2, checkpoint=tmp_path / "file")
    with pytest.raises(NotApplicable, match="summed out"):
        ss.map_assignment(net, method=ss.LoopyBP(), k=2, over=["spin[0,0]"])


def test_messages_that_have_not_converged_prove_nothing():
    wrong = 0
    for seed in range(6):
        net = random_forest(np.random.default_rng(seed))
        found = ss.map_assignment(net, method=ss.LoopyBP(schedule="synchronous", until=1), k=3)
        expected = ranked(Wiring.of(net.as_written()))[:3]
        is_best = len(found.log_values) == len(expected) and np.allclose(found.log_values, expected)
        assert is_best or found.guarantees["assignment"] is not ss.Guarantee.EXACT
        wrong += not is_best
    assert wrong


def test_an_interrupt_leaves_the_assignments_so_far(monkeypatch):
    """Passes that an interrupt ends are not followed by others."""
    net, run, asked = spin_glass(np.random.default_rng(1), 3, 3), passing.run, []

    def interrupted(*args, **settings):
        asked.append(1)
        found = run(*args, **settings)
        return replace(found, status=ss.Status.INTERRUPTED) if len(asked) == 4 else found

    monkeypatch.setattr(passing, "run", interrupted)
    found = ss.map_assignment(net, method=ss.LoopyBP(), k=20)
    assert 0 < len(found.assignments) < 20
    assert len(asked) == 4
    del asked[3:]
    with pytest.raises(KeyboardInterrupt):
        ss.map_assignment(net, method=ss.inference.DualDecomposition())
    assert len(asked) == 4
