"""Extrapolations hit the limits of geometric paths, and nothing is accepted that EM would beat."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from sepset.api.learning import fit
from sepset.inference.iterate import Until
from sepset.learning.incomplete.acceleration import ACCELERATIONS, Extrapolation, accelerated, aitken, squarem
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.run import EMTask
from sepset.learning.task import Task
from support.learning_cases import FORMS, masked_codes, mixed, mixed_rows, network
from support.random_incomplete import incomplete, log_likelihood


def test_one_rate_for_all_is_extrapolated_to_the_limit():
    steps = [(np.array([3.0 - 2.0 * 0.8**t, 1.0 + 0.8**t]),) for t in range(3)]
    for path in (squarem, aitken):
        assert_allclose(path(*steps)[0], [3.0, 1.0], rtol=1e-12)
    assert squarem((np.ones(2),), (np.ones(2),), (np.ones(2),)) is None


def test_own_rates_are_extrapolated_by_aitken_alone():
    rates = np.array([0.9, 0.5, 0.0])
    steps = [(np.array([2.0, 3.0, 4.0]) - rates**t,) for t in (1, 2, 3)]
    assert_allclose(aitken(*steps)[0], [2.0, 3.0, 4.0], rtol=1e-12)


def test_aitken_does_not_run_away():
    """Numbers that stand still, grow, or swing."""
    found = aitken((np.array([1.0, 1.0, 1.0]),), (np.array([1.0, 2.0, 0.0]),), (np.array([1.0, 4.0, 0.5]),))[0]
    assert_allclose(found, [1.0, 4.0 + 99 * 2.0, 0.5])


@pytest.mark.parametrize("name", ACCELERATIONS)
@given(case=incomplete(num_rows=6), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_every_step_rises_at_least_as_much_as_the_m_step_is_known_to(name, case, seed):
    net, rows = case
    task = EMTask.of(Task(net, rows), threads=1)
    blocks, method, rng = task.expectation.blocks, EM(acceleration=name), np.random.default_rng(seed)
    point = method.first(task, net)
    for _ in range(6):
        made = blocks.maximize(point.model, point.statistics, task.terms)
        known = blocks.score(made, point.statistics) - blocks.score(point.model, point.statistics)
        new, _ = method.step(task, point, rng)
        scale = max(abs(point.objective), 1.0)
        assert new.objective >= point.objective + known - 1e-12 * scale
        assert_allclose(new.log_likelihood, log_likelihood(new.model, rows), rtol=1e-9, atol=1e-10)
        point = new


@pytest.mark.parametrize("name", ACCELERATIONS)
@pytest.mark.parametrize("form", [*FORMS, "lines"])
def test_every_kind_of_cpd_rises_and_ends_no_lower_than_em(name, form):
    net = mixed() if form == "lines" else network(form)
    rows = mixed_rows(net, 40, 0.2, hide=("h",)) if form == "lines" else masked_codes(net, 60)
    rule = Until(steps=60, tolerance=1e-10)
    plain = fit(net, rows, EM(start="model"), until=rule)
    found = fit(net, rows, EM(start="model", acceleration=name), until=rule)
    assert (np.diff(found.trace) >= -1e-12 * np.abs(found.trace[1:])).all()
    assert found.log_likelihood >= plain.log_likelihood - 1e-7 * abs(plain.log_likelihood)


@given(incomplete(num_rows=6))
@settings(max_examples=15)
def test_wild_proposals_are_dropped_for_the_step(case):
    net, rows = case
    task = EMTask.of(Task(net, rows), threads=1)
    wild = Extrapolation(lambda before, between, now: tuple(1e3 * np.arange(s.size).reshape(s.shape) for s in now))
    point = plain = task.evaluate(net)
    for _ in range(5):
        made = task.expectation.blocks.maximize(point.model, point.statistics, task.terms)
        point = accelerated(wild, task, point, made)
        plain, _ = EM().step(task, plain, np.random.default_rng(0))
        assert point.objective >= plain.objective - 1e-9
