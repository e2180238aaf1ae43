r"""Scores related to the evidence under Dirichlet priors: sparse contexts, and rows left out one at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln

from sepset.base.arraytypes import Floats
from sepset.base.checks import check_positive
from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.kernels.structure.familyscores import LEAVE_ONE_OUT, SPARSE_EVIDENCE
from sepset.learning.structure.columns import Columns


class _CountSum:
    """The parts that sums over tables of counts share."""

    __slots__ = ()

    kinds = frozenset({"discrete"})
    """Discrete columns."""

    def regrets(self, r: int, columns: Columns) -> Floats:
        """None are needed."""
        return np.zeros(0)

    def penalties(self, q: Floats, r: int, total: float) -> Floats:
        """Zeros."""
        return np.zeros(len(q))


@dataclass(frozen=True, slots=True)
class BDs(_CountSum):
    r"""The evidence under a sparse prior: the sample size is spread over the contexts that have rows.

    $$\alpha_{x \mid \mathbf u} = \frac{\alpha}{|X| \, \tilde q}, \qquad \tilde q = |\{\mathbf u : M[\mathbf u] > 0\}|$$

    Args:
        sample_size: $\alpha$.

    Reference: Scutari (2016).
    Guarantee: exact; not equal on I-equivalent structures.
    Tested by: learning/structure/scores/test_evidence.py::test_sparse_contexts

    >>> round(BDs(1.0).family(0, (), Columns.of({"a": [0, 1]})), 4)
    -2.0794
    """

    sample_size: float

    def __post_init__(self) -> None:
        check_positive("BDs", sample_size=self.sample_size)

    is_equivalent = False
    """Whether I-equivalent structures have equal scores: they have not."""

    kind = SPARSE_EVIDENCE
    """The evidence with contexts counted by the sum itself."""

    def cell_numbers(self, q: Floats, r: int) -> Floats:
        """The sample size."""
        return np.full(len(q), self.sample_size)

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""
        counts = columns.counts(child, parents)
        counts = counts[counts.sum(1) > 0]
        a = self.sample_size / max(counts.size, 1)
        contexts = gammaln(a * counts.shape[1] + counts.sum(1)) - gammaln(a * counts.shape[1])
        return float((gammaln(a + counts) - gammaln(a)).sum() - contexts.sum())


@dataclass(frozen=True, slots=True)
class LeaveOneOut(_CountSum):
    r"""The log-probability of each row given all others: $\prod_m P(\xi[m] \mid \mathcal G, \mathcal D_{-m})$.

    $$\sum_{x, \mathbf u} M[x, \mathbf u]
    \log\frac{M[x, \mathbf u] - 1 + \alpha_{x \mid \mathbf u}}{M[\mathbf u] - 1 + \alpha_{\mathbf u}}$$

    Args:
        prior: `BDeu` or `K2`.

    Reference: Koller & Friedman, exercise 18.12.
    Guarantee: exact; equal on I-equivalent structures with `BDeu`.
    Tested by: learning/structure/scores/test_evidence.py::test_leaving_out_each_row

    >>> rows = {"toss": ["h", "t", "t", "h", "h"]}
    >>> round(math.exp(LeaveOneOut(K2()).family(0, (), Columns.of(rows))), 7)
    0.0138889
    """

    prior: BDeu | K2 = field(default_factory=lambda: BDeu(1.0))

    @property
    def is_equivalent(self) -> bool:
        """Whether I-equivalent structures have equal scores."""
        return self.prior.is_equivalent

    kind = LEAVE_ONE_OUT
    """The sum over rows left out."""

    def cell_numbers(self, q: Floats, r: int) -> Floats:
        """The pseudo-count of each cell."""
        return self.prior.pseudo_count(q, r)

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""
        counts = columns.counts(child, parents)
        r, q = counts.shape[1], np.prod(columns.cards[list(parents)], dtype=np.float64)
        a = float(self.prior.pseudo_count(np.atleast_1d(q), r)[0])
        cells = counts > 0
        top, below = counts - 1 + a, counts.sum(1, keepdims=True) - 1 + r * a
        if (top[cells] <= 0).any():
            return -math.inf
        return float((counts[cells] * np.log((top / below)[cells])).sum())
