"""The report of how data spread over contexts, by plain counting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.api.learning import fit
from sepset.cpds.deterministic import DeterministicCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import DataError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.coverage import FEW, context_coverage
from sepset.learning.estimation.estimators import MLE
from sepset.learning.incomplete.em import EM
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real

STATES = {"a": 2, "b": 3, "c": 3}


@pytest.mark.parametrize("seed", range(5))
def test_contexts_by_plain_counting(seed):
    net = BayesNet.random(DAG.parse("a -> c <- b"), states=STATES, seed=seed)
    data = net.sample(12, seed)
    report = fit(net, data, MLE(unseen="uniform")).coverage
    rows = list(zip(*(data.codes(n).tolist() for n in "abc"), strict=True))
    counts = {u: sum(row[:2] == u for row in rows) for u in itertools.product(range(2), range(3))}
    assert report["c"].context_counts.tolist() == list(counts.values())
    assert report["c"].num_unseen == sum(m == 0 for m in counts.values())
    assert report["c"].num_thin == sum(0 < m < FEW for m in counts.values())
    assert report["c"].unseen == tuple(f"(a={a}, b={b})" for (a, b), m in counts.items() if m == 0)
    cells = itertools.product(counts, range(3))
    zeros = sum(counts[u] > 0 and (*u, x) not in rows for u, x in cells)
    assert report["c"].zero_cells == zeros
    assert all(block.context_counts.sum() == 12 for block in report)
    assert len(report["c"].thin) == report["c"].num_thin


def test_real_children_have_contexts_too():
    rows = {"d": ["p", "p", "q"], "x": [1.0, 2.0, 3.0]}
    report = fit(DAG.parse("d -> x"), rows, MLE(min_variance=1.0)).coverage
    assert report["x"].context_counts.tolist() == [2.0, 1.0]
    assert report["x"].thin == ("(d='p')", "(d='q')")
    assert len(report) == 2


def test_blocks_are_found_by_child_and_strangers_are_refused():
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [0.5, 0.5], block="coin"), TableCPD(b, [0.5, 0.5], block="coin"))
    report = fit(net, Dataset.from_codes([a, b], {"a": [0, 1, 1], "b": [0, 1, 1]})).coverage
    assert report["b"] is report["coin"]
    assert report["coin"].context_counts.tolist() == [6.0]
    with pytest.raises(ScopeError, match="Did you mean 'coin'"):
        report["coim"]
    assert "1 context" in report._repr_html_()


def test_parents_states_are_the_contexts_of_cpds_that_have_no_others():
    a, c = Discrete("a", 3), Discrete("c")
    net = BayesNet(TableCPD(a, [0.2, 0.3, 0.5]), NoisyOr(c, {a: 0.5}, leak=0.1))
    rng = np.random.default_rng(0)
    rows = {"a": rng.integers(2, size=20), "c": rng.integers(2, size=20)}
    report = fit(net, rows, MLE(unseen="uniform")).coverage
    assert report["c"].context_counts.tolist() == [*np.bincount(rows["a"]).tolist(), 0.0]
    assert report.unseen == {"c": ("(a=2)",)}
    logistic = BayesNet(TableCPD(a, [0.2, 0.3, 0.5]), LogisticCPD(c, {a: [0.0, 0.0, 0.0]}))
    assert context_coverage(logistic, rows).unseen == {"c": ("(a=2)",)}


def test_cpds_without_contexts_are_left_out():
    a, c = Discrete("a"), Discrete("c")
    net = BayesNet(TableCPD(a, [0.5, 0.5]), DeterministicCPD(c, lambda s: s, given=a))
    rows = {"a": [0, 1, 1], "c": [0, 1, 1]}
    assert [b.name for b in context_coverage(net, rows)] == ["a"]


def test_a_report_before_anything_is_fitted():
    rows = {"a": [0, 0, 1, 1], "b": [0, 1, 1, 0], "x": [0.5, 1.0, 1.5, 2.0]}
    states = [Discrete("a", 3), Discrete("b")]
    report = context_coverage(DAG.parse("a -> b; a -> x <- b"), rows, variables=states)
    assert report["b"].context_counts.tolist() == [2.0, 2.0, 0.0]
    assert report.unseen == {"b": ("(a=2)",), "x": ("(a=2, b=0)", "(a=2, b=1)")}
    assert context_coverage(DAG.parse("a"), rows, variables=states[:1], weights=[0, 0, 2, 1])[
        "a"
    ].context_counts.tolist() == [3.0]
    with pytest.raises(DataError, match="complete"):
        context_coverage(DAG.parse("a"), {"a": [0, None, 1]})


def test_a_fit_names_the_first_contexts_without_rows():
    big = Discrete("big", 6)
    rows = {"big": [0, 0, 1], "c": [0, 1, 1]}
    found = fit(DAG.parse("big -> c"), rows, MLE(unseen="uniform"), variables=[big])
    shown = found.coverage.shown_unseen
    assert shown == "c (big=2), c (big=3), c (big=4) and 1 more, all in coverage.unseen"
    assert shown in found._repr_html_()
    assert "without rows" not in fit(DAG.parse("c"), rows)._repr_html_()


def test_expected_rows_of_every_kind():
    """Without holes EM reports what counting reports; with holes, the posterior's share of each row."""
    a, c, d, e, x = Discrete("a", 3), Discrete("c"), Discrete("d"), Discrete("e", 3), Real("x")
    net = BayesNet(
        TableCPD(a, [0.2, 0.3, 0.5]),
        TableCPD(c, np.full((3, 2), 0.5), given=a),
        LogisticCPD(d, {a: [0.0, 0.0, 0.0]}),
        NoisyMax(e, {a: np.full((3, 3), 1 / 3)}, leak=[0.8, 0.1, 0.1]),
        LinearGaussian(x, covariance=[1.0, 1.0, 1.0], by=a),
    )
    rng = np.random.default_rng(0)
    rows = {v.name: rng.integers(2, size=20) for v in (a, c, d, e)} | {"x": rng.normal(size=20)}
    found = fit(net, rows, EM(), until=3).coverage
    counted = context_coverage(net, rows)
    assert [b.name for b in found] == [b.name for b in counted]
    for mine, theirs in zip(found, counted, strict=True):
        np.testing.assert_allclose(mine.context_counts, theirs.context_counts, atol=1e-9)
    assert found.unseen == dict.fromkeys("cdex", ("(a=2)",))
    coin = fit(DAG.parse("b -> y"), {"b": [0, 1, None], "y": [0, 1, 1]}, EM())
    joint = coin.model.cpd("b").values * coin.model.cpd("y").values[:, 1]
    share = joint[1] / joint.sum()
    np.testing.assert_allclose(coin.coverage["y"].context_counts, [2 - share, 1 + share], atol=1e-3)


def printed(report):
    """The cells of each printed row, by parameters; empty ones are not printed."""
    return {line.split()[0]: line.split() for line in str(report).splitlines()[2:]}


def test_the_fewest_rows_are_those_of_the_thinnest_context():
    rows = {"a": [0] * 7 + [1] * 3 + [2] * 5, "b": [0, 1, 1] * 5}
    report = context_coverage(DAG.parse("a -> b"), rows)
    assert printed(report)["a"][-2:] == ["15", "15"]
    assert printed(report)["b"][-2:] == ["3", "5"]
    unseen = context_coverage(DAG.parse("a -> b"), rows, variables=[Discrete("a", (0, 1, 2, 3))])
    assert printed(unseen)["b"][-2:] == ["0", "4"]


def test_blocks_without_contexts_have_no_fewest_rows():
    net = BayesNet(NoisyOr(Discrete("c"), {}, leak=0.1))
    report = context_coverage(net, {"c": [0, 1, 1]})
    assert printed(report) == {"c": ["c", "0", "0", "0", "0"]}
