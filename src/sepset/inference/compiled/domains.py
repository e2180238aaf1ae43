r"""Possible states: domains without the states that the factors' zeros exclude, and tables over these domains.

A state is impossible if every entry of some factor that contains it is zero, ignoring entries over impossible states
(arc consistency). The remaining domains are often much smaller, and tables shrink by the product of the ratios.

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
"""The treatment of zeros in the factors: all states are kept and all products computed ("dense"), products are
restricted to supports at once ("sparse"), or both are decided by cost."""


@dataclass(frozen=True, eq=False)
class States:
    """The possible states of every variable, and tables over these states only.

    Attributes:
        first: the offset of each variable's states in `allowed`, and the end.
        allowed: for each state of each variable whether it is possible.
        source: the store whose zeros determine this.
    """

    first: Ints = field(repr=False)
    allowed: Bytes = field(repr=False)
    source: FactorStore = field(repr=False)

    def __len__(self) -> int:
        return len(self.first) - 1

    @lazy
    def _before(self) -> Ints:
        """The number of possible states before each state."""
        return np.concatenate([[0], np.cumsum(self.allowed, dtype=np.int64)])

    @lazy
    def cards(self) -> Ints:
        """The number of possible states of each variable."""
        return np.diff(self._before[self.first])

    @lazy
    def _tables(self) -> tuple[Ints, Ints, Ints]:
        from sepset.kernels.compiled.sparse import allowed_cells

        return allowed_cells(*self.source.rows, self.source.layout.offsets, self.first, self.allowed)

    @property
    def cells(self) -> Ints:
        """The place in the whole store of each entry over possible states."""
        return self._tables[0]

    def num_states(self, position: int) -> int:
        """The number of one variable's states, possible or not."""
        return int(self.first[position + 1] - self.first[position])

    def codes(self, position: int) -> Ints:
        """The codes of one variable's possible states."""
        return np.flatnonzero(self.allowed[self.first[position] : self.first[position + 1]])

    @lazy
    def layout(self) -> Layout:
        """The layout of a store of the entries over possible states only."""
        _, offsets, strides = self._tables
        return Layout.of((*self.source.rows[:2], strides), offsets, self.cards)

    def store(self, whole: FactorStore) -> FactorStore:
        """The store of the entries over possible states only."""
        return replace(whole, values=whole.values[self.cells], layout=self.layout)

    def allow(self, codes: Mapping[int, int]) -> bool:
        """Whether each of these findings is possible by itself."""
        return bool(self.allowed[self._places(codes)].all())

    def evidence(self, evidence: Evidence) -> Evidence:
        """The findings, all possible, as codes and weights over the possible states."""
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

    def joint(self, flat: Floats, positions: Sequence[int], *, zero: float = 0.0) -> Floats:
        """A table over the possible states of some variables extended by zeros to all their states, flat.

        Args:
            zero: the entry of an impossible state, -inf for logarithms.
        """
        codes = [self.codes(v) for v in positions]
        whole = np.full([int(self.first[v + 1] - self.first[v]) for v in positions], zero)
        whole[np.ix_(*codes)] = flat.reshape([len(part) for part in codes])
        return whole.reshape(-1)

    def extended(self, singles: Floats) -> Floats:
        """The marginals of all variables over possible states, in order, extended by zeros to all states."""
        whole = np.zeros(len(self.allowed))
        whole[self.allowed.view(np.bool_)] = singles
        whole.setflags(write=False)
        return whole

    def entries(self, flat: Floats) -> Floats:
        """Entries in the layout of the smaller tables, in the layout of the whole store."""
        spread = np.zeros(len(self.source.values))
        spread[self.cells] = flat
        return spread


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Single marginals over possible states extended to all states, concatenated.

    Attributes:
        index: the place of each possible state.
        places: from variable position to its slice.
        size: the total number of states.
    """

    index: Ints
    places: Mapping[int, slice]
    size: int

    @classmethod
    def of(cls, states: States, positions: Sequence[int]) -> Spread:
        """The extension of the marginals of these variables, in this order."""
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

    def read(self, values: Floats, *, zero: float = 0.0) -> Floats:
        """The marginals over all states: read-only, zero (-inf for logarithms) where a state is impossible."""
        whole = np.full(self.size, zero)
        whole[self.index] = values
        whole.setflags(write=False)
        return whole


class FirstValues(NamedTuple):
    """The first values of an observed set, and the states they leave, or None if these do not save enough."""

    codes: Mapping[int, int]
    states: States | None


class Domains:
    """The domains of tables, for all values that are zero where those of one store are.

    The first values of an observed set get tables over the states they leave, since a program is made then in any case;
    other values share tables over the states possible without findings.
    """

    def __init__(self, store: FactorStore, cards: Ints) -> None:
        self._store, self._cards = store, cards
        self._first: Cache[FirstValues] = Cache()
        self._own: Cache[States | None] = Cache(64)
        self._left: Cache[States | None] = Cache(16)

    @lazy
    def possible(self) -> States | None:
        """The states possible without findings; None if tables over them are hardly smaller."""
        if not self.has_zeros:
            return None
        return self.known if self._shrinkage(self._cards, self.known.cards) >= costs.BITS_FOR_SMALLER_DOMAINS else None

    def _shrinkage(self, before: Ints, after: Ints) -> float:
        """The power of two by which factors shrink, on average."""
        return float(np.log2(before / after)[self._store.rows[1]].sum() / self._store.num_factors)

    def _pays(self, before: Ints, after: Ints) -> bool:
        """Whether tables for first values save more time than making them takes."""
        start, members, _ = self._store.rows
        filled = start[:-1][np.diff(start) > 0]
        entries = [np.multiply.reduceat(cards[members].astype(np.float64), filled).sum() for cards in (before, after)]
        saved = 1.0 - 4.0 ** -self._shrinkage(before, after)
        spent = costs.PLAN_NANOSECONDS_PER_VARIABLE * len(before) + costs.RUN_NANOSECONDS_PER_ENTRY * entries[0]
        making = costs.SHRINK_NANOSECONDS_PER_ENTRY * entries[1]
        return bool(saved * spent > costs.SAVING_FOR_FIRST_DOMAINS * making)

    @lazy
    def known(self) -> States:
        """The states possible without findings."""
        return possible_states(self._store, self._cards)

    def left_by(self, codes: Mapping[int, int]) -> States | None:
        """The states possible with these findings; None if no state is left."""
        if not codes:
            return self.known
        return self._left.get(tuple(sorted(codes.items())), lambda: given_states(self.known, codes))

    @lazy
    def has_zeros(self) -> bool:
        """Whether the number of entries is worth a look at each, and some are zero."""
        num, most = len(self._store.values), costs.MOST_ENTRIES_PER_VARIABLE_FOR_SMALLER_DOMAINS * len(self._cards)
        return costs.ENTRIES_FOR_SMALLER_DOMAINS < num <= most and self._store.has_zeros

    def store_over(self, states: States | None) -> FactorStore:
        """The store over the given states."""
        return self._store if states is None else states.store(self._store)

    def hold(self, store: FactorStore) -> bool:
        """Whether another store is zero wherever this one is, so that impossible states stay impossible."""
        return store.values is self._store.values or not (store.values[self._zeros] > 0.0).any()

    @lazy
    def _zeros(self) -> Ints:
        """The places of the zeros in the store."""
        return np.flatnonzero(self._store.values == 0.0)

    def of(self, evidence: Evidence) -> States | None:
        """The states to use with these findings; None means all of them."""
        if not self.has_zeros or not evidence.codes:
            return self.possible
        first = self._first.get(evidence.observed, lambda: self._given(evidence.codes))
        if first.states is not None and first.codes == evidence.codes:
            return first.states
        return self.possible if self.possible is None or self.possible.allow(evidence.codes) else None

    def own(self, evidence: Evidence) -> States | None:
        """The states that these very findings leave; None if they are hardly fewer, or no state is left."""
        key = tuple(sorted(evidence.codes.items()))
        return self._own.get(key, lambda: self._left_by(evidence.codes)) if key and self.has_zeros else None

    def _left_by(self, codes: Mapping[int, int]) -> States | None:
        left = self.left_by(codes)
        is_fewer = left is not None and self._shrinkage(self._before(codes), left.cards) >= costs.BITS_FOR_OWN_STATES
        return left if is_fewer else None

    def _before(self, codes: Mapping[int, int]) -> Ints:
        """The number of states of each variable in tables that all values of an observed set share."""
        before = (self._cards if self.possible is None else self.possible.cards).copy()
        before[list(codes)] = 1
        return before

    def _given(self, codes: Mapping[int, int]) -> FirstValues:
        left = self.left_by(codes)
        if left is None:
            return FirstValues(codes, None)
        return FirstValues(codes, left if self._pays(self._before(codes), left.cards) else None)


def possible_states(store: FactorStore, cards: Ints) -> States:
    """The states that the factors' zeros leave; all of them if no state is left.

    Cost: a pass over each factor up to its last needed entry, and another when one of its variables loses a state.

    Reference: Mackworth (1977).
    Guarantee: exact.
    Tested by: inference/compiled/test_domains.py::test_every_question_without_findings_and_with_several_values
    """
    first = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
    left = _left(store, first, np.ones(first[-1], np.uint8), np.arange(store.num_factors))
    return States(first, np.ones(first[-1], np.uint8), store) if left is None else left


def given_states(known: States, codes: Mapping[int, int]) -> States | None:
    """The states that are possible with the findings, one of each observed variable; None if no state is left.

    Args:
        known: the states possible without findings.
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
    possible = forbid_states(*store.rows, store.layout.offsets, store.values, first, allowed, *homes, queue)
    return States(first, allowed, store) if possible else None


def _homes(store: FactorStore, num: int) -> tuple[Ints, Ints]:
    """For each variable the factors with it in scope, as compressed rows."""
    from sepset.kernels.compiled.planning import transposed

    return transposed(*store.rows[:2], num)
