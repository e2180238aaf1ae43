"""How much of a user's basket a recommender sees in a test: all but one item, or a given number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.checks import whole
from sepset.learning.recommendation.baskets import Baskets


class Hidden(NamedTuple):
    """Baskets in two parts.

    Attributes:
        seen: the items that the recommender sees.
        hidden: the others, which it is to find.
    """

    seen: Baskets
    hidden: Baskets


@runtime_checkable
class HidingProtocol(Protocol):
    """A frozen value that hides some items of each user."""

    def hide(self, baskets: Baskets, rng: np.random.Generator) -> Hidden:
        """The baskets of the users that have enough items, in two parts."""


@dataclass(frozen=True, slots=True)
class AllButOne:
    """One item of each user is hidden, at random; users with fewer than two items are left out.

    Reference: Breese, Heckerman & Kadie (1998).
    Guarantee: exact.
    Tested by: learning/recommendation/test_protocols.py::test_all_but_one

    >>> AllButOne().hide(Baskets([["a", "b"], ["a"]]), np.random.default_rng(0)).seen
    Baskets(1 user, 2 items, 1 entry)
    """

    def hide(self, baskets: Baskets, rng: np.random.Generator) -> Hidden:
        """The baskets of users with two items or more, in two parts."""
        kept = baskets.take(np.flatnonzero(baskets.sizes >= 2))
        return _divided(kept, kept.sizes - 1, rng)


@dataclass(frozen=True, slots=True)
class GivenK:
    """All but `k` items of each user are hidden, at random; users with no more than `k` items are left out.

    Args:
        k: the number of items that are seen.

    Reference: Breese, Heckerman & Kadie (1998).
    Guarantee: exact.
    Tested by: learning/recommendation/test_protocols.py::test_given_k

    >>> GivenK(1).hide(Baskets([["a", "b", "c"], ["a"]]), np.random.default_rng(0)).hidden
    Baskets(1 user, 3 items, 2 entries)
    """

    k: int

    def __post_init__(self) -> None:
        whole("GivenK(k=)", self.k, least=0)

    def hide(self, baskets: Baskets, rng: np.random.Generator) -> Hidden:
        """The baskets of users with more than `k` items, in two parts."""
        kept = baskets.take(np.flatnonzero(baskets.sizes > self.k))
        return _divided(kept, np.full(len(kept), self.k), rng)


def _divided(baskets: Baskets, num_seen: Ints, rng: np.random.Generator) -> Hidden:
    """So many random items of each user, and the others."""
    matrix = baskets.matrix.tocsr()
    users = np.repeat(np.arange(len(baskets)), np.diff(matrix.indptr))
    order = np.lexsort((rng.random(matrix.nnz), users))
    rank = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], np.diff(matrix.indptr))
    is_seen = np.zeros(matrix.nnz, np.bool_)
    is_seen[order] = rank < num_seen[users]
    return Hidden(_part(baskets, matrix, is_seen), _part(baskets, matrix, ~is_seen))


def _part(baskets: Baskets, matrix: object, kept: Bools) -> Baskets:
    part = matrix.copy()  # type: ignore[attr-defined]  # a sparse matrix
    part.data = kept.astype(np.int32)
    part.eliminate_zeros()
    return baskets.with_matrix(part)
