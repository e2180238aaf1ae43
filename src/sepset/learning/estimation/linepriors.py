r"""Conjugate priors of linear Gaussians: which one a CPD takes, and what imaginary rows make of it.

Reference: Koller & Friedman, sections 17.4.3 and 17.4.4.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from sepset.base.leastsquares import least_squares
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.gaussian import NormalGamma
from sepset.cpds.priors.matrix import LinearNormalInverseWishart
from sepset.cpds.priors.multivariate import LinearNormalGamma, NormalInverseWishart
from sepset.data.scatter import Scatter, Scatters
from sepset.errors import ModelError, NotApplicable
from sepset.factors.coordinates import states_of, width

Conjugate: TypeAlias = LinearNormalGamma | NormalInverseWishart | LinearNormalInverseWishart

NOTHING = 1e-13
"""The share of a child's squares below which imaginary rows leave nothing of it."""


def is_conjugate(prior: object) -> bool:
    """Whether this is a conjugate prior of lines."""
    return isinstance(prior, NormalGamma | LinearNormalGamma | NormalInverseWishart | LinearNormalInverseWishart)


def is_conjugate_of(prior: object, cpd: LinearGaussian) -> bool:
    """Whether a conjugate prior is about as many coefficients and coordinates as this CPD has.

    >>> from sepset.variables.variable import Real
    >>> is_conjugate_of(NormalGamma(0.0, 1.0, 2.0, 1.0), LinearGaussian.standard(Real("y"), given=Real("x")))
    True
    """
    try:
        conjugate_for(cpd, prior)
    except NotApplicable:
        return False
    return True


def conjugate_for(cpd: LinearGaussian, prior: object) -> Conjugate:
    """The prior of a CPD's line: one that is about means only gets coefficients of mean zero.

    >>> from sepset.variables.variable import Real
    >>> cpd = LinearGaussian(Real("y"), coefficients=1.0, covariance=1.0, given=Real("x"))
    >>> conjugate_for(cpd, NormalGamma(5.0, 1.0, 2.0, 1.0)).mean.tolist()
    [5.0, 0.0]
    """
    reals, size = width(cpd.given), cpd.child.size
    if isinstance(prior, NormalGamma) and size == 1:
        mean = np.concatenate([[prior.mean], np.zeros(reals)])
        return LinearNormalGamma(mean, prior.strength, prior.shape, prior.rate)
    if isinstance(prior, LinearNormalGamma) and size == 1 and len(prior.mean) == 1 + reals:
        return prior
    if isinstance(prior, NormalInverseWishart) and len(prior.mean) == size:
        lines = np.concatenate([prior.mean[None], np.zeros((reals, size))])
        return LinearNormalInverseWishart(lines, prior.strength, prior.degrees, prior.scale) if reals else prior
    if isinstance(prior, LinearNormalInverseWishart) and prior.mean.shape == (1 + reals, size):
        return prior
    if size == 1:
        fitting = f"NormalGamma, or LinearNormalGamma over {1 + reals} coefficients"
    else:
        fitting = f"NormalInverseWishart over {size} coordinates"
        fitting += f", or LinearNormalInverseWishart over {1 + reals} coefficients of them" if reals else ""
    raise NotApplicable(
        f"{cpd!r} takes {fitting}, or ImaginaryData; found {prior!r}. A list of priors serves a mixed network."
    )


def imagined(cpd: LinearGaussian, stats: Scatters) -> tuple[Conjugate, ...]:
    r"""The prior that imaginary rows alone make of each context's line, from one flat in lines and log variances.

    $$p(B, \Sigma) \propto |\Sigma|^{-(d + 1) / 2} \prod_m N(\mathbf y[m]; B^\top \mathbf z[m]; \Sigma)$$

    With $M'$ rows and $p$ coefficients that is a shape of $(M' - p) / 2$ and a rate of half the residual squares. Too
    few rows, collinear parents or a perfect fit make no distribution, and are refused.

    >>> from sepset.variables.variable import Real
    >>> cpd = LinearGaussian(Real("y"), covariance=1.0)
    >>> imagined(cpd, cpd.scatters({cpd.child: np.array([1.0, 3.0, 5.0])}))[0]
    LinearNormalGamma(mean=[3.0], shape=1, rate=4)
    """
    size, num = cpd.child.size, 1 + width(cpd.given)
    bad = [e for e, scatter in enumerate(stats.contexts) if not _is_prior(scatter, num, size)]
    if bad:
        where = f" where {states_of(cpd.by, bad[0])}" if cpd.by else ""
        raise ModelError(
            f"{cpd!r}: {stats.counts[bad[0]]:g} imaginary rows{where} make no prior of a line. It takes more than "
            f"{num + size - 1} of them, parents that are not collinear, and a child that is no function of them. Add "
            "rows, or use NormalGamma(...); or MAP, which takes any rows."
        )
    flat = LinearNormalInverseWishart.flat(num, size)
    made = [flat.update(scatter) for scatter in stats.contexts]
    return tuple(made if size > 1 else map(_as_gamma, made))


def flat_prior(cpd: LinearGaussian) -> LinearNormalGamma:
    r"""The improper prior of a real child that is flat in its line and its log variance: shape $-p/2$ and rate 0."""
    return _as_gamma(LinearNormalInverseWishart.flat(1 + width(cpd.given)))


def _is_prior(scatter: Scatter, num: int, size: int) -> bool:
    """Whether these rows leave something over in every direction of the child, and know every coefficient."""
    squares = np.diagonal(scatter.products)[-size:]
    if scatter.count <= num + size - 1 or not (squares > 0).all():
        return False
    line = least_squares(scatter.mean, scatter.products, size)
    share = line.residual / np.sqrt(np.outer(squares, squares))
    return line.rank == num - 1 and float(np.linalg.eigvalsh(share)[0]) > NOTHING


def _as_gamma(post: LinearNormalInverseWishart) -> LinearNormalGamma:
    return LinearNormalGamma.from_root(post.mean[:, 0], post.root, 0.5 * post.degrees, 0.5 * float(post.scale[0, 0]))


def posterior_of(cpd: LinearGaussian, prior: object, stats: Scatters) -> tuple[Conjugate, ...]:
    """The posterior of the line in each context."""
    known = conjugate_for(cpd, prior)
    return tuple(known.update(scatter) for scatter in stats.contexts)
