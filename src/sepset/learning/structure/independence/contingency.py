r"""Statistics of contingency tables $M[z, x, y]$, one table of $x$ by $y$ for each stratum $z$.

$$E[z,x,y] = \frac{M[z,x]\, M[z,y]}{M[z]}, \qquad G = 2 \sum M \log \frac{M}{E} = 2 M\, I_{\hat P}(X; Y \mid Z), \qquad
X^2 = \sum \frac{(M - E)^2}{E}$$

A cell that nothing is expected in contributes zero. Both are asymptotically chi-square. The rule for degrees of
freedom: $\sum_z (r_z - 1)(c_z - 1)$ with $r_z$ and $c_z$ the states that occur in stratum $z$ ("observed"), or
$(|X| - 1)(|Y| - 1) |Z|$ ("full").
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats

Freedom: TypeAlias = Literal["observed", "full"]
FEW = 5.0
"""Cells that fewer rows are expected in make the chi-square limit doubtful."""


def expected_counts(counts: Floats) -> Floats:
    """The counts expected under independence in each stratum, with its margins.

    >>> expected_counts(np.array([[[3.0, 6.0], [5.0, 6.0]]])).tolist()
    [[[3.6, 5.4], [4.4, 6.6]]]
    """
    total = counts.sum(axis=(-2, -1), keepdims=True)
    product = counts.sum(axis=-1, keepdims=True) * counts.sum(axis=-2, keepdims=True)
    expected: Floats = np.divide(product, total, out=np.zeros_like(product), where=total > 0)
    return expected


def g_statistic(counts: Floats) -> Floats:
    """The G statistic of each stratum.

    Reference: Koller & Friedman, section 18.2.2.2.

    >>> float(g_statistic(np.array([[[27.0, 22.0], [25.0, 26.0]]])).sum().round(6))
    0.37066
    """
    expected = expected_counts(counts)
    occurs = counts > 0
    ratio = np.divide(counts, expected, out=np.ones_like(counts), where=occurs)
    parts = 2.0 * (counts * np.log(ratio)).sum(axis=(-2, -1))
    statistic: Floats = np.maximum(parts, 0.0)
    return statistic


def pearson_statistic(counts: Floats) -> Floats:
    """Pearson's statistic of each stratum.

    Reference: Koller & Friedman, section 18.2.2.2.

    >>> float(pearson_statistic(np.array([[[27.0, 22.0], [25.0, 26.0]]])).sum().round(6))
    0.370405
    """
    expected = expected_counts(counts)
    parts = np.divide((counts - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0)
    total: Floats = parts.sum(axis=(-2, -1))
    return total


def degrees_of_freedom(counts: Floats, rule: Freedom = "observed") -> float:
    """The degrees of freedom of a table `[stratum, x, y]`.

    >>> table = np.array([[[3.0, 6.0], [5.0, 6.0]], [[0.0, 0.0], [4.0, 1.0]]])
    >>> degrees_of_freedom(table), degrees_of_freedom(table, "full")
    (1.0, 2.0)
    """
    strata, r, c = counts.shape
    if rule == "full":
        return float(strata * (r - 1) * (c - 1))
    rows = (counts.sum(axis=2) > 0).sum(axis=1)
    columns = (counts.sum(axis=1) > 0).sum(axis=1)
    return float(((rows - 1) * (columns - 1))[rows > 0].sum())


def sparse_warnings(counts: Floats) -> tuple[str, ...]:
    """A warning if cells that may have rows are expected to have fewer than five."""
    expected = expected_counts(counts)
    possible = expected > 0
    few = int((possible & (expected < FEW)).sum())
    if not few:
        return ()
    return (
        f"{few} of {int(possible.sum())} cells are expected to have fewer than {FEW:g} rows; the p-value is rough.",
    )


def shrunken_information(counts: Floats, num_cells: int | None = None) -> float:
    r"""The conditional mutual information, in nats, of cell probabilities that are shrunk toward uniform ones.

    $$p^\lambda = \lambda t + (1 - \lambda) \hat p, \quad t = \tfrac1K, \quad
      \lambda = \min\Bigl(1, \frac{1 - \sum \hat p^2}{(M - 1) \sum (t - \hat p)^2}\Bigr)$$

    Args:
        counts: the table `[stratum, x, y]` of the strata that occur; other strata contribute nothing.
        num_cells: $K$, the cells of all strata.

    Reference: Hausser & Strimmer (2009).

    >>> round(shrunken_information(np.array([[[27.0, 22.0], [25.0, 26.0]]])), 6)
    0.0
    """
    total = float(counts.sum())
    share = counts / total
    cells = counts.size if num_cells is None else num_cells
    target = 1.0 / cells
    apart = float(((target - share) ** 2).sum()) + (cells - counts.size) * target**2
    weight = min(1.0, float(1.0 - (share**2).sum()) / ((total - 1.0) * apart)) if apart > 0 and total > 1 else 1.0
    return float(g_statistic(weight * target + (1.0 - weight) * share).sum()) / 2.0
