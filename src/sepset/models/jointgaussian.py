"""The joint distribution of a linear Gaussian network, in moment form."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sepset.base.foreign import translated
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.errors import ModelError, NotApplicable
from sepset.factors.algebra import axis_of, check_scope
from sepset.factors.coordinates import places, width
from sepset.factors.labels import name_of
from sepset.factors.moments import Gaussian
from sepset.variables.variable import Vector


@translated
def joint_gaussian(cpds: Iterable[LinearGaussian]) -> Gaussian:
    r"""The joint normal distribution of a linear Gaussian network, in any order of its CPDs; zero variances allowed.

    Each child extends the joint by $\mu_y = a + B\mu_u$, $\Sigma_{yx} = B\Sigma_{ux}$ and
    $\Sigma_{yy} = B\Sigma_{uu}B^\top + C$. The dense reference: quadratic memory, cubic time.

    Reference: Koller & Friedman, theorem 7.3.
    Guarantee: exact.
    Tested by: cpds/test_lineargaussian.py::test_the_joint_of_a_linear_network

    >>> from sepset.variables.variable import Real
    >>> x, y = Real("x"), Real("y")
    >>> net = [LinearGaussian(y, 1.0, coefficients=2.0, covariance=0.0, given=x), LinearGaussian(x, covariance=1.0)]
    >>> joint_gaussian(net).covariance.tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    waiting = list(cpds)
    check_scope(cpd.child for cpd in waiting)
    order = _topological(waiting)
    scope = tuple(cpd.child for cpd in order)
    mean, covariance = np.zeros(width(scope)), np.zeros((width(scope), width(scope)))
    for i, cpd in enumerate(order):
        y, u, past = (places(scope, part) for part in ((cpd.child,), cpd.given, scope[:i]))
        B = cpd.coefficients[0]
        mean[y] = cpd.intercept[0] + B @ mean[u]
        covariance[y[:, None], past] = B @ covariance[u[:, None], past]
        covariance[past[:, None], y] = covariance[y[:, None], past].T
        covariance[y[:, None], y] = B @ covariance[u[:, None], u] @ B.T + cpd.covariance[0]
    return Gaussian._make(scope, mean, covariance)


def _topological(waiting: list[LinearGaussian]) -> list[LinearGaussian]:
    for cpd in waiting:
        if cpd.by:
            raise NotApplicable(
                f"{name_of(cpd)} has discrete parents, so the joint is a mixture. Condition on them first."
            )
        for parent in cpd.given:
            axis_of([c.child for c in waiting], parent)
    order: list[LinearGaussian] = []
    placed: set[Vector] = set()
    while waiting:
        ready = [c for c in waiting if placed.issuperset(c.given)]
        if not ready:
            raise ModelError(f"The CPDs form a cycle through {waiting[0].child.name}. A network has none.")
        order += ready
        placed |= {c.child for c in ready}
        waiting = [c for c in waiting if c.child not in placed]
    return order
