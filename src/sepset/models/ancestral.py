r"""Forward sampling: each variable drawn given its parents, in an ancestral order.

Consecutive table CPDs are drawn in one compiled pass; any other CPD draws its own column. Rows are drawn in chunks,
each with its own random stream, so a seed gives the same rows with any number of threads.

Reference: Koller & Friedman, algorithm 12.1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.random import SeedSequence

from sepset.base.arraytypes import AnyArray, Bytes, Floats, Ints
from sepset.base.checks import generator, whole
from sepset.base.memory import check_rows_fit
from sepset.base.threads import in_order, num_processors, num_threads
from sepset.cpds.cpd import CPD
from sepset.cpds.table import TableCPD, is_table
from sepset.factors.algebra import Columns
from sepset.variables.variable import Discrete, Vector

CHUNK = 1 << 14
"""The number of rows per random stream. Changing it changes every sample."""

LARGEST_INT8 = 127

ROWS_DRAWN_AT_ONCE = 1 << 18
"""The rows for which a CPD that is not a table draws together: in between, Ctrl-C is heard and memory is free again."""


@dataclass(frozen=True, slots=True, eq=False)
class TableSteps:
    """Consecutive table CPDs as integer arrays and cumulative tables, ready for the compiled pass."""

    children: Ints
    thresholds: Ints
    offsets: Ints
    parent_ptr: Ints
    parents: Ints
    strides: Ints
    cumulative: Floats

    @classmethod
    def of(cls, cpds: Sequence[TableCPD], row_of: Mapping[Any, int]) -> TableSteps:
        """The steps that draw the children of `cpds`, whose codes are in row `row_of[variable]`."""
        thresholds = [cpd.child.num_states - 1 for cpd in cpds]
        tables = [cumulative_rows(cpd) for cpd in cpds]
        strides = [_strides(cpd) for cpd in cpds]
        return cls(
            children=_ints(row_of[cpd.child] for cpd in cpds),
            thresholds=_ints(thresholds),
            offsets=_ints(itertools.accumulate((t.size for t in tables[:-1]), initial=0)),
            parent_ptr=_ints(itertools.accumulate((len(cpd.parents) for cpd in cpds), initial=0)),
            parents=_ints(row_of[p] for cpd in cpds for p in cpd.parents),
            strides=_ints(itertools.chain.from_iterable(strides)),
            cumulative=np.concatenate(tables),
        )

    def run(self, codes: AnyArray, seeds: Sequence[SeedSequence], threads: int) -> None:
        """Draw every row of `codes`, with one random stream per chunk."""
        from sepset.kernels.models import sampling

        num_rows = codes.shape[1]

        def draw(chunk: int, cancel: Bytes | None = None) -> None:
            first = chunk * CHUNK
            state = seeds[chunk].generate_state(4, np.uint64).astype(np.uint64, copy=False)
            last = min(first + CHUNK, num_rows)
            with np.errstate(over="ignore"):  # random words wrap around, even if the kernel runs uncompiled
                sampling.forward(
                    codes,
                    first,
                    last,
                    self.children,
                    self.thresholds,
                    self.offsets,
                    self.parent_ptr,
                    self.parents,
                    self.strides,
                    self.cumulative,
                    state,
                )

        if threads <= 1 or len(seeds) <= 1:
            for chunk in range(len(seeds)):
                draw(chunk)
        else:
            tasks = (partial(draw, chunk) for chunk in range(len(seeds)))
            for _ in in_order(tasks, threads, is_short=lambda task: True):
                pass


def cumulative_rows(cpd: TableCPD) -> Floats:
    """The cumulative probabilities of each row without the last; a state of probability zero is never drawn."""
    rows = cpd.values.reshape(-1, cpd.child.num_states)
    cumulative = np.cumsum(rows, axis=1)
    cumulative /= cumulative[:, -1:]
    later = np.cumsum(rows[:, ::-1] > 0, axis=1)[:, ::-1]
    cumulative[:, :-1][later[:, 1:] == 0] = 1.0
    return cumulative[:, :-1].reshape(-1)


def _strides(cpd: TableCPD) -> list[int]:
    sizes = [cpd.child.num_states - 1, *(p.num_states for p in reversed(cpd.parents[1:]))]
    return list(itertools.accumulate(sizes, lambda a, b: a * b))[::-1] if cpd.parents else []


def _ints(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, np.int64)


def forward_sample(
    cpds: Sequence[CPD],
    num_rows: int,
    seed: int | np.random.Generator,
    threads: int | None = None,
    first: Columns | None = None,
) -> Columns:
    """Independent draws from the product of `cpds`, which are in ancestral order, as columns of codes and numbers.

    Args:
        cpds: parents before children.
        num_rows: the number of draws.
        seed: an integer, or a generator, whose state advances.
        threads: the number of threads that draw table CPDs; the rows do not depend on it.
        first: columns of variables that are drawn already; they are in the result, too.
    """
    num_rows, first = whole("num_rows", num_rows), first or {}
    discrete = [v for v in (*first, *(cpd.child for cpd in cpds)) if isinstance(v, Discrete)]
    largest = max((v.num_states for v in discrete), default=1)
    code_bytes = 1 if largest <= LARGEST_INT8 else 8  # those of a dataset, which may be smaller, are copies
    check_rows_fit(num_rows, code_bytes * len(discrete) + 8 * _num_reals(cpds))
    codes = np.empty((len(discrete), num_rows), np.int8 if largest <= LARGEST_INT8 else np.int32)
    row_of = {v: row for row, v in enumerate(discrete)}
    columns = dict(first)
    for v in row_of.keys() & first.keys():
        codes[row_of[v]] = first[v]
        columns[v] = codes[row_of[v]]
    runs = [list(run) for _, run in itertools.groupby(cpds, is_table)]
    for run, source in zip(runs, seed_sequence(seed).spawn(len(runs)), strict=True):
        if is_table(run[0]):
            steps = TableSteps.of(cast("list[TableCPD]", run), row_of)
            steps.run(
                codes,
                source.spawn(-(-num_rows // CHUNK)),
                _default_threads(len(run) * num_rows) if threads is None else num_threads(threads),
            )
            columns.update((cpd.child, codes[row_of[cpd.child]]) for cpd in run)  # type: ignore[index]
        else:
            _draw_singly(run, columns, codes, row_of, np.random.default_rng(source))
    return columns


def _num_reals(cpds: Sequence[CPD]) -> int:
    return sum(cpd.child.size for cpd in cpds if isinstance(cpd.child, Vector))


def _draw_singly(
    cpds: Sequence[CPD],
    columns: Columns,
    codes: AnyArray,
    row_of: Mapping[Any, int],
    rng: np.random.Generator,
) -> None:
    """Let each CPD draw its own column; small integers are widened first, so that its arithmetic cannot overflow."""
    num_rows = codes.shape[1]
    for cpd in cpds:
        for start in range(0, max(num_rows, 1), ROWS_DRAWN_AT_ONCE):
            rows = slice(start, min(start + ROWS_DRAWN_AT_ONCE, num_rows))
            given = {p: columns[p][rows].astype(np.int64) if p in row_of else columns[p][rows] for p in cpd.parents}
            part = cpd.sample(given, rows.stop - start, rng)
            if start == 0:
                columns[cpd.child] = _column(cpd, part, codes, row_of)
            if columns[cpd.child] is not part:
                columns[cpd.child][rows] = part


def _column(cpd: CPD, part: AnyArray, codes: AnyArray, row_of: Mapping[Any, int]) -> AnyArray:
    """Where the draws of a CPD go, given the first of them."""
    if cpd.child in row_of:
        own: AnyArray = codes[row_of[cpd.child]]
        return own
    num_rows = codes.shape[1]
    return part if len(part) == num_rows else np.empty((num_rows, *part.shape[1:]), part.dtype)


def _threads(threads: int | None, work: int) -> int:
    """The given number of threads, or as many as the work deserves."""
    return _default_threads(work) if threads is None else num_threads(threads)


def _default_threads(work: int) -> int:
    return min(num_processors(), 4) if work > 1_000_000 else 1


def seed_sequence(seed: int | np.random.Generator) -> SeedSequence:
    """The root of all random streams of one call; from a generator it draws new words, which advances its state."""
    if isinstance(seed, np.random.Generator):
        return SeedSequence(seed.integers(0, 1 << 32, 8, dtype=np.uint32).tolist())
    generator(seed)  # raises an error that says what is wrong with the seed
    return SeedSequence(seed)
