"""Tests of independence from counts: G, Pearson's, and shrunken mutual information."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sepset.base.arraytypes import AnyArray, AnyInts, Bools, Floats, Ints
from sepset.base.checks import one_of
from sepset.base.text import listing
from sepset.base.threads import interruptible
from sepset.errors import DataError, TooLarge
from sepset.kernels.structure import independence as kernels
from sepset.learning.structure.independence.boundtest import BoundTest, Group, Outcome, Outcomes, Separations
from sepset.learning.structure.independence.contingency import (
    Freedom,
    degrees_of_freedom,
    g_statistic,
    pearson_statistic,
    shrunken_information,
    sparse_warnings,
)

if TYPE_CHECKING:
    from sepset.learning.structure.columns import Columns

MOST_CELLS = 1 << 27
"""The largest table of counts of a test, in cells."""

MOST_LOGARITHMS = 1 << 22
"""The largest whole number of rows for which logarithms of counts are tabulated."""


def strata_table(columns: Columns, xs: Group, ys: Group, given: Group) -> Floats:
    """The counts `[stratum, x, y]` of the strata that occur; sets of variables count by their joint states."""
    for column in (*xs, *ys, *given):
        if columns.is_real[column]:
            raise DataError(f"Column {columns.names[column]!r} has numbers; this test takes columns with states.")
    numbered = columns.contexts(given)
    key, size = numbered.ids.astype(np.int64), 1
    used = numbered.ids != np.iinfo(numbered.ids.dtype).max
    for column in (*xs, *ys):
        card = int(columns.cards[column])
        codes = columns.codes[column]
        used &= codes >= 0
        key = key * card + codes
        size *= card
    r = int(np.prod([columns.cards[x] for x in xs]))
    weights = columns.weights[used].astype(np.float64)
    table: Floats = np.bincount(key[used], weights, minlength=numbered.size * size).astype(np.float64)
    table = table.reshape(-1, r, size // r)
    return table[table.any(axis=(1, 2))] if len(table) > 1 else table


def refuse_real(columns: Columns, test: str, instead: str) -> None:
    """Raise if a column has numbers."""
    real = [columns.names[i] for i in np.flatnonzero(columns.is_real)]
    if real:
        verb = "has" if len(real) == 1 else "have"
        raise DataError(f"{test} takes columns with states; {listing(real)} {verb} numbers. {instead}")


@dataclass(frozen=True)
class G:
    r"""The G test: twice the likelihood ratio of dependence and independence, $2 M I_{\hat P}(X; Y \mid Z)$.

    Args:
        freedom: the rule for degrees of freedom: "observed" counts in each stratum the states that occur there,
            $\sum_z (r_z - 1)(c_z - 1)$; "full" counts all states and strata, $(|X| - 1)(|Y| - 1)|Z|$.

    Reference: Koller & Friedman, section 18.2.2; Agresti (2013), section 3.2.
    Guarantee: asymptotic p-value.
    Tested by: learning/structure/independence/test_discrete.py::test_published_figures

    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> rows = {"x": [0] * 49 + [1] * 51, "y": [0] * 27 + [1] * 22 + [0] * 25 + [1] * 26}
    >>> round(independence_test(rows, between=("x", "y"), test=G()).statistic, 6)
    0.37066
    """

    freedom: Freedom = "observed"
    needs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("freedom", self.freedom, ("observed", "full"))

    def bind(self, columns: Columns) -> BoundTest:
        """The test on these columns."""
        refuse_real(columns, "G", "Use FisherZ or ConditionalGaussianTest.")
        return CountedTest(columns, kernels.G_TEST, self.freedom)


G_TEST = G()
"""The test where none is named."""


@dataclass(frozen=True)
class Pearson:
    r"""Pearson's chi-square test, $X^2 = \sum (M - E)^2 / E$ over the cells of all strata.

    Args:
        freedom: as in `G`.

    Reference: Koller & Friedman, section 18.2.2.2.
    Guarantee: asymptotic p-value.
    Tested by: learning/structure/independence/test_discrete.py::test_published_figures

    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> rows = {"x": [0] * 49 + [1] * 51, "y": [0] * 27 + [1] * 22 + [0] * 25 + [1] * 26}
    >>> round(independence_test(rows, between=("x", "y"), test=Pearson()).statistic, 6)
    0.370405
    """

    freedom: Freedom = "observed"
    needs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("freedom", self.freedom, ("observed", "full"))

    def bind(self, columns: Columns) -> BoundTest:
        """The test on these columns."""
        refuse_real(columns, "Pearson", "Use FisherZ or ConditionalGaussianTest.")
        return CountedTest(columns, kernels.PEARSON, self.freedom)


class CountedTest(BoundTest):
    """G or Pearson's test by compiled counting."""

    def __init__(self, columns: Columns, kind: int, freedom: Freedom) -> None:
        self.columns, self.kind, self.freedom = columns, kind, freedom
        self._statistic = g_statistic if kind == kernels.G_TEST else pearson_statistic
        whole = columns.weights.dtype.kind == "i" and columns.total <= MOST_LOGARITHMS
        counts = np.arange(int(columns.total) + 1 if whole else 0, dtype=np.float64)
        logs = np.zeros_like(counts)
        logs[1:] = np.log(counts[1:])
        weights = columns.weights[:1] if (columns.weights == 1).all() else columns.weights
        self._rows = (columns.codes, columns.cards, weights)
        self._table = counts * logs

    def outcome(self, xs: Group, ys: Group, given: Group) -> Outcome:
        """The answer to one question."""
        from scipy.special import chdtrc

        table = strata_table(self.columns, xs, ys, given)
        statistic = float(self._statistic(table).sum())
        degrees = degrees_of_freedom(table, self.freedom)
        if self.freedom == "full":
            degrees *= self._strata(given) / len(table)
        p_value = float(chdtrc(degrees, statistic)) if degrees > 0 else 1.0
        return Outcome(statistic, degrees, p_value, float(table.sum()), sparse_warnings(table))

    def _strata(self, given: Group) -> float:
        return float(np.prod([float(self.columns.cards[z]) for z in given]))

    def outcomes(self, x: int, ys: Sequence[int], given: Group) -> Outcomes:
        """The answers for `x` and each of `ys`, in one pass over the rows for each."""
        self._check_size([x, *ys, *given], len(given))
        found = np.empty((len(ys), 3))
        full = self._strata(given) if self.freedom == "full" else 0.0
        kernels.outcomes(
            *self._rows, self._table, self.kind, full, x, np.array(ys, np.int64), np.array(given, np.int64), found
        )
        return Outcomes(*np.ascontiguousarray(found.T))

    def separate(self, adjacent: Bools, x: int, size: int, level: float, known: Separations) -> int:
        """Look for separating sets in compiled code."""
        best_given = np.full((len(known.done), size), -1, np.int64)
        before = known.best.copy()
        pool = np.flatnonzero(adjacent[x])
        self._check_size([x, *pool.tolist()], size)
        rows = self.among(np.concatenate([[x], pool]), size)
        is_full = self.freedom == "full"
        num_tests: int = interruptible(
            lambda cancel: kernels.separate(
                *rows,
                self._table,
                self.kind,
                is_full,
                pool,
                adjacent,
                x,
                size,
                level,
                known.done,
                known.best,
                best_given,
                cancel,
            )
        )
        for y in np.flatnonzero(known.best > before).tolist():
            known.given[y] = tuple(best_given[y].tolist())
        return num_tests

    def _check_size(self, members: Sequence[int], size: int) -> None:
        """Raise if tables of two members given `size` others may be too large; strata are at most the rows."""
        cards = sorted((int(self.columns.cards[m]) for m in members), reverse=True)
        cells = min(self.columns.num_rows, math.prod(cards[:size])) * math.prod(cards[:2])
        if cells > MOST_CELLS:
            largest = max(members, key=lambda m: int(self.columns.cards[m]))
            raise TooLarge(
                f"Tests given {size} columns count up to {cells:,} cells; the most is {MOST_CELLS:,}. "
                f"Column {self.columns.names[largest]!r} has {cards[0]} states: merge some, or lower max_condition=."
            )

    def among(self, members: Ints, size: int) -> tuple[AnyInts, Ints, AnyArray]:
        """The codes, numbers of states and weights of some columns; equal rows are one where that saves time."""
        codes, cards, weights = self._rows
        ids = np.empty(codes.shape[1], np.int32)
        is_long = math.comb(len(members) - 1, size) > 2 * len(members)
        groups = kernels.group_equal(codes, cards, members, len(ids) // 2, ids) if is_long else -1
        if groups < 0:
            return codes[members], cards[members], weights
        first = np.empty(groups, np.int64)
        first[ids[::-1]] = np.arange(len(ids))[::-1]
        totals = np.bincount(ids, None if len(weights) == 1 else weights, groups).astype(weights.dtype)
        return np.ascontiguousarray(codes[members][:, first]), cards[members], totals


@dataclass(frozen=True)
class ShrunkenInformation:
    r"""The G test of cell probabilities that are shrunk toward uniform ones: cautious where rows are few.

    $2 M I_{p^\lambda}(X; Y \mid Z)$ is compared with the chi-square distribution of $2 M I_{\hat P}$.

    Reference: Hausser & Strimmer (2009); Scutari & Brogini (2012).
    Guarantee: asymptotic p-value.
    Tested by: learning/structure/independence/test_discrete.py::test_shrinking_by_definition

    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> rows = {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1]}
    >>> independence_test(rows, between=("x", "y"), test=ShrunkenInformation()).statistic < 5.545
    True
    """

    needs_rows: ClassVar[bool] = True

    def bind(self, columns: Columns) -> BoundTest:
        """The test on these columns."""
        refuse_real(columns, "ShrunkenInformation", "Use FisherZ or ConditionalGaussianTest.")
        return _Shrunken(columns)


class _Shrunken(BoundTest):
    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def outcome(self, xs: Group, ys: Group, given: Group) -> Outcome:
        from scipy.special import chdtrc

        table = strata_table(self.columns, xs, ys, given)
        strata = math.prod(int(self.columns.cards[z]) for z in given)
        statistic = 2.0 * float(table.sum()) * shrunken_information(table, strata * table[0].size)
        degrees = degrees_of_freedom(table)
        p_value = float(chdtrc(degrees, statistic)) if degrees > 0 else 1.0
        return Outcome(statistic, degrees, p_value, float(table.sum()), sparse_warnings(table))
