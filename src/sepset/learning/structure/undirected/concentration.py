r"""Sparse concentration matrices: the penalized maximum of a Gaussian likelihood, with a certificate.

$$\max_{\Theta \succ 0} \; \log\det\Theta - \operatorname{tr} S\Theta - \sum_{ij} \lambda_{ij} |\Theta_{ij}|
\;=\; \min_{W \succ 0} \; -\log\det W - n \quad\text{with}\quad |W_{ij} - S_{ij}| \le \lambda_{ij}$$

Any feasible $W$ bounds the maximum from above. The components of the graph with edges $|S_{ij}| > \lambda_{ij}$ are
those of the maximum, so each is solved by itself: by Newton's method, whose directions are found by coordinate descent
over the entries that are not zero or would not stay so.

Reference: Hsieh, Sustik, Dhillon & Ravikumar (2011); Mazumder & Hastie (2012) and Witten, Friedman & Simon (2011) for
components; Banerjee, El Ghaoui & d'Aspremont (2008) for the dual.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.numerics.matrices import OPERATIONS, cholesky, inverse_from
from sepset.base.threads import interruptible
from sepset.inference.iterate import Interrupted, keeping
from sepset.kernels.structure.lasso import newton_direction

MOST_STEPS = 200
"""The most steps of Newton's method."""

SWEEPS = 5
"""The most sweeps of coordinate descent in the first step; twice as many in the second, and so on."""

SETTLED = 1e-8
"""The relative change in a sweep at which a direction is always good enough; the first steps accept more."""

SUFFICIENT = 1e-3
"""The share of the predicted gain that a step must bring."""

SHORTEST = 2.0**-40
"""The shortest step, as a share of Newton's."""

UNINTERRUPTED = 1024
"""The size up to which a matrix is inverted at once, in less than a tenth of a second."""


class Concentration(NamedTuple):
    r"""A concentration matrix that maximizes a penalized likelihood.

    Attributes:
        matrix: $\Theta$; absent edges are exact zeros.
        covariance: $\Theta^{-1}$.
        objective: what is maximized.
        bound: no concentration matrix has a larger objective; infinite where no feasible dual point is known.
        steps: of Newton's method, over all components.
    """

    matrix: Floats
    covariance: Floats
    objective: float
    bound: float
    steps: int

    @property
    def gap(self) -> float:
        """The difference between the bound and the objective."""
        return self.bound - self.objective


class Inverse(NamedTuple):
    """The inverse of a positive definite matrix, and the logarithm of its determinant."""

    matrix: Floats
    log_determinant: float


class Pattern(NamedTuple):
    """The free entries of a symmetric matrix as compressed rows; `twin` is the place of the mirrored entry."""

    start: Ints
    rows: Ints
    members: Ints
    twin: Ints


def maximized(
    covariance: Floats,
    penalties: Floats,
    *,
    start: Floats | None = None,
    tolerance: float = 1e-6,
    most_steps: int = MOST_STEPS,
) -> Concentration:
    """The concentration matrix of largest penalized likelihood.

    Args:
        covariance: of the data, with a positive diagonal; it may be singular where penalties are positive.
        penalties: one per entry, symmetric; infinite where edges are forbidden.
        start: a positive definite matrix to start from.
        tolerance: the largest gap at which it stops.
        most_steps: of Newton's method in each component.

    >>> found = maximized(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[0.0, 0.2], [0.2, 0.0]]))
    >>> found.covariance.round(3).tolist(), found.gap < 1e-6
    ([[1.0, 0.3], [0.3, 1.0]], True)
    """
    n = len(covariance)
    matrix, inverse = np.zeros((n, n)), np.zeros((n, n))
    objective = bound = 0.0
    steps, is_cut = 0, False
    for part in components(np.abs(covariance) > penalties):
        if is_cut and len(part) > UNINTERRUPTED:  # to complete the estimate would take long
            raise KeyboardInterrupt
        where = np.ix_(part, part)
        own = np.ascontiguousarray(covariance[where])
        at = np.diag(1.0 / np.diagonal(own + penalties[where])) if start is None else np.array(start[where])
        try:
            found = _connected(own, penalties[where], at, tolerance * len(part) / n, 0 if is_cut else most_steps)
        except Interrupted as cut:
            found, is_cut = cut.state, True
        matrix[where], inverse[where] = found.matrix, found.covariance
        objective, bound, steps = objective + found.objective, bound + found.bound, steps + found.steps
    made = Concentration(matrix, inverse, objective, bound, steps)
    if is_cut:
        raise Interrupted(made)
    return made


