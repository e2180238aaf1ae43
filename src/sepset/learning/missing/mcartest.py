r"""Tests of whether cells are missing completely at random.

Under MCAR every missingness pattern sees the same distribution. For real columns, with or without discrete ones next to
them, the statistic compares the means, those of discrete columns being the frequencies of their states,

$$d^2 = \sum_p n_p\, (\bar{\mathbf y}_p - \hat\mu_p)^\top \hat\Sigma_p^{-1} (\bar{\mathbf y}_p - \hat\mu_p),$$

with $\hat\mu, \hat\Sigma$ the maximum likelihood estimates from all rows. Tables of discrete columns have more cells,
and their rows more patterns, than any data fill. There each column $j$ that misses cells is compared with the states of
each other column $k$, among the rows that observe it, by Pearson's statistic of that small table:

$$X^2 = \sum_{j} \sum_{k \ne j} X^2_{jk}, \qquad \frac{X^2}{c} \approx \chi^2_\nu, \qquad
c = \frac{\operatorname{tr} \Sigma^2}{\operatorname{tr} \Sigma}, \quad \nu = \frac{\operatorname{tr} \Sigma}{c},$$

with $\Sigma$ the covariance of all scores where what is missing is independent of the states: sums of dependent
statistics have the mean and the variance of this scaled chi-square. States that would be expected less than twice on
one side of a comparison are pooled.

Reference: Little (1988), A test of missing completely at random; Box (1954) and Satterthwaite (1946) for the scale;
Cochran (1954) for the pooling.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats, Ints
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.text import readable
from sepset.data.dataset import Dataset
from sepset.data.missingness import patterns_of
from sepset.data.sources import as_dataset
from sepset.errors import DataError, TooLarge
from sepset.factors.algebra import AnyVariable
from sepset.inference.result import Guarantee, Status
from sepset.learning.assessment import Assessment
from sepset.learning.missing.gaussian import incomplete_gaussian, pattern_moments, solve
from sepset.variables.variable import Discrete, State, VariableLike

MOST_BYTES, MOST_PRODUCTS = 4.0 * 2**30, 1e13
"""The memory and the multiplications, about half an hour of them, that comparisons of discrete columns may take."""

MOST_COLUMNS = 4096
"""The most columns of the test over real ones: each step of EM is cubic in their number."""

EXPECTED = 2.0
"""The least number of rows that a state is expected in, on each side of a comparison."""

FEWEST = 10.0
"""The least number of missing, and of observed, cells of a column whose missing cells are compared."""


@dataclass(frozen=True, repr=False)
class MCARTestResult(Assessment):
    """How far the missingness patterns differ, and how often chance alone would make them differ so much.

    Attributes:
        statistic: Little's $d^2$, or the scaled sum $X^2 / c$ of the comparisons of discrete columns.
        degrees_of_freedom: of the chi-square distribution it follows under MCAR, when rows are many; fewer than the
            number of comparisons where these depend on each other.
        p_value: the probability of a statistic at least as large under MCAR.
        num_patterns: the patterns compared; rows that observe nothing have none.
        status: whether the estimates that the patterns are compared with converged.
        guarantees: EXACT for the statistic, where they did; the p-value is asymptotic, an ESTIMATE.
    """

    statistic: float
    degrees_of_freedom: float
    _: KW_ONLY
    p_value: float
    num_patterns: int

    def __repr__(self) -> str:
        degrees = "degree" if self.degrees_of_freedom == 1 else "degrees"
        return (
            f"MCARTestResult(statistic {self.statistic:.5g}, {self.degrees_of_freedom:.4g} {degrees} of freedom, "
            f"p = {self.p_value:.3g}, {self.num_patterns} patterns{'' if self._is_settled else ', not converged'})"
        )

    @property
    def _is_settled(self) -> bool:
        return self.status is not Status.STEP_LIMIT

    def _shown(self) -> Shown:
        rows = [
            ("statistic", f"{self.statistic:.5g}"),
            ("degrees of freedom", f"{self.degrees_of_freedom:.4g}"),
            ("p-value", f"{self.p_value:.3g}"),
            ("patterns", str(self.num_patterns)),
        ]
        return Shown((), rows, "Are cells missing completely at random?", "" if self._is_settled else "not converged")


@translated
def mcar_test(data: object, variables: Iterable[VariableLike] | None = None) -> MCARTestResult:
    """The test of the hypothesis that cells are missing completely at random.

    A small p-value speaks against MCAR; a large one does not prove it, and nothing in the data can tell cells missing
    at random from cells missing not at random. The chi-square distribution is the limit for many rows in each pattern,
    or, for discrete columns, on each side of a comparison.

    Args:
        data: a dataset, or any frame; row weights count as copies.
        variables: the columns to test; all by default. The states of discrete columns by themselves are compared
            column by column; next to real ones each state but one counts as a column of zeros and ones, of which means
            are compared.

    Cost: EM over patterns. For discrete columns alone one pass over the rows for each pair of columns.
    Reference: Little (1988); Box (1954).
    Guarantee: asymptotic p-value.
    Tested by: learning/missing/test_mcartest.py::test_the_published_figure

    >>> rows = {"x": ["a"] * 40 + ["b"] * 40, "y": ["u", "v"] * 20 + ["u", None] * 20}
    >>> mcar_test(rows)
    MCARTestResult(statistic 26.667, 1 degree of freedom, p = 2.42e-07, 2 patterns)
    """
    rows = as_dataset(data, variables)
    if rows.num_rows and rows.weights is not None and not rows.weights.any():
        raise DataError("All rows have weight zero, so that nothing can be tested.")
    empty = [name for name, count in rows.num_missing.items() if count == rows.num_rows]
    if empty:
        raise DataError(f"Column {empty[0]!r} has no observed cell, so that nothing can be tested. Leave it out.")
    discrete = [v for v in rows.variables if isinstance(v, Discrete)]
    if discrete and len(discrete) == len(rows.variables):
        return _by_pairs(rows, discrete)
    return _little(rows)


def _tested(statistic: float, freedom: float, num_patterns: int, status: Status) -> MCARTestResult:
    from scipy.special import chdtrc

    p_value = float(chdtrc(freedom, max(statistic, 0.0))) if freedom > 0 else 1.0
    sure = Guarantee.HEURISTIC if status is Status.STEP_LIMIT else Guarantee.EXACT
    guarantees = {"statistic": sure, "p_value": Guarantee.ESTIMATE}
    return MCARTestResult(
        max(statistic, 0.0), freedom, p_value=p_value, num_patterns=num_patterns, status=status, guarantees=guarantees
    )


def _little(rows: Dataset) -> MCARTestResult:
    if not rows.num_rows or not len(rows.variables):
        raise DataError("The test compares the rows of patterns; there are none.")
    each = (column for v in rows.variables for column in _numbers(rows, v))
    columns = list(itertools.islice(each, MOST_COLUMNS + 1))
    if len(columns) > MOST_COLUMNS:
        raise TooLarge(
            "The test fits the covariances of all numbers, and of all states but one of each discrete variable, by EM; "
            f"there are more than {MOST_COLUMNS:,}. Test some of the variables: data.select([...])."
        )
    values = np.stack([_near_zero(column) for column in columns], axis=1) if columns else np.zeros((0, 0))
    parts = pattern_moments(values, rows.weights)
    fitted = incomplete_gaussian(parts, values.shape[1])
    statistic = 0.0
    for part in parts:
        apart = part.mean - fitted.mean[part.observed]
        inner = fitted.covariance[np.ix_(part.observed, part.observed)]
        statistic += part.total * float(apart @ solve(inner, apart))
    freedom = sum(len(part.observed) for part in parts) - values.shape[1]
    return _tested(statistic, freedom, len(parts), Status.CONVERGED if fitted.converged else Status.STEP_LIMIT)


def _near_zero(column: Floats) -> Floats:
    """The column about its mean in units of its range: the statistic is the same, and keeps its digits."""
    apart = column - np.nanmean(column)
    return np.asarray(apart / np.nanmax(np.abs(apart)))


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


class _Column(NamedTuple):
    """A discrete column as numbers: which rows observe it, its whitened indicators there, and their number.

    Attributes:
        seen: which rows observe it.
        white: uncorrelated columns of mean zero and variance one, a row for every row; zero where it is missing.
        size: the number of those columns.
    """

    seen: Bools
    white: Floats
    size: int


def _by_pairs(rows: Dataset, columns: Sequence[Discrete]) -> MCARTestResult:
    """The sum of Pearson's statistics over all pairs of a column that misses cells and another column's states."""
    share = np.ones(rows.num_rows) if rows.weights is None else rows.weights
    hidden = np.stack([rows.is_missing(v) for v in columns], axis=1)
    counted = hidden[:, _often(hidden, share)].astype(np.float64)
    _check_pairs(len(columns), *counted.shape)
    known = [_whitened(v, rows.codes(v), share, counted) for v in columns]
    apart = [_centered(counted, one.seen, share) for one in known]
    statistic, freedom = 0.0, 0.0
    for one, gap in zip(known, apart, strict=True):
        usable = _spread(gap, share) > 0
        scaled = gap[:, usable] / np.sqrt(_spread(gap[:, usable], share))
        statistic += float((((scaled * share[:, None]).T @ one.white) ** 2).sum())
        freedom += float(usable.sum() * one.size)
    square = _trace_of_square(known, apart, share) if freedom else 0.0
    ratio = square / freedom if freedom else 1.0
    used = hidden[(share > 0) & ~hidden.all(axis=1)]
    num_patterns = len(patterns_of(used)[0])
    return _tested(statistic / ratio, freedom / ratio, num_patterns, Status.COMPLETED)


def _check_pairs(num_columns: int, num_rows: int, num_hidden: int) -> None:
    """Raise where comparing all pairs takes too much memory or too long."""
    size, work = 8.0 * num_columns * num_rows * num_hidden, 0.5 * num_rows * (num_columns * num_hidden) ** 2.0
    if size > MOST_BYTES or work > MOST_PRODUCTS:
        raise TooLarge(
            f"The test compares {num_columns:,} columns with {num_hidden:,} that miss cells, and all of those "
            f"comparisons with each other: {readable(size)} and {work:.2g} products; the most is "
            f"{readable(MOST_BYTES)} and {MOST_PRODUCTS:.0e}. Test some of the variables: data.select([...])."
        )


def _often(hidden: Bools, share: Floats) -> Ints:
    """The columns with enough cells missing, and enough observed, to compare."""
    absent = share @ hidden
    return np.flatnonzero((absent >= FEWEST) & (share.sum() - absent >= FEWEST))


def _whitened(variable: Discrete, codes: AnyInts, share: Floats, hidden: Floats) -> _Column:
    """A column's states as uncorrelated numbers, rare ones pooled."""
    seen = codes >= 0
    counts = np.bincount(codes[seen], share[seen], variable.num_states).astype(np.float64)
    groups = pooled_states(variable.states, counts, _least_share(hidden[seen], share[seen]))
    indicators = np.zeros((len(codes), len(groups) - 1))
    for place, group in enumerate(groups[1:]):
        indicators[:, place] = np.isin(codes, group)
    total = share[seen].sum()
    centered = np.where(seen[:, None], indicators - share[seen] @ indicators[seen] / total, 0.0)
    root = np.linalg.cholesky((centered * share[:, None]).T @ centered / total)
    return _Column(seen, np.linalg.solve(root, centered.T).T, indicators.shape[1])


