"""Decisions from posteriors: actions of smallest expected cost, with the option to decline."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Ints
from sepset.base.foreign import translated
from sepset.base.text import brief
from sepset.errors import ArgumentError

DECLINED = -1
"""The code of the action to decline: no decision is made for the row."""


@translated
def cost_threshold(false_positive: float, false_negative: float) -> float:
    r"""The probability above which acting on an event is cheaper than not: $c_{fp} / (c_{fp} + c_{fn})$.

    Args:
        false_positive: the cost of acting if the event does not occur.
        false_negative: the cost of not acting if it does.

    Reference: Koller & Friedman, box 17.A.
    Guarantee: exact.
    Tested by: models/decisions/test_costs.py::test_junk_is_discarded_only_when_nearly_sure

    >>> cost_threshold(99.0, 1.0)
    0.99
    """
    if not (false_positive >= 0 and false_negative >= 0 and false_positive + false_negative > 0):
        raise ArgumentError(
            f"Costs are non-negative and not both zero; found {false_positive!r} and {false_negative!r}."
        )
    return false_positive / (false_positive + false_negative)


@translated
def least_cost_action(
    probabilities: ArrayLike, costs: ArrayLike | None = None, *, decline: float | None = None
) -> Ints:
    r"""The action of smallest expected cost in every row, ties go to the first; -1 where declining is cheaper.

    $$a[m] = \arg\min_a \sum_y P(y \mid \mathbf x[m])\, c(y, a)$$

    Args:
        probabilities: the posterior of every row, one column per state.
        costs: the cost of action $a$ in state $y$, as `costs[y, a]`; by default zero for $a = y$ and one otherwise.
        decline: the cost of declining; by default no row is declined.

    Reference: Koller & Friedman, box 17.A; Chow (1970), On optimum recognition error and reject tradeoff.
    Guarantee: exact.
    Tested by: models/decisions/test_costs.py::test_the_threshold_is_the_decision_of_least_expected_cost

    >>> least_cost_action([[0.6, 0.4], [0.05, 0.95]], [[0.0, 9.0], [1.0, 0.0]]).tolist()
    [0, 1]
    >>> least_cost_action([[0.6, 0.4], [0.05, 0.95]], decline=0.1).tolist()
    [-1, 1]
    """
    p = np.atleast_2d(np.asarray(probabilities, np.float64))
    if p.ndim != 2 or not p.shape[1] or np.isnan(p).any():
        raise ArgumentError(f"probabilities= has a row of numbers for each decision; found {brief(probabilities)}.")
    table = 1.0 - np.eye(p.shape[1]) if costs is None else np.asarray(costs, np.float64)
    if table.ndim != 2 or table.shape[0] != p.shape[1]:
        raise ArgumentError(f"Costs have a row for each of {p.shape[1]} states; found shape {table.shape}.")
    expected = p @ table
    best = expected.argmin(axis=1)
    if decline is None:
        return np.asarray(best, np.int64)
    return np.asarray(np.where(decline < expected.min(axis=1), DECLINED, best), np.int64)
