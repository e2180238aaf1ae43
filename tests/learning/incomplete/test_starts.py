"""Starts follow the data where there are any, clusters where there are none, and the seed."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sepset.cpds.kerneldensity import KernelCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.table import TableCPD
from sepset.errors import ArgumentError, NotApplicable
from sepset.graphs.graph import DAG
from sepset.learning.incomplete import starts
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.incomplete.starts import clusters, start_model
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import template_of
from sepset.variables.variable import Discrete, Real

a, b, h = Discrete("a"), Discrete("b"), Discrete("h", 2)


def started(net, rows, start, seed=0):
    task = Task(net, rows)
    return start_model(task, Expectation.of(task), start, np.random.default_rng(seed))


def test_families_follow_the_rows_that_have_them():
    rows = {"a": [0] * 60 + [1] * 40 + [None] * 30, "b": [0] * 30 + [1] * 30 + [1] * 40 + [0] * 30}
    net = template_of(DAG.parse("a -> b"), rows)
    found = started(net, rows, "auto")
    assert_allclose(found.cpd("a").values, [0.6, 0.4], atol=0.02)
    assert_allclose(found.cpd("b").values, [[0.5, 0.5], [0.02, 0.98]], atol=0.03)


def test_given_parameters_are_kept_unless_asked_otherwise():
    net = BayesNet(TableCPD(a, [0.1, 0.9]), TableCPD(b, [[0.5, 0.5]] * 2, given=a))
    rows = {"a": [0, 0, 0, 1], "b": [0, 1, None, 0]}
    kept = started(net, rows, "auto")
    assert kept.cpd("a") is net.cpd("a")
    assert kept.cpd("b").values.tolist() != net.cpd("b").values.tolist()
    assert started(net, rows, "model") is net
    assert started(net, rows, kept) is kept
    assert started(net, rows, "data").cpd("a").values[0] > 0.5
    full = BayesNet(TableCPD(a, [0.1, 0.9]))
    assert started(full, rows, "auto") is full


def test_seeds_decide():
    net = BayesNet(TableCPD(a, [0.1, 0.9]))
    draws = [started(net, {"a": [0, 1]}, "random", seed).cpd("a").values.tolist() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_clusters_name_hidden_states():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    x = rng.normal(8.0 * truth)
    found = started(template_of(DAG.parse("h -> x"), {"x": x}, [h]), {"x": x}, "auto")
    assert_allclose(np.sort(found.cpd("x").intercept.ravel()), [0, 8], atol=0.5)
    codes = clusters([x], 2, 300, rng)
    assert max((codes == truth).mean(), (codes != truth).mean()) > 0.99


def test_clusters_of_awkward_columns():
    rng = np.random.default_rng(0)
    assert clusters([], 3, 5, rng).shape == (5,)
    same = clusters([np.zeros(4), np.array([0, 0, -1, 0])], 3, 4, rng)
    assert set(same.tolist()) <= {0, 1, 2}
    holes = clusters([np.array([0.0, np.nan, 9.0]), np.array([0, 1, -1])], 2, 3, rng)
    assert holes[0] != holes[2]


@pytest.mark.parametrize("num_rows", [200, 8_000])
def test_clusters_of_weighted_rows_are_those_of_repeated_ones(num_rows):
    """In any order of the rows, of states, numbers and missing cells; from a part of the rows where they are many."""
    rng = np.random.default_rng(num_rows)
    numbers = rng.normal(size=num_rows) + 4 * rng.integers(0, 3, num_rows)
    numbers[rng.random(num_rows) < 0.1] = np.nan
    columns = [numbers, rng.integers(-1, 3, num_rows)]
    weights = rng.integers(0, 4, num_rows)
    rows = rng.permutation(np.repeat(np.arange(num_rows), weights))
    found = clusters(columns, 3, num_rows, np.random.default_rng(1), weights.astype(float))
    again = clusters([column[rows] for column in columns], 3, len(rows), np.random.default_rng(1))
    assert np.array_equal(found[rows], again)
    assert len(np.unique(again)) == 3


def test_tied_blocks_start_alike():
    net = BayesNet(*(TableCPD(v, [0.5, 0.5], block="coin") for v in (a, b)))
    found = started(net, {"a": [0, 1, 1], "b": [None, 1, 0]}, "auto")
    assert found.cpd("a").values.tolist() == found.cpd("b").values.tolist()
    x, y = Real("x"), Real("y")
    lines = BayesNet(*(LinearGaussian(v, covariance=1.0, block="line") for v in (x, y)))
    found = started(lines, {"x": [0.0, 1.0, 5.0], "y": [None, 1.0, 0.0]}, "auto")
    assert found.cpd("x").intercept.tolist() == found.cpd("y").intercept.tolist()


@pytest.mark.parametrize("make", [
    lambda n: NoisyOr(Discrete(n), {a: 0.5}, leak=0.1, block="k"),
    lambda n: NoisyMax(Discrete(n, 3), {a: [[1, 0, 0], [0.2, 0.3, 0.5]]}, block="k"),
    lambda n: LogisticCPD(Discrete(n), {a: 1.0}, block="k"),
], ids=["noisy-or", "noisy-max", "logistic"])  # fmt: skip
def test_other_cpds_have_random_starts_that_stay_tied(make):
    net = BayesNet(TableCPD(a, [0.5, 0.5]), make("x"), make("y"))
    rows = {"a": [0, 1, None], "x": [1, 0, 1], "y": [0, 0, 1]}
    one, other = started(net, rows, "random", 1), started(net, rows, "random", 2)
    tables = [n.cpd(v).to_table().values for n in (one, other) for v in "xy"]
    assert (tables[0] == tables[1]).all()
    assert (tables[0] != tables[2]).any()
    assert started(net, rows, "data").cpd("x").to_table().values.shape == tables[0].shape


def test_lines_never_start_degenerate():
    d = Discrete("d", 3)
    net = template_of(DAG.parse("d -> x"), {"d": [0, 1, 2], "x": [1.0, 2.0, None]}, [d, Real("x")])
    found = started(net, {"d": [0, 1, 2], "x": [1.0, 2.0, None]}, "auto").cpd("x")
    assert (found.covariance > 0).all()
    alone = started(BayesNet(LinearGaussian(Real("x"), covariance=1.0)), {"x": [3.0, None]}, "auto").cpd("x")
    assert alone.intercept.item() == 3.0


def test_what_says_nothing():
    assert TableCPD(a, [0.5, 0.5]).parameters.is_default
    assert not TableCPD(a, [0.4, 0.6]).parameters.is_default
    assert not LogisticCPD(b, {a: 0.0}).parameters.is_default
    assert LinearGaussian(Real("x"), covariance=1.0).parameters.is_default
    assert not LinearGaussian(Real("x"), covariance=2.0).parameters.is_default


def test_unknown_starts_are_refused():
    net = BayesNet(TableCPD(a, [0.5, 0.5]))
    with pytest.raises(
        ArgumentError, match="start= is 'auto', 'model', 'data', 'random' or a network; found 'elsewhere'"
    ):
        started(net, {"a": [0]}, "elsewhere")
    kernel = KernelCPD(Real("x"), {"x": [0.0, 1.0]}, width=1.0)
    with pytest.raises(NotApplicable, match="no random start"):
        kernel.parameters.random(np.random.default_rng(0))


def test_hidden_states_that_nothing_tells_apart_start_from_the_rows():
    """Rows equal across a hidden parent would stay so, whatever its own probabilities; else they are kept."""
    h, a, b = Discrete("h"), Discrete("a"), Discrete("b")
    rows = {"a": [0, 0, 1, 1, 0, 1], "b": [0, 0, 1, 1, 0, 0]}

    def first(*, of_a, of_b):
        net = BayesNet(TableCPD(h, [0.3, 0.7]), TableCPD(a, of_a, given=h), TableCPD(b, of_b, given=h))
        task = Task(net, rows)
        return net, start_model(task, Expectation.of(task), "auto", np.random.default_rng(0))

    flat, told = [[0.4, 0.6]] * 2, [[0.4, 0.6], [0.7, 0.3]]
    net, start = first(of_a=flat, of_b=flat)
    assert (start.cpd("a").values[0] != start.cpd("a").values[1]).any()
    assert start.cpd("h") == net.cpd("h")
    net, start = first(of_a=flat, of_b=told)
    assert start is net


def test_components_with_equal_lines_start_from_the_rows():
    h, x = Discrete("h"), Real("x")
    task = Task(
        BayesNet(TableCPD(h, [0.3, 0.7]), LinearGaussian(x, [1.0, 1.0], covariance=[2.0, 2.0], by=h)),
        {"x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2]},
    )
    start = start_model(task, Expectation.of(task), "auto", np.random.default_rng(0))
    assert abs(start.cpd("x").intercept[0, 0] - start.cpd("x").intercept[1, 0]) > 1.0


def test_many_rows_are_sorted_where_an_interruption_is_heard(monkeypatch):
    """In another thread than the main one, which waits for signals; the clusters are the same."""
    rng, where, sort = np.random.default_rng(2), [], np.lexsort
    columns = [rng.normal(size=200), rng.integers(-1, 3, 200)]

    def watched(keys):
        where.append(threading.current_thread() is threading.main_thread())
        return sort(keys)

    monkeypatch.setattr(np, "lexsort", watched)
    before = clusters(columns, 3, 200, np.random.default_rng(1))
    monkeypatch.setattr(starts, "SORTED_UNINTERRUPTED", 100)
    assert np.array_equal(before, clusters(columns, 3, 200, np.random.default_rng(1)))
    assert where == [True, False]
