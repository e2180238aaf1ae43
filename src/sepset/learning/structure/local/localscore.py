"""The base of scores of families whose CPDs have structure inside: trees and decision graphs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import number
from sepset.errors import ArgumentError
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import FamilyScore


class LocalScore(ABC):
    """A score of discrete families at their best local structure."""

    __slots__ = ()

    @abstractmethod
    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""

    @abstractmethod
    def fits(self, child: int, parents: tuple[int, ...], columns: Columns) -> bool:
        """Whether a family is small enough to be scored."""

    is_equivalent = False
    """Whether I-equivalent structures have equal scores: they have not."""

    kinds = frozenset({"discrete"})
    """Discrete columns."""

    def additions(self, child: int, parents: tuple[int, ...], candidates: Ints, columns: Columns) -> Floats:
        """The score of the family with each candidate added; minus infinity where that is too large for a search."""
        sets = [tuple(sorted((*parents, x))) for x in candidates.tolist()]
        scores = (self.family(child, s, columns) if self.fits(child, s, columns) else -math.inf for s in sets)
        return np.fromiter(scores, np.float64, len(sets))


def check_local(name: str, score: object, per_leaf: float) -> None:
    """Raise unless a score of leaves, and the factor of the prior for each, are such."""
    number(f"{name}(per_leaf=)", per_leaf, above=0)
    if not isinstance(score, FamilyScore):
        raise ArgumentError(f"{name} takes a score such as BIC() or BDeu(10); found {score!r}.")
