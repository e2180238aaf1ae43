"""Expected statistics and log-likelihoods are those of enumeration over completions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ImpossibleEvidence
from sepset.learning.incomplete.expectation import TableExpectation, expectation_of
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete
from support.random_incomplete import expected_counts, incomplete, log_likelihood


@given(incomplete())
@settings(max_examples=60)
def test_expected_counts_are_those_of_all_completions(case):
    net, rows = case
    expectation = expectation_of(Task(net, rows), threads=1)
    found = expectation.expect(net)
    wanted = expected_counts(net, rows)
    for cpds, stats in zip(expectation.blocks.members, found.statistics, strict=True):
        cpd = net.cpds[cpds[0]]
        assert_allclose(stats, wanted[cpd.child.name].reshape(-1), rtol=1e-10, atol=1e-12)
    assert_allclose(found.log_likelihood, log_likelihood(net, rows), rtol=1e-11, atol=1e-11)


@given(incomplete(num_rows=6), st.integers(0, 1000))
@settings(max_examples=25)
def test_weights_count_rows_and_zero_drops_them(case, seed):
    net, rows = case
    counts = np.random.default_rng(seed).integers(0, 3, rows.num_rows)
    repeated = rows.take(np.repeat(np.arange(rows.num_rows), counts))
    weighted = expectation_of(Task(net, rows, counts.astype(float)), threads=1)
    plain = expectation_of(Task(net, repeated), threads=1)
    assert weighted.weights.sum() == counts.sum()
    for a, b in zip(weighted.expect(net).statistics, plain.expect(net).statistics, strict=True):
        assert_allclose(a, b, rtol=1e-11, atol=1e-12)
    assert_allclose(weighted.expect(net).log_likelihood, plain.expect(net).log_likelihood, rtol=1e-11, atol=1e-11)


@given(incomplete(num_rows=8))
@settings(max_examples=25)
def test_parts_of_the_rows_add_up(case):
    net, rows = case
    expectation = expectation_of(Task(net, rows), threads=1)
    number = len(expectation.weights)
    parts = [expectation.expect(net, np.arange(number)[k::2]) for k in range(2)]
    whole = expectation.expect(net)
    assert_allclose(sum(p.log_likelihood for p in parts), whole.log_likelihood, rtol=1e-11, atol=1e-11)
    for i, stats in enumerate(whole.statistics):
        assert_allclose(parts[0].statistics[i] + parts[1].statistics[i], stats, rtol=1e-11, atol=1e-12)


def test_repeated_rows_are_looked_at_once():
    coin = Discrete("coin")
    net = BayesNet(TableCPD(coin, [0.5, 0.5]))
    expectation = TableExpectation.of(net, Dataset({"coin": [0, 0, 1, None, None]}, [coin]), None)
    assert expectation.weights.tolist() == [2, 1, 2]


def test_plans_are_made_once(monkeypatch):
    net = BayesNet(TableCPD(Discrete("a"), [0.5, 0.5]), TableCPD(Discrete("b"), [[0.5, 0.5]] * 2, given=Discrete("a")))
    expectation = expectation_of(Task(net, {"a": [0, 1, None], "b": [None, 1, 0]}), threads=1)
    expectation.expect(net)
    monkeypatch.setattr("sepset.inference.rows.compiler.make_plan", lambda *a, **k: pytest.fail("planned again"))
    other = BayesNet(
        TableCPD(Discrete("a"), [0.1, 0.9]), TableCPD(Discrete("b"), [[0.5, 0.5]] * 2, given=Discrete("a"))
    )
    assert expectation.expect(other).log_likelihood < 0


def test_impossible_rows_are_named():
    coin = Discrete("coin")
    net = BayesNet(TableCPD(coin, [1.0, 0.0]))
    with pytest.raises(ImpossibleEvidence, match="probability zero"):
        expectation_of(Task(net, {"coin": [0, 1]})).expect(net)


def test_no_rows_and_no_variables():
    empty = expectation_of(Task(BayesNet(), {}))
    assert empty.expect(BayesNet()).log_likelihood == 0.0
    net = BayesNet(TableCPD(Discrete("a"), [0.5, 0.5]))
    found = expectation_of(Task(net, {"a": []})).expect(net)
    assert (found.log_likelihood, found.statistics[0].tolist()) == (0.0, [0.0, 0.0])


@given(incomplete(num_rows=6))
@settings(max_examples=25)
def test_completed_rows_are_the_most_probable_ones(case):
    from support.random_incomplete import completions

    net, rows = case
    found = expectation_of(Task(net, rows), threads=1).complete(net)
    best = sum(np.log(max(p for _, p in completions(net, row))) for row in rows.rows())
    assert_allclose(found.log_likelihood, best, rtol=1e-11, atol=1e-11)
    for stats in found.statistics:
        assert_allclose(stats.sum(), rows.num_rows)
        assert (stats == np.round(stats)).all()


def test_impossible_rows_have_their_numbers_in_the_data():
    """Rows that repeat, and rows of weight zero, are left out of the work but not out of the count."""
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [1.0, 0.0]), TableCPD(b, [0.5, 0.5]))
    rows = {"a": [0, 0, 1, 0, 1, None], "b": [1, 1, 0, 1, 1, 0]}
    made = expectation_of(Task(net, rows, np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])))
    with pytest.raises(
        ImpossibleEvidence, match=r"1 of 3 different rows have probability zero: rows 4, counted from 0"
    ):
        made.expect(net)
    with pytest.raises(
        ImpossibleEvidence, match=r"1 of 1 different rows have probability zero: rows 4, counted from 0"
    ):
        made.expect(net, np.array([1]))
