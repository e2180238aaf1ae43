r"""Good parents among given columns: grown by the best addition, then shrunk by the best removal, each result kept.

What additions gain depends on the parents so far only. So the paths of growing are a tree for each child, in which the
additions that improve are sorted once; a question follows the first of them that it permits.

Reference: Andrews, Ramsey, Sanchez-Romero, Camchong & Kummerfeld (2023), "Fast scalable and accurate discovery of DAGs
using the best order score search and grow-shrink trees".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.learning.structure.constraints import Allowed
from sepset.learning.structure.familyscores import TOLERANCE, Scorer


class Family(NamedTuple):
    """The parents of a column, and their score."""

    parents: tuple[int, ...]
    score: float


@dataclass(slots=True)
class Grown:
    """A place in a tree of growing parents.

    Attributes:
        family: the parents so far.
        candidates: the additions that improve, the best first; None until they are asked for.
        after: where each leads.
        shrunk: the family after removals.
    """

    family: Family
    candidates: list[int] | None = None
    after: dict[int, Grown] = field(default_factory=dict)
    shrunk: Family | None = None


class GrowShrink:
    """The parents of columns among those before them in an order; the kept trees make questions cheap.

    Args:
        scorer: of families.
        allowed: the constraints; required parents are always there.

    >>> from sepset.learning.structure.columns import Columns
    >>> from sepset.learning.structure.constraints import Constraints
    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> columns = Columns.of({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 1] * 5})
    >>> GrowShrink(Scorer(columns, BIC()), Constraints().bind(columns.names)).best(1, 0b01).parents
    (0,)
    """

    def __init__(self, scorer: Scorer, allowed: Allowed) -> None:
        self.scorer, self.allowed, self.n = scorer, allowed, scorer.n
        required = [tuple(np.flatnonzero(allowed.required[:, y]).tolist()) for y in range(self.n)]
        self.required = [mask_of(given) for given in required]
        self._roots = [Grown(Family(given, scorer.family(y, given))) for y, given in enumerate(required)]

    def best(self, child: int, before: int) -> Family:
        """The parents found among the columns whose bits are set; all required ones must be."""
        place = self._roots[child]
        while True:
            candidates = self._candidates(child, place) if place.candidates is None else place.candidates
            for x in candidates:
                if before >> x & 1:
                    break
            else:
                break
            found = place.after.get(x)
            if found is None:
                parents = tuple(sorted((*place.family.parents, x)))
                found = place.after[x] = Grown(Family(parents, self.scorer.family(child, parents)))
            place = found
        if place.shrunk is None:
            place.shrunk = self._shrunk(child, place.family)
        return place.shrunk

    def order(self, order: Sequence[int]) -> list[Family]:
        """The family of each column, by number, among those before it in the order."""
        found: dict[int, Family] = {}
        before = 0
        for y in order:
            found[y] = self.best(y, before)
            before |= 1 << y
        return [found[y] for y in range(self.n)]

    def _candidates(self, child: int, place: Grown) -> list[int]:
        place.candidates = []
        if len(place.family.parents) < self.allowed.max_parents:
            gains = self.scorer.additions(child, place.family.parents) - place.family.score
            gains[self.allowed.forbidden[:, child]] = np.nan
            improving = np.flatnonzero(gains > TOLERANCE)
            place.candidates = improving[np.argsort(-gains[improving], kind="stable")].tolist()
        return place.candidates

    def _shrunk(self, child: int, family: Family) -> Family:
        while True:
            parents = family.parents
            smaller = [
                Family(tuple(p for p in parents if p != x), score)
                for x, score in zip(parents, self.scorer.removals(child, parents).tolist(), strict=True)
                if not self.required[child] >> x & 1
            ]
            best = max(smaller, key=lambda one: one.score, default=family)
            if not best.score > family.score + TOLERANCE:
                return family
            family = best


def mask_of(columns: Iterable[int]) -> int:
    """A number with the bits of the columns set.

    >>> mask_of([0, 3])
    9
    """
    return sum(1 << x for x in columns)
