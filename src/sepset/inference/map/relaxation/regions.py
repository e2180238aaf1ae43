r"""Regions of a wired model: scopes whose pseudo-marginals agree on what they share.

Each scope of factors is one region, and so is every intersection of two scopes that has several variables. Clusters of
three variables are added with their pairs. A region agrees with the regions directly inside it, and with the single
variables that are in none of these; it then agrees with all others on their joint intersection.

$$\log \tilde P(\mathbf x) = c + \sum_i \theta_i(x_i)
+ \sum_r \Bigl[\theta_r + \sum_{t \supset r} \lambda_{t \to r} - \sum_{s \subset r} \lambda_{r \to s}\Bigr]$$
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.frozen import read_only
from sepset.base.lazy import lazy
from sepset.base.threads import require_time
from sepset.errors import TooLarge
from sepset.inference.plugs import Plugs
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import TABLE

MAX_COLUMNS = 2**22
"""The most entries of all regions together."""

NO_CLUSTERS: Ints = np.zeros((0, 3), np.int64)
"""No triplets."""


class Inside(NamedTuple):
    """A region in a larger one.

    Attributes:
        outer: the number of the larger region.
        inner: the number of the smaller one.
        axes: the axes of the larger table that the smaller one has, in its order.
    """

    outer: int
    inner: int
    axes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of a model, as a wiring with one factor per region.

    Attributes:
        wiring: the same log values; factors of one scope are one, clusters and missing intersections have zero tables.
        num_base: the number of regions before the clusters.
        inside: which region is directly inside which.

    Guarantee: exact: the values of assignments are those of the model.
    Tested by: inference/map/relaxation/test_regions.py::test_values_are_those_of_the_model
    """

    wiring: Wiring
    num_base: int
    inside: tuple[Inside, ...]

    @classmethod
    def of(cls, wiring: Wiring, clusters: Ints = NO_CLUSTERS) -> Regions:
        """The regions of a model.

        Args:
            clusters: one row of three variables, in increasing order, per cluster.
        """
        possible = wiring.consistent
        if not len(clusters) and _are_distinct_pairs(possible):
            return cls(possible, possible.num_factors, ())
        scopes = [tuple(sorted(possible.scope(f).tolist())) for f in range(possible.num_factors)]
        shared = _shared(scopes)
        if not len(clusters) and not shared:
            return cls(possible, possible.num_factors, ())
        members = _grouped(scopes)
        for scope in [*shared, *_pairs(clusters)]:
            members.setdefault(scope, [])
        num_base = len(members)
        for triplet in map(tuple, clusters.tolist()):
            members.setdefault(triplet, [])
        listed = list(members)
        inside = _inside(listed)
        touched = {at for each in inside for at in (each.outer, each.inner)}
        _require_room(possible, [listed[at] for at in touched])
        parts = [_part(possible, s, fs, at in touched) for at, (s, fs) in enumerate(members.items())]
        for each in sorted(inside, key=lambda each: len(listed[each.outer])):
            parts[each.outer] = _without(parts[each.outer], parts[each.inner].table, each.axes)
        return cls(_assembled(possible, listed, parts), num_base, inside)

    @lazy
    def base(self) -> Wiring:
        """The regions without the clusters."""
        return _first(self.wiring, self.num_base)

    @lazy
    def loose(self) -> tuple[tuple[int, ...], ...]:
        """The axes of each region whose variables are in no region inside it."""
        taken: list[set[int]] = [set() for _ in range(self.wiring.num_factors)]
        for each in self.inside:
            taken[each.outer] |= set(each.axes)
        arities = np.diff(self.wiring.plugs.starts).tolist()
        return tuple(tuple(a for a in range(n) if a not in held) for n, held in zip(arities, taken, strict=True))

    @lazy
    def moves(self) -> Ints:
        """Where the numbers that each pair of regions exchanges start; the last entry is their number."""
        sizes = [math.prod(self.shape(each.inner)) for each in self.inside]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def shape(self, r: int) -> tuple[int, ...]:
        """The numbers of states of a region's variables."""
        return tuple(self.wiring.plugs.cards[self.wiring.scope(r)].tolist())

    def moved(self, lambdas: Floats) -> Wiring:
        """The regions after they exchanged values: every assignment has the value that it had.

        Args:
            lambdas: for each region inside another, one number per entry, all after one another.
        """
        if not lambdas.any():
            return self.wiring
        tables = {r: self.wiring.table(r).copy() for each in self.inside for r in (each.outer, each.inner)}
        for each, start in zip(self.inside, self.moves.tolist(), strict=False):
            shape = self.shape(each.inner)
            given = lambdas[start : start + math.prod(shape)].reshape(shape)
            tables[each.inner] += given
            tables[each.outer] -= _spread(given, each.axes, tables[each.outer].ndim)
        return _with_tables(self.wiring, tables)


