"""Parameters of learned Markov networks."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.errors import NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.undirected.correlations import Correlations
from sepset.learning.structure.undirected.learnednetwork import selected


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
