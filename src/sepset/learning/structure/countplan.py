r"""`CountPlan`: few tables that cover all the statistics that are needed, counted in one pass over the rows.

A table over the columns $\mathbf T$ gives the counts of every $\mathbf S \subseteq \mathbf T$ by sums over the others,

$$M[\mathbf s] = \sum_{\mathbf t \sim \mathbf s} M[\mathbf t],$$

so that the tables need only cover the sets that are asked for. Which tables are best is a problem of set cover; sets
are joined greedily, while a larger table costs less than another one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import whole
from sepset.base.entries import Answers
from sepset.base.lazy import lazy
from sepset.base.text import brief, listing
from sepset.errors import NotApplicable, ScopeError, TooLarge
from sepset.learning.structure.columns import Columns
from sepset.variables.universe import Universe

MOST_CELLS = 1 << 16
"""The cells of a table, where no number is given: they stay in a processor's cache."""

BLOCK = 1 << 14
"""The rows that all tables count before the next rows are read."""

Scope = tuple[int, ...]


@dataclass(frozen=True)
class CountPlan:
    """Tables that cover sets of columns; `collect` counts them all in one pass over the rows.

    A table takes one number per row and one per cell: sets are joined where that is less, and where the table has at
    most `max_cells` cells. Measured on 20,000 rows of ALARM: its 666 pairs of columns need 60 tables, which take 15 ms
    to count and 20 ms to read, against 75 ms for counting each pair. Searches need no plan: they ask for families as
    they go, and score all additions to one in a pass.

    Attributes:
        variables: of the columns.
        tables: the columns of each, in order.
        sizes: of every column, the length of its axis: its states, and one more if cells are missing.

    Reference: Koller & Friedman, box 18.A; Deshpande, Garofalakis & Jordan (2001) for covers by few tables.
    Guarantee: every set is inside a table; counts are exact.
    Tested by: learning/structure/test_countplan.py::test_counts_against_direct_counting

    >>> columns = Columns.of({"a": [0, 0, 1, 1, 0], "b": [0, 1, 1, 1, 1], "c": [0, 0, 0, 1, 1]})
    >>> plan = CountPlan.of(columns, [(0, 1), (1, 2), (2,)])
    >>> plan.tables
    ((0, 1, 2),)
    >>> plan.collect(columns)[(1, 0)].tolist()
    [[1.0, 0.0], [2.0, 2.0]]
    """

    variables: Universe
    tables: tuple[Scope, ...]
    _: KW_ONLY
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, columns: Columns, needed: Iterable[Iterable[int]], *, max_cells: int = MOST_CELLS) -> CountPlan:
        """The plan for some sets of columns.

        Args:
            columns: what is counted; discrete, without interventions, which count different rows for each child.
            needed: sets of column numbers.
            max_cells: of a table; a set that is larger by itself is refused.
        """
        whole("CountPlan.of(max_cells=)", max_cells, least=1)
        if columns.intervened is not None:
            raise NotApplicable("CountPlan counts the same rows for all sets. Use Columns.counts with interventions.")
        scopes = {tuple(sorted(set(scope))) for scope in needed}
        _check(scopes, columns)
        sizes = tuple((columns.cards + (columns.codes < 0).any(1)).tolist())
        largest = max((_cells(scope, sizes) for scope in scopes), default=1)
        if largest > max_cells:
            raise TooLarge(f"A set of columns has {largest:,} cells; the limit is max_cells={max_cells:,}. Raise it.")
        return cls(columns.variables, _joined(scopes, sizes, columns.num_rows, max_cells), sizes=sizes)

    @property
    def num_cells(self) -> int:
        """The cells of all tables."""
        return sum(_cells(table, self.sizes) for table in self.tables)

    def collect(self, columns: Columns) -> PlannedCounts:
        """The counts of all tables, in one pass over the rows.

        Args:
            columns: those of the plan, of any rows; the counts of parts of the rows can be added.
        """
        if tuple(columns.variables) != tuple(self.variables):
            raise ScopeError(f"The plan is for {self.variables!r} in this order; found {columns.variables!r}.")
        if not columns.is_complete and (columns.cards + (columns.codes < 0).any(1) > self.sizes).any():
            raise NotApplicable("These columns have missing cells, and those of the plan have none. Make a new plan.")
        found = [np.zeros(_cells(table, self.sizes)) for table in self.tables]
        weights = columns.weights.astype(np.float64)
        for first in range(0, columns.num_rows, BLOCK):
            rows = slice(first, first + BLOCK)
            codes = columns.codes[:, rows].astype(np.int64)
            codes[codes < 0] += np.repeat(self.sizes, (codes < 0).sum(1))  # the last state of the axis
            for table, counts in zip(self.tables, found, strict=True):
                place = np.zeros(codes.shape[1], np.int64)
                for column in table:
                    place = place * self.sizes[column] + codes[column]
                counts += np.bincount(place, weights[rows], len(counts))
        shapes = [[self.sizes[c] for c in table] for table in self.tables]
        counted = [counts.reshape(shape) for counts, shape in zip(found, shapes, strict=True)]
        return PlannedCounts(dict(zip(self.tables, counted, strict=True)), tuple(columns.cards.tolist()))


