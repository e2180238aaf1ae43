"""The joint distribution of linear Gaussian networks: by hand, and errors; enumeration is in the tests of the CPD."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.errors import ModelError, NotApplicable, ScopeError
from sepset.models.jointgaussian import joint_gaussian
from sepset.variables.variable import Discrete, Real, Vector

X, Y, P, A = Real("x"), Real("y"), Vector("p", 2), Discrete("a")


def test_the_joint_of_vectors_and_deterministic_relations():
    x = LinearGaussian(X, 1.0, covariance=4.0)
    p = LinearGaussian(P, [0.0, 1.0], coefficients=[[1.0], [2.0]], covariance=np.diag([0.0, 1.0]), given=X)
    y = LinearGaussian(Y, coefficients=[1.0, -1.0], covariance=0.0, given=P)
    joint = joint_gaussian([y, p, x])
    assert joint.scope == (X, P, Y)
    np.testing.assert_allclose(joint.mu, [1, 1, 3, -2])
    np.testing.assert_allclose(joint.covariance, [[4, 4, 8, -4], [4, 4, 8, -4], [8, 8, 17, -9], [-4, -4, -9, 5]])
    assert joint.condition({X: 2.0}).marginal(P).mean().tolist() == [2.0, 5.0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: joint_gaussian([LinearGaussian(Y, covariance=1.0, by=A)]), NotApplicable, "mixture"),
        (
            lambda: joint_gaussian([LinearGaussian(Y, coefficients=1.0, covariance=1.0, given=X)]),
            ScopeError,
            "'x' is not in",
        ),
        (
            lambda: joint_gaussian(
                [
                    LinearGaussian(Y, coefficients=1.0, covariance=1.0, given=X),
                    LinearGaussian(X, coefficients=1.0, covariance=1.0, given=Y),
                ]
            ),
            ModelError,
            "cycle",
        ),
    ],
)
def test_what_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
