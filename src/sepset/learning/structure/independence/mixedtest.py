r"""The test of independence for columns of states and of numbers: a likelihood ratio of conditional Gaussians.

The numbers $\mathbf c$ of a set $A$ of variables are Gaussian in each joint state $\mathbf d$ of its discrete ones:

$$\ell(A) = \sum_{\mathbf d} M[\mathbf d] \Bigl(\log \frac{M[\mathbf d]}{M}
   - \tfrac12 \log \det (2 \pi e\, \hat\Sigma_{\mathbf d})\Bigr), \qquad
\Lambda = 2\,\bigl(\ell(X Y Z) - \ell(X Z) - \ell(Y Z) + \ell(Z)\bigr) \approx \chi^2_\nu$$

with $\nu$ the same difference of the numbers of parameters. It is the G test if all are discrete, and
$-M \log(1 - \rho^2_{xy|Z})$ if all are numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.learning.structure.independence.boundtest import BoundTest, Group, Outcome

if TYPE_CHECKING:
    from sepset.learning.structure.columns import Columns


@dataclass(frozen=True)
class ConditionalGaussianTest:
    r"""The likelihood ratio test of conditional Gaussians, for mixed columns.

    Rows in joint states of the discrete variables with fewer rows than a Gaussian needs are left out, and said.
    Where $Z$ has numbers and $X$ or $Y$ is discrete the marginal of a conditional Gaussian is a mixture, which $\ell$
    takes as one Gaussian: the p-value is then approximate.

    Args:
        rows_per_number: the least number of rows in a joint state for each number and one more.

    Reference: Andrews, Ramsey & Cooper (2018); Lauritzen (1996), chapter 6.
    Guarantee: asymptotic p-value.
    Tested by: learning/structure/independence/test_mixedtest.py::test_special_cases

    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> rows = {"x": ["a"] * 5 + ["b"] * 5, "y": [0.0, 0.2, 0.1, 0.3, 0.2, 1.0, 1.2, 1.1, 0.9, 1.1]}
    >>> independence_test(rows, between=("x", "y"), test=ConditionalGaussianTest()).degrees_of_freedom
    2.0
    """

    rows_per_number: float = 2.0
    needs_rows: ClassVar[bool] = True

    def bind(self, columns: Columns) -> BoundTest:
        """The test on these columns."""
        return _Mixed(columns, self.rows_per_number)


class _Mixed(BoundTest):
    def __init__(self, columns: Columns, rows_per_number: float) -> None:
        self.columns, self.rows_per_number = columns, rows_per_number

    def outcome(self, xs: Group, ys: Group, given: Group) -> Outcome:
        from scipy.special import chdtrc

        everything = (*xs, *ys, *given)
        rows = self._usable(everything)
        total = float(self.columns.weights[rows].sum())
        groups = (everything, (*xs, *given), (*ys, *given), given)
        parts = [self._likelihood(group, rows, total) for group in groups]
        signs = (1.0, -1.0, -1.0, 1.0)
        statistic = max(2.0 * sum(s * part[0] for s, part in zip(signs, parts, strict=True)), 0.0)
        degrees = sum(s * part[1] for s, part in zip(signs, parts, strict=True))
        left = self.columns.total - total
        warnings = (f"{left:g} rows are in joint states with too few rows, and left out.",) if left > 0 else ()
        p_value = float(chdtrc(degrees, statistic)) if degrees > 0 else 1.0
        return Outcome(statistic, degrees, p_value, total, warnings)

    def _split(self, group: Group) -> tuple[Group, list[int]]:
        real = self.columns.is_real
        return tuple(c for c in group if not real[c]), [c for c in group if real[c]]

    def _usable(self, group: Group) -> Ints:
        """The rows in which all is observed, in joint states with enough of them."""
        states, numbers = self._split(group)
        ids = self.columns.contexts(states).ids
        seen = ids != np.iinfo(ids.dtype).max
        for column in numbers:
            seen &= np.isfinite(self.columns.values[column])
        rows = np.flatnonzero(seen)
        if not numbers:
            return rows
        counts = np.bincount(ids[rows], self.columns.weights[rows])
        return rows[counts[ids[rows]] >= self.rows_per_number * (len(numbers) + 1)]

    def _likelihood(self, group: Group, rows: Ints, total: float) -> tuple[float, float]:
        """The maximal log-likelihood of a set of variables, and its number of parameters."""
        states, numbers = self._split(group)
        places = np.unique(self.columns.contexts(states).ids[rows], return_inverse=True)[1]
        weights = self.columns.weights[rows].astype(np.float64)
        counts = np.bincount(places, weights)
        found = float((counts * np.log(counts / total)).sum())
        values = self.columns.values[numbers][:, rows] if numbers else np.zeros((0, len(rows)))
        for place, count in enumerate(counts.tolist()):
            mine = places == place
            found -= 0.5 * count * _log_volume(values[:, mine], weights[mine])
        size = len(numbers)
        return found, len(counts) * (1 + size + size * (size + 1) / 2) - 1


def _log_volume(values: Floats, weights: Floats) -> float:
    r"""$\log\det(2 \pi e\, \hat\Sigma)$ of some numbers; no numbers have zero."""
    if not len(values):
        return 0.0
    share = weights / weights.sum()
    centered = values - (values @ share)[:, None]
    return float(np.linalg.slogdet(2.0 * math.pi * math.e * (centered * share) @ centered.T)[1])
