"""Slopes and climbs over the parameters of a task."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from numpy.testing import assert_allclose

from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.weights import Laplace
from sepset.learning.incomplete.run import Ascent
from sepset.learning.optimize.objective import Hill
from sepset.learning.task import Task
from support.learning_cases import masked_codes, network
from support.random_incomplete import incomplete, log_likelihood


@given(incomplete(num_rows=5))
@settings(max_examples=20)
def test_climbs_end_higher_or_nowhere(case):
    net, rows = case
    task = Ascent.of(Task(net, rows), None, "softmax", 1)
    hill, start = Hill.of(task), task.point(net)
    slope = hill.steepest(start)
    assert_allclose(slope, hill.slope(start))  # no edges without a Laplace prior
    found = hill.climb(start, slope, slope, 0.5)
    if found is not None:
        assert found.objective > start.objective
        assert_allclose(found.objective, log_likelihood(found.model, rows), rtol=1e-9, atol=1e-10)
    assert hill.climb(start, slope, -slope, 0.5) is None


def test_promises_shrink_with_the_slope():
    net = network("tree")
    task = Ascent.of(Task(net, masked_codes(net, 30)), None, "softmax", 1)
    hill, point = Hill.of(task), task.point(net)
    wanted = 0.5 * (hill.slope(point) ** 2 * hill.scale(point)).sum() / -point.objective
    assert_allclose(hill.promise(point), wanted)
    for _ in range(60):
        point = task.point(task.expectation.blocks.maximize(point.model, point.statistics, task.alphas))
    assert hill.promise(point) < 1e-6 * wanted


def test_pairs_are_steps_and_falls():
    net = network("logistic")
    task = Ascent.of(Task(net, masked_codes(net, 30)), None, "softmax", 1)
    hill, start = Hill.of(task), task.point(net)
    x = hill.vector.pack(net)
    end = task.point(hill.vector.unpack(x + 0.1))
    step, fall = hill.pair(start, end)
    assert_allclose(hill.vector.pack(end.model), x + step, atol=1e-12)
    assert_allclose(fall, hill.slope(start) - hill.slope(end))


def test_climbs_stop_at_edges():
    net = network("logistic")
    task = Ascent.of(Task(net, masked_codes(net, 30)), (Laplace(0.01), Dirichlet(1.0)), "softmax", 1)
    hill, start = Hill.of(task), task.point(net)
    slope = hill.steepest(start)
    found = hill.climb(start, slope, slope, 0.9)
    weights = hill.vector.pack(found.model)[hill.edges > 0]
    assert (weights == 0).any()
    assert (np.sign(weights) * np.sign(hill.vector.pack(net)[hill.edges > 0]) >= 0).all()
