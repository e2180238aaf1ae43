r"""The regressions that a question needs, divided into parts that share no hidden number.

Given its contexts $\mathbf c_k$, a part is independent of all others, and so

$$P(\mathbf o) = \sum_{\mathbf c} P(\mathbf c, \mathbf o_d)
\prod_k N(\mathbf o_k; \mu_{\mathbf c_k}, \Sigma_{\mathbf c_k}),$$

where $\mathbf c_k$ are the hidden discrete parents of part $k$. Only observed numbers, targets and their ancestors are
needed: all other regressions integrate to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Ints
from sepset.base.lazy import lazy
from sepset.inference import costs
from sepset.inference.gaussian.conditioning import FOUND, MISSING, Groups, Spread
from sepset.inference.gaussian.coordinates import Coordinate, Coordinates
from sepset.inference.gaussian.precision import sharpened


@dataclass(frozen=True, eq=False)
class Component:
    """Regressions connected through hidden numbers, with the observed numbers they depend on.

    Attributes:
        coordinates: the scalar regressions, parents first; observed parents that belong to other parts are constants.
        places: the coordinate of each in the whole problem.
        kinds: for each 1 if it is observed here, 2 if it is hidden, 0 if it is a constant.
        by: the positions of the hidden discrete variables they depend on.
        codes: the states of the observed discrete variables.
    """

    coordinates: Coordinates
    places: Ints
    kinds: Bytes = field(repr=False)
    by: tuple[int, ...]
    codes: Mapping[int, int] = field(repr=False)

    @lazy
    def hidden(self) -> Ints:
        """The hidden coordinates of the whole problem."""
        return np.asarray(self.places[self.kinds == MISSING])

    @lazy
    def num_states(self) -> int:
        """The number of joint states of the hidden contexts."""
        cards = dict(zip(self.coordinates.contexts, self.coordinates.cards.tolist(), strict=True))
        size = 1
        for v in self.by:
            size *= cards[v]
        return size

    @lazy
    def size(self) -> int:
        """The number of entries of loadings and gains in all states."""
        return self.num_states * len(self.hidden) * (len(self.hidden) + len(self.places))

    def spreads(self) -> Iterator[tuple[slice, Spread]]:
        """The posterior covariances, some joint states of the contexts (in C order) at a time."""
        if self.size <= costs.GAIN_ENTRIES_CACHED:
            yield from self._spreads
        else:
            yield from self._each()

    @lazy
    def _spreads(self) -> tuple[tuple[slice, Spread], ...]:
        return tuple(self._each())

    def _each(self) -> Iterator[tuple[slice, Spread]]:
        step = max(1, costs.GAIN_ENTRIES_AT_ONCE * self.num_states // max(1, self.size))
        for first in range(0, self.num_states, step):
            part = slice(first, min(first + step, self.num_states))
            found = Spread.of(self.coordinates, self._groups(np.arange(part.start, part.stop)))
            yield part, sharpened(self.coordinates, found)

    def _groups(self, states: Ints) -> Groups:
        found, missing = (np.tile(self.kinds == kind, (len(states), 1)) for kind in (FOUND, MISSING))
        return Groups.of(self.coordinates, found, missing, self._contexts(states))

    def entries(self, states: Ints) -> Ints:
        """For each joint state and coordinate the row of the coordinate's parameters."""
        return self._groups(states).entries

    def _contexts(self, states: Ints) -> Ints:
        """The state of every context in each joint state of the hidden ones."""
        columns: dict[int, Ints] = {}
        cards = dict(zip(self.coordinates.contexts, self.coordinates.cards.tolist(), strict=True))
        for v in reversed(self.by):
            states, columns[v] = np.divmod(states, cards[v])
        known = [columns[v] if v in columns else np.full(len(states), self.codes[v]) for v in self.coordinates.contexts]
        return np.stack(known, axis=1) if known else np.zeros((len(states), 0), np.int64)


def components(
    coordinates: Coordinates, targets: Sequence[int], found: Sequence[int], codes: Mapping[int, int]
) -> tuple[Component, ...]:
    """The parts that a question needs.

    Args:
        targets: the coordinates asked for.
        found: the observed coordinates.
        codes: the observed states of contexts.

    Cost: linear in the number of regressions and of their parents.

    >>> from sepset.factors.moments import Gaussian
    >>> from sepset.variables.variable import Real
    >>> pair = Gaussian((Real("x"), Real("y")), [0.0, 0.0], covariance=[[1.0, 0.0], [0.0, 1.0]])
    >>> [part.places.tolist() for part in components(Coordinates.of_gaussian(pair, (0, 1)), [0], [], {})]
    [[0]]
    """
    needed, is_found = np.zeros((2, len(coordinates)), np.bool_)
    is_found[list(found)] = True
    needed[[*targets, *found]] = True
    for i in range(len(coordinates) - 1, -1, -1):
        if needed[i]:
            needed[coordinates.all[i].parents] = True
    return tuple(
        _component(coordinates, members, is_found, codes)
        for members in _connected(coordinates, needed, is_found, codes)
    )


def _connected(
    coordinates: Coordinates, needed: Bools, is_found: Bools, codes: Mapping[int, int]
) -> Iterator[list[int]]:
    """The coordinates of each part; those without hidden numbers are together if they have the same contexts."""
    root = list(range(len(needed)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    hidden = {i: [int(j) for j in (i, *coordinates.all[i].parents) if not is_found[j]] for i in np.flatnonzero(needed)}
    for members in hidden.values():
        for j in members[1:]:
            root[find(j)] = find(members[0])
    parts: dict[object, list[int]] = {}
    for i, members in hidden.items():
        contexts = frozenset(c for c in coordinates.all[i].by if coordinates.contexts[c] not in codes)
        parts.setdefault(find(members[0]) if members else contexts, []).append(int(i))
    yield from parts.values()


def _component(coordinates: Coordinates, members: list[int], is_found: Bools, codes: Mapping[int, int]) -> Component:
    own = set(members)
    places = sorted(own.union(*(coordinates.all[i].parents.tolist() for i in members)))
    place = {old: new for new, old in enumerate(places)}
    contexts = tuple(sorted({c for i in members for c in coordinates.all[i].by}))
    index = {old: new for new, old in enumerate(contexts)}
    parts = tuple(
        _moved(coordinates.all[i], place, index) if i in own else _constant(coordinates.all[i]) for i in places
    )
    positions = tuple(coordinates.contexts[c] for c in contexts)
    kinds = np.array([(FOUND if is_found[i] else MISSING) if i in own else 0 for i in places], np.uint8)
    inside = Coordinates(positions, coordinates.cards[list(contexts)], {}, parts)
    known = {v: codes[v] for v in positions if v in codes}
    by = tuple(sorted(v for v in positions if v not in codes))
    return Component(inside, np.array(places, np.int64), kinds, by, known)


def _moved(part: Coordinate, place: Mapping[int, int], index: Mapping[int, int]) -> Coordinate:
    """A regression with its parents and contexts numbered within a part."""
    parents = np.array([place[i] for i in part.parents.tolist()], np.int64)
    return part._replace(parents=parents, by=tuple(index[c] for c in part.by))


def _constant(part: Coordinate) -> Coordinate:
    """A coordinate whose value is given."""
    return Coordinate(part.parents[:0], (), part.intercept[:1], part.slopes[:1, :0], part.variance[:1])
