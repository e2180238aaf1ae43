r"""Regressions beyond least squares: maximum posterior under priors on coefficients, and accurate residuals.

A prior that is not conjugate penalizes coefficients,

$$\max_{\beta, \sigma^2}\; -\tfrac M2 \log \sigma^2 - \frac{\text{RSS}(\beta)}{2\sigma^2}
- \tfrac12 p\, \lVert\beta\rVert_2^2 - r\, \lVert\beta\rVert_1.$$

For given $\sigma^2$ the coefficients are a ridge or lasso regression, for given coefficients
$\sigma^2 = \text{RSS} / M$; the two steps alternate, and neither lowers the objective.

If a regression explains all but a fraction $\epsilon$ of its child's variance, its residual is a difference of sums of
squares and keeps about $16 + \log_{10} \epsilon$ digits; residuals computed row by row keep more.

Reference: Koller & Friedman, sections 17.4.4 and 20.4.1; Golub & Van Loan, *Matrix Computations*, section 5.3.8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.numerics.leastsquares import LinearFit, least_squares, semidefinite_root
from sepset.cpds.priors.weights import WeightPrior
from sepset.data.scatter import Scatter, Scatters
from sepset.errors import NotApplicable

MAX_TURNS = 10_000

TIGHT = 1e-6
"""The fraction of a child's sum of squares below which differences of sums of squares are too inaccurate."""

INEXACT = 1e-6
"""The relative error of parameters above which an estimate in closed form is not called exact."""

PERFECT = 1e-13
"""The fraction of a child's variance below which a residual computed from sums of squares counts as zero."""

COLLAPSE = (
    "the likelihood is unbounded there (a variance reached zero). Give a prior such as NormalGamma, use fewer states "
    "or parents, tie the variances, or start elsewhere (another seed, more restarts)."
)
"""The advice in errors about a variance that reached zero."""

EPSILON = float(np.finfo(np.float64).eps)


def penalized(scatters: Sequence[Scatter], prior: WeightPrior, size: int = 1) -> list[LinearFit]:
    """The maximum posterior regressions of the last coordinate on the others that share one variance.

    Args:
        scatters: the statistics of each regression; those without rows have coefficients zero.
        prior: of the coefficients of every regression.
        size: the number of coordinates of the child, which must be one.

    >>> from sepset.cpds.priors.weights import NormalWeights
    >>> (flat,) = penalized([Scatter.of([[0, 1], [1, 3], [2, 2], [3, 5]])], NormalWeights(0.01))
    >>> bool(abs(flat.slope[0, 0]) < 0.01)
    True
    """
    if size != 1:
        raise NotApplicable(f"{prior!r} is for children of one dimension; found {size}. Use NormalInverseWishart.")
    plain = [s.fit() for s in scatters]
    starts = [[fit.slope[0] for fit in plain], [np.zeros(s.size - 1) for s in scatters]]
    count = float(sum(s.count for s in scatters))
    found = [_alternating(scatters, count, prior, betas) for betas in starts]
    betas, squares = min(found, key=lambda end: _loss(count, prior, *end))
    return [
        LinearFit(s.mean[-1:] - beta @ s.mean[:-1], beta[None, :], np.array([[rss]]), fit.rank)
        for s, beta, rss, fit in zip(scatters, betas, squares, plain, strict=True)
    ]


def _loss(count: float, prior: WeightPrior, betas: list[Floats], squares: list[float]) -> float:
    densities = sum(prior.log_density(beta) for beta in betas)
    return 0.5 * count * math.log(max(sum(squares), 1e-300) / count) - densities


def _alternating(
    scatters: Sequence[Scatter], count: float, prior: WeightPrior, betas: list[Floats]
) -> tuple[list[Floats], list[float]]:
    """Coefficients and the residual squares of each regression, optimal given their variance, at convergence."""
    roots = [semidefinite_root(s.products) if s.root is None else s.root for s in scatters]
    squares = _squares(scatters, betas)
    for _ in range(MAX_TURNS):
        variance = sum(squares) / count
        made = [_given_variance(root, prior, variance) for root in roots]
        done = all(_is_settled(root, *pair) for root, *pair in zip(roots, betas, made, strict=True))
        betas, squares = made, _squares(scatters, made)
        if done:
            break
    return betas, squares


