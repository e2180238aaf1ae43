r"""Rows of evidence with every choice of their hidden discrete contexts, in parts of bounded size.

Given its context $\mathbf c$ a row is normal, and so

$$P(\mathbf o) = \sum_{\mathbf c} P(\mathbf c, \mathbf o_d)\, N(\mathbf o_r; \mu_{\mathbf c}, \Sigma_{\mathbf c}).$$

Only variables that a regression depends on are enumerated; all other hidden discrete variables are handled by the
discrete part of the problem. Nothing here depends on parameters: one layout serves every step of EM.

Reference: Koller & Friedman, section 14.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Int32s, Ints
from sepset.base.lazy import lazy
from sepset.data.missingness import patterns_of
from sepset.inference import costs
from sepset.inference.evidencerows import EvidenceRows, distinct_rows
from sepset.inference.gaussian.conditioning import Groups
from sepset.inference.gaussian.coordinates import Coordinates


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some rows with every choice of their hidden contexts, the choices of one row consecutive.

    Attributes:
        rows: the indices of the rows.
        owner: for each choice, the place of its row among `rows`.
        starts: the first choice of each row.
        states: for each choice, the row of `Choices.states` with its discrete variables.
        values: the real values of each choice's row, NaN where missing.
        group: the group of each choice.
        groups: the observed and missing coordinates of each group, and its context.
    """

    rows: Ints
    owner: Ints
    starts: Ints
    states: Ints
    values: Floats
    group: Ints
    groups: Groups


