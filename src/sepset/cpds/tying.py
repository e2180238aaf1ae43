r"""Estimates of probabilities that several rows share.

Parameter $p_r$ stands $n_{cr}$ times in row $c$. The estimate maximizes $\sum_r M_r \log p_r$ subject to
$\sum_r n_{cr} p_r = 1$ for every row $c$: ratios of counts where rows do not overlap, a small concave program
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.counts import Unseen, check_unseen, pseudo_counts, unseen_message
from sepset.errors import DataError


def multiplicities(rule_of: Ints, num_rules: int) -> Floats:
    """How often each parameter stands in each distinct row.

    >>> multiplicities(np.array([[0, 1], [2, 2]]), 3).tolist()
    [[0.0, 0.0, 2.0], [1.0, 1.0, 0.0]]
    """
    table = np.zeros((len(rule_of), num_rules))
    np.add.at(table, (np.arange(len(rule_of))[:, None], rule_of), 1.0)
    return np.unique(table, axis=0)


def estimate(
    rule_of: Ints, counts: Floats, prior: object, unseen: Unseen, owner: object, name: Callable[[int], str]
) -> Floats:
    """The shared probabilities; groups of rows without any count follow `unseen`."""
    check_unseen(unseen)
    total = counts + pseudo_counts(prior, (1, len(counts)), owner)[0]
    silent = total[rule_of].sum(axis=1) == 0
    if silent.any() and unseen == "raise":
        raise DataError(unseen_message(owner, np.flatnonzero(silent), len(silent), name))
    table = multiplicities(rule_of, len(counts))
    # The uniform distribution meets every sum to one, so it starts the search and fills silent groups.
    result = np.full(len(counts), 1.0 / rule_of.shape[1])
    for rows, rules in _groups(table):
        if total[rules].sum() > 0:
            result[rules] = _solve(table[np.ix_(rows, rules)], total[rules], result[rules])
    return result


def _groups(table: Floats) -> list[tuple[Ints, Ints]]:
    """The connected groups of rows and of the parameters they share."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    num_groups, label = connected_components(csr_array(table.T @ table), directed=False)
    rules = [np.flatnonzero(label == group) for group in range(num_groups)]
    return [(np.flatnonzero(table[:, members].any(axis=1)), members) for members in rules]


def _solve(table: Floats, counts: Floats, start: Floats) -> Floats:
    if len(table) == 1:
        return np.asarray(counts / (table[0] * counts.sum()))
    from scipy.optimize import minimize

    seen = counts > 0
    scale = counts.sum()

    def loss(p: Floats) -> tuple[float, Floats]:
        slope = np.zeros(len(p))
        slope[seen] = -counts[seen] / p[seen] / scale
        return float(-(counts[seen] * np.log(p[seen])).sum() / scale), slope

    found = minimize(  # type: ignore[call-overload]  # the stubs know no linear constraint with a constant Jacobian
        loss,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(1e-9 if s else 0.0, 1.0) for s in seen],  # a parameter with counts is positive at the optimum
        constraints={"type": "eq", "fun": lambda p: table @ p - 1.0, "jac": lambda _: table},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return _feasible(table, np.clip(found.x, 0.0, 1.0))


def _feasible(table: Floats, p: Floats) -> Floats:
    """The nearest point that meets the sums to one, within the parameters that are not zero."""
    inside = p > 1e-12
    p = np.where(inside, p, 0.0)
    for _ in range(3):
        step, *_ = np.linalg.lstsq(table[:, inside], 1.0 - table @ p, rcond=None)
        p[inside] = np.clip(p[inside] + step, 0.0, 1.0)
    return p
