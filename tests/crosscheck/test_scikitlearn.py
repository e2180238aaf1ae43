"""The graphical lasso agrees with scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss

covariance = pytest.importorskip("sklearn.covariance")
pytestmark = pytest.mark.crosscheck


@pytest.mark.parametrize(("size", "rows", "penalty"), [(6, 200, 0.05), (12, 60, 0.2), (15, 10, 0.4)])
def test_the_graphical_lasso(size, rows, penalty):
    x = np.random.default_rng(size).normal(size=(rows, size))
    x[:, 1:] += 0.8 * x[:, :-1]
    x = (x - x.mean(0)) / x.std(0)
    found = ss.learn_structure(
        {f"x{i}": column for i, column in enumerate(x.T)}, method=ss.GraphicalLasso(penalty, tolerance=1e-9)
    )
    _, theirs = covariance.graphical_lasso(np.corrcoef(x.T), penalty, tol=1e-6, max_iter=1000, enet_tol=1e-8)
    np.testing.assert_allclose(found.concentration, theirs, atol=1e-3)
    off = np.abs(theirs).sum() - np.abs(np.diagonal(theirs)).sum()
    score = np.linalg.slogdet(theirs)[1] - (np.corrcoef(x.T) * theirs).sum() - penalty * off
    assert score <= found.bound + 1e-9
    assert found.score >= score - 1e-6
