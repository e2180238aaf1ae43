r"""The exact test: the probability of every table that independence could have given.

With $\hat P(x), \hat P(y)$ the observed margins and $t$ the observed statistic,

$$p = \sum_{C : |C| = M} 1\{d(C) > t\}\; M! \prod_{x,y} \frac{(\hat P(x) \hat P(y))^{C[x,y]}}{C[x,y]!},$$

$d(C)$ with the margins of $C$ itself; or with $\ge$ for $>$. Margins are not fixed: this is not Fisher's test. Strata
are independent of each other, and their statistics add.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import one_of, whole
from sepset.errors import DataError, TooLarge
from sepset.learning.structure.independence.boundtest import BoundTest, Group, Outcome
from sepset.learning.structure.independence.contingency import g_statistic, pearson_statistic
from sepset.learning.structure.independence.discrete import refuse_real, strata_table

if TYPE_CHECKING:
    from sepset.learning.structure.columns import Columns

TIED = 1e-9
"""Statistics that differ by less are equal, up to rounding."""


@dataclass(frozen=True)
class ExactTest:
    r"""The exact test of independence, by enumeration of all tables of the same number of rows.

    Args:
        statistic: "pearson" or "g".
        tail: ">=", or ">" for the probability of a strictly larger statistic.
        most_tables: more tables are refused.

    Cost: $O(M^{rc - 1})$ tables in each stratum. Reference: Koller & Friedman, section 18.2.2.3.
    Reference: Koller & Friedman, section 18.2.2.3.
    Guarantee: exact p-value for the estimated margins.
    Tested by: learning/structure/independence/test_exacttest.py::test_published_figures

    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> rows = {"x": [0] * 9 + [1] * 11, "y": [0] * 3 + [1] * 6 + [0] * 5 + [1] * 6}
    >>> round(independence_test(rows, between=("x", "y"), test=ExactTest()).p_value, 6)
    0.595959
    """

    statistic: Literal["pearson", "g"] = "pearson"
    tail: Literal[">=", ">"] = ">="
    _: KW_ONLY
    most_tables: int = 2_000_000
    needs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("statistic", self.statistic, ("pearson", "g"))
        one_of("tail", self.tail, (">=", ">"))
        whole("most_tables", self.most_tables, least=1)

    def bind(self, columns: Columns) -> BoundTest:
        """The test on these columns."""
        refuse_real(columns, "ExactTest", "Use FisherZ or ConditionalGaussianTest.")
        return _Exact(columns, self)


class _Exact(BoundTest):
    def __init__(self, columns: Columns, settings: ExactTest) -> None:
        self.columns, self.settings = columns, settings
        self._statistic = g_statistic if settings.statistic == "g" else pearson_statistic

    def outcome(self, xs: Group, ys: Group, given: Group) -> Outcome:
        table = whole_counts(strata_table(self.columns, xs, ys, given), "ExactTest")
        observed = float(self._statistic(table.astype(np.float64)).sum())
        values, chances = np.zeros(1), np.ones(1)
        for stratum in table:
            values, chances = self._added(values, chances, stratum)
        bound = observed + TIED * max(observed, 1.0) * (1 if self.settings.tail == ">" else -1)
        p_value = min(float(chances[values > bound].sum()), 1.0)
        return Outcome(observed, float("nan"), p_value, float(table.sum()), is_exact=True)

    def _added(self, values: Floats, chances: Floats, stratum: Ints) -> tuple[Floats, Floats]:
        """The distribution of the sum of a statistic and that of one more stratum."""
        most = self.settings.most_tables
        occurs = stratum[stratum.any(axis=1)][:, stratum.any(axis=0)]
        total, cells = int(occurs.sum()), occurs.size
        count = math.comb(total + cells - 1, cells - 1)
        if count * len(values) > most:
            raise TooLarge(
                f"An exact test of {total} rows in {cells} cells enumerates {count * len(values):,} tables; the most "
                f"is {most:,}. Use Permutation(), or raise most_tables=."
            )
        tables = compositions(total, cells)
        shares = (occurs.sum(axis=1)[:, None] * occurs.sum(axis=0)[None, :]).ravel() / total**2
        logs = log_factorials(total)
        chance = np.exp(logs[total] - logs[tables].sum(axis=1) + tables @ np.log(shares))
        found = self._statistic(tables.reshape(-1, *occurs.shape).astype(np.float64))
        return merged((values[:, None] + found[None, :]).ravel(), (chances[:, None] * chance[None, :]).ravel())


def whole_counts(table: Floats, test: str) -> Ints:
    """The counts as integers; other weights are refused."""
    found = np.rint(table)
    if not np.array_equal(found, table):
        raise DataError(f"{test} counts rows; weights that are not whole numbers are not rows. Use G or Pearson.")
    return found.astype(np.int64)


def compositions(total: int, parts: int) -> Ints:
    """Every way to write a number as a sum of so many parts, one per row.

    >>> compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    if parts == 1:
        return np.array([[total]], dtype=np.int64)
    blocks = []
    for first in range(total + 1):
        rest = compositions(total - first, parts - 1)
        blocks.append(np.concatenate([np.full((len(rest), 1), first), rest], axis=1))
    return np.concatenate(blocks)


def merged(values: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """A distribution with equal values, up to rounding, added together.

    >>> merged(np.array([1.0, 0.0, 1.0]), np.array([0.25, 0.5, 0.25]))
    (array([0., 1.]), array([0.5, 0.5]))
    """
    order = np.argsort(values, kind="stable")
    values, chances = values[order], chances[order]
    fresh = np.concatenate([[True], np.diff(values) > TIED * np.maximum(values[1:], 1.0)])
    return values[fresh], np.bincount(np.cumsum(fresh) - 1, chances).astype(np.float64)


def log_factorials(total: int) -> Floats:
    """The logarithms of 0!, 1!, ..., `total`!."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, total + 1)))])
