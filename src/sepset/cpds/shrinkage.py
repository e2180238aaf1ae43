r"""Lines of largest posterior where the prior of their coefficients is not conjugate.

$$\max_{\beta, \sigma^2}\; -\tfrac M2 \log \sigma^2 - \frac{\text{RSS}(\beta)}{2\sigma^2} - \text{penalty}(\beta)$$

with the penalty $\lVert\beta\rVert_2^2 / 2s^2$ of `Normal` or $\lVert\beta\rVert_1 / s$ of `Laplace`. For given
$\sigma^2$ the coefficients are a ridge or lasso regression, for given coefficients $\sigma^2 = \text{RSS} / M$; the two
take turns, and neither lowers the objective.

Reference: Koller & Friedman, sections 17.4.4 and 20.4.1.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.cpds.priors.dirichlet import Laplace, Normal
from sepset.cpds.regression import Line, least_squares
from sepset.data.scatter import Scatter
from sepset.errors import NotApplicable

MAX_TURNS = 10_000


def penalized_line(scatter: Scatter, prior: Normal | Laplace, size: int = 1) -> Line:
    """The line of largest posterior of the last coordinate on the others, from their scatter.

    >>> flat = penalized_line(Scatter.of([[0, 1], [1, 3], [2, 2], [3, 5]]), Normal(0.01))
    >>> bool(abs(flat.slope[0, 0]) < 0.01)
    True
    """
    if size != 1:
        raise NotApplicable(f"{prior!r} is for children of one dimension; found {size}. Use NormalInverseWishart.")
    plain = least_squares(scatter.mean, scatter.products)
    total = float(scatter.products[-1, -1])
    starts = [(plain.slope[0], float(plain.residue[0, 0])), (np.zeros(scatter.size - 1), total)]
    found = [_climb(scatter, prior, beta, rss) for beta, rss in starts]
    beta, rss = min(found, key=lambda end: _loss(scatter.count, prior, *end))
    intercept = scatter.mean[-1:] - beta @ scatter.mean[:-1]
    return Line(intercept, beta[None, :], np.array([[rss]]), plain.rank)


def _loss(count: float, prior: Normal | Laplace, beta: Floats, rss: float) -> float:
    fit = 0.5 * count * math.log(max(rss, 1e-300) / count)
    if isinstance(prior, Normal):
        return fit + 0.5 * float(beta @ beta) / prior.scale**2
    return fit + float(np.abs(beta).sum()) / prior.scale


def _climb(scatter: Scatter, prior: Normal | Laplace, beta: Floats, rss: float) -> tuple[Floats, float]:
    inner, cross, total = scatter.products[:-1, :-1], scatter.products[:-1, -1], float(scatter.products[-1, -1])
    for _ in range(MAX_TURNS):
        variance = rss / scatter.count
        if isinstance(prior, Normal):
            ridge = inner + np.eye(len(beta)) * variance / prior.scale**2
            new = np.asarray(np.linalg.lstsq(ridge, cross, rcond=None)[0], dtype=np.float64)
        else:
            new = _lasso(inner, cross, variance / prior.scale, beta)
        left = max(total - 2.0 * float(cross @ new) + float(new @ inner @ new), 0.0)
        done = abs(left - rss) <= 1e-15 * total and np.abs(new - beta).max(initial=0.0) <= 1e-13 * (
            1.0 + np.abs(new).max(initial=0.0)
        )
        beta, rss = new, left
        if done:
            break
    return beta, rss


def _lasso(inner: Floats, cross: Floats, penalty: float, start: Floats) -> Floats:
    r"""The minimum of $\frac12\beta^\top G\beta - c^\top\beta + \lambda\lVert\beta\rVert_1$, by coordinate descent."""
    beta, diagonal = start.copy(), np.diagonal(inner)
    for _ in range(MAX_TURNS):
        largest = 0.0
        for j in np.flatnonzero(diagonal > 0):
            pull = float(cross[j] - inner[j] @ beta + diagonal[j] * beta[j])
            new = math.copysign(max(abs(pull) - penalty, 0.0), pull) / float(diagonal[j])
            largest = max(largest, abs(new - float(beta[j])) * math.sqrt(float(diagonal[j])))
            beta[j] = new
        if largest <= 1e-14 * (1.0 + float(np.abs(cross).max(initial=0.0))):
            break
    beta[diagonal <= 0] = 0.0
    return beta