def _squares(scatters: Sequence[Scatter], betas: Sequence[Floats]) -> list[float]:
    """The residual squares of coefficients."""
    return [float(s.residual(beta[None])[0, 0]) for s, beta in zip(scatters, betas, strict=True)]


def _given_variance(root: Floats, prior: WeightPrior, variance: float) -> Floats:
    """The best coefficients for this variance."""
    scale = np.linalg.norm(root[:, :-1], axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    columns = root[:, :-1] / scale
    if prior.rate > 0.0:
        return lasso(columns, root[:, -1], variance * prior.rate / scale) / scale
    rows = np.concatenate([columns, np.diag(math.sqrt(variance * prior.precision) / scale)])
    target = np.concatenate([root[:, -1], np.zeros(len(scale))])
    return np.asarray(np.linalg.lstsq(rows, target, rcond=None)[0] / scale)


def _is_settled(root: Floats, before: Floats, after: Floats) -> bool:
    """Whether a turn moved no prediction, relative to the child."""
    moved = np.linalg.norm(root[:, :-1] @ (after - before))
    return bool(moved <= 1e-14 * np.linalg.norm(root[:, -1]))


def lasso(columns: Floats, target: Floats, penalties: Floats) -> Floats:
    r"""The minimum of $\tfrac12\lVert X\beta - y\rVert^2 + \sum_j \lambda_j|\beta_j|$, by a search over signs.

    Coefficients of known signs are a system of equations, so that nearly dependent columns take no more steps. Signs
    are added where the slope at zero is beyond the penalty, the steepest first; a coefficient that would change its
    sign is set to zero on the way. Each step lowers the objective, so that no signs occur twice.

    Args:
        columns: $X$, each of length one, or zero.
        target: $y$.
        penalties: $\lambda_j$.

    Reference: Lee, Battle, Raina & Ng (2007), Efficient sparse coding algorithms.
    Guarantee: subgradient conditions.
    Tested by: cpds/priors/test_penalized.py::test_lasso_meets_the_subgradient_conditions

    >>> lasso(np.eye(2), np.array([3.0, -1.0]), np.array([1.0, 2.0])).tolist()
    [2.0, 0.0]
    """
    beta, slack = np.zeros(columns.shape[1]), 1e-13 * float(np.linalg.norm(target))
    for _ in range(MAX_TURNS):
        pull = columns.T @ (target - columns @ beta)
        beyond = np.where(beta == 0, np.abs(pull) - penalties, -np.inf)
        if not len(beta) or beyond.max() <= slack:
            break
        signs = np.sign(beta)
        signs[beyond.argmax()] = math.copysign(1.0, pull[beyond.argmax()])
        after = _with_signs(columns, target, penalties, beta, signs)
        if np.array_equal(after, beta):
            break
        beta = after
    return beta


def _with_signs(columns: Floats, target: Floats, penalties: Floats, beta: Floats, signs: Floats) -> Floats:
    """The best coefficients of these signs or zero, from others of these signs."""
    while signs.any():
        active = np.flatnonzero(signs)
        aim = np.zeros_like(beta)
        aim[active] = _solved(columns[:, active], target, penalties[active] * signs[active])
        wrong = active[aim[active] * signs[active] <= 0]
        if not len(wrong):
            return aim
        shares = np.divide(beta[wrong], beta[wrong] - aim[wrong], out=np.zeros(len(wrong)), where=beta[wrong] != 0)
        first = wrong[shares.argmin()]
        beta = beta + shares.min() * (aim - beta)
        beta[first] = signs[first] = 0.0
    return beta


def _solved(columns: Floats, target: Floats, penalties: Floats) -> Floats:
    r"""The zero of $X^\top(X\beta - y) + \lambda$, by a triangular factor of the columns."""
    q, r = np.linalg.qr(columns)
    moved = np.linalg.lstsq(r.T, penalties, rcond=None)[0]
    return np.asarray(np.linalg.lstsq(r, q.T @ target - moved, rcond=None)[0])


def residual_shares(covariance: Floats, stats: Scatters) -> Floats:
    """The smallest ratio of residual to total sum of squares of the child's coordinates, in each context.

    Contexts without rows, or in which the child is constant, have the ratio one.

    Args:
        covariance: the covariance of the residuals, `[contexts, size, size]`.
        stats: the statistics of the rows (real parents, child).

    >>> residual_shares(np.array([[[0.25]]]), Scatters.of(np.array([[0.0], [2.0]]), np.zeros(2, np.int64), 1)).tolist()
    [0.25]
    """
    squares = np.einsum("cii->ci", stats.products)[:, -covariance.shape[1] :]
    left = np.einsum("cii->ci", covariance) * stats.counts[:, None]
    return np.asarray(np.divide(left, squares, out=np.ones_like(left), where=squares > 0).min(axis=1))


def relative_error(known: Scatters, intercept: Floats, coefficients: Floats, covariance: Floats) -> float:
    """How far rounding may have moved regressions estimated from these statistics, relative to them: at most one."""
    share = float(residual_shares(covariance, known).min(initial=1.0))
    parts = zip(known.contexts, intercept, coefficients, strict=True)
    lines = max((s.relative_error(a, B) for s, a, B in parts if s.count > 0), default=0.0)
    left = share if known.roots is None else share**0.5
    return max(lines, min(1.0, known.rounding / max(left, EPSILON)))


def smallest_variances(coefficients: Floats, stats: Scatters) -> Floats:
    """The residual variance that rounding of the rows alone may cause, in each context.

    Args:
        coefficients: `[contexts, size, parents]`.
        stats: the statistics of the rows (real parents, child).
    """
    size, split = coefficients.shape[1:]
    counts = np.where(stats.counts > 0, stats.counts, 1.0)
    spread = np.einsum("cii->ci", stats.products) / counts[:, None]
    parts = np.einsum("cij,cj->c", coefficients**2, spread[:, :split])
    own = (spread[:, -size:] + stats.means[:, -size:] ** 2).max(axis=1)
    return np.asarray((8.0 * EPSILON) ** 2 * (parts + own))


def rounding_variances(stats: Scatters, size: int) -> Floats:
    """The variance of the last `size` columns that rounding of sums of squares, or of a root, may cause, by context."""
    squares = np.einsum("cii->ci", stats.products)[:, -size:]
    spread = squares / np.where(stats.counts > 0, stats.counts, 1.0)[:, None]
    digits = 4.0 * EPSILON * np.abs(stats.means[:, -size:])
    share = PERFECT if stats.roots is None else (8.0 * stats.rounding) ** 2
    return np.asarray((share * spread + digits**2).max(axis=1))


def determines_regression(scatter: Scatter, size: int) -> bool:
    """Whether rows determine every coefficient, with residual variance in all directions of the last `size` columns.

    >>> determines_regression(Scatter.of([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]]), 1)
    True
    """
    squares, num = np.diagonal(scatter.products)[-size:], scatter.size - size
    if scatter.count <= num + size or not (squares > 0).all():
        return False
    fit = least_squares(scatter.mean, scatter.products, size)
    share = fit.residual / np.sqrt(np.outer(squares, squares))
    return fit.rank == num and float(np.linalg.eigvalsh(share)[0]) > PERFECT


def smallest_eigenvalues(covariances: Floats) -> Floats:
    """The smallest variance in any direction, of each covariance."""
    return np.asarray(covariances[:, 0, 0] if covariances.shape[1] == 1 else np.linalg.eigvalsh(covariances)[:, 0])


def floored(covariances: Floats, least: float) -> Floats:
    """Each covariance with every eigenvalue raised to at least `least`.

    >>> floored(np.array([[[0.5]], [[2.0]]]), 1.0).ravel().tolist()
    [1.0, 2.0]
    """
    if covariances.shape[1] == 1:
        return np.maximum(covariances, least)
    values, vectors = np.linalg.eigh(covariances)
    return np.asarray((vectors * np.maximum(values, least)[:, None, :]) @ np.swapaxes(vectors, 1, 2))
