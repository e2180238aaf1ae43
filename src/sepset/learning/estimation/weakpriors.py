"""Weak priors of regressions, estimated from the columns, for use where no prior is known."""

from __future__ import annotations

import numpy as np

from sepset.cpds.priors.regression import NormalGamma
from sepset.data.columns import check_range
from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.variables.variable import Discrete

PSEUDO_ROWS = 1.0
"""The number of rows that the prior of a variance is worth; their variance is that of the column."""

WEAK = 1e-3
"""The number of rows that the prior of a mean is worth."""

SMALLEST = 1e-9
"""The variance of a constant column relative to its square; and that of a column of zeros."""

ROUNDING = 1e-15
"""The standard deviation of a constant column relative to its mean that rounding alone may leave."""


def weak_line_priors(rows: Dataset) -> dict[str, NormalGamma]:
    r"""For every real column, about a row with its mean and variance: enough to keep variances above zero.

    $$\mu \mid \tau \sim N(\bar x,\, 1 / (w \tau)), \qquad
    \tau \sim \text{Gamma}\bigl(1 + \tfrac{m}{2},\, \tfrac{m}{2} s^2\bigr)$$

    with $m$ rows' worth of the column's variance $s^2$, and far less of its mean. Missing cells do not count.

    Args:
        rows: the data; discrete columns are left out.

    >>> weak_line_priors(Dataset({"x": [1.0, 3.5], "k": ["a", "b"]}))
    {'x': NormalGamma(mean=2.25, strength=0.001, shape=1.5, rate=0.78125)}
    """
    found: dict[str, NormalGamma] = {}
    for variable in rows.variables:
        if isinstance(variable, Discrete):
            continue
        column = rows.values(variable)
        weights = np.where(np.isnan(column), 0.0, 1.0 if rows.weights is None else rows.weights)
        if not weights.any():
            raise DataError(f"Column {variable.name!r} has no value that counts, and so no scale.")
        values = np.where(weights > 0, column, 0.0)
        check_range([values], [variable.name], "A prior needs finite numbers")
        mean = float(weights @ values / weights.sum())
        spread = float(weights @ (values - mean) ** 2 / weights.sum())
        if spread <= (ROUNDING * mean) ** 2:
            spread = SMALLEST * (mean**2 or 1.0)
        rate = 0.5 * PSEUDO_ROWS * spread
        found[variable.name] = NormalGamma(mean, WEAK, shape=1.0 + 0.5 * PSEUDO_ROWS, rate=rate)
    return found
