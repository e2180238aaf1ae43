"""Parameters of learned Markov networks."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.errors import NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.undirected.correlations import Correlations
from sepset.learning.structure.undirected.learnednetwork import regressed, selected


def test_covariances_are_selected():
    x = np.random.default_rng(0).normal(size=(3, 100))
    columns = Columns.of({"a": x[0], "b": x[0] + x[1], "c": x[1] + x[2]})
    known = Correlations.of(columns, is_scaled=True, method="It")
    support = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)
    found = selected(support, known, tolerance=1e-12)
    assert found.matrix[0, 2] == 0.0
    np.testing.assert_allclose(found.covariance[support], known.matrix[support], atol=1e-6)


def test_too_few_rows_for_a_likelihood():
    x = np.random.default_rng(0).normal(size=(4, 3))
    known = Correlations.of(Columns.of(dict(zip("abcd", x, strict=True))), is_scaled=True, method="It")
    assert selected(np.ones((4, 4), bool), known, tolerance=1e-6) is None


def test_other_estimators_are_refused():
    rows = {"a": [0, 1, 0, 1, 1, 0], "b": [0, 1, 0, 1, 0, 1]}
    found = ss.learn_structure(rows, method=ss.structure.NeighborhoodSelection(0.01))
    with pytest.raises(NotApplicable, match="pseudo-likelihood"):
        found.fit(ss.Bayes(ss.BDeu(1)))
    assert found.fit().model.graph == ss.UndirectedGraph.parse("a - b")


@pytest.mark.parametrize("noise", [0.1, 0.01, 1e-3])
def test_strong_dependences_are_found(noise):
    """Columns that are almost equal: Newton's steps are inexact there, and regressions on neighbors are not."""
    x = np.random.default_rng(0).normal(size=(5, 300))
    rows = {"a": x[0], "b": x[0] + noise * x[1], "c": x[2] + 0.5 * x[0], "d": x[2] + 0.5 * x[3], "e": x[4] + 0.4 * x[2]}
    found = ss.learn_structure(rows, method=ss.GraphicalLasso())
    assert {("a", "b"), ("c", "d")} <= {tuple(sorted(edge)) for edge in found.graph.edges}
    model = found.fit()
    support = np.array([[found.graph.has_edge(u, v) for v in rows] for u in rows])
    covariance = np.cov(list(rows.values()), bias=True)
    fitted = np.linalg.inv(regressed(support, covariance))
    joined = support | np.eye(5, dtype=bool)
    np.testing.assert_allclose(fitted[joined], covariance[joined], rtol=1e-6)  # equal where there are edges
    assert np.isfinite(model.log_likelihood)


def test_regressions_without_edges_and_with_copies():
    covariance = np.array([[2.0, 1.0, 1.0], [1.0, 3.0, 3.0], [1.0, 3.0, 3.0]])
    np.testing.assert_allclose(regressed(np.zeros((3, 3), bool), covariance), np.diag([0.5, 1 / 3, 1 / 3]))
    assert regressed(~np.eye(3, dtype=bool), covariance) is None
