r"""The digits that products of Gaussians in canonical form keep.

Eliminating a variable subtracts from the diagonal of $K$ what the others explain: $K_{ii}$ becomes $1 / \Sigma_{ii}$.
So the relative error of the result is about $\epsilon\, K_{ii} \Sigma_{ii}$, which is large where potentials nearly
determine variables by each other and say little about them together.

Reference: Higham (2002), Accuracy and stability of numerical algorithms, section 10.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepset.factors.algebra import Factor
from sepset.factors.canonical import EPS, Cholesky
from sepset.factors.coordinates import places, width
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.regression import Regression

MOST_COORDINATES = 512
"""The largest number of coordinates for which the loss is computed, since it takes their cube."""


def canonical_loss(factors: Sequence[Factor]) -> float | None:
    r"""$\epsilon \max_i K_{ii} \Sigma_{ii}$ of a product of Gaussians; inf if it is improper, None if not computed.

    >>> from sepset.variables.variable import Real
    >>> x, y = Real("x"), Real("y")
    >>> copy = CanonicalGaussian((x, y), [[1e8, -1e8], [-1e8, 1e8]], h=[0.0, 0.0])
    >>> canonical_loss([copy, CanonicalGaussian(x, [[1.0]], h=[0.0])]) > 1e-9
    True
    """
    left = [f.canonical if isinstance(f, Regression) else f for f in factors if f.scope]
    forms = [f for f in left if isinstance(f, CanonicalGaussian)]
    if not forms or len(forms) < len(left):
        return None
    scope = tuple(dict.fromkeys(v for f in forms for v in f.scope))
    size = width(scope)
    if size > MOST_COORDINATES:
        return None
    K = np.zeros((size, size))
    for form in forms:
        at = places(scope, form.scope)
        K[at[:, None], at] += form.forms.K[0]
    chol = Cholesky.of(K[None])
    if not chol.definite[0]:
        return np.inf
    return float(EPS * np.max(np.diagonal(K) * np.diagonal(chol.inverse()[0])))
