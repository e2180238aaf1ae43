"""The joint of every pair of a model's variables, observed ones included."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sepset.errors import ScopeError
from sepset.factors.table import Table
from sepset.inference.result import Answers, Marginals
from sepset.inference.treequery.pairs import two_names
from sepset.variables.variable import VariableLike


class Pairs(Answers[tuple[str, str], Table]):
    """A mapping from two names (or variables) to their joint; tables are made when read.

    >>> import sepset as ss
    >>> pairs = ss.prepare(ss.datasets.load("student")).pairwise_marginals(given={"grade": "C"})
    >>> pairs["intelligence", "difficulty"].values.round(3).tolist()
    [[0.36, 0.561], [0.01, 0.069]]
    >>> pairs["grade", "sat"].values.round(3).tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.891, 0.109]]
    """

    def __init__(self, free: Answers[tuple[str, str], Table], singles: Marginals, observed: frozenset[str]) -> None:
        self._free = free
        self._singles = singles
        self._observed = observed

    def __getitem__(self, pair: tuple[VariableLike, VariableLike]) -> Table:
        first, second = two_names(pair)
        if first not in self._observed and second not in self._observed:
            return self._free[first, second]
        if first == second:
            raise ScopeError(f"{first} is asked for twice. Name two different variables.")
        joint: Any = self._singles[first] * self._singles[second]
        return joint  # type: ignore[no-any-return]  # marginals of discrete variables are tables

    def __iter__(self) -> Iterator[tuple[str, str]]:
        names = list(self._singles)
        return ((a, b) for i, a in enumerate(names) for b in names[i + 1 :])

    def __len__(self) -> int:
        return math.comb(len(self._singles), 2)

    def __repr__(self) -> str:
        return f"Pairs({len(self._singles)} variables)"
