r"""States that can occur: what the factors' zeros leave of every domain, and tables laid out over that alone.

A state is impossible if every entry of some factor that contains it is zero, entries over impossible states left aside:
arc consistency. What is left of the domains is often much smaller, and tables shrink by the product.

Reference: Mackworth (1977), Consistency in networks of relations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.inference import costs
from sepset.inference.compiled.store import FactorStore, Layout
from sepset.variables.evidence import Evidence

Zeros = Literal["auto", "dense", "sparse"]
"""What is made of the factors' zeros: all states stay and every product is run ("dense"), products are restricted to
supports at once ("sparse"), or both are decided by cost."""


@dataclass(frozen=True, eq=False)
class States:
    """The possible states of every variable, and tables over them alone.

    Attributes:
        first: where the states of each variable begin in `allowed`, and the end.
        allowed: for each state of each variable whether it is possible.
        source: the store whose zeros say so.
    """

    first: Ints = field(repr=False)
    allowed: Bytes = field(repr=False)
    source: FactorStore = field(repr=False)

    def __len__(self) -> int:
        return len(self.first) - 1

    @lazy
    def _before(self) -> Ints:
        """How many states before each are possible."""
        return np.concatenate([[0], np.cumsum(self.allowed, dtype=np.int64)])

    @lazy
    def cards(self) -> Ints:
        """The number of possible states of each variable."""
        return np.diff(self._before[self.first])

    @lazy
    def _tables(self) -> tuple[Ints, Ints, Ints]:
        from sepset.kernels.compiled.sparse import allowed_cells

        return allowed_cells(*self.source.rows, self.source.offsets, self.first, self.allowed)

    @property
    def cells(self) -> Ints:
        """The place in a store of each entry that is over possible states."""
        return self._tables[0]

    def codes(self, position: int) -> Ints:
        """The codes of one variable's possible states."""
        return np.flatnonzero(self.allowed[self.first[position] : self.first[position + 1]])

    @property
    def layout(self) -> Layout:
        """Where the entries over possible states lie in a store of them alone."""
        _, offsets, strides = self._tables
        return Layout((*self.source.rows[:2], strides), offsets)

    def store(self, whole: FactorStore) -> FactorStore:
        """The numbers over possible states alone."""
        rows, offsets = self.layout
        return replace(whole, values=whole.values[self.cells], rows=rows, offsets=offsets)

    def allow(self, codes: Mapping[int, int]) -> bool:
        """Whether each of these findings is possible by itself."""
        return bool(self.allowed[self._places(codes)].all())

    def evidence(self, evidence: Evidence) -> Evidence:
        """The findings, each of which is possible, as codes and weights of the possible states."""
        if not evidence:
            return evidence
        places = self._places(evidence.codes)
        origins = self.first[np.fromiter(evidence.codes, np.int64, len(places))]
        codes = (self._before[places] - self._before[origins]).tolist()
        weights = {v: weights[self.codes(v)] for v, weights in evidence.weights.items()}
        return Evidence(dict(zip(evidence.codes, codes, strict=True)), weights)

    def _places(self, codes: Mapping[int, int]) -> Ints:
        num = len(codes)
        return self.first[np.fromiter(codes, np.int64, num)] + np.fromiter(codes.values(), np.int64, num)

    def joint(self, flat: Floats, positions: Sequence[int]) -> Floats:
        """A table over the possible states of some variables as one over all their states, flat: the rest is zero."""
        codes = [self.codes(v) for v in positions]
        whole = np.zeros([int(self.first[v + 1] - self.first[v]) for v in positions])
        whole[np.ix_(*codes)] = flat.reshape([len(part) for part in codes])
        return whole.reshape(-1)

    def entries(self, flat: Floats) -> Floats:
        """Numbers laid out as the smaller tables are, laid out as the whole store is."""
        spread = np.zeros(len(self.source.values))
        spread[self.cells] = flat
        return spread


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Single marginals over possible states laid out over all states, end to end.

    Attributes:
        index: the place of each possible state.
        places: from variable position to its part.
        size: of them all.
    """

    index: Ints
    places: Mapping[int, slice]
    size: int

    @classmethod
    def of(cls, states: States, positions: Sequence[int]) -> Spread:
        """How the marginals of these variables, in this order, are spread."""
        order = np.array(positions, dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum(np.diff(states.first)[order])])
        counts = states.cards[order]
        taken = np.concatenate([[0], np.cumsum(counts)])
        # The possible states one after the other, then each variable's run of them moved to its place.
        run = np.arange(taken[-1]) + np.repeat(states._before[states.first[order]] - taken[:-1], counts)
        index = np.flatnonzero(states.allowed)[run] + np.repeat(ends[:-1] - states.first[order], counts)
        stops = ends.tolist()
        places = {v: slice(stops[i], stops[i + 1]) for i, v in enumerate(positions)}
        return cls(index, places, stops[-1])

    def read(self, values: Floats) -> Floats:
        """The marginals over all states: read-only, zero where a state is impossible."""
        whole = np.zeros(self.size)
        whole[self.index] = values
        whole.setflags(write=False)
        return whole


class FirstValues(NamedTuple):
    """The first values asked of an observed set, and the states they leave where that is worth a program."""

    codes: Mapping[int, int]
    states: States | None


class Domains:
    """What tables range over, for every question about numbers that are zero where those of one store are.

    The first values asked of an observed set get tables over what they leave, since a program is made then anyhow;
    other values share tables over what is possible without findings.
    """

    def __init__(self, store: FactorStore, cards: Ints) -> None:
        self._store, self._cards = store, cards
        self._first: Cache[FirstValues] = Cache()

    @lazy
    def possible(self) -> States | None:
        """What is possible without findings; None where leaving out the rest makes tables hardly smaller."""
        if not self.has_zeros:
            return None
        return (
            self._known if self._shrinkage(self._cards, self._known.cards) >= costs.BITS_FOR_SMALLER_DOMAINS else None
        )

    def _shrinkage(self, before: Ints, after: Ints) -> float:
        """The power of two by which factors shrink, on average."""
        return float(np.log2(before / after)[self._store.rows[1]].sum() / self._store.num_factors)

    def _pays(self, before: Ints, after: Ints) -> bool:
        """Whether tables for first values save more than making them takes."""
        start, members, _ = self._store.rows
        filled = start[:-1][np.diff(start) > 0]
        entries = [np.multiply.reduceat(cards[members].astype(np.float64), filled).sum() for cards in (before, after)]
        saved = 1.0 - 4.0 ** -self._shrinkage(before, after)
        spent = costs.PLAN_NANOSECONDS_PER_VARIABLE * len(before) + costs.RUN_NANOSECONDS_PER_ENTRY * entries[0]
        making = costs.SHRINK_NANOSECONDS_PER_ENTRY * entries[1]
        return bool(saved * spent > costs.SAVING_FOR_FIRST_DOMAINS * making)

    @lazy
    def _known(self) -> States:
        return possible_states(self._store, self._cards)

    @lazy
    def has_zeros(self) -> bool:
        """Whether there are entries enough to look at, and some are zero."""
        num, most = len(self._store.values), costs.MOST_ENTRIES_PER_VARIABLE_FOR_SMALLER_DOMAINS * len(self._cards)
        return costs.ENTRIES_FOR_SMALLER_DOMAINS < num <= most and not self._store.values.all()

    def numbers(self, states: States | None) -> FactorStore:
        """The numbers that all this counts on, over the states given."""
        return self._store if states is None else states.store(self._store)

    def hold(self, store: FactorStore) -> bool:
        """Whether other numbers are zero where these are, so that what is impossible stays so."""
        return not ((store.values > 0.0) & (self._store.values == 0.0)).any()

    def of(self, evidence: Evidence) -> States | None:
        """The states to use with these findings; None means all of them."""
        if not self.has_zeros or not evidence.codes:
            return self.possible
        first = self._first.get(evidence.observed, lambda: self._given(evidence.codes))
        if first.states is not None and first.codes == evidence.codes:
            return first.states
        return self.possible if self.possible is None or self.possible.allow(evidence.codes) else None

    def _given(self, codes: Mapping[int, int]) -> FirstValues:
        left = given_states(self._known, codes)
        if left is None:
            return FirstValues(codes, None)
        before = (self._cards if self.possible is None else self.possible.cards).copy()
        before[list(codes)] = 1
        return FirstValues(codes, left if self._pays(before, left.cards) else None)


def possible_states(store: FactorStore, cards: Ints) -> States:
    """The states that the factors' zeros leave; all of them where these leave nothing.

    Cost: a pass over each factor up to its last needed entry, and again when a variable of it loses a state.
    """
    first = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
    left = _left(store, first, np.ones(first[-1], np.uint8), np.arange(store.num_factors))
    return States(first, np.ones(first[-1], np.uint8), store) if left is None else left


def given_states(known: States, codes: Mapping[int, int]) -> States | None:
    """The states that also the findings leave, each observed variable its own; None where they leave nothing.

    Args:
        known: what is possible without findings.
    """
    if not known.allow(codes):
        return None
    first, allowed = known.first, known.allowed.copy()
    for v, code in codes.items():
        allowed[first[v] : first[v + 1]] = 0
        allowed[first[v] + code] = 1
    start, homes = _homes(known.source, len(known))
    near = [homes[start[v] : start[v + 1]] for v in codes]
    return _left(known.source, first, allowed, np.concatenate(near) if near else np.zeros(0, np.int64))


def _left(store: FactorStore, first: Ints, allowed: Bytes, queue: Ints) -> States | None:
    from sepset.kernels.compiled.sparse import forbid_states

    homes = _homes(store, len(first) - 1)
    possible = forbid_states(*store.rows, store.offsets, store.values, first, allowed, *homes, queue)
    return States(first, allowed, store) if possible else None


def _homes(store: FactorStore, num: int) -> tuple[Ints, Ints]:
    """For each variable the factors that mention it, as compressed rows."""
    from sepset.kernels.compiled.planning import transposed

    return transposed(*store.rows[:2], num)
