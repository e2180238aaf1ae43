r"""Tests of whether cells are missing completely at random.

Under MCAR every missingness pattern sees the same distribution. For real columns, with or without discrete ones next to
them, the statistic compares the means, those of discrete columns being the frequencies of their states,

$$d^2 = \sum_p n_p\, (\bar{\mathbf y}_p - \hat\mu_p)^\top \hat\Sigma_p^{-1} (\bar{\mathbf y}_p - \hat\mu_p),$$

and for discrete columns the whole tables,

$$G^2 = 2 \sum_p \sum_{\mathbf y} n_p(\mathbf y) \log \frac{n_p(\mathbf y)}{n_p\, \hat\pi_p(\mathbf y)},$$

with $\hat\mu, \hat\Sigma$ or $\hat\pi$ the maximum likelihood estimates from all rows.

Reference: Little (1988), A test of missing completely at random; Fuchs (1982) for contingency tables.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.data.dataset import Dataset
from sepset.data.missingness import members, missing_patterns
from sepset.data.sources import as_dataset
from sepset.errors import DataError, TooLarge
from sepset.factors.algebra import AnyVariable
from sepset.learning.missing.gaussian import incomplete_gaussian, pattern_moments, solve
from sepset.variables.variable import Discrete, VariableLike

LARGEST = 1 << 22
"""The most joint states of discrete columns."""

STEPS = 20_000
"""The most iterations of EM over tables."""

TOLERANCE = 1e-12
"""The largest change of a probability at which EM over tables stops."""


@dataclass(frozen=True, slots=True)
class MCARTestResult:
    """How far the missingness patterns differ, and how often chance alone would make them differ so much.

    Attributes:
        statistic: Little's $d^2$, or the likelihood ratio $G^2$.
        degrees_of_freedom: of the chi-square distribution it follows under MCAR, when rows are many.
        p_value: the probability of a statistic at least as large under MCAR.
        num_patterns: the patterns compared; rows that observe nothing have none.
        converged: whether the estimates that the patterns are compared with settled.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    num_patterns: int
    converged: bool = True

    def __repr__(self) -> str:
        return (
            f"MCARTestResult(statistic {self.statistic:.5g}, {self.degrees_of_freedom} degrees of freedom, "
            f"p = {self.p_value:.3g}, {self.num_patterns} patterns{'' if self.converged else ', not converged'})"
        )


def mcar_test(data: object, variables: Iterable[VariableLike] | None = None) -> MCARTestResult:
    """The test of the hypothesis that cells are missing completely at random.

    A small p-value speaks against MCAR; a large one does not prove it, and nothing in the data can tell cells missing
    at random from cells missing not at random. The chi-square distribution is the limit for many rows a pattern (and,
    for discrete columns, a cell).

    Args:
        data: a dataset, or any frame; row weights count as copies.
        variables: the columns to test; all by default. Discrete columns by themselves are compared as whole tables;
            next to real ones each state but one counts as a column of zeros and ones, of which means are compared.

    Cost: EM over patterns. For discrete columns alone the table of all their joint states.
    Reference: Little (1988); Fuchs (1982).
    Guarantee: asymptotic p-value.
    Tested by: learning/missing/test_mcartest.py::test_the_published_figure

    >>> rows = {"x": ["a"] * 40 + ["b"] * 40, "y": ["u", "v"] * 20 + ["u", None] * 20}
    >>> mcar_test(rows)
    MCARTestResult(statistic 34.522, 1 degrees of freedom, p = 4.21e-09, 2 patterns)
    """
    rows = as_dataset(data, variables)
    if rows.num_rows and rows.weights is not None and not rows.weights.any():
        raise DataError("All rows have weight zero, so that nothing can be tested.")
    empty = [name for name, count in rows.num_missing.items() if count == rows.num_rows]
    if empty:
        raise DataError(f"Column {empty[0]!r} has no observed cell, so that nothing can be tested. Leave it out.")
    discrete = [v for v in rows.variables if isinstance(v, Discrete)]
    if discrete and len(discrete) == len(rows.variables):
        return _likelihood_ratio(rows, discrete)
    return _little(rows)


def _tested(statistic: float, freedom: int, num_patterns: int, converged: bool) -> MCARTestResult:
    from scipy.special import chdtrc

    p_value = float(chdtrc(freedom, max(statistic, 0.0))) if freedom > 0 else 1.0
    return MCARTestResult(max(statistic, 0.0), freedom, p_value, num_patterns, converged)