@dataclass(frozen=True, eq=False)
class Choices:
    """Rows with every choice of their hidden contexts.

    Attributes:
        coordinates: the regressions.
        rows: the evidence.
        wanted: real variables that are needed in addition to those observed and all ancestors; None for every one.
        targets: contexts that are always enumerated.
    """

    coordinates: Coordinates
    rows: EvidenceRows = field(repr=False)
    wanted: tuple[int, ...] | None = None
    targets: tuple[int, ...] = ()

    @lazy
    def values(self) -> Floats:
        """The observed values, one column per coordinate; NaN where missing."""
        whole = np.full((len(self.rows), len(self.coordinates)), np.nan)
        for column, position in enumerate(self.rows.real_positions):
            whole[:, self.coordinates.families[position].own] = self.rows.reals[:, column, None]
        return whole

    @lazy
    def _patterns(self) -> tuple[Bools, Bools, Ints]:
        """The observed and missing coordinates of each pattern, and the pattern of each row."""
        found = ~np.isnan(self.values)
        first, which = patterns_of(found)
        kinds = found[first]
        if self.wanted is None:
            return kinds, ~kinds, which
        needed = kinds.copy()
        for v in self.wanted:
            needed[:, self.coordinates.families[v].own] = True
        return kinds, self.coordinates.ancestors(needed) & ~kinds, which

    @lazy
    def _needed(self) -> Bools:
        """Which contexts each pattern needs."""
        found, missing, _ = self._patterns
        targets = set(self.targets)
        always = np.array([c in targets for c in self.coordinates.contexts], np.bool_)
        return np.asarray(self.coordinates.needed(found | missing) | always)

    @lazy
    def _codes(self) -> Int32s:
        """The context of each row: -1 where it is hidden and enumerated, -2 where it is not needed."""
        codes = np.full((len(self.rows), len(self.coordinates.contexts)), -1, np.int32)
        for column, position in enumerate(self.rows.positions):
            place = self.coordinates.place.get(position)
            if place is not None:
                codes[:, place] = self.rows.codes[:, column]
        idle = ~self._needed[self._patterns[2]] & (codes < 0)
        codes[idle] = -2
        return codes

    @lazy
    def numbers(self) -> Floats:
        """The number of choices of each row; infinite beyond the range of floats."""
        with np.errstate(over="ignore"):
            found = np.where(self._codes == -1, self.coordinates.cards, 1).prod(axis=1, dtype=np.float64)
        return np.asarray(found)

    @lazy
    def sizes(self) -> Ints:
        """The number of loadings and gains that each row needs in one context."""
        _, missing, which = self._patterns
        count = missing.sum(axis=1)
        return np.asarray((count * (count + len(self.coordinates)))[which])

    @lazy
    def _distinct(self) -> tuple[Ints, Ints, Ints]:
        """Rows with distinct discrete codes, their index for each row, and the first choice of each."""
        first, which = distinct_rows(np.concatenate([self.rows.codes, self._codes], axis=1))
        return first, which, np.concatenate([[0], np.cumsum(self.numbers[first])]).astype(np.int64)

    @lazy
    def contexts(self) -> Ints:
        """The contexts of every state row, none hidden; 0 for those that are not needed."""
        first, _, starts = self._distinct
        source = np.repeat(first, np.diff(starts))
        number = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
        codes = self._codes[source].astype(np.int64)
        for place in reversed(range(codes.shape[1])):
            hidden, card = codes[:, place] == -1, int(self.coordinates.cards[place])
            codes[:, place] = np.where(hidden, number % card, codes[:, place])
            number = np.where(hidden, number // card, number)
        return codes

    @lazy
    def states(self) -> EvidenceRows:
        """The discrete evidence of every choice with contexts filled in, shared by rows with equal codes."""
        first, _, starts = self._distinct
        source = np.repeat(first, np.diff(starts))
        positions = tuple(dict.fromkeys((*self.rows.positions, *self.coordinates.contexts)))
        codes = np.full((len(source), len(positions)), -1, np.int32)
        codes[:, : len(self.rows.positions)] = self.rows.codes[source]
        column = {position: i for i, position in enumerate(positions)}
        codes[:, [column[v] for v in self.coordinates.contexts]] = np.maximum(self.contexts, -1)
        return EvidenceRows(positions, codes)

    @lazy
    def _joint(self) -> Ints:
        """A number for the joint context of every state row."""
        return distinct_rows(np.ascontiguousarray(self.contexts, dtype=np.int32))[1]

    @lazy
    def parts(self) -> tuple[Part, ...]:
        """All rows, part by part."""
        return tuple(self.each())

    def each(self) -> Iterator[Part]:
        """The parts one after another; rows with about as many missing values are in the same part."""
        _, missing, which = self._patterns
        if not len(which):
            return
        order = np.lexsort((which, missing.sum(axis=1)[which]))
        pattern, size = which[order], self.sizes[order]
        is_new = np.diff(pattern, prepend=-1) != 0
        share = np.cumsum(
            self.numbers[order] / costs.CHOICES_AT_ONCE
            + is_new * (self._joint.max() + 1) * size / costs.GAIN_ENTRIES_AT_ONCE
        )
        for rows in np.split(order, np.flatnonzero(np.diff(np.floor(share))) + 1):
            yield self._part(rows)

    def _part(self, rows: Ints) -> Part:
        """Rows in the order of their missing values, with their choices and groups."""
        found, missing, which = self._patterns
        _, state, begin = self._distinct
        number = self.numbers[rows].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(number)[:-1]]).astype(np.int64)
        owner = np.repeat(np.arange(len(rows)), number)
        states = begin[state[rows]][owner] + np.arange(len(owner)) - starts[owner]
        rank = np.cumsum(np.diff(which[rows], prepend=-1) != 0)[owner]
        joint = self._joint[states]
        _, first, group = np.unique(rank * (int(joint.max()) + 1) + joint, return_index=True, return_inverse=True)
        kinds = which[rows[owner[first]]]
        contexts = np.maximum(self.contexts[states[first]], 0)
        groups = Groups.of(self.coordinates, found[kinds], missing[kinds], contexts)
        return Part(rows, owner, starts, states, self.values[rows[owner]], group.reshape(-1), groups)
