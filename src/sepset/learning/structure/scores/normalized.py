r"""Normalized maximum likelihood: the best likelihood of the rows, over its sum for all rows there could be.

$$\mathcal C(n, K) = \sum_{n_1 + \dots + n_K = n} \frac{n!}{n_1! \cdots n_K!} \prod_k \left(\frac{n_k}{n}\right)^{n_k},
\qquad \mathcal C(n, K + 2) = \mathcal C(n, K + 1) + \frac nK \mathcal C(n, K)$$
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, xlogy

from sepset.base.arraytypes import Floats
from sepset.base.checks import number
from sepset.kernels.structure.familyscores import FACTORIZED
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.scores.likelihood import PenalizedLikelihood

EXACT_ROWS = 2_000
"""Rows up to which the sum over binary sequences is computed; beyond, its expansion is as exact as float64."""

EXACT_STATES = 20_000
"""States up to which the recurrence is used; beyond, the approximation of Szpankowski and Weinberger."""


def log_binary_regret(n: Floats) -> Floats:
    r"""The logarithm of $\mathcal C(n, 2)$.

    >>> np.exp(log_binary_regret(np.array([0.0, 1.0, 2.0]))).round(3).tolist()
    [1.0, 2.0, 2.5]
    """
    sizes = np.asarray(n, dtype=np.float64)
    root = np.sqrt(np.maximum(sizes, 1.0))
    series = root * np.sqrt(np.pi / 2) + 2 / 3 + np.sqrt(2 * np.pi) / 24 / root - 4 / 135 / root**2
    series += np.sqrt(2 * np.pi) / 576 / root**3 + 8 / 2835 / root**4
    found: Floats = np.log(series)
    small = sizes <= EXACT_ROWS
    found[small] = [_exact(round(size)) for size in sizes[small]]
    return found


@lru_cache(maxsize=EXACT_ROWS + 1)
def _exact(n: int) -> float:
    if n == 0:
        return 0.0
    h = np.arange(n + 1, dtype=np.float64)
    terms = gammaln(n + 1) - gammaln(h + 1) - gammaln(n - h + 1) + xlogy(h, h / n) + xlogy(n - h, (n - h) / n)
    return float(np.logaddexp.reduce(terms))


def log_regrets(n: Floats, states: int) -> Floats:
    r"""The logarithm of $\mathcal C(n, K)$ for each number of rows.

    >>> np.exp(log_regrets(np.array([2.0]), 3)).round(3).tolist()
    [4.5]
    """
    sizes = np.asarray(n, dtype=np.float64)
    if states == 1:
        return np.zeros(len(sizes))
    before, found = np.zeros(len(sizes)), log_binary_regret(sizes)
    with np.errstate(divide="ignore"):
        logs = np.log(sizes)
    for k in range(1, states - 1):
        before, found = found, np.logaddexp(found, logs - np.log(k) + before)
    return found


@lru_cache(maxsize=8)
def by_states(n: int) -> Floats:
    r"""The logarithm of $\mathcal C(n, K)$ for $K$ from 1 to `EXACT_STATES`."""
    return np.fromiter(_recurrence(n), np.float64, EXACT_STATES)


def _recurrence(n: int) -> Iterator[float]:
    before, found = 0.0, _binary(n)
    yield before
    for k in range(1, EXACT_STATES):
        yield found
        before, found = found, float(np.logaddexp(found, np.log(n / k) + before))


def _binary(n: int) -> float:
    return float(log_binary_regret(np.array([float(n)]))[0])


def log_regret_of_states(n: float, states: Floats) -> Floats:
    r"""The logarithm of $\mathcal C(n, K)$ for each number of states.

    >>> np.exp(log_regret_of_states(2.0, np.array([1.0, 2.0, 3.0]))).round(3).tolist()
    [1.0, 2.5, 4.5]
    """
    rows = round(n)
    if rows == 0:
        return np.zeros(len(states))
    ratio = states / rows
    root = 0.5 + 0.5 * np.sqrt(1 + 4 / ratio)
    far = rows * (np.log(ratio) + (ratio + 2) * np.log(root) - 1 / root) - 0.5 * np.log(root + 2 / ratio)
    near = states <= EXACT_STATES
    return np.where(near, by_states(rows)[np.where(near, states, 1).astype(np.int64) - 1], far)


@dataclass(frozen=True, slots=True)
class FNML(PenalizedLikelihood):
    r"""Factorized normalized maximum likelihood: $\ell - \sum_{\mathbf u} \log \mathcal C(M[\mathbf u], |X|)$.

    It has no parameter to choose, and is not equal on I-equivalent structures.

    Reference: Silander, Roos, Kontkanen & Myllymäki (2008); Kontkanen & Myllymäki (2007) for the recurrence.
    Guarantee: exact.
    Tested by: learning/structure/scores/test_normalized.py::test_regrets_by_enumeration

    >>> round(FNML().family(0, (), Columns.of({"a": [0, 1]})), 4)
    -2.3026
    """

    is_equivalent = False
    """Whether I-equivalent structures have equal scores: they have not."""

    kinds = frozenset({"discrete"})
    """Discrete columns."""

    kind = FACTORIZED
    """The likelihood less a regret in each context."""

    def per_parameter(self, total: float) -> float:
        """Zero: the regret takes the place of a penalty for each parameter."""
        return 0.0

    def regrets(self, r: int, columns: Columns) -> Floats:
        """The regret of each number of rows."""
        return _regret_table(round(columns.total), r)

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""
        counts = columns.counts(child, parents)
        n = counts.sum(1)
        return float(xlogy(counts, counts).sum() - xlogy(n, n).sum() - log_regrets(np.rint(n), counts.shape[1]).sum())


@lru_cache(maxsize=32)
def _regret_table(total: int, r: int) -> Floats:
    return log_regrets(np.arange(total + 1, dtype=np.float64), r)


@dataclass(frozen=True, slots=True)
class QNML(PenalizedLikelihood):
    r"""Quotient normalized maximum likelihood.

    $$\ell - \log \frac{\mathcal C(M, |X||\mathbf U|)}{\mathcal C(M, |\mathbf U|)}$$

    It has no parameter to choose, and is equal on I-equivalent structures.

    Reference: Silander, Leppä-aho, Jääsaari & Roos (2018); Szpankowski & Weinberger (2012) for many states.
    Guarantee: exact up to 20,000 joint states of a family; beyond, the asymptotic normalizer.
    Tested by: learning/structure/scores/test_normalized.py::test_quotients

    >>> round(QNML().family(0, (), Columns.of({"a": [0, 1]})), 4)
    -2.3026
    """

    kinds = frozenset({"discrete"})
    """Discrete columns."""

    def per_parameter(self, total: float) -> float:
        """Zero: the regret takes the place of a penalty for each parameter."""
        return 0.0

    def penalties(self, q: Floats, r: int, total: float) -> Floats:
        """The quotient of normalizers."""
        number("total", total, least=0)
        return log_regret_of_states(total, q * r) - log_regret_of_states(total, np.asarray(q, dtype=np.float64))

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""
        counts = columns.counts(child, parents)
        n, q = counts.sum(1), np.prod(columns.cards[list(parents)], dtype=np.float64)
        likelihood = xlogy(counts, counts).sum() - xlogy(n, n).sum()
        return float(likelihood - self.penalties(np.array([q]), counts.shape[1], columns.total)[0])