def _little(rows: Dataset) -> MCARTestResult:
    columns = [column for v in rows.variables for column in _numbers(rows, v)]
    values = np.stack(columns, axis=1) if columns else np.zeros((0, 0))
    parts = pattern_moments(values, rows.weights)
    fitted = incomplete_gaussian(parts, values.shape[1])
    statistic = 0.0
    for part in parts:
        apart = part.mean - fitted.mean[part.observed]
        inner = fitted.covariance[np.ix_(part.observed, part.observed)]
        statistic += part.total * float(apart @ solve(inner, apart))
    freedom = sum(len(part.observed) for part in parts) - values.shape[1]
    return _tested(statistic, freedom, len(parts), fitted.converged)


def _numbers(rows: Dataset, variable: AnyVariable) -> list[Floats]:
    """A real column as it is; a discrete one as a column of zeros and ones for each state but one that occurs."""
    if isinstance(variable, Discrete):
        codes = rows.codes(variable)
        occur = np.unique(codes[codes >= 0])[1:]
        return [np.where(codes < 0, np.nan, codes == code) for code in occur]
    column = rows.values(variable)
    if np.nanmin(column) == np.nanmax(column):
        raise DataError(f"Column {variable.name!r} is constant, so that its patterns cannot differ. Leave it out.")
    return [column]


class _Pattern(NamedTuple):
    """The counts of one pattern over the columns it observes; hidden axes have length one."""

    hidden: tuple[int, ...]
    counts: Floats


def _likelihood_ratio(rows: Dataset, columns: Sequence[Discrete]) -> MCARTestResult:
    shape = tuple(v.num_states for v in columns)
    if math.prod(shape) > LARGEST:
        raise TooLarge(
            f"The columns have {float(math.prod(shape)):.3g} joint states; the limit is {LARGEST:.3g}. "
            "Test fewer at a time by variables=."
        )
    parts = _counted(rows, columns)
    joint, converged = _joint(parts, shape)
    statistic = 0.0
    for part in parts:
        expected = part.counts.sum() * joint.sum(axis=part.hidden, keepdims=True)
        seen = part.counts > 0
        statistic += 2.0 * float((part.counts[seen] * np.log(part.counts[seen] / expected[seen])).sum())
    free = sum(part.counts.size - 1 for part in parts)
    return _tested(statistic, free - _dimension(parts, shape), len(parts), converged)


def _counted(rows: Dataset, columns: Sequence[Discrete]) -> list[_Pattern]:
    patterns = missing_patterns(rows)
    share = np.ones(rows.num_rows) if rows.weights is None else rows.weights
    found = []
    for observed, same in zip(patterns.observed, members(patterns.which, len(patterns)), strict=True):
        if not observed.any() or share[same].sum() == 0:
            continue
        shape = tuple(v.num_states if seen else 1 for v, seen in zip(columns, observed, strict=True))
        place = np.zeros(len(same), np.int64)
        for variable, seen in zip(columns, observed, strict=True):
            if seen:
                place = place * variable.num_states + rows.codes(variable)[same]
        counts = np.bincount(place, share[same], math.prod(shape)).astype(np.float64).reshape(shape)
        found.append(_Pattern(tuple(int(axis) for axis in np.flatnonzero(~observed)), counts))
    return found


def _joint(parts: Sequence[_Pattern], shape: tuple[int, ...]) -> tuple[Floats, bool]:
    """The maximum likelihood distribution of all columns, by EM from the uniform one, and whether it settled."""
    total = sum(float(part.counts.sum()) for part in parts)
    joint = np.full(shape, 1.0 / math.prod(shape))
    for _ in range(STEPS):
        new = np.zeros(shape)
        for part in parts:
            seen = joint.sum(axis=part.hidden, keepdims=True)
            new += joint * np.divide(part.counts, seen, out=np.zeros_like(seen), where=seen > 0)
        new /= total
        change = float(np.abs(new - joint).max())
        joint = new
        if change <= TOLERANCE:
            return joint, True
    return joint, False


def _dimension(parts: Sequence[_Pattern], shape: tuple[int, ...]) -> int:
    r"""The number of parameters of the joint that the patterns' tables determine.

    Tables split into interactions: those over a set $S$ of columns have $\prod_{i \in S} (k_i - 1)$ dimensions, and are
    determined where some pattern observes all of $S$.
    """
    everyone = range(len(shape))
    known: set[tuple[int, ...]] = set()
    for part in parts:
        seen = [axis for axis in everyone if axis not in part.hidden]
        known.update(itertools.chain.from_iterable(itertools.combinations(seen, n + 1) for n in range(len(seen))))
    return sum(math.prod(shape[axis] - 1 for axis in subset) for subset in known)
