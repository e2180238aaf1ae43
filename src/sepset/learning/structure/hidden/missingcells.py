r"""The posterior of the missing cells of every row, in blocks that are independent given what the row observes.

Two missing cells of a row belong to one block if some family has both. Given the observed cells,

$$P(\mathbf h \mid \mathbf o) = \prod_b P(\mathbf h_b \mid \mathbf o), \qquad
P(\mathbf h_b \mid \mathbf o) \propto \prod_{i : \text{family } i \text{ meets } b}
P(x_i \mid \mathbf u_i),$$

so that blocks stay small while their product does not. Rows whose blocks are the same cells are treated together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats, Int32s, Ints
from sepset.data.missingness import patterns_of
from sepset.engine.bound import Bound
from sepset.inference.completion import draw_rows
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.learning.structure.columns import Columns
from sepset.models.bayesnet import BayesNet

MOST_STATES = 4096
"""The largest number of joint states of a block that are listed."""

MOST_TOGETHER = 1 << 16
"""The largest number of joint completions of three blocks of a row."""

NEGLIGIBLE = 1e-30
"""Completions of less probability than this are left out: no count knows the difference."""

CHUNK = 1 << 20
"""Joint states times rows that are listed at once."""

Parents = Sequence[Sequence[int]]


class Block(NamedTuple):
    """The completions of the same missing cells in several rows.

    Attributes:
        members: the columns of the cells.
        rows: the rows.
        codes: the states of the cells, one row per completion.
        chances: the probability of each completion, one row per row of data.
    """

    members: Ints
    rows: Ints
    codes: AnyInts
    chances: Floats


@dataclass(frozen=True, eq=False)
class Completions:
    """The completions of all missing cells.

    Attributes:
        cells: for each column and row the number of the missing cell; -1 where it is observed.
        block_of: the block of each missing cell.
        first: the first completion of each block, and their number at the end.
        code_at: where the states of each missing cell begin.
        states: of missing cells, one for each completion of their block.
        chances: the probability of each completion.
        num_drawn: the number of rows whose completions were drawn, because there are too many.
    """

    cells: Int32s
    block_of: Int32s
    first: Ints
    code_at: Ints
    states: AnyInts
    chances: Floats
    num_drawn: int = 0

    @classmethod
    def of(
        cls, columns: Columns, parents: Parents, model: BayesNet, rng: np.random.Generator, *, draws: int = 200
    ) -> Completions:
        """The completions under a network.

        Args:
            columns: the rows.
            parents: of each column in the network.
            model: the network.
            rng: the source of draws.
            draws: how many completions a row has whose blocks are too large to list.
        """
        labels = block_labels(columns.codes < 0, parents)
        groups = list(_groups(labels))
        wide = _wide_rows(groups, columns)
        blocks = list(_drawn(columns, model, wide, draws, rng))
        families = [_Family.of(columns, child, given, model) for child, given in enumerate(parents)]
        for members, rows in groups:
            listed = rows[~wide[rows]]
            if len(listed):
                blocks += _listed(columns, families, members, listed)
        return _joined(columns, blocks, int(wide.sum()))


def block_labels(missing: Bools, parents: Parents) -> Int32s:
    """For each column and row the first column of the block of a missing cell; the number of columns if observed.

    >>> block_labels(np.array([[True], [False], [True], [True]]), [[], [0, 2], [], []]).ravel().tolist()
    [0, 4, 0, 3]
    """
    n = len(missing)
    labels = np.where(missing, np.arange(n)[:, None], n).astype(np.int32)
    pairs = {pair for child, given in enumerate(parents) for pair in combinations(sorted((child, *given)), 2)}
    linked = [(a, b, np.flatnonzero(missing[a] & missing[b])) for a, b in sorted(pairs)]
    changed = True
    while changed:
        changed = False
        for a, b, rows in linked:
            low = np.minimum(labels[a, rows], labels[b, rows])
            if (labels[a, rows] != low).any() or (labels[b, rows] != low).any():
                labels[a, rows] = labels[b, rows] = low
                changed = True
    return labels


def _groups(labels: Int32s) -> Iterator[tuple[Ints, Ints]]:
    """The sets of cells that are blocks, each with the rows in which it is one."""
    for column in range(len(labels)):
        rows = np.flatnonzero(labels[column] == column)
        if not len(rows):
            continue
        members = labels[:, rows] == column
        first, which = patterns_of(members.T)
        for group, one in enumerate(first.tolist()):
            yield np.flatnonzero(members[:, one]), rows[which == group]


def _wide_rows(groups: Sequence[tuple[Ints, Ints]], columns: Columns) -> Bools:
    """Which rows have a block of too many joint states, or three of them that have too many together."""
    largest = np.zeros((columns.num_rows, 3))
    for members, rows in groups:
        size = math.log(math.prod(columns.cards[members].tolist()))
        three = np.concatenate([largest[rows], np.full((len(rows), 1), size)], axis=1)
        largest[rows] = -np.sort(-three, axis=1)[:, :3]
    limits = (math.log(MOST_STATES) + 1e-9, math.log(MOST_TOGETHER) + 1e-9)
    return np.asarray((largest[:, 0] > limits[0]) | (largest.sum(1) > limits[1]))


class _Family(NamedTuple):
    """The columns of a family, the step of each in its table, and the logarithms of the table."""

    columns: tuple[int, ...]
    strides: Ints
    logs: Floats

    @classmethod
    def of(cls, columns: Columns, child: int, given: Sequence[int], model: BayesNet) -> _Family:
        cpd = model.cpd(columns.names[child])
        place = {name: k for k, name in enumerate(columns.names)}
        scope = (*(place[p.name] for p in cpd.parents), child)
        cards = columns.cards[list(scope)]
        strides = np.append(np.cumprod(cards[:0:-1])[::-1], 1).astype(np.int64)
        with np.errstate(divide="ignore"):
            return cls(scope, strides, np.log(np.asarray(cpd.values, np.float64)).ravel())


def _listed(columns: Columns, families: Sequence[_Family], members: Ints, rows: Ints) -> Iterator[Block]:
    """The completions of a block by all joint states of its cells."""
    cards = columns.cards[members].tolist()
    codes = np.indices(cards).reshape(len(cards), -1)
    state = dict(zip(members.tolist(), codes, strict=True))
    touching = [family for family in families if not state.keys().isdisjoint(family.columns)]
    step = max(1, CHUNK // codes.shape[1])
    for some in (rows[k : k + step] for k in range(0, len(rows), step)):
        total = np.zeros((len(some), codes.shape[1]))
        for family in touching:
            cell = np.zeros(1, np.int64)
            for column, stride in zip(family.columns, family.strides.tolist(), strict=True):
                cell = cell + stride * (state[column] if column in state else columns.codes[column, some][:, None])
            total += family.logs[cell]
        top = total.max(axis=1, keepdims=True)
        chances = np.exp(total - top)
        yield Block(members, some, codes.T, chances / chances.sum(axis=1, keepdims=True))


def _drawn(columns: Columns, model: BayesNet, wide: Bools, draws: int, rng: np.random.Generator) -> Iterator[Block]:
    """The completions of rows that have too many, drawn together from their posterior."""
    rows = np.flatnonzero(wide)
    if not len(rows):
        return
    given = EvidenceRows(tuple(range(len(columns))), columns.codes[:, rows].T.astype(np.int32)).found()
    made = draw_rows(Bound(model).prepared, given.repeated(draws), range(len(columns)), rng, Workers())
    codes = made.rows.codes.reshape(draws, len(rows), len(columns))
    chances = np.full((1, draws), 1.0 / draws)
    for place, row in enumerate(rows.tolist()):
        members = np.flatnonzero(columns.codes[:, row] < 0)
        yield Block(members, np.array([row]), codes[:, place, members], chances)


def _joined(columns: Columns, blocks: Sequence[Block], num_drawn: int) -> Completions:
    """The completions of all blocks, one after another; those without probability are left out."""
    cells = np.full(columns.codes.shape, -1, np.int32)
    block_of, sizes, states, chances, num_blocks, num_cells = [], [], [], [], 0, 0
    for members, rows, codes, chance in blocks:
        kept = chance > NEGLIGIBLE
        count = kept.sum(axis=1)
        width, length = len(members), len(rows)
        cells[members[None, :], rows[:, None]] = num_cells + np.arange(length * width).reshape(length, width)
        block_of.append(np.repeat(num_blocks + np.arange(length), width))
        sizes.append(count)
        chances.append(chance[kept])
        states.append(_by_cell(codes[np.nonzero(kept)[1]], count))
        num_blocks, num_cells = num_blocks + length, num_cells + length * width
    if not blocks:
        none = np.zeros(0, np.int64)
        return Completions(cells, none.astype(np.int32), np.zeros(1, np.int64), none, none, np.zeros(0))
    owner, size = np.concatenate(block_of), np.concatenate(sizes).astype(np.int64)
    first = np.append(0, np.cumsum(size))
    code_at = np.append(0, np.cumsum(size[owner]))[:-1]
    return Completions(
        cells, owner.astype(np.int32), first, code_at, np.concatenate(states), np.concatenate(chances), num_drawn
    )


def _by_cell(codes: AnyInts, count: Ints) -> AnyInts:
    """The states of blocks one after another: of each block all states of its first cell, then of its second."""
    width = codes.shape[1]
    start = np.append(0, np.cumsum(count))
    made = np.empty(codes.size, np.int32)
    row = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(codes)) - start[row]
    for cell in range(width):
        made[start[row] * width + cell * count[row] + within] = codes[:, cell]
    return made