@dataclass(frozen=True)
class PlannedCounts(Answers[Scope, Floats]):
    """The counts of every set inside the tables of a plan, with one axis per column in the order asked for."""

    tables: Mapping[Scope, Floats]
    cards: tuple[int, ...]

    def __getitem__(self, scope: Scope) -> Floats:
        is_scope = isinstance(scope, tuple) and all(isinstance(c, int | np.integer) for c in scope)
        if not is_scope or len(set(scope)) < len(scope):
            raise ScopeError(f"Counts are found by different column numbers, such as (0, 2); found {brief(scope)}.")
        wanted = frozenset(scope)
        holding = [table for table, members in self._members.items() if wanted <= members]
        if not holding:
            raise ScopeError(f"No table of the plan has all of the columns {listing(scope)}.")
        table = min(holding, key=lambda t: self.tables[t].size)
        counts = self.tables[table].sum(tuple(k for k, c in enumerate(table) if c not in wanted))
        kept = [c for c in table if c in wanted]
        observed = counts[tuple(slice(self.cards[c]) for c in kept)]
        return np.transpose(observed, [kept.index(c) for c in scope])

    @lazy
    def _members(self) -> Mapping[Scope, frozenset[int]]:
        return {table: frozenset(table) for table in self.tables}

    def __iter__(self) -> Iterator[Scope]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)


def _check(scopes: Iterable[Scope], columns: Columns) -> None:
    for scope in scopes:
        if any(not 0 <= c < len(columns) for c in scope):
            raise ScopeError(f"Columns have the numbers 0 to {len(columns) - 1}; found {listing(scope)}.")
        if real := [columns.names[c] for c in scope if columns.is_real[c]]:
            raise NotApplicable(f"CountPlan counts discrete columns; {listing(real)} is real. Discretize or drop it.")


def _cells(scope: Sequence[int], sizes: Sequence[int]) -> int:
    return math.prod([sizes[c] for c in scope])


def _joined(scopes: Iterable[Scope], sizes: Sequence[int], num_rows: int, max_cells: int) -> tuple[Scope, ...]:
    """Tables that cover all sets: each set in turn, large ones first, joins the table where it costs least.

    A table of its own costs a number per row and per cell. To join a table costs the cells that it then has more, once
    for every set that is read from it.
    """
    tables: list[set[int]] = []
    cells: list[int] = []
    served: list[int] = []
    for scope in sorted(scopes, key=lambda s: (-_cells(s, sizes), s)):
        best, least, size = -1, num_rows + 2 * _cells(scope, sizes), 0
        for k, table in enumerate(tables):
            more = _cells([c for c in scope if c not in table], sizes) * cells[k]
            cost = more * (served[k] + 1) - cells[k] * served[k]
            if more <= max_cells and cost < least:
                best, least, size = k, cost, more
        if best < 0:
            tables.append(set(scope))
            cells.append(_cells(scope, sizes))
            served.append(1)
        else:
            tables[best].update(scope)
            cells[best] = size
            served[best] += 1
    return tuple(sorted(tuple(sorted(table)) for table in tables))
