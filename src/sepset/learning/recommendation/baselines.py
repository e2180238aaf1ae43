"""Simple recommenders to compare with: the most popular items, and items similar to those at hand."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sepset.base.arraytypes import Floats
from sepset.base.checks import whole
from sepset.base.frozen import fill
from sepset.learning.recommendation.baskets import Baskets
from sepset.learning.recommendation.recommender import Recommender


@dataclass(frozen=True, slots=True)
class Popularity:
    """Independent items: everyone gets the most popular ones that they do not have, with the share of their users.

    Reference: Breese, Heckerman & Kadie (1998), as a baseline.
    Guarantee: exact.
    Tested by: learning/recommendation/test_baselines.py::test_popular_items

    >>> Popularity().fit(Baskets([["milk", "bread"], ["milk"]])).recommend([], k=1)
    Recommendations(1 user; user 0: milk 1)
    """

    def fit(self, baskets: Any) -> FittedPopularity:
        """The recommender of these baskets."""
        return FittedPopularity(self, Baskets(baskets))


class FittedPopularity(Recommender):
    """The share of users of each item."""

    def __init__(self, settings: Popularity, baskets: Baskets) -> None:
        shares = baskets.popularity / max(len(baskets), 1)
        fill(self, settings=settings, items=baskets.items, shares=shares)

    shares: Floats

    def _scores(self, baskets: Baskets) -> Floats:
        """The same for every user."""
        return np.broadcast_to(self.shares, (len(baskets), len(self.items)))


@dataclass(frozen=True, slots=True)
class Similarity:
    r"""Items similar to those at hand: the sum of cosines $M[i, j] / \sqrt{M[i]\, M[j]}$ over the items of a user.

    Args:
        neighbors: how many similar items of each item count.

    Reference: Sarwar, Karypis, Konstan & Riedl (2001).
    Guarantee: exact.
    Tested by: learning/recommendation/test_baselines.py::test_similar_items

    >>> Similarity()
    Similarity(neighbors=100)
    """

    neighbors: int = 100

    def __post_init__(self) -> None:
        whole("Similarity(neighbors=)", self.neighbors, least=1)

    def fit(self, baskets: Any) -> FittedSimilarity:
        """The recommender of these baskets."""
        return FittedSimilarity(self, Baskets(baskets))


class FittedSimilarity(Recommender):
    """The cosines of similar items, as a sparse matrix."""

    cosines: Any
    items: tuple[Hashable, ...]

    def __init__(self, settings: Similarity, baskets: Baskets) -> None:
        scale = 1.0 / np.sqrt(np.maximum(baskets.popularity, 1))
        scaled = baskets.matrix.astype(np.float64) @ sparse.diags(scale)
        cosines = scaled.T @ scaled
        kept = sparse.csr_matrix(cosines - sparse.diags(cosines.diagonal()))
        kept.eliminate_zeros()
        fill(self, settings=settings, items=baskets.items, cosines=_nearest(kept, settings.neighbors))

    def _scores(self, baskets: Baskets) -> Floats:
        """The sum of the cosines with the items at hand."""
        return np.asarray((baskets.matrix.astype(np.float64) @ self.cosines).todense())


def _nearest(cosines: Any, size: int) -> Any:
    """The largest entries of every row."""
    for row in range(cosines.shape[0]):
        part = slice(cosines.indptr[row], cosines.indptr[row + 1])
        if part.stop - part.start > size:
            own = cosines.data[part]
            own[np.argsort(-own, kind="stable")[size:]] = 0.0
            cosines.data[part] = own
    cosines.eliminate_zeros()
    return cosines