def components(joined: Bools) -> list[Ints]:
    """The connected components of a symmetric pattern, by their first members."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(csr_array(joined.astype(np.int8)), directed=False)
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=count))[:-1])


def _connected(covariance: Floats, penalties: Floats, at: Floats, tolerance: float, most_steps: int) -> Concentration:
    """The maximum over one component."""
    inverse = inverse_of(at)
    assert inverse is not None, "the start is positive definite"
    if len(at) == 1:
        at = 1.0 / (covariance + penalties)
        return _judged(at, Inverse(1.0 / at, math.log(at[0, 0])), covariance, penalties, 0)
    found = _judged(at, inverse, covariance, penalties, 0)
    with keeping(lambda: found):
        for step in range(1, most_steps + 1):
            if found.gap <= tolerance:
                break
            moved = _moved(found, covariance, penalties, step)
            if moved is None:
                break
            judged = _judged(*moved, covariance, penalties, step)
            found = judged._replace(bound=min(judged.bound, found.bound))
    return found


def _judged(at: Floats, inverse: Inverse, covariance: Floats, penalties: Floats, steps: int) -> Concentration:
    """A matrix with its objective and a bound."""
    objective = inverse.log_determinant - float((covariance * at).sum()) - charge(at, penalties)
    return Concentration(at, inverse.matrix, objective, _bound(inverse.matrix, covariance, penalties), steps)


def charge(at: Floats, penalties: Floats) -> float:
    """The penalty of a matrix."""
    return float(np.multiply(np.abs(at), penalties, out=np.zeros_like(at), where=at != 0.0).sum())


def _bound(inverse: Floats, covariance: Floats, penalties: Floats) -> float:
    """The dual objective at the feasible point nearest to an inverse; infinite if that is not positive definite."""
    feasible = covariance + np.clip(inverse - covariance, -penalties, penalties)
    logs = log_determinant(feasible)
    return math.inf if logs is None else -logs - len(inverse)


def _moved(found: Concentration, covariance: Floats, penalties: Floats, step: int) -> tuple[Floats, Inverse] | None:
    """The matrix after one step of Newton's method with a line search, and its inverse; None where none improves."""
    at, inverse = found.matrix, found.covariance
    gradient = covariance - inverse
    pattern = _free(at, gradient, penalties)
    entries = np.zeros(len(pattern.members))
    given = (
        at,
        inverse,
        pattern.start,
        pattern.members,
        pattern.twin,
        gradient[pattern.rows, pattern.members],
        penalties[pattern.rows, pattern.members],
        entries,
        SWEEPS * step,
        max(SETTLED, 0.1**step),
    )
    is_short = len(at) * len(entries) * SWEEPS * step <= OPERATIONS
    interruptible(partial(newton_direction, *given), is_short=is_short)
    direction = np.zeros_like(at)
    direction[pattern.rows, pattern.members] = entries
    target = at + direction
    predicted = float((gradient * direction).sum()) + charge(target, penalties) - charge(at, penalties)
    if not predicted < 0.0:
        return None
    return _line_search(found, target, predicted, covariance, penalties)


def _line_search(
    found: Concentration, target: Floats, predicted: float, covariance: Floats, penalties: Floats
) -> tuple[Floats, Inverse] | None:
    """The first point toward the target, by halves, that is positive definite and gains enough."""
    share = 1.0
    while share >= SHORTEST:
        point = target if share == 1.0 else found.matrix + share * (target - found.matrix)
        inverse = inverse_of(point)
        if inverse is not None:
            objective = inverse.log_determinant - float((covariance * point).sum()) - charge(point, penalties)
            if objective >= found.objective - SUFFICIENT * share * predicted:
                return point, inverse
        share /= 2.0
    return None


def _free(at: Floats, gradient: Floats, penalties: Floats) -> Pattern:
    """The entries that are not zero, or would leave zero."""
    free = (at != 0.0) | (np.abs(gradient) > penalties)
    np.fill_diagonal(free, True)
    rows, members = map(np.ascontiguousarray, np.nonzero(free))
    places = np.zeros(free.shape, np.int64)
    places[rows, members] = np.arange(len(rows))
    start = np.concatenate([[0], np.cumsum(free.sum(1))])
    return Pattern(start, rows, members, places[members, rows])


def inverse_of(matrix: Floats) -> Inverse | None:
    """The inverse of a symmetric matrix with the logarithm of its determinant; None if it is not positive definite."""
    if len(matrix) > UNINTERRUPTED:
        return _inverse_in_parts(matrix)
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, failed = dpotrf(matrix, lower=1)
    if failed:
        return None
    lower, _ = dpotri(factor, lower=1)
    lower = np.tril(lower)
    return Inverse(np.ascontiguousarray(lower + np.tril(lower, -1).T), _log_square(factor))


def _inverse_in_parts(matrix: Floats) -> Inverse | None:
    try:
        factor = cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return Inverse(inverse_from(factor), _log_square(factor))


def log_determinant(matrix: Floats) -> float | None:
    """The logarithm of the determinant of a symmetric matrix; None if it is not positive definite."""
    try:
        return _log_square(cholesky(matrix))
    except np.linalg.LinAlgError:
        return None


def _log_square(factor: Floats) -> float:
    """The logarithm of the squared determinant of a triangle."""
    return 2.0 * float(np.log(np.diagonal(factor)).sum())
