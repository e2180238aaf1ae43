"""New numbers in old plans: answers as if prepared anew, nothing planned again, wrong numbers refused."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference.capabilities import expected_counts
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.compiled import planner
from sepset.inference.rows import batch
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.random_models import markov_net, table_net
from support.tolerances import CLOSE


def other_numbers(rng, problem, conditional):
    """Fresh arrays on the same scopes; conditionals sum to one over their child."""
    child = {group.factors[0]: group.child for group in problem.conditionals}
    arrays = []
    for number in range(problem.num_factors):
        scope = problem.scope(number)
        table = rng.uniform(0.1, 1.0, [int(problem.variables.cards[v]) for v in scope])
        if conditional:
            table = table / table.sum(axis=scope.index(child[number]), keepdims=True)
        arrays.append(table)
    return arrays


@in_blocks("seed", range(12))
def test_as_if_prepared_anew(seed):
    rng = np.random.default_rng(seed)
    case = table_net(rng) if seed % 2 else markov_net(rng)
    problem = case.model.problem()
    prepared = CliqueTree().prepare(problem)
    values = other_numbers(rng, problem, bool(seed % 2))
    changed = prepared.with_values(values)
    variables = list(problem.variables)
    tables = [ss.Table([variables[v] for v in problem.scope(i)], t) for i, t in enumerate(values)]
    plain = CliqueTree().prepare(ss.MarkovNet(*tables, variables=variables).problem())
    assert changed.log_partition(Evidence()) == pytest.approx(plain.log_partition(Evidence()), abs=CLOSE)
    for v in range(len(variables)):
        expected = plain.query([v], Evidence()).distribution.values
        np.testing.assert_allclose(changed.query([v], Evidence()).distribution.values, expected, atol=CLOSE)
        np.testing.assert_allclose(
            changed.joint([v], Evidence(), changed.calibrate(Evidence())).distribution.values, expected, atol=CLOSE
        )


def test_nothing_is_planned_again(monkeypatch):
    net = ss.datasets.load("student")
    prepared = CliqueTree().prepare(net.problem())
    rows = net.sample(20, seed=0).select(["grade", "sat"])
    before = expected_counts(prepared, rows)
    prepared.log_partition(Evidence({0: 1}))

    def refuse(*args, **kwargs):
        raise AssertionError("planned again")

    monkeypatch.setattr(planner, "make_plan", refuse)
    monkeypatch.setattr(batch, "make_plan", refuse)
    changed = prepared.with_values({0: [0.1, 0.9]})
    assert changed.log_partition(Evidence({0: 1})) == pytest.approx(np.log(0.9))
    assert prepared.log_partition(Evidence({0: 1})) == pytest.approx(np.log(0.4))
    assert expected_counts(changed, rows).log_likelihood != before.log_likelihood


def test_one_step_of_em_never_lowers_the_likelihood():
    net = ss.datasets.load("asia")
    rows = net.sample(200, seed=3).select(["smoke", "xray", "dysp"])
    problem = net.problem()
    prepared = CliqueTree().prepare(problem).with_values(other_numbers(np.random.default_rng(0), problem, True))
    last = -np.inf
    for _ in range(5):
        counts = expected_counts(prepared, rows)
        assert counts.log_likelihood >= last - CLOSE
        last = counts.log_likelihood
        child = {group.factors[0]: group.child for group in problem.conditionals}
        axes = [problem.scope(i).index(child[i]) for i in range(problem.num_factors)]
        parts = zip(counts.factors, axes, strict=True)
        prepared = prepared.with_values([t / t.sum(axis=axis, keepdims=True) for t, axis in parts])


def test_large_and_small_numbers():
    a = ss.Discrete("a", 2)
    prepared = CliqueTree().prepare(ss.MarkovNet(ss.Table([a], [1.0, 2.0])).problem())
    assert prepared.with_values([[1e200, 3e200]]).query([0], Evidence()).distribution.values[1] == pytest.approx(0.75)
    wide = prepared.with_values([[1e-200, 1.0]])
    assert wide.log_partition(Evidence({0: 0})) == pytest.approx(np.log(1e-200))
    assert prepared.with_values([[0.0, 0.0]]).log_partition(Evidence()) == -np.inf


@pytest.mark.parametrize("zeros", ["dense", "sparse"])
@pytest.mark.parametrize("logs", [(-2000.0, -2001.0), (2000.0, 2001.0), (-2000.0, 0.0), (0.0, -2000.0)])
def test_factors_beyond_the_range_of_floats_keep_their_numbers(logs, zeros):
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    net = ss.MarkovNet(ss.Table.from_log((a,), logs), ss.Table((a, b), [[1.0, 2.0], [3.0, 4.0]]))
    changed = CliqueTree(zeros=zeros).prepare(net.problem()).with_values({1: [[1.0, 2.0], [0.0, 0.0]]})
    assert changed.log_partition(Evidence()) == pytest.approx(np.log(3.0) + logs[0], abs=CLOSE)
    np.testing.assert_allclose(changed.query([1], Evidence()).distribution.values, [1 / 3, 2 / 3], atol=CLOSE)
    again = changed.with_values({1: [[0.0, 0.0], [1.0, 4.0]]})
    assert again.log_partition(Evidence()) == pytest.approx(np.log(5.0) + logs[1], abs=CLOSE)
    assert again.best(Evidence(), [0, 1]).values == {0: 1, 1: 1}
    assert changed.with_values({0: [0.5, 1.0]}).log_partition(Evidence()) == pytest.approx(np.log(1.5), abs=CLOSE)


def test_factors_of_a_block_that_are_not_named_keep_their_numbers():
    pixels = [ss.Discrete(f"p{i}", 2) for i in range(4)]
    block = ss.factors.FactorBlock([[0, 1], [1, 2], [2, 3]], (2, 2), values=[[1.0, 2.0, 3.0, 4.0]])
    prepared = CliqueTree().prepare(ss.MarkovNet(block, variables=pixels).problem())
    old, new = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 1.0], [1.0, 0.0]])
    expected = (old @ new @ old).sum()
    changed = prepared.with_values({1: new})
    assert np.exp(changed.log_partition(Evidence())) == pytest.approx(expected)
    assert changed.calibrate(Evidence()).log_partition == pytest.approx(np.log(expected))
    assert np.exp(prepared.log_partition(Evidence())) == pytest.approx((old @ old @ old).sum())


def test_wrong_numbers_are_refused():
    net = ss.datasets.load("student")
    prepared = CliqueTree().prepare(net.problem())
    with pytest.raises(ss.errors.ModelError, match=r"must sum to one over it; found 1\.1"):
        prepared.with_values({0: [0.6, 0.5]})
    with pytest.raises(ss.errors.ModelError, match=r"Factor 0 has shape \(2,\); found \(3,\)"):
        prepared.with_values({0: [0.2, 0.3, 0.5]})
    with pytest.raises(ss.errors.ModelError, match="no factor 9"):
        prepared.with_values({9: [1.0]})
    with pytest.raises(ss.errors.ModelError, match="no factor 'grade'"):
        prepared.with_values({"grade": [1.0]})
    with pytest.raises(ss.errors.ModelError, match="One array per factor was expected: 5; found 1"):
        prepared.with_values([[0.5, 0.5]])
    with pytest.raises(ss.errors.StateError, match="at least zero"):
        prepared.with_values({0: [1.5, -0.5]})