class Paired(NamedTuple):
    """A model with one factor per pair of variables.

    Attributes:
        wiring: the same log values.
        numbers: the number of each factor of the model among these.
    """

    wiring: Wiring
    numbers: Ints


def with_pairs(wiring: Wiring, clusters: Ints) -> Paired:
    """The same log values with one factor per pair of variables, and a table for each pair of the clusters.

    Pairs have their variables in increasing order, and entries of -inf at impossible states; further pairs follow the
    factors in the order of the clusters.
    """
    possible = wiring.consistent
    scopes = [tuple(sorted(possible.scope(f).tolist())) for f in range(possible.num_factors)]
    members: dict[tuple[int, ...], list[int]] = {}
    keys = [scope if len(scope) == 2 else (*scope, -1, f) for f, scope in enumerate(scopes)]
    for f, key in enumerate(keys):
        members.setdefault(key, []).append(f)
    pairs = dict.fromkeys(_pairs(clusters))
    for pair in pairs:
        members.setdefault(pair, [])
    _require_room(possible, pairs)
    listed = [key if not fs or len(scopes[fs[0]]) == 2 else scopes[fs[0]] for key, fs in members.items()]
    live = possible.unary > -np.inf
    is_whole = np.logical_and.reduceat(live, possible.plugs.states[:-1]).tolist() if len(live) else []
    parts = []
    for scope, fs in zip(listed, members.values(), strict=True):
        require_time()
        parts.append(_masked(possible, scope, _part(possible, scope, fs, scope in pairs), is_whole))
    places = {key: at for at, key in enumerate(members)}
    return Paired(_assembled(possible, listed, parts), np.array([places[key] for key in keys], np.int64))


def _masked(wiring: Wiring, scope: tuple[int, ...], part: _Part, is_whole: Sequence[bool]) -> _Part:
    """A table without the entries of impossible states.

    Args:
        is_whole: whether all states of each variable are possible.
    """
    if all(is_whole[i] for i in scope):
        return part
    table = part.table
    for axis, i in enumerate(scope if part.kind == TABLE else ()):
        live = (wiring.logs(i) > -np.inf).reshape([-1 if a == axis else 1 for a in range(table.ndim)])
        table = np.where(live, table, -np.inf)
    return part._replace(table=table)


def _spread(values: Any, axes: Sequence[int], ndim: int) -> Any:
    """Values over some axes of a table, in their order, with axes of length one for the others."""
    order = np.argsort(axes, kind="stable")
    shape = [1] * ndim
    for axis, size in zip(axes, values.shape, strict=True):
        shape[axis] = size
    return values.transpose(order).reshape(shape)


def _are_distinct_pairs(wiring: Wiring) -> bool:
    """Whether all factors are pairs, of different variables."""
    if not wiring.is_pairwise:
        return False
    ends = np.sort(wiring.plugs.scope.reshape(-1, 2), axis=1)
    return len(np.unique(ends[:, 0] * (wiring.num_variables + 1) + ends[:, 1])) == len(ends)


