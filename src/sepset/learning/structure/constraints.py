"""Knowledge about a structure before the data: edges that must or cannot be there, tiers, limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.checks import whole
from sepset.base.frozen import fill
from sepset.base.text import listing, nearest, readable
from sepset.errors import ArgumentError, ModelError, ScopeError, TooLarge
from sepset.graphs.graph import DAG

Edge = tuple[str, str]

MOST_PAIRED = 2**14
"""The largest number of columns whose pairs are weighed: a table of all pairs then takes 2 GiB."""


def check_pairs(num: int) -> None:
    """Raise if there are too many columns for tables of all pairs of them.

    >>> check_pairs(100)
    """
    if num > MOST_PAIRED:
        raise TooLarge(
            f"Structures over {num:,} columns take tables of {num * num:,} pairs ({readable(8 * num * num)} each); at "
            f"most {MOST_PAIRED:,} columns are taken. Choose columns, for example those most correlated with others."
        )


@dataclass(frozen=True)
class Constraints:
    """Knowledge that every learned structure respects.

    Args:
        required: edges `(source, target)` that must be there.
        forbidden: edges that cannot be there; both directions for no adjacency.
        tiers: groups of names from early to late: no edge goes from a later one to an earlier one, and no test of two
            variables is given one of a tier later than both. Names in no tier are free.
        within_tiers: whether edges inside a tier are allowed: for all tiers, or one truth value each.
        max_parents: the largest number of parents.
        candidates: for some variables, the only parents they may have.

    Reference: Koller & Friedman, section 18.4.3.1.
    Guarantee: no result breaks them; contradictions are refused.
    Tested by: learning/structure/test_constraints.py::test_bound_masks

    >>> Constraints(required=[("rain", "wet")], max_parents=2)
    Constraints(required=(('rain', 'wet'),), max_parents=2)
    """

    required: Sequence[Edge | str] = ()
    forbidden: Sequence[Edge | str] = ()
    _: KW_ONLY
    tiers: Sequence[Sequence[str]] = ()
    within_tiers: bool | Sequence[bool] = True
    max_parents: int | None = None
    candidates: Mapping[str, Sequence[str]] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        tiers = tuple((tier,) if isinstance(tier, str) else tuple(tier) for tier in self.tiers)
        within = self.within_tiers if isinstance(self.within_tiers, bool) else tuple(map(bool, self.within_tiers))
        if isinstance(within, tuple) and len(within) != len(tiers):
            raise ArgumentError(f"within_tiers= has {len(within)} values for {len(tiers)} tiers. Give one per tier.")
        names = [name for tier in tiers for name in tier]
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ArgumentError(f"tiers= lists each name once; {listing(twice)} is in several.")
        if self.max_parents is not None:
            whole("Constraints(max_parents=)", self.max_parents, least=0, otherwise="None")
        fill(
            self,
            required=_edges("required", self.required),
            forbidden=_edges("forbidden", self.forbidden),
            tiers=tiers,
            within_tiers=within,
            candidates=None if self.candidates is None else {c: tuple(p) for c, p in self.candidates.items()},
        )

    def bind(self, names: Sequence[str]) -> Allowed:
        """The constraints by the numbers of columns; raises where they contradict each other or name others."""
        check_pairs(len(names))
        place = {name: k for k, name in enumerate(names)}
        n = len(names)
        required, forbidden = np.zeros((n, n), np.bool_), np.eye(n, dtype=np.bool_)
        for source, target in _edges("required", self.required):
            required[_id(source, place), _id(target, place)] = True
        for source, target in _edges("forbidden", self.forbidden):
            forbidden[_id(source, place), _id(target, place)] = True
        self._forbid_between_tiers(forbidden, place)
        for child, parents in (self.candidates or {}).items():
            kept = [_id(parent, place) for parent in parents]
            column = np.ones(n, np.bool_)
            column[kept] = False
            forbidden[:, _id(child, place)] |= column
        limit = n - 1 if self.max_parents is None else min(self.max_parents, n - 1)
        _check(required, forbidden, limit, names)
        return Allowed(required, forbidden, max(limit, 0), self._tier_numbers(place))

    def _tier_numbers(self, place: Mapping[str, int]) -> Ints | None:
        if len(self.tiers) < 2:
            return None
        numbers = np.full(len(place), -1, np.int64)
        for number, tier in enumerate(self.tiers):
            numbers[[place[name] for name in tier]] = number
        return numbers

    def _forbid_between_tiers(self, forbidden: Bools, place: Mapping[str, int]) -> None:
        groups = [[_id(name, place) for name in tier] for tier in self.tiers]
        for late, group in enumerate(groups):
            for early in groups[:late]:
                forbidden[np.ix_(group, early)] = True
            inside = self.within_tiers if isinstance(self.within_tiers, bool) else self.within_tiers[late]
            if not inside:
                forbidden[np.ix_(group, group)] = True

    def __repr__(self) -> str:
        given = [
            f"{name}={value!r}"
            for name, value in vars(self).items()
            if not (value in ((), None) or (name == "within_tiers" and value is True))
        ]
        return f"Constraints({', '.join(given)})"


class Allowed(NamedTuple):
    """Constraints by the numbers of columns.

    Attributes:
        required: from row to column, whether the edge must be there.
        forbidden: whether it cannot be; true on the diagonal.
        max_parents: the largest number of parents.
        tiers: the number of each column's tier, -1 for none; None without tiers.
    """

    required: Bools
    forbidden: Bools
    max_parents: int
    tiers: Ints | None = None

    @property
    def is_free(self) -> bool:
        """Whether every edge is allowed and none is required."""
        n = len(self.required)
        return not self.required.any() and int(self.forbidden.sum()) == n and self.max_parents >= n - 1

    def permits(self, parents_of: Sequence[Iterable[int]]) -> bool:
        """Whether a graph with these parents of each column respects the constraints."""
        edges = np.zeros_like(self.required)
        for child, parents in enumerate(parents_of):
            edges[list(parents), child] = True
        return not (
            (edges & self.forbidden).any()
            or (self.required & ~edges).any()
            or edges.sum(0).max(initial=0) > self.max_parents
        )


def _edges(name: str, edges: Iterable[str | Iterable[str]]) -> tuple[Edge, ...]:
    """The edges as pairs; an arrow in text is one too."""
    found = []
    for edge in edges:
        pair = tuple(part.strip() for part in edge.split("->")) if isinstance(edge, str) else tuple(edge)
        if len(pair) != 2 or not all(isinstance(end, str) and end for end in pair):
            raise ArgumentError(f"{name}= takes edges (source, target) or 'source -> target'; found {edge!r}.")
        if pair[0] == pair[1]:
            raise ArgumentError(f"{name}= has an edge from {pair[0]!r} to itself.")
        found.append(pair)
    return tuple(dict.fromkeys(found))


def _id(name: str, place: Mapping[str, int]) -> int:
    if name not in place:
        raise ScopeError(f"The constraints name {name!r}, which is not a column.{nearest(name, place)}")
    return place[name]


def _check(required: Bools, forbidden: Bools, limit: int, names: Sequence[str]) -> None:
    both = np.argwhere(required & forbidden)
    if len(both):
        edges = listing([f"{names[a]} -> {names[b]}" for a, b in both])
        raise ArgumentError(f"The constraints both require and forbid {edges}. Drop one of the two.")
    crowded = np.flatnonzero(required.sum(0) > limit)
    if len(crowded):
        child = names[crowded[0]]
        raise ArgumentError(f"max_parents={limit}, but {int(required.sum(0).max())} parents of {child!r} are required.")
    try:
        DAG(names, [(names[a], names[b]) for a, b in np.argwhere(required)])
    except ModelError as error:
        raise ArgumentError(f"The required edges contain a cycle, which no network has: {error}") from error
