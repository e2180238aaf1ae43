r"""The permutation test: tables with the same margins, drawn until the verdict is clear.

Exchanging the values of $X$ among the rows of a stratum leaves the margins, and gives every table its conditional
probability. Draws end at the $h$-th whose statistic is at least the observed one:

$$\hat p = \begin{cases} h / \ell & \text{if the } \ell\text{-th draw was the } h\text{-th exceedance}, \\
(g + 1) / (L + 1) & \text{if } L \text{ draws had } g < h \text{ exceedances}. \end{cases}$$

Reference: Besag & Clifford (1991), Sequential Monte Carlo p-values.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import one_of, whole
from sepset.learning.structure.independence.boundtest import BoundTest, Group, Outcome
from sepset.learning.structure.independence.contingency import g_statistic, pearson_statistic
from sepset.learning.structure.independence.discrete import refuse_real, strata_table
from sepset.learning.structure.independence.exacttest import TIED, whole_counts

if TYPE_CHECKING:
    from sepset.learning.structure.columns import Columns

BATCH = 64
"""Tables drawn at once."""


@dataclass(frozen=True)
class Permutation:
    r"""The sequential permutation test, for few rows or sparse tables.

    Args:
        num_draws: the most tables drawn.
        exceedances: draws end once so many have a statistic at least as large as the observed one: independence is then
            not in doubt. The relative standard error of such a p-value is about one over the square root of this.
        statistic: "g" or "pearson".
        seed: of the draws. Each question has its own stream, so that answers do not depend on their order.

    Reference: Besag & Clifford (1991).
    Guarantee: valid p-value.
    Tested by: learning/structure/independence/test_permutation.py::test_draws_follow_the_distribution_given_margins

    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> rows = {"x": [0, 0, 0, 0, 1, 1, 1, 1], "y": [0, 0, 0, 0, 1, 1, 1, 1]}
    >>> independence_test(rows, between=("x", "y"), test=Permutation()).is_independent
    False
    """

    num_draws: int = 4999
    exceedances: int = 20
    _: KW_ONLY
    statistic: Literal["g", "pearson"] = "g"
    seed: int = 0
    needs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("statistic", self.statistic, ("g", "pearson"))
        whole("num_draws", self.num_draws, least=1)
        whole("exceedances", self.exceedances, least=1)
        whole("seed", self.seed)

    def bind(self, columns: Columns) -> BoundTest:
        """The test on these columns."""
        refuse_real(columns, "Permutation", "Use FisherZ or ConditionalGaussianTest.")
        return _Permuted(columns, self)


class _Permuted(BoundTest):
    def __init__(self, columns: Columns, settings: Permutation) -> None:
        self.columns, self.settings = columns, settings
        self._statistic = g_statistic if settings.statistic == "g" else pearson_statistic

    def outcome(self, xs: Group, ys: Group, given: Group) -> Outcome:
        names = self.columns.names
        groups = [tuple(sorted(group, key=names.__getitem__)) for group in (xs, ys, given)]
        first, second = sorted(groups[:2], key=lambda group: [names[c] for c in group])
        table = whole_counts(strata_table(self.columns, first, second, groups[2]), "Permutation")
        observed = float(self._statistic(table.astype(np.float64)).sum())
        named = "\0".join(names[c] for c in (*first, *second, *groups[2]))
        rng = np.random.default_rng([self.settings.seed, *named.encode()])
        return Outcome(observed, float("nan"), self._p_value(table, observed, rng), float(table.sum()))

    def _p_value(self, table: Ints, observed: float, rng: np.random.Generator) -> float:
        wanted, most = self.settings.exceedances, self.settings.num_draws
        bound = observed - TIED * max(observed, 1.0)
        drawn = exceeded = 0
        while drawn < most:
            size = min(BATCH, most - drawn)
            tables = tables_with_margins(table, size, rng)
            above = self._statistic(tables.reshape(-1, *table.shape[1:])).reshape(size, -1).sum(axis=1) >= bound
            if exceeded + int(above.sum()) >= wanted:
                last = int(np.flatnonzero(above)[wanted - exceeded - 1])
                return wanted / (drawn + last + 1)
            exceeded, drawn = exceeded + int(above.sum()), drawn + size
        return (exceeded + 1) / (most + 1)


def tables_with_margins(table: Ints, size: int, rng: np.random.Generator) -> Floats:
    """Random tables `[draw, stratum, x, y]` with the margins of `table`, as exchanges of rows give them."""
    strata, r, c = table.shape
    drawn = np.zeros((size, strata, r, c))
    columns = np.broadcast_to(table.sum(axis=1), (size, strata, c)).copy()
    for i in range(r - 1):
        left = np.broadcast_to(table[:, i].sum(axis=1), (size, strata)).copy()
        rest = columns.sum(axis=2)
        for j in range(c):
            rest = rest - columns[:, :, j]
            taken = rng.hypergeometric(columns[:, :, j], rest, left)
            drawn[:, :, i, j] = taken
            columns[:, :, j] -= taken
            left -= taken
    drawn[:, :, r - 1] = columns
    return drawn
