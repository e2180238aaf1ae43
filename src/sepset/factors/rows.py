"""Relational work on rows of codes: ordering, grouping and joining, for any number of columns.

A row is ranked by a mixed radix number that is compressed whenever the next column would pass 63 bits, so that
hundreds of variables are as good as one; ranks keep the lexicographic order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats, Ints
from sepset.base.text import brief
from sepset.base.threads import spend
from sepset.errors import StateError, TooLarge
from sepset.factors.algebra import MAX_ENTRIES
from sepset.semiring import MAX, SUM, Semiring

LIMIT = 2**63

CELL_NANOSECONDS = 40.0
"""Time to join or to group one code of one row."""


def ranks(codes: AnyInts, cards: Sequence[int]) -> Ints:
    """A number for each row, equal for equal rows and increasing with lexicographic order.

    >>> ranks(np.array([[1, 0], [0, 2], [1, 0]]), (2, 3)).tolist()
    [3, 2, 3]
    """
    rank, radix = np.zeros(len(codes), np.int64), 1
    for column, card in enumerate(cards):
        if radix * card >= LIMIT:
            distinct, rank = np.unique(rank, return_inverse=True)
            radix = len(distinct)
        rank = rank * card + codes[:, column]
        radix *= card
    return rank


def checked_codes(codes: AnyInts, shape: Sequence[int]) -> AnyInts:
    """The rows of codes, after checking that they are states of variables with these numbers of states.

    >>> checked_codes(np.array([[0, 2]]), (2, 3)).tolist()
    [[0, 2]]
    """
    rows = np.asarray(codes)
    if rows.ndim != 2 or rows.shape[1] != len(shape) or (rows.size and rows.dtype.kind not in "iu"):
        raise StateError(
            f"Codes are whole numbers, one column for each of {len(shape)} variables; found {brief(codes)}."
        )
    if rows.size and (rows.min() < 0 or (rows >= np.array(shape)).any()):
        raise StateError(
            f"The codes of a variable are below its number of states, here {tuple(shape)}, and not negative."
        )
    return rows


def in_order(codes: Ints, cards: Sequence[int]) -> Ints:
    """The permutation that sorts rows lexicographically; equal rows keep their order."""
    return np.argsort(ranks(codes, cards), kind="stable")


def starts(sorted_ranks: Ints) -> Ints:
    """Where each run of equal numbers begins."""
    if not len(sorted_ranks):
        return np.zeros(0, np.intp)
    return np.flatnonzero(np.concatenate([[True], sorted_ranks[1:] != sorted_ranks[:-1]]))


def join(left: Ints, right: Ints, cards: Sequence[int], *, width: int = 1) -> tuple[Ints, Ints, Ints]:
    """Every pair (i, j) with equal rows `left[i]` and `right[j]`, and how many pairs each left row has.

    Args:
        width: the number of codes of the rows that are made of each pair.

    >>> i, j, counts = join(np.array([[0], [1], [2]]), np.array([[1], [0], [1]]), (3,))
    >>> i.tolist(), j.tolist(), counts.tolist()
    ([0, 1, 1], [1, 0, 2], [1, 2, 0])
    """
    both = ranks(np.concatenate([left, right]), cards)
    mine, theirs = both[: len(left)], both[len(left) :]
    order = np.argsort(theirs, kind="stable")
    theirs = theirs[order]
    first = np.searchsorted(theirs, mine, "left")
    counts = np.searchsorted(theirs, mine, "right") - first
    total = int(counts.sum())
    if total * (left.shape[1] + 1) > MAX_ENTRIES:
        raise TooLarge(f"The product would have {total:.3g} rows of support. Condition or eliminate first.")
    spend(CELL_NANOSECONDS * (total * width + len(left) + len(right)))
    i = np.repeat(np.arange(len(left)), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    return i, order[np.repeat(first, counts) + within], counts


def reduce_groups(logs: Floats, begins: Ints, semiring: Semiring) -> Floats:
    r"""$\log \bigoplus$ over each run of `logs`, the run $k$ beginning at `begins[k]`."""
    if not len(begins):
        return np.zeros(0)
    if semiring is MAX:
        return np.asarray(np.maximum.reduceat(logs, begins))
    lengths = np.diff(np.append(begins, len(logs)))
    if semiring is SUM:
        top = np.maximum.reduceat(logs, begins)
        return np.asarray(top + np.log(np.add.reduceat(np.exp(logs - np.repeat(top, lengths)), begins)))
    result = np.empty(len(begins))
    for length in np.unique(lengths):
        # Runs of one length make a rectangle, which is what a semiring reduces.
        which = np.flatnonzero(lengths == length)
        result[which] = semiring.log_reduce(logs[begins[which][:, None] + np.arange(length)], 1)
    return result