def _least_share(hidden: Floats, share: Floats) -> float:
    """The share of rows that a state needs to be expected often enough on both sides of every comparison."""
    absent, total = share @ hidden, share.sum()
    sides = np.minimum(absent, total - absent)
    sides = sides[sides >= FEWEST]
    return EXPECTED / float(sides.min()) if sides.size else 0.0


def pooled_states(states: Sequence[State], counts: Floats, least: float) -> list[Ints]:
    """The codes of the states that occur, in groups that each have at least a share of the rows, the largest first.

    >>> [group.tolist() for group in pooled_states("abcde", np.array([50.0, 0.0, 2.0, 45.0, 3.0]), 0.05)]
    [[0], [3], [2, 4]]
    """
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (counts[code], str(states[code])))
    groups: list[list[int]] = []
    for code in order:
        if groups and counts[groups[-1]].sum() < least * counts.sum():
            groups[-1].append(code)
        else:
            groups.append([code])
    return [np.array(sorted(group)) for group in sorted(groups, key=lambda group: -float(counts[group].sum()))]


def _centered(hidden: Floats, seen: Bools, share: Floats) -> Floats:
    """Which cells are missing, less their mean over the rows that observe a column; zero in other rows."""
    total = share[seen].sum()
    return np.where(seen[:, None], hidden - share[seen] @ hidden[seen] / total, 0.0)


