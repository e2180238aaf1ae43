r"""The likelihood of a structure at its best parameters, less a penalty for their number.

Discrete columns have tables; real ones a linear regression on their real parents in each joint state of the discrete
ones. A discrete column with a real parent has the score minus infinity: no conditional Gaussian has such a family. So
has a real one with a context of fewer rows than parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import number
from sepset.kernels.structure.familyscores import LIKELIHOOD
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.regressions import added_residuals, fitted

EVERY_KIND = frozenset({"discrete", "real"})


class PenalizedLikelihood:
    r"""The base of scores $\ell(\hat\theta : \mathcal D) - c \cdot \text{Dim}[\mathcal G]$."""

    __slots__ = ()

    is_equivalent = True
    """Whether I-equivalent structures have equal scores."""

    kinds = EVERY_KIND
    """Discrete and real columns."""

    kind = LIKELIHOOD
    """The sum of `n log n`."""

    def per_parameter(self, total: float) -> float:
        """The penalty of one free parameter with rows of this weight."""
        raise NotImplementedError

    def cell_numbers(self, q: Floats, r: int) -> Floats:
        """None are needed."""
        return np.zeros(len(q))

    def regrets(self, r: int, columns: Columns) -> Floats:
        """None are needed."""
        return np.zeros(0)

    def penalties(self, q: Floats, r: int, total: float) -> Floats:
        """The penalty of families with `q` contexts and `r` states."""
        number("total", total, least=0)
        return np.asarray(self.per_parameter(total) * (r - 1) * q)

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""
        if columns.is_real[child]:
            fit = fitted(child, parents, columns)
            return fit.log_likelihood / fit.share - self.per_parameter(columns.total) * fit.num_parameters
        if columns.is_real[list(parents)].any():
            return -math.inf
        counts = columns.counts(child, parents)
        q = math.prod(int(columns.cards[p]) for p in parents)
        free = (counts.shape[1] - 1) * q
        return float(_xlogx(counts).sum() - _xlogx(counts.sum(1)).sum() - self.per_parameter(columns.total) * free)

    def additions(self, child: int, parents: tuple[int, ...], candidates: Ints, columns: Columns) -> Floats:
        """The score of a family with each candidate added; of real columns all at once."""
        if not (columns.is_real.all() and columns.is_complete):
            sets = (tuple(sorted((*parents, x))) for x in candidates.tolist())
            return np.array([self.family(child, given, columns) for given in sets], dtype=np.float64)
        size, total = len(parents) + 3, columns.total
        if columns.num_rows < size:
            return np.full(len(candidates), -np.inf)
        scatter = columns.moments().scatter
        residuals = added_residuals(child, parents, candidates, scatter)
        found = -0.5 * total * (np.log(2 * np.pi * residuals / total) + 1) - self.per_parameter(total) * size
        for i in np.flatnonzero(np.isnan(residuals)).tolist():
            found[i] = self.family(child, tuple(sorted((*parents, int(candidates[i])))), columns)
        return np.asarray(found)


@dataclass(frozen=True, slots=True)
class LogLikelihood(PenalizedLikelihood):
    r"""The likelihood score $\sum_i \sum_{\mathbf u, x} M[x, \mathbf u] \log \frac{M[x, \mathbf u]}{M[\mathbf u]}$.

    More parents never lower it, so it is of use only under hard limits.

    Reference: Koller & Friedman, section 18.3.1.
    Guarantee: exact; equal on I-equivalent structures.
    Tested by: learning/structure/scores/test_likelihood.py::test_worked_numbers

    >>> round(LogLikelihood().family(0, (), Columns.of({"a": [0, 0, 1, 1]})), 4)
    -2.7726
    """

    def per_parameter(self, total: float) -> float:
        """Zero."""
        return 0.0


@dataclass(frozen=True, slots=True)
class BIC(PenalizedLikelihood):
    r"""The Bayesian information criterion $\ell(\hat\theta : \mathcal D) - \frac{\log M}{2} \text{Dim}[\mathcal G]$.

    Minus the description length, in nats. $M$ is the total weight of the rows.

    Args:
        penalty: multiplies the penalty; one by default.

    Reference: Koller & Friedman, section 18.3.5; Schwarz (1978).
    Guarantee: exact; equal on I-equivalent structures; consistent.
    Tested by: learning/structure/scores/test_likelihood.py::test_worked_numbers

    >>> round(BIC().family(0, (), Columns.of({"a": [0, 0, 1, 1]})), 4)
    -3.4657
    """

    penalty: float = 1.0

    def __post_init__(self) -> None:
        number("BIC(penalty=)", self.penalty, least=0)

    def per_parameter(self, total: float) -> float:
        """Half the logarithm of the weight of the rows."""
        return self.penalty * 0.5 * math.log(number("total", total, above=0))


@dataclass(frozen=True, slots=True)
class AIC(PenalizedLikelihood):
    r"""Akaike's information criterion $\ell(\hat\theta : \mathcal D) - \text{Dim}[\mathcal G]$; not consistent.

    Reference: Koller & Friedman, section 18.8; Akaike (1974).
    Guarantee: exact; equal on I-equivalent structures.
    Tested by: learning/structure/scores/test_likelihood.py::test_worked_numbers

    >>> round(AIC().family(0, (), Columns.of({"a": [0, 0, 1, 1]})), 4)
    -3.7726
    """

    def per_parameter(self, total: float) -> float:
        """One."""
        return 1.0


def _xlogx(counts: Floats) -> Floats:
    return np.asarray(counts * np.log(np.where(counts > 0, counts, 1.0)))
