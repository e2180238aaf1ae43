"""Large steps on several threads: the same answers for any number of them, those of enumeration."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled import dense, teams
from sepset.inference.compiled.teams import HELPERS, Helpers, Team, large_steps
from sepset.kernels.kernel import load
from sepset.variables.evidence import Evidence
from support.tolerances import CLOSE


@pytest.fixture
def every_step_is_large(monkeypatch):
    load()
    monkeypatch.setattr(costs, "NANOSECONDS_FOR_THREADS", 0.0)
    monkeypatch.setattr(costs, "WORK_OF_A_FIRST_RUN", -1)
    monkeypatch.setattr(costs, "WORK_OF_A_SHORT_RUN", -1)
    monkeypatch.setattr(costs, "WORK_UNDIVIDED", -1)
    monkeypatch.setattr(dense, "is_ready", lambda: True)


def random_model(seed, *, scale=1.0):
    """Tables on a grid with a few longer scopes; some entries are zero, some variables have one state."""
    rng = np.random.default_rng(seed)
    variables = [ss.Discrete(f"x{i}", int(rng.integers(1, 5))) for i in range(7)]
    scopes = [(i, i + 1) for i in range(6)] + [tuple(rng.permutation(7)[:3].tolist()) for _ in range(3)]
    tables = []
    for scope in scopes:
        shape = [variables[i].num_states for i in scope]
        values = rng.uniform(0.1, 1.0, shape) * (rng.random(shape) > 0.1)
        tables.append(ss.Table([variables[i] for i in scope], np.maximum(values, values.max() == 0) * scale))
    return ss.MarkovNet(*tables), variables


def enumerated(model, variables):
    """The sum over all states, and every marginal."""
    cards = [v.num_states for v in variables]
    place = {v: i for i, v in enumerate(variables)}
    whole = np.ones(cards)
    for factor in model.factors:
        axes = [place[v] for v in factor.scope]
        shape = [cards[i] if i in axes else 1 for i in range(len(cards))]
        whole = whole * np.transpose(factor.values, np.argsort(axes)).reshape(shape)
    totals = [whole.sum(axis=tuple(j for j in range(len(cards)) if j != i)) for i in range(len(cards))]
    return whole.sum(), [total / total.sum() for total in totals]


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("seed", range(6))
def test_answers_do_not_depend_on_the_threads(seed, scale, every_step_is_large):
    model, variables = random_model(seed, scale=scale)
    total, expected = enumerated(random_model(seed)[0], variables)
    answers = []
    for threads in (1, 2, 3):
        found = ss.prepare(model, method=ss.CliqueTree(threads=threads)).marginals()
        answers.append((found.log_partition, *(found[v.name].values for v in variables)))
    np.testing.assert_allclose(answers[0][0], np.log(total) + len(model.factors) * np.log(scale), rtol=CLOSE)
    for values, right in zip(answers[0][1:], expected, strict=True):
        np.testing.assert_allclose(values, right, rtol=0, atol=CLOSE)
    for other, one in itertools.product(answers[1:], range(1 + len(variables))):
        np.testing.assert_array_equal(other[one], answers[0][one])


@pytest.mark.parametrize("seed", range(3))
def test_best_assignments_joints_and_draws_are_the_same(seed, every_step_is_large):
    model, variables = random_model(seed)
    found = []
    for threads in (1, 3):
        engine = ss.prepare(model, method=ss.CliqueTree(threads=threads))
        joint = engine.query([variables[0], variables[3]], given={variables[6]: variables[6].states[0]})
        best, draws = engine.map_assignment(), engine.sample(20, seed=1)
        found.append((joint.values.tolist(), dict(best.assignment), [draws.codes(v).tolist() for v in variables]))
    assert found[0] == found[1]


def test_parts_are_each_taken_once():
    taken: list[int] = []
    lock = threading.Lock()

    def work(first, end):
        with lock:
            taken.extend(range(first, end))

    for num in (1, 2, 7, 100):
        taken.clear()
        with Team(4) as team:
            team.share(num, work)
        assert sorted(taken) == list(range(num))


def test_an_error_of_any_thread_is_raised():
    def fail(first, end):
        raise ValueError(first)

    with pytest.raises(ValueError, match=r"\d"), Team(3) as team:
        team.share(9, fail)
    with Team(2) as team:  # and the threads are free again
        team.share(2, lambda first, end: None)


def test_helpers_are_at_most_the_processors_but_those_asked_for(monkeypatch):
    monkeypatch.setattr(teams, "num_processors", lambda: 4)
    helpers = Helpers()
    assert [helpers.take(2), helpers.take(2), helpers.take(1)] == [2, 1, 0]
    helpers.give(3)
    assert helpers.take(7) == 7  # more than processors, because that is what was asked for
    assert HELPERS.take(0) == 0


def test_small_steps_are_not_shared(every_step_is_large, monkeypatch):
    model, _ = random_model(0)
    engine = ss.prepare(model, method=ss.CliqueTree(threads=2)).prepared
    question = engine.compiler.all_marginals(engine.compiler.planner.pattern(Evidence()))[1]
    assert len(large_steps(question.program, maximize=False))
    monkeypatch.setattr(costs, "NANOSECONDS_FOR_THREADS", 1e9)
    assert not len(large_steps(question.program, maximize=False))


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_threads_is_refused(threads):
    with pytest.raises((ss.errors.ArgumentError, TypeError), match="threads"):
        ss.CliqueTree(threads=threads)
