r"""How good a ranking is: numbers for one list in which some items are relevant.

Positions $j$ count from one, $r_j$ says whether the item at position $j$ is relevant, and $R$ is their number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import number, one_axis, whole
from sepset.base.foreign import translated
from sepset.base.text import brief
from sepset.errors import ArgumentError


@translated
def half_life_utility(relevant: Sequence[bool] | Bools, *, half_life: float = 5.0) -> float:
    r"""The expected utility of a list to a user who may stop at any item.

    $$\sum_j r_j \, 2^{-(j - 1) / (h - 1)}$$

    Args:
        relevant: for each position whether its item is relevant.
        half_life: $h$, the position that is looked at with probability one half.

    Reference: Breese, Heckerman & Kadie (1998).
    Guarantee: exact.
    Tested by: learning/recommendation/test_rankings.py::test_by_hand

    >>> half_life_utility([True, False, False, False, True])
    1.5
    """
    number("half_life", half_life, above=1)
    marks = _marks(relevant)
    return float((marks * 0.5 ** (np.arange(len(marks)) / (half_life - 1.0))).sum())


@translated
def precision_at(relevant: Sequence[bool] | Bools, k: int) -> float:
    r"""The share of the first `k` positions that is relevant: $\frac1k \sum_{j \le k} r_j$.

    Positions beyond the end of the list are not relevant.

    Guarantee: exact.
    Tested by: learning/recommendation/test_rankings.py::test_by_hand

    >>> precision_at([True, False, True], 2)
    0.5
    """
    return float(_marks(relevant)[: whole("k", k, least=1)].sum() / k)


@translated
def recall_at(relevant: Sequence[bool] | Bools, k: int) -> float:
    r"""The share of the relevant items that is in the first `k` positions; NaN if none is relevant.

    Guarantee: exact.
    Tested by: learning/recommendation/test_rankings.py::test_by_hand

    >>> recall_at([True, False, True], 2)
    0.5
    """
    marks = _marks(relevant)
    return float(marks[: whole("k", k, least=1)].sum() / marks.sum()) if marks.any() else float("nan")


@translated
def ndcg_at(relevant: Sequence[bool] | Bools, k: int) -> float:
    r"""The normalized discounted cumulative gain of the first `k` positions; NaN if no item is relevant.

    $$\sum_{j \le k} \frac{r_j}{\log_2(j + 1)} \Big/ \sum_{j \le \min(k, R)} \frac1{\log_2(j + 1)}$$

    Reference: Jarvelin & Kekalainen (2002).
    Guarantee: exact.
    Tested by: learning/recommendation/test_rankings.py::test_by_hand

    >>> round(ndcg_at([False, True, True], 3), 4)
    0.6934
    """
    marks, size = _marks(relevant), whole("k", k, least=1)
    if not marks.any():
        return float("nan")
    gains = 1.0 / np.log2(np.arange(len(marks)) + 2.0)
    ideal = gains[: min(size, int(marks.sum()))].sum()
    return float((marks * gains)[:size].sum() / ideal)


@translated
def mean_rank(relevant: Sequence[bool] | Bools) -> float:
    r"""The mean position of the relevant items, $\frac1R \sum_j r_j\, j$; NaN if none is relevant.

    Guarantee: exact.
    Tested by: learning/recommendation/test_rankings.py::test_by_hand

    >>> mean_rank([False, True, True])
    2.5
    """
    marks = _marks(relevant)
    return float((np.flatnonzero(marks) + 1).mean()) if marks.any() else float("nan")


@translated
def roc_area(scores: ArrayLike, relevant: Sequence[bool] | Bools) -> float:
    """The probability that a relevant item has a larger score than another one; ties count half.

    NaN if all items are relevant, or none.

    Args:
        scores: one per item.
        relevant: whether each item is relevant.

    Reference: Hanley & McNeil (1982).
    Guarantee: exact.
    Tested by: learning/recommendation/test_rankings.py::test_by_hand

    >>> roc_area([0.9, 0.5, 0.5, 0.1], [True, True, False, False])
    0.875
    """
    numbers, marks = one_axis("scores", scores, error=ArgumentError), _marks(relevant)
    if numbers.shape != marks.shape:
        raise ArgumentError(f"relevant= needs one truth value per score ({len(numbers)}); found {len(marks)}.")
    if np.isnan(numbers).any():
        raise ArgumentError(f"scores= needs numbers that can be ordered; {int(np.isnan(numbers).sum())} are NaN.")
    inside, outside = np.sort(numbers[~marks]), numbers[marks]
    if not len(inside) or not len(outside):
        return float("nan")
    below = np.searchsorted(inside, outside, side="left") + np.searchsorted(inside, outside, side="right")
    return float(below.mean() / (2.0 * len(inside)))


def _marks(relevant: Sequence[bool] | Bools | Floats) -> Bools:
    marks = np.asarray(relevant)
    if marks.ndim != 1 or (
        marks.dtype != np.bool_ and not (marks.dtype.kind in "iuf" and np.isin(marks, (0, 1)).all())
    ):
        raise ArgumentError(f"relevant= is a sequence of truth values, one per position; found {brief(relevant)}.")
    return marks.astype(np.bool_)
