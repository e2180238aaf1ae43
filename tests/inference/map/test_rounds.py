"""Rounds of messages that lower a dual bound: laws of every method that runs them."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import assign
from sepset.inference.map import rounds
from sepset.inference.map.dual import bound_of
from sepset.inference.map.rounds import PassedCodec
from support.blocks import in_blocks
from support.wired import METRICS, best_value, random_pairs, task_of

METHODS = [ss.TRWS(), ss.MPLP()]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@in_blocks("seed", range(40))
def test_every_interruption_leaves_a_bound_and_its_proof(method, seed):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng, potentials=METRICS, tables=seed % 2 == 0)
    best, task = best_value(wiring), task_of(wiring)
    state, last = method.init(task, rng), np.inf
    for _ in range(6):
        state, info = method.step(task, state, rng)
        assert state.bound <= last + 1e-12
        assert best - 1e-9 <= state.bound
        assert state.value <= best + 1e-9
        assert bound_of(wiring.consistent, method.proof(wiring.consistent, state.messages)) >= best - 1e-9
        last = state.bound
        if info.is_done:
            assert state.value == pytest.approx(best, abs=1e-7)
            break


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_states_survive_a_checkpoint(method):
    task = task_of(random_pairs(np.random.default_rng(3), tables=True))
    state, _ = method.step(task, method.init(task, task.rng), task.rng)
    codec = PassedCodec()
    back = codec.unpack(codec.pack(state))
    np.testing.assert_array_equal(back.messages, state.messages)
    np.testing.assert_array_equal(back.codes, state.codes)
    assert (back.bound, back.value, back.rounds) == (state.bound, state.value, state.rounds)


@pytest.mark.parametrize("kind", [ss.TRWS, ss.MPLP])
def test_decodings_are_counted_from_one(kind):
    with pytest.raises(ss.errors.ArgumentError, match=f"{kind.__name__}.decode_every="):
        kind(decode_every=0)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_proved_value_is_exact(method):
    proved = 0
    for seed in range(60):
        wiring = random_pairs(np.random.default_rng([seed, 9]))
        found = assign(method, task_of(wiring))
        if found.guarantee is ss.Guarantee.EXACT:
            proved += 1
            assert found.log_values[0] == pytest.approx(best_value(wiring), abs=1e-7)
    assert proved > 30


def test_the_last_decoding_after_an_interruption_is_given_up_if_it_takes_long(monkeypatch):
    """The start and its bound are returned: one round was run, and nothing decoded by then."""
    passed, done = ss.MPLP.passed, []

    def interrupted(*given):
        if done:
            raise KeyboardInterrupt
        done.append(1)
        return passed(*given)

    monkeypatch.setattr(ss.MPLP, "passed", interrupted)
    monkeypatch.setattr(rounds, "SECONDS_AFTER_INTERRUPT", -1.0)
    wiring = random_pairs(np.random.default_rng(0), tables=True)
    task = task_of(wiring)
    found = assign(ss.MPLP(), task)
    assert found.status is ss.Status.INTERRUPTED
    assert found.codes[0].tolist() == task.first_codes().tolist()
    assert found.bound >= best_value(wiring) - 1e-9