def _spread(gap: Floats, share: Floats) -> Floats:
    """The total squares, zero where only rounding is left of them."""
    squares = share @ gap**2
    return np.where(squares > 1e-12 * share.sum(), squares, 0.0)


def _trace_of_square(known: Sequence[_Column], apart: Sequence[Floats], share: Floats) -> float:
    r"""$\operatorname{tr}(\Sigma^2)$ of the whitened scores of all pairs, given which cells are missing.

    Scores are sums $\sum_m (r_{mj} - \bar r_j)\, z_{mk}$ over the rows that observe column $k$. If columns are
    independent of what is missing, two of them have the covariance $\sum_m (r_{mj} - \bar r_j)(r_{mj'} - \bar r_{j'})\,
    \operatorname{cov}(z_k, z_{k'})$ over the rows that observe both.
    """
    scales = [np.sqrt(_spread(gap, share)) for gap in apart]
    scaled = [np.divide(g, s, out=np.zeros_like(g), where=s > 0) for g, s in zip(apart, scales, strict=True)]
    total = 0.0
    for k, first in enumerate(known):
        for n, second in enumerate(known[: k + 1]):
            both = first.seen & second.seen
            weight = share[both].sum()
            if not first.size or not second.size or weight == 0:
                continue
            among = (first.white[both] * share[both, None]).T @ second.white[both] / weight
            missing = (scaled[k][both] * share[both, None]).T @ scaled[n][both]
            total += (1.0 if n == k else 2.0) * float((among**2).sum() * (missing**2).sum())
    return total
