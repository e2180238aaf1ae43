"""Mini-batches cover the rows once, with their weights, and stand for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from sepset.cpds.table import TableCPD
from sepset.errors import ArgumentError
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.learning.incomplete.minibatches import mini_batches
from sepset.learning.incomplete.run import EMTask
from sepset.learning.incomplete.stepwise import StepwiseEM
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete
from support.learning_cases import mixed, mixed_rows
from support.random_incomplete import incomplete


def check_cover(task, net, size, seed):
    whole = task.expectation.expect(net)
    batches = list(mini_batches(task, size, np.random.default_rng(seed)))
    found = [b.expect(task, net) for b in batches]
    assert_allclose(sum(f.log_likelihood for f in found), whole.log_likelihood, rtol=1e-10, atol=1e-10)
    for i, stats in enumerate(whole.statistics):
        parts = [f.statistics[i] / b.scale for f, b in zip(found, batches, strict=True)]
        assert_allclose(np.sum(parts, axis=0), stats, rtol=1e-9, atol=1e-9)
    return batches


@given(incomplete(num_rows=12), st.integers(1, 13), st.integers(0, 99), st.booleans())
@settings(max_examples=40)
def test_batches_add_up_to_all_rows(case, size, seed, weighted):
    net, rows = case
    weights = np.random.default_rng(seed).exponential(size=rows.num_rows) if weighted else None
    task = EMTask.of(Task(net, rows, weights=weights), threads=1)
    batches = check_cover(task, net, size, seed)
    if weights is None:
        counts = [rows.num_rows if b.rows is None else b.weights.sum() for b in batches]
        assert max(counts) <= size or len(batches) == 1
        assert max(counts) - min(counts) <= 1


def test_batches_of_lines_add_up():
    net = mixed()
    rows = mixed_rows(net, 40, 0.3)
    check_cover(EMTask.of(Task(net, rows), threads=1), net, 7, 0)


def test_scaled_batches_have_all_rows_as_their_expectation():
    """Two different rows, one of them nine times: batches of one are it nine times in ten."""
    coin = Discrete("coin")
    net = BayesNet(TableCPD(coin, [0.5, 0.5]))
    task = EMTask.of(Task(net, {"coin": [0] * 9 + [1]}), threads=1)
    found = [b.expect(task, net).statistics[0] for b in mini_batches(task, 1, np.random.default_rng(0))]
    assert len(found) == 10
    assert_allclose(np.mean(found, axis=0), [9.0, 1.0])
    assert sorted(f.tolist() for f in found)[0] == [0.0, 10.0]


def test_rows_of_weight_zero_are_not_dealt():
    net = BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5]))
    task = EMTask.of(Task(net, {"coin": [0, 0, 1, 1]}, weights=np.array([1.0, 1.0, 1.0, 0.0])), threads=1)
    batches = list(mini_batches(task, 1, np.random.default_rng(0)))
    assert sorted(float(b.weights.sum()) for b in batches) == [1.0, 1.0, 1.0]


def test_one_batch_is_all_rows_as_they_are():
    net = BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5]))
    task = EMTask.of(Task(net, {"coin": [0, 0, 1]}), threads=1)
    rng = np.random.default_rng(0)
    assert [tuple(b) for b in mini_batches(task, 3, rng)] == [(None, None, 1.0)]
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, None, "all"])
def test_numbers_of_rows_are_checked(bad):
    for method in (StepwiseEM, GradientAscent):
        with pytest.raises(ArgumentError, match="batch= is a whole number of at least 1"):
            method(batch=bad)
