"""The graphical lasso: optimality, scales, recovery, likelihoods with the same edges, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.errors import DataError, NotApplicable


def network(seed, size=8, rows=2_000):
    """Rows from a Gaussian with the concentration matrix of a cycle."""
    concentration = np.eye(size) * 1.6
    for i in range(size):
        j = (i + 1) % size
        concentration[i, j] = concentration[j, i] = -0.6
    x = np.random.default_rng(seed).multivariate_normal(np.arange(size), np.linalg.inv(concentration), rows)
    return {f"x{i}": x[:, i] for i in range(size)}


def objective(T, S, penalty):
    sign, log = np.linalg.slogdet(T)
    assert sign > 0
    return log - (S * T).sum() - penalty * (np.abs(T).sum() - np.abs(np.diagonal(T)).sum())


def test_no_point_nearby_is_better():
    rows = network(0, 5, 60)
    found = ss.learn_structure(rows, method=ss.GraphicalLasso(0.1, tolerance=1e-10))
    S = np.corrcoef(np.array(list(rows.values())))
    best = objective(found.scaled.matrix, S, 0.1)
    assert best == pytest.approx(found.score)
    assert found.gap < 1e-9
    rng = np.random.default_rng(1)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(30):
            step = rng.normal(size=(5, 5)) * size
            assert objective(found.scaled.matrix + (step + step.T) / 2, S, 0.1) <= best + 1e-9


def test_the_cycle_is_recovered():
    found = ss.learn_structure(network(1), method=ss.GraphicalLasso())
    assert {frozenset(e) for e in found.graph.edges} == {frozenset((f"x{i}", f"x{(i + 1) % 8}")) for i in range(8)}
    assert found.guarantees["structure"] is ss.Guarantee.EXACT
    assert "penalty" in repr(found) + str(found.info)


def test_units_and_the_order_of_columns_do_not_matter():
    rows = network(2, 6, 100)
    found = ss.learn_structure(rows, method=ss.GraphicalLasso(0.15))
    other = {name: 1000.0 * rows[name] - 7.0 for name in reversed(rows)}
    again = ss.learn_structure(other, method=ss.GraphicalLasso(0.15))
    assert {frozenset(e) for e in found.graph.edges} == {frozenset(e) for e in again.graph.edges}
    np.testing.assert_allclose(found.partial_correlations, again.partial_correlations[::-1, ::-1], atol=1e-4)
    np.testing.assert_allclose(found.concentration, 1e6 * again.concentration[::-1, ::-1], atol=1e-4)


def test_weights_are_repetitions():
    rows, weights = network(3, 4, 30), np.random.default_rng(0).integers(1, 4, 30)
    found = ss.learn_structure(rows, method=ss.GraphicalLasso(), weights=weights)
    again = ss.learn_structure({k: np.repeat(v, weights) for k, v in rows.items()}, method=ss.GraphicalLasso())
    assert found.graph == again.graph
    assert found.score == pytest.approx(again.score, abs=1e-6)


def test_fewer_rows_than_columns_and_collinear_columns():
    rows = network(4, 12, 6)
    rows["copy"] = rows["x0"]
    rows["sum"] = rows["x1"] + rows["x2"]
    found = ss.learn_structure(rows, method=ss.GraphicalLasso(0.3))
    assert found.guarantees["structure"] is ss.Guarantee.EXACT
    assert np.linalg.eigvalsh(found.covariance)[0] > 0
    with pytest.raises(NotApplicable, match="no maximum"):
        found.fit()
    with pytest.raises(DataError, match="'x0' is a linear function of 'copy'"):
        ss.learn_structure(rows, method=ss.GraphicalLasso())
    del rows["copy"]
    assert ss.learn_structure(rows, method=ss.GraphicalLasso()).graph.num_edges < 50


def test_the_penalized_estimate_is_a_model():
    found = ss.learn_structure(network(5, 4, 200), method=ss.GraphicalLasso(0.1))
    joint = found.gaussian
    np.testing.assert_allclose(found.covariance @ found.concentration, np.eye(4), atol=1e-8)
    answer = ss.query(found.model, "x1", given={"x0": 2.0, "x3": 1.0})
    expected = joint.condition({"x0": 2.0, "x3": 1.0}).marginal(["x1"])
    assert answer.distribution.mean() == pytest.approx(expected.mean())
    assert answer.distribution.variance() == pytest.approx(expected.variance())
    assert ss.log_partition(found.model).value == pytest.approx(0.0, abs=1e-9)


def test_the_fit_matches_moments_along_edges():
    """At the maximum of the likelihood, variances and the covariances along edges are those of the data."""
    rows = network(6, 6, 300)
    found = ss.learn_structure(rows, method=ss.GraphicalLasso())
    fitted = found.fit()
    assert set(map(frozenset, fitted.model.graph.edges)) == set(map(frozenset, found.graph.edges))
    S = np.cov(np.array(list(rows.values())), bias=True)
    names = list(rows)
    for a, b in found.graph.edges:
        i, j = names.index(a), names.index(b)
        joint = ss.query(fitted.model, [a, b]).distribution
        np.testing.assert_allclose(joint.covariance, S[np.ix_([i, j], [i, j])], atol=1e-5)
    values = np.array(list(rows.values())).T
    expected = sum(float(fitted.model.log_value(dict(zip(names, row, strict=True)))[0]) for row in values)
    assert fitted.log_likelihood == pytest.approx(expected, abs=1e-4)


def test_the_fit_of_a_tree_is_that_of_the_directed_tree():
    x = np.random.default_rng(0).normal(size=(3, 400))
    rows = {"a": x[0], "b": x[0] + x[1], "c": x[0] + x[1] + x[2]}
    found = ss.learn_structure(rows, method=ss.GraphicalLasso())
    assert found.graph == ss.UndirectedGraph.parse("a - b - c")
    directed = ss.fit(ss.DAG.parse("a -> b -> c"), rows)
    assert found.fit().log_likelihood == pytest.approx(directed.log_likelihood, abs=1e-5)


def test_what_does_not_apply():
    rows = network(7, 3, 20)
    found = ss.learn_structure(rows, method=ss.GraphicalLasso(0.2))
    with pytest.raises(NotApplicable, match="maximum likelihood"):
        found.fit(ss.Bayes(ss.BDeu(1)))
    with pytest.raises(NotApplicable, match="discrete"):
        ss.learn_structure({"a": [0, 1, 1], "b": [1, 0, 1]}, method=ss.GraphicalLasso())
    with pytest.raises(DataError, match="constant"):
        ss.learn_structure(rows | {"c": np.full(20, 2.5)}, method=ss.GraphicalLasso())
    with pytest.raises(DataError, match="missing"):
        ss.learn_structure(rows | {"c": np.r_[np.nan, np.zeros(19) + 0.5]}, method=ss.GraphicalLasso())


def test_one_column_and_independent_columns():
    assert ss.learn_structure({"a": [0.5, 1.5, 1.0]}, method=ss.GraphicalLasso()).graph.num_edges == 0
    apart = ss.learn_structure({"a": [0.5, -0.5, 0.5, -0.5], "b": [0.5, 0.5, -0.5, -0.5]}, method=ss.GraphicalLasso())
    assert apart.graph.num_edges == 0
    assert apart.gap == pytest.approx(0.0)
