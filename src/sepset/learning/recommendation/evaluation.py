"""Tests of recommenders: hidden items of test users, and where the rankings have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import generator, number, whole
from sepset.base.display import Report, Shown
from sepset.base.foreign import translated
from sepset.base.text import counted, described
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.inference.result import Guarantee, Guarantees, Result
from sepset.learning.recommendation.protocols import AllButOne, HidingProtocol
from sepset.learning.recommendation.rankings import (
    half_life_utility,
    mean_rank,
    ndcg_at,
    precision_at,
    recall_at,
    roc_area,
)
from sepset.learning.recommendation.recommender import Recommender


@dataclass(frozen=True, eq=False, repr=False)
class RankingScores(Report, Result, Mapping[str, float]):
    r"""How well a recommender finds hidden items, averaged over users.

    `scores["accuracy"]` is the half-life utility as a share of the best that is possible for these users, in percent:
    $100 \sum_a R_a / \sum_a R_a^{\max}$.

    Attributes:
        means: by name: accuracy, precision, recall, ndcg, mean_rank, roc_area.
        errors: their standard errors.
        by_user: the numbers of each user.
        num_users: the number of users.

    >>> from sepset.learning.recommendation.baselines import Popularity
    >>> from sepset.learning.recommendation.baskets import Baskets
    >>> baskets = Baskets([["a", "b"], ["a", "b"], ["a", "b", "c"]])
    >>> evaluate_ranking(Popularity().fit(baskets), [["a", "b"], ["b", "a"]], k=1)["recall"]
    1.0
    """

    means: Mapping[str, float]
    errors: Mapping[str, float]
    _: KW_ONLY
    by_user: Mapping[str, Floats] = field(repr=False)
    num_users: int = field(kw_only=True)
    k: int = field(kw_only=True)
    guarantees: Guarantees = field(default_factory=lambda: {"scores": Guarantee.ESTIMATE}, kw_only=True)

    def __getitem__(self, name: str) -> float:
        if not isinstance(name, str) or name not in self.means:
            raise ScopeError(f"There is no score {name!r}; there are {', '.join(self.means)}.")
        return self.means[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.means)

    def __len__(self) -> int:
        return len(self.means)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name} {value:.4g}" for name, value in self.means.items())
        return f"RankingScores({self.num_users} users, k={self.k}; {numbers})"

    def _shown(self) -> Shown:
        rows = [(name, f"{value:.4f}", f"{self.errors[name]:.4f}") for name, value in self.means.items()]
        told = ", ".join(map(described, self.method)) if isinstance(self.method, tuple) else described(self.method)
        return Shown(("score", "mean", "standard error"), rows, f"{counted(self.num_users, 'user')}, k={self.k}", told)


@translated
def evaluate_ranking(
    recommender: Recommender,
    baskets: Any,
    *,
    protocol: HidingProtocol | None = None,
    k: int = 10,
    half_life: float = 5.0,
    seed: int | np.random.Generator = 0,
) -> RankingScores:
    """The quality of rankings of the hidden items of test users.

    Args:
        recommender: fitted to other users.
        baskets: of test users.
        protocol: which items are hidden: `AllButOne()` by default, or `GivenK(k)`.
        k: the number of positions of precision, recall and NDCG.
        half_life: of the utility, in positions.
        seed: for the choice of hidden items.

    Reference: Breese, Heckerman & Kadie (1998).
    Guarantee: an estimate, with standard errors over users.
    Tested by: learning/recommendation/test_evaluation.py::test_scores_of_a_known_ranking

    >>> from sepset.learning.recommendation.itemnetworks import BayesRecommender
    >>> fitted = BayesRecommender().fit([["bread", "butter"], ["beer", "chips"]] * 20)
    >>> evaluate_ranking(fitted, [["butter", "bread"], ["beer", "chips"]], k=1)["accuracy"]
    100.0
    """
    whole("k", k, least=1)
    number("half_life", half_life, above=1)
    chosen = AllButOne() if protocol is None else protocol
    if not isinstance(recommender, Recommender):
        raise ArgumentError(
            f"A fitted recommender is evaluated, such as Popularity().fit(baskets); found {recommender!r}."
        )
    if not isinstance(chosen, HidingProtocol) or isinstance(chosen, type):
        raise ArgumentError(f"protocol= is a value such as AllButOne() or GivenK(3); found {chosen!r}.")
    seen, hidden = chosen.hide(recommender.aligned(baskets), generator(seed))
    if not len(seen):
        raise DataError(f"No user has enough items for {chosen!r}. Give larger baskets, or hide fewer items.")
    rows = [
        _numbers(scores[row], found, k, half_life)
        for part, scores in recommender.ranked_parts(seen)
        for row, found in enumerate(hidden.matrix[part].toarray().astype(np.bool_))
    ]
    by_user = {name: np.array([one[name] for one in rows]) for name in rows[0]}
    utility, best = by_user.pop("utility"), by_user.pop("best")
    means = {"accuracy": 100.0 * float(utility.sum() / best.sum())}
    errors = {"accuracy": 100.0 * _ratio_error(utility, best)}
    for name, values in by_user.items():
        known = values[~np.isnan(values)]
        means[name] = float(known.mean()) if len(known) else float("nan")
        errors[name] = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else float("nan")
    by_user = {"accuracy": 100.0 * utility / best, **by_user}
    return RankingScores(
        means, errors, by_user=by_user, num_users=len(seen), k=k, method=(recommender.settings, chosen)
    )


def _numbers(scores: Floats, hidden: Bools, k: int, half_life: float) -> dict[str, float]:
    """The numbers of one user; the items at hand have the score minus infinity, and are not ranked."""
    order = np.argsort(-scores, kind="stable")
    ranked = hidden[order[scores[order] > -np.inf]]
    open_ = scores > -np.inf
    return {
        "utility": half_life_utility(ranked, half_life=half_life),
        "best": half_life_utility(np.ones(int(ranked.sum()), np.bool_), half_life=half_life),
        "precision": precision_at(ranked, k),
        "recall": recall_at(ranked, k),
        "ndcg": ndcg_at(ranked, k),
        "mean_rank": mean_rank(ranked),
        "roc_area": roc_area(scores[open_], hidden[open_]),
    }


def _ratio_error(over: Floats, under: Floats) -> float:
    """The standard error of a ratio of sums."""
    if len(over) < 2:
        return float("nan")
    residuals = over - under * over.sum() / under.sum()
    return float(np.sqrt(len(over) / (len(over) - 1) * np.square(residuals).sum()) / under.sum())
