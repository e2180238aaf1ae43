r"""Maximum likelihood Gaussians: joints from moments, and regressions from joints.

$$\hat\mu = \frac1M \sum_m \mathbf x[m], \qquad
\hat\Sigma = \frac1M \sum_m (\mathbf x[m] - \hat\mu)(\mathbf x[m] - \hat\mu)^\top$$

Reference: Koller & Friedman, sections 17.1.2 and 17.2.4.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import number, one_of, row_weights
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.numerics.leastsquares import COLLINEAR, least_squares
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.penalized import INEXACT, PERFECT, relative_error, smallest_variances
from sepset.data.dataset import Dataset
from sepset.data.frames import in_row_order, is_lazy
from sepset.data.moments import Moments
from sepset.data.scatter import Scatter, Scatters
from sepset.errors import DataError, ScopeError
from sepset.factors.algebra import axis_of
from sepset.factors.coordinates import continuous_scope, matrix, places
from sepset.factors.moments import Gaussian
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment
from sepset.models.rows import complete
from sepset.variables.universe import Universe
from sepset.variables.variable import Real, VariableLike, Vector, listed

Reals: TypeAlias = Iterable[Vector | str] | Vector | str
"""Real variables, or the names of columns of numbers."""
Singular: TypeAlias = Literal["raise", "keep"] | float
"""The policy for a variance of zero: an error, the degenerate estimate, or a floor under each eigenvalue."""


def gaussian_scatter(data: object, variables: Reals, weights: ArrayLike | None = None) -> Scatter:
    """The sufficient statistics of complete rows over real variables; those of two sets of rows add up.

    Args:
        data: a dataset, any frame, eager or lazy, a mapping of columns, the path of a file, or `Moments`.
        variables: which columns, in which order.
        weights: one per row.

    >>> gaussian_scatter({"x": [1.0, 2.0, 3.0, 4.0]}, "x").covariance.tolist()
    [[1.25]]
    """
    scope = _scope(variables)
    if any(v.size > 1 for v in scope):
        columns, num_rows = complete(data, Universe(scope))
        return Scatter.of(matrix(scope, columns, num_rows), in_row_order(weights, data))
    share = None if weights is None else np.asarray(in_row_order(weights, data), dtype=np.float64)
    moments = data.pooled().select(scope) if isinstance(data, Moments) else Moments.of(data, scope, weights=share)
    return Scatter(moments.total, moments.mean, moments.scatter)


@translated
def fit_gaussian(
    data: object | Scatter,
    variables: Reals,
    *,
    weights: ArrayLike | None = None,
    singular: Singular = "raise",
) -> Gaussian:
    r"""The Gaussian of largest likelihood: the mean, and the covariance divided by $M$ and not by $M - 1$.

    Args:
        data: complete rows (see `gaussian_scatter`), or their `Scatter`.
        variables: the scope.
        weights: one per row.
        singular: a covariance without an inverse, where the likelihood has no bound, is an error by default; "keep"
            returns it, a number is the least variance allowed in any direction.

    Reference: Koller & Friedman, examples 17.6 and exercise 17.5.
    Guarantee: maximum likelihood.
    Tested by: learning/estimation/test_gaussian.py::test_gaussians_have_the_largest_likelihood

    >>> found = fit_gaussian({"x": [1.0, 2.0, 3.0, 4.0]}, "x")
    >>> found.mean(), found.variance()
    (2.5, 1.25)
    """
    scope = _scope(variables)
    seen = data if isinstance(data, Scatter) else gaussian_scatter(data, scope, weights)
    return Gaussian(scope, seen.mean, covariance=_settled(seen.covariance, singular, seen.count))


def _settled(covariance: Floats, singular: Singular, count: float) -> Floats:
    """The covariance as the policy for singular ones wants it."""
    if singular == "keep":
        return covariance
    if not isinstance(singular, str):
        least = number("singular", singular, above=0, otherwise="'raise' or 'keep'")
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
    one_of("singular", singular, ("raise", "keep"), otherwise="a least variance")
    if _has_inverse(covariance):
        return covariance
    raise DataError(
        f"The covariance of {count:g} rows over {len(covariance)} coordinates has no inverse, so the likelihood has no "
        "bound. Use singular='keep', a least variance such as singular=1e-6, or a NormalInverseWishart prior."
    )


def _has_inverse(covariance: Floats) -> bool:
    variances = np.diagonal(covariance)
    if not (variances > 0).all():
        return False
    correlations = covariance / np.sqrt(np.outer(variances, variances))
    return bool(np.linalg.eigvalsh(correlations).min(initial=np.inf) > COLLINEAR)


@dataclass(frozen=True, repr=False)
class LineFit(Assessment):
    """A fitted linear Gaussian CPD, and the rank of its parents' covariance.

    Where the rank is less than the number of coordinates of the parents, they are collinear, and the coefficients
    are those of least norm among equally good ones.
    """

    cpd: LinearGaussian
    rank: int
    num_coordinates: int

    @property
    def is_unique(self) -> bool:
        """Whether no other regression fits as well."""
        return self.rank == self.num_coordinates

    def __repr__(self) -> str:
        known = "" if self.is_unique else f"; rank {self.rank} of {self.num_coordinates}, of least norm"
        return f"LineFit({self.cpd!r}{known})"

    def _shown(self) -> Shown:
        known = "unique" if self.is_unique else f"rank {self.rank} of {self.num_coordinates}: of least norm"
        return self.cpd._shown()._replace(caption=known)


@translated
def fit_regression(
    data: object | Scatter,
    child: Vector | str,
    *,
    given: Reals = (),
    weights: ArrayLike | None = None,
    singular: Singular = "raise",
) -> LineFit:
    r"""The linear Gaussian CPD of largest likelihood: least squares, and the mean square of the residuals.

    $$\text{Cov}[\mathbf U]\,\beta = \text{Cov}[\mathbf U, X], \qquad \beta_0 = E[X] - \beta^\top E[\mathbf U], \qquad
    \sigma^2 = \text{Var}[X] - \beta^\top \text{Cov}[\mathbf U]\,\beta$$

    Args:
        data: complete rows, or the `Scatter` of the parents and then the child.
        child: the real variable to explain.
        given: its real parents.
        weights: one per row.
        singular: as in `fit_gaussian`, about the variance of the residuals.

    Reference: Koller & Friedman, section 17.2.4.
    Guarantee: maximum likelihood; least norm where collinear.
    Tested by: learning/estimation/test_gaussian.py::test_lines_are_least_squares_and_the_conditional_of_the_joint

    >>> found = fit_regression({"u": [0, 1, 2, 3], "x": [1.0, 3.0, 2.0, 5.0]}, "x", given="u")
    >>> found.cpd.intercept.round(9).tolist(), found.cpd.coefficients.round(9).tolist(), found.is_unique
    ([[1.1]], [[[1.1]]], True)
    """
    parents, (own,) = _scope(given), _scope(child)
    scope = (*parents, own)
    seen = data if isinstance(data, Scatter) else gaussian_scatter(data, scope, weights)
    line = seen.fit(own.size)
    noise = line.residual / seen.count
    plain = LinearGaussian(own, line.intercept, coefficients=line.slope, covariance=noise, given=parents)
    cpd, least, known = _with_digits(plain, Scatters.stacked([seen]), data, weights)
    noise = _settled(np.where(np.abs(cpd.covariance[0]) > least, cpd.covariance[0], 0.0), singular, seen.count)
    made = cpd.with_parameters(cpd.intercept, cpd.coefficients, covariance=noise[None])
    lost = relative_error(known, made.intercept, made.coefficients, made.covariance)
    digits = Guarantee.EXACT if lost <= INEXACT else Guarantee.ESTIMATE
    info = {} if lost <= INEXACT else {"relative_error": lost}
    return LineFit(made, line.rank, seen.size - own.size, guarantees={"parameters": digits}, info=info)


def _with_digits(
    cpd: LinearGaussian, stats: Scatters, data: object, weights: ArrayLike | None
) -> tuple[LinearGaussian, float, Scatters]:
    """The regression corrected by residuals of rows in memory where it fits tightly, the variance of rounding, and the
    statistics with the digits of these rows."""
    squares = np.diagonal(stats.products[0])[-cpd.child.size :] / stats.counts[0]
    least = PERFECT * float(squares.max(initial=0.0))
    stored = isinstance(data, Scatter | Moments | str | os.PathLike) or (
        not isinstance(data, Dataset) and is_lazy(data)
    )
    if stored or not cpd.parameters.is_tight(stats):
        return cpd, least, stats
    columns, num_rows = complete(data, Universe(cpd.scope))
    share = data.weights if isinstance(data, Dataset) and weights is None else weights
    checked = None if share is None else row_weights(in_row_order(share, data), num_rows)
    better = cpd.parameters.refined([cpd], stats, columns, checked)
    return better, float(smallest_variances(better.coefficients, stats)[0]), cpd.scatters(columns, checked)


def _scope(variables: Reals) -> tuple[Vector, ...]:
    return continuous_scope(Real(v) if isinstance(v, str) else v for v in listed(variables))


@translated
def conditional_regression(
    joint: Gaussian, child: VariableLike, *, given: Iterable[VariableLike] = ()
) -> LinearGaussian:
    r"""The linear Gaussian CPD $p(x \mid \mathbf u)$ of a joint Gaussian.

    From a maximum likelihood joint it is the maximum likelihood regression; a chain of such CPDs over all variables
    is the joint again.

    Args:
        joint: over at least the child and the parents.
        child: one of its variables.
        given: others of them.

    Reference: Koller & Friedman, theorem 7.4 and section 17.2.4.
    Guarantee: exact.
    Tested by: learning/estimation/test_gaussian.py::test_a_complete_network_is_the_joint

    >>> from sepset.variables.variable import Real
    >>> joint = Gaussian((Real("u"), Real("x")), [0.0, 1.0], covariance=[[1.0, 0.5], [0.5, 2.0]])
    >>> conditional_regression(joint, "x", given=["u"]).covariance.tolist()
    [[[1.75]]]
    """
    parents = tuple(joint.scope[axis_of(joint.scope, v)] for v in listed(given))
    own = joint.scope[axis_of(joint.scope, child)]
    if own in parents:
        raise ScopeError(f"{own.name!r} cannot be its own parent.")
    at = places(joint.scope, (*parents, own))
    line = least_squares(joint.mu[at], joint.covariance[np.ix_(at, at)], own.size)
    return LinearGaussian(own, line.intercept, coefficients=line.slope, covariance=line.residual, given=parents)