def _shared(scopes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The intersections of two or more variables of different factors."""
    found: dict[tuple[int, ...], None] = {}
    earlier: dict[int, list[int]] = {}
    for f, scope in enumerate(scopes):
        require_time()
        common = Counter(g for v in scope for g in earlier.get(v, ()))
        for g, count in common.items():
            if count > 1:
                found[tuple(sorted(set(scope) & set(scopes[g])))] = None
        for v in scope:
            earlier.setdefault(v, []).append(f)
    return list(found)


def _grouped(scopes: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], list[int]]:
    """The factors of each scope."""
    members: dict[tuple[int, ...], list[int]] = {}
    for f, scope in enumerate(scopes):
        members.setdefault(scope, []).append(f)
    return members


def _pairs(clusters: Ints) -> list[tuple[int, ...]]:
    """The pairs of all triplets."""
    return [pair for a, b, c in clusters.tolist() for pair in ((a, b), (b, c), (a, c))]


def _inside(scopes: Sequence[tuple[int, ...]]) -> tuple[Inside, ...]:
    """The pairs of regions of which one is directly inside the other."""
    by_variable: dict[int, list[int]] = {}
    for number, scope in enumerate(scopes):
        for v in scope:
            by_variable.setdefault(v, []).append(number)
    found = []
    for outer, scope in enumerate(scopes):
        require_time()
        if len(scope) < 3:
            continue
        near = Counter(k for v in scope for k in by_variable[v])
        within = [k for k, count in near.items() if 1 < count == len(scopes[k]) < len(scope)]
        largest = [k for k in within if not any(set(scopes[k]) < set(scopes[j]) for j in within)]
        found += [Inside(outer, k, tuple(scope.index(v) for v in scopes[k])) for k in sorted(largest)]
    return tuple(found)


def fitting(clusters: Ints, cards: Ints, *, axes: int, room: float) -> Ints:
    """The first clusters whose tables over all of their variables, or those of their pairs, fit in some room.

    Args:
        axes: 3 for tables over all variables, 2 for those of the three pairs.
    """
    sizes = cards[clusters].astype(np.float64)
    each = sizes.prod(axis=1) if axes == 3 else (sizes * np.roll(sizes, 1, axis=1)).sum(axis=1)
    return clusters[np.cumsum(each) <= room]


def _require_room(wiring: Wiring, scopes: Iterable[tuple[int, ...]]) -> None:
    """Raise if the tables of the regions are too large."""
    cards = wiring.plugs.cards.astype(float)
    size = sum(float(np.prod(cards[list(scope)])) for scope in scopes)
    if size > MAX_COLUMNS:
        raise TooLarge(
            f"The regions of the relaxation have {size:.3g} entries, more than {MAX_COLUMNS:.3g}. Use MPLP() or TRWS()."
        )


class _Part(NamedTuple):
    """The factor of a region: a table, or a named kind."""

    kind: int
    table: Floats
    weight: float = 0.0
    limit: float = math.inf


def _part(wiring: Wiring, scope: tuple[int, ...], factors: Sequence[int], is_touched: bool) -> _Part:
    """The sum of factors, with axes in increasing order of variables."""
    plugs = wiring.plugs
    if len(factors) == 1 and not is_touched and plugs.kinds[factors[0]] != TABLE:
        f = factors[0]
        return _Part(int(plugs.kinds[f]), np.zeros(0), float(plugs.weights[f]), float(plugs.limits[f]))
    if len(factors) == 1 and tuple(wiring.scope(factors[0]).tolist()) == scope:
        return _Part(TABLE, wiring.table(factors[0]))
    total: Any = np.zeros(plugs.cards[list(scope)].tolist())
    for f in factors:
        total = total + wiring.table(f).transpose(np.argsort(wiring.scope(f), kind="stable"))
    return _Part(TABLE, np.asarray(total, np.float64))


def _without(outer: _Part, inner: Floats, axes: Sequence[int]) -> _Part:
    """A region without the entries that are impossible inside it."""
    possible = _spread(inner > -np.inf, axes, outer.table.ndim)
    return outer._replace(table=np.where(possible, outer.table, -np.inf))


def _assembled(wiring: Wiring, scopes: Sequence[tuple[int, ...]], parts: Sequence[_Part]) -> Wiring:
    """A wiring of given factors with the single variables of another."""
    sizes = [p.table.size for p in parts]
    kinds = np.array([p.kind for p in parts], np.uint8)
    plugs = Plugs(
        wiring.plugs.cards,
        wiring.plugs.states,
        _starts([len(s) for s in scopes]),
        np.array([v for s in scopes for v in s], np.int64),
        kinds,
        np.where(kinds == TABLE, _starts(sizes)[:-1], -1),
        np.concatenate([np.zeros(0), *(p.table.reshape(-1) for p in parts)]),
        np.array([p.weight for p in parts], np.float64),
        np.array([p.limit for p in parts], np.float64),
    )
    for array in plugs:
        read_only(array)
    numbers = np.full(len(scopes), -1, np.int64)
    return Wiring(wiring.free, numbers, plugs, wiring.unary, wiring.constant, wiring.variables)


def _first(wiring: Wiring, count: int) -> Wiring:
    """The first factors of a wiring."""
    plugs = wiring.plugs
    if count == wiring.num_factors:
        return wiring
    slots = int(plugs.starts[count])
    fewer = plugs._replace(
        starts=plugs.starts[: count + 1],
        scope=plugs.scope[:slots],
        kinds=plugs.kinds[:count],
        places=plugs.places[:count],
        weights=plugs.weights[:count],
        limits=plugs.limits[:count],
    )
    return replace(wiring, numbers=wiring.numbers[:count], plugs=fewer)


def _with_tables(wiring: Wiring, tables: dict[int, Floats]) -> Wiring:
    """The same factors with other tables for some, which have tables of their own."""
    values = wiring.plugs.tables.copy()
    for r, table in tables.items():
        start = int(wiring.plugs.places[r])
        values[start : start + table.size] = table.reshape(-1)
    return replace(wiring, plugs=wiring.plugs._replace(tables=read_only(values)))


def _starts(sizes: AnyArray | Sequence[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
