"""Slopes and line searches over the parameters of a task."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from numpy.testing import assert_allclose

from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.weights import LaplaceWeights
from sepset.learning.incomplete.run import EMTask
from sepset.learning.task import Task
from support.learning_cases import masked_codes, network
from support.random_incomplete import incomplete, log_likelihood


@given(incomplete(num_rows=5))
@settings(max_examples=20)
def test_searches_end_higher_or_nowhere(case):
    net, rows = case
    task = EMTask.of(Task(net, rows), threads=1)
    objective, start = task.objective, task.evaluate(net)
    slope = objective.steepest(start)
    assert_allclose(slope, objective.slope(start))  # no kinks without a Laplace prior
    found = objective.search(start, slope, slope, 0.5)
    if found is not None:
        assert found.objective > start.objective
        assert_allclose(found.objective, log_likelihood(found.model, rows), rtol=1e-9, atol=1e-10)
    assert objective.search(start, slope, -slope, 0.5) is None


def test_expected_rises_shrink_with_the_slope():
    net = network("tree")
    task = EMTask.of(Task(net, masked_codes(net, 30)), threads=1)
    objective, point = task.objective, task.evaluate(net)
    wanted = 0.5 * (objective.slope(point) ** 2 * objective.scale(point)).sum() / -point.objective
    assert_allclose(objective.expected_rise(point), wanted)
    for _ in range(60):
        point = task.evaluate(task.expectation.blocks.maximize(point.model, point.statistics, task.terms))
    assert objective.expected_rise(point) < 1e-6 * wanted


def test_pairs_are_steps_and_falls():
    net = network("logistic")
    task = EMTask.of(Task(net, masked_codes(net, 30)), threads=1)
    objective, start = task.objective, task.evaluate(net)
    x = objective.vector.pack(net)
    end = task.evaluate(objective.vector.unpack(x + 0.1))
    step, fall = objective.pair(start, end)
    assert_allclose(objective.vector.pack(end.model), x + step, atol=1e-12)
    assert_allclose(fall, objective.slope(start) - objective.slope(end))


def test_searches_stop_at_kinks():
    net = network("logistic")
    task = EMTask.of(Task(net, masked_codes(net, 30)), (LaplaceWeights(0.01), Dirichlet(1.0)), threads=1)
    objective, start = task.objective, task.evaluate(net)
    slope = objective.steepest(start)
    found = objective.search(start, slope, slope, 0.9)
    weights = objective.vector.pack(found.model)[objective.kinks > 0]
    assert (weights == 0).any()
    assert (np.sign(weights) * np.sign(objective.vector.pack(net)[objective.kinks > 0]) >= 0).all()
