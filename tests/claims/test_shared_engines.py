"""One engine for many: threads, forked processes, pickles; and after an interruption it still answers."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled import question
from sepset.kernels.compiled import contraction as kernels, onepass
from support.blocks import in_blocks
from support.random_models import random_case


def findings(net, count):
    """Findings on a few variables of samples, so that none is impossible; several sets, several values each."""
    rows = net.sample(count, seed=7).to_frame("pandas")
    rng = np.random.default_rng(8)
    groups = [[rows.columns[i] for i in rng.permutation(rows.shape[1])[:k]] for k in (1, 3, 5, 8)]
    return [{name: rows[name][i] for name in groups[i % len(groups)]} for i in range(count)]


def answers(engine, given):
    """One of each kind of question."""
    found = engine.marginals(given=given)
    name = engine.model.variables.names[-1]
    return [
        *(found[v].values.tobytes() for v in engine.model.variables),
        float(engine.log_probability(given=given)),
        engine.map_assignment(given=given).log_value,
        engine.query(name, given=given).values.tobytes(),
        engine.observe(given).sample(5, seed=1).to_frame("pandas").to_csv(),
        *(one.values.tobytes() for one in engine.retracted_marginals(given=given).values()),
    ]


def test_eight_threads_agree_with_one():
    net = ss.datasets.load("alarm")
    cases = findings(net, 48)
    serial = [answers(ss.prepare(net), given) for given in cases[:8]]
    shared = ss.prepare(net)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda given: answers(shared, given), cases))
    finally:
        sys.setswitchinterval(before)
    again = [answers(shared, given) for given in cases]
    assert found == again
    for mine, theirs in zip(found[:8], serial, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if isinstance(a, bytes):
                np.testing.assert_allclose(np.frombuffer(a), np.frombuffer(b), rtol=1e-9, atol=1e-12)
            elif isinstance(a, float):
                assert a == pytest.approx(b, rel=1e-9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_answer_too():
    engine = ss.prepare(ss.datasets.load("asia"))
    given = {"xray": "yes"}
    truth = engine.query("lung", given=given).values
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(engine.query("lung", given=given).values))
    child.start()
    assert receiver.poll(60)
    np.testing.assert_array_equal(receiver.recv(), truth)
    child.join(60)
    assert child.exitcode == 0


@in_blocks("seed", range(8))
def test_models_and_engines_survive_pickling(seed):
    case = random_case(np.random.default_rng([seed, 60]))
    engine = ss.prepare(case.model, method=ss.VariableElimination() if seed % 2 else ss.CliqueTree())
    back = pickle.loads(pickle.dumps(engine))
    assert back.method == engine.method
    assert back.model.variables == engine.model.variables
    for v in case.variables:
        np.testing.assert_array_equal(back.marginals()[v].values, engine.marginals()[v].values)


@pytest.mark.parametrize("when", ["first run", "later run"])
def test_an_interrupted_run_leaves_the_engine_usable(when, monkeypatch):
    net, given = ss.datasets.load("asia"), {"xray": "yes", "dysp": "no"}
    truth = {v.name: ss.query(net, v, given=given, method=ss.VariableElimination()).values for v in net.variables}
    engine = ss.prepare(net)
    if when == "later run":
        engine.marginals(given={"xray": "no", "dysp": "yes"})["lung"]

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(kernels, "run", interrupt)
        patch.setattr(kernels, "run_briefly", interrupt)
        patch.setattr(onepass, "compile_greedily", interrupt)
        patch.setattr(question, "is_at_hand", lambda kernel: True)
        with pytest.raises(KeyboardInterrupt):
            engine.marginals(given=given)["lung"]
    found = engine.marginals(given=given)
    for name, values in truth.items():
        np.testing.assert_allclose(found[name].values, values, rtol=1e-12)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_a_long_run_hears_of_an_interruption(monkeypatch):
    net = ss.datasets.load("asia")
    engine, sound = ss.prepare(net), kernels.run
    truth = ss.query(net, "lung", method=ss.VariableElimination()).values
    seen = []

    def endless(*arguments):
        cancel = arguments[14]
        for _ in range(30_000):  # about half a minute, and then the test fails
            if cancel[0]:
                break
            time.sleep(0.001)
        seen.append(bool(cancel[0]))
        return sound(*arguments)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(costs, "WORK_OF_A_FIRST_RUN", -1)
    monkeypatch.setattr(costs, "WORK_OF_A_SHORT_RUN", -1)
    monkeypatch.setattr(costs, "WORK_UNDIVIDED", -1)
    monkeypatch.setattr(costs, "WORK_UNINTERRUPTED", -1)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "run", endless)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                engine.query("lung")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert seen == [True]
    np.testing.assert_allclose(engine.query("lung").values, truth, rtol=1e-12)
    with ThreadPoolExecutor(1) as pool:
        np.testing.assert_allclose(pool.submit(engine.query, "lung").result().values, truth, rtol=1e-12)
