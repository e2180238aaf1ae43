r"""Maximum likelihood over rows of probabilities, by L-BFGS with gradients from expected counts.

With $\theta = \operatorname{softmax}(\eta)$ and expected counts $N$ of hidden events, Fisher's identity gives
$\partial \ell / \partial \eta_z = N_z - \theta_z \sum_y N_y$: one E-step is one gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sepset.base.arraytypes import Bools, Floats

Objective: TypeAlias = Callable[[list[Floats]], tuple[float, list[Floats]]]
"""A function of tables that returns their log-likelihood and the expected counts of their cells."""

MAX_STEPS = 2_000


def softmax(logits: Floats) -> Floats:
    """Each row of logits as probabilities.

    >>> softmax(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def log_softmax(logits: Floats) -> Floats:
    """The logarithms of the probabilities of each row of logits, however small.

    >>> log_softmax(np.array([[0.0, -2000.0]])).tolist()
    [[0.0, -2000.0]]
    """
    apart = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(apart - np.log(np.exp(apart).sum(axis=1, keepdims=True)))


def maximize(expected: Objective, start: list[Floats], free: list[Bools], alphas: list[Floats]) -> list[Floats]:
    r"""The tables that maximize $\ell(\theta) + \sum \alpha \log \theta$ over their free rows.

    Args:
        start: tables of rows of probabilities, positive where free.
        free: which rows of each table may change.
        alphas: pseudo-counts of each table.
    """
    sizes = [int(rows.sum()) * table.shape[1] for rows, table in zip(free, start, strict=True)]
    if not sum(sizes):
        return start

    def unpack(flat: Floats) -> list[Floats]:
        tables = [table.copy() for table in start]
        for table, rows, part in zip(tables, free, np.split(flat, np.cumsum(sizes)[:-1]), strict=True):
            table[rows] = softmax(part.reshape(-1, table.shape[1])) if part.size else table[rows]
        return tables

    def loss(flat: Floats) -> tuple[float, Floats]:
        tables = unpack(flat)
        score, counts = expected(tables)
        slopes = []
        for table, rows, alpha, cell in zip(tables, free, alphas, counts, strict=True):
            total = (cell + alpha)[rows]
            slopes.append((total - table[rows] * total.sum(axis=1, keepdims=True)).reshape(-1))
            positive = np.broadcast_to(alpha, table.shape)[rows] > 0
            score += float((np.broadcast_to(alpha, table.shape)[rows][positive] * np.log(table[rows][positive])).sum())
        return -score, -np.concatenate(slopes)

    return unpack(minimize(loss, np.concatenate([np.log(t[r]).reshape(-1) for t, r in zip(start, free, strict=True)])))


def minimize(loss: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    """The minimum of a smooth loss, which returns its value and gradient; the search begins at `start`."""
    from scipy.optimize import minimize as search

    if not start.size:
        return start
    # With a loss of order one the stopping rules do not depend on the number of rows.
    scale = max(abs(loss(start)[0]), 1e-300)

    def scaled(point: Floats) -> tuple[float, Floats]:
        value, slope = loss(point)
        return value / scale, slope / scale

    found = search(
        scaled,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_STEPS, "maxfun": 4 * MAX_STEPS, "ftol": 1e-13, "gtol": 1e-9, "maxcor": 20},
    )
    return np.asarray(found.x, dtype=np.float64)


def minimize_sparse(loss: Callable[[Floats], tuple[float, Floats]], start: Floats, penalties: Floats) -> Floats:
    r"""The minimum of a smooth loss plus $\sum_i \lambda_i |x_i|$; the search begins at `start`.

    With $x = p - n$ and $p, n \ge 0$ the sum is smooth; L-BFGS respects the bounds, and sets many to exactly zero.
    """
    from scipy.optimize import minimize as search

    if not start.size:
        return start
    sizes = start.size
    free = penalties == 0
    scale = max(abs(loss(start)[0]), 1e-300)

    def doubled(point: Floats) -> tuple[float, Floats]:
        value, slope = loss(point[:sizes] - point[sizes:])
        both = np.concatenate([slope + penalties, penalties - slope])
        return (value + float(penalties @ (point[:sizes] + point[sizes:]))) / scale, both / scale

    bounds = [(None if f else 0.0, None) for f in free] + [(0.0, 0.0 if f else None) for f in free]
    first = np.concatenate(
        [np.where(free, start, np.maximum(start, 0.0)), np.where(free, 0.0, np.maximum(-start, 0.0))]
    )
    options = {"maxiter": MAX_STEPS, "maxfun": 4 * MAX_STEPS, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 20}
    found = search(doubled, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x  # type: ignore[call-overload]  # the stubs want typed options
    return np.asarray(found[:sizes] - found[sizes:], dtype=np.float64)
