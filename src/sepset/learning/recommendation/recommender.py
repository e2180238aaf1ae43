"""Recommenders: rankings of the items that a user does not have, by their probability given those that they have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import whole
from sepset.base.display import Report, Shown
from sepset.base.extras import FrameKind, frame
from sepset.base.frozen import Frozen
from sepset.base.text import counted, described, listing
from sepset.errors import ScopeError
from sepset.inference.result import Guarantee, Guarantees, Result
from sepset.learning.recommendation.baskets import Baskets

MOST_SHOWN = 20
"""The largest number of users in a display."""


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations(Report, Result):
    """The best items of every user that they do not have, the best first.

    Attributes:
        users: their names.
        items: for each user, the names of the items.
        scores: for each user, the probabilities (or other scores) of the items.

    >>> from sepset.learning.recommendation.baselines import Popularity
    >>> fitted = Popularity().fit(Baskets([["milk", "bread"], ["milk"], ["milk", "beer"], ["bread"]]))
    >>> fitted.recommend({"milk"}, k=2)
    Recommendations(1 user; user 0: bread 0.5, beer 0.25)
    """

    users: tuple[Hashable, ...]
    items: tuple[tuple[Hashable, ...], ...]
    _: KW_ONLY
    scores: tuple[tuple[float, ...], ...]
    guarantees: Guarantees = field(default_factory=lambda: {"ranking": Guarantee.EXACT}, kw_only=True)

    def __len__(self) -> int:
        return len(self.users)

    def __getitem__(self, user: Hashable) -> tuple[Hashable, ...]:
        """The items of a user, by name."""
        if not isinstance(user, Hashable) or user not in self.users:
            raise ScopeError(
                f"There are no recommendations for the user {user!r}; there are for {listing(self.users)}."
            )
        return self.items[self.users.index(user)]

    def __iter__(self) -> Iterator[tuple[Hashable, ...]]:
        return iter(self.items)

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per user and item: its rank and score."""
        rows = [
            (user, rank, item, score)
            for user, items, scores in zip(self.users, self.items, self.scores, strict=True)
            for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1)
        ]
        names = ("user", "rank", "item", "score")
        columns = zip(*rows, strict=True) if rows else ((),) * 4
        return frame({name: list(column) for name, column in zip(names, columns, strict=True)}, kind)

    def _line(self, k: int) -> str:
        return ", ".join(f"{item} {score:.4g}" for item, score in zip(self.items[k], self.scores[k], strict=True))

    def __repr__(self) -> str:
        first = f"; user {self.users[0]}: {self._line(0)}" if self.users else ""
        return f"Recommendations({counted(len(self), 'user')}{first}{'; ...' if len(self) > 1 else ''})"

    def _shown(self) -> Shown:
        rows = [(str(self.users[k]), self._line(k)) for k in range(min(len(self), MOST_SHOWN))]
        more = f"first {MOST_SHOWN} of {len(self)} users" if len(self) > MOST_SHOWN else ""
        return Shown(("user", "items"), rows, described(self.method), more, words=2)


class Recommender(Frozen, ABC):
    """A fitted recommender.

    Attributes:
        items: the items it was learned from.
        settings: how it was learned.
    """

    items: tuple[Hashable, ...]
    settings: object

    @abstractmethod
    def _scores(self, baskets: Baskets) -> Floats:
        """The score of every item for every user whose baskets have the columns of this recommender."""

    def scores(self, baskets: Any) -> Floats:
        """The score of every item for every user, `[users, items]`, in the order of `items`; larger is better."""
        return self._scores(self.aligned(baskets))

    def recommend(self, baskets: Any, *, k: int = 10) -> Recommendations:
        """The `k` best items of each user among those that they do not have.

        Equal scores go to the first item.

        Args:
            baskets: `Baskets`, whatever these take, or the items of a single user.
            k: the largest number of items of a user.
        """
        whole("k", k, least=1)
        asked = self.aligned(baskets)
        found, numbers = list[tuple[Hashable, ...]](), list[tuple[float, ...]]()
        for _, scores in self.ranked_parts(asked):
            for row in scores:
                best = top(row, k)
                found.append(tuple(self.items[j] for j in best))
                numbers.append(tuple(row[best].tolist()))
        return Recommendations(asked.users, tuple(found), scores=tuple(numbers), method=self.settings)

    def ranked_parts(self, baskets: Any) -> Iterator[tuple[slice, Floats]]:
        """The scores of some users at a time; minus infinity for the items that they have."""
        asked = self.aligned(baskets)
        width = max(1, (1 << 22) // max(len(self.items), 1))
        for first in range(0, len(asked), width):
            part = slice(first, min(first + width, len(asked)))
            own = asked.take(np.arange(part.start, part.stop))
            scores = np.array(self._scores(own), dtype=np.float64)
            scores[own.matrix.nonzero()] = -np.inf
            yield part, scores

    def aligned(self, baskets: Any) -> Baskets:
        """The baskets with the columns of this recommender."""
        if isinstance(baskets, Baskets):
            return baskets.aligned(self.items)
        if _is_single(baskets):
            baskets = [baskets]
        if isinstance(baskets, np.ndarray) or sparse.issparse(baskets):
            return Baskets(baskets, self.items)
        return Baskets(baskets).aligned(self.items)

    def __repr__(self) -> str:
        return f"Recommender({len(self.items)} items; {self.settings!r})"


def _is_single(baskets: object) -> bool:
    """Whether this is the basket of one user: a set, or a list of items rather than of collections."""
    if isinstance(baskets, set | frozenset):
        return True
    if not isinstance(baskets, list | tuple):
        return False
    return all(isinstance(item, str) or not isinstance(item, Iterable) for item in baskets)


def top(scores: Floats, k: int) -> Ints:
    """The positions of the `k` largest scores; ties go to the first, and those of minus infinity are left out.

    >>> top(np.array([0.1, 0.5, -np.inf, 0.5]), 2).tolist()
    [1, 3]
    """
    order = np.argsort(-scores, kind="stable")[:k]
    return np.asarray(order[scores[order] > -np.inf])
