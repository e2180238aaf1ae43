"""Row programs: a compiled question for many rows of findings at once, with rows as innermost lanes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import AnyArray, Bools, Bytes, Floats, Int32s, Ints
from sepset.base.lazy import lazy
from sepset.base.threads import NEVER
from sepset.inference import costs
from sepset.inference.compiled.dense import NO_READS, NO_SPANS, NOTHING
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.store import FactorStore


@dataclass(frozen=True, eq=False)
class RowProgram:
    """A question laid out for blocks of rows.

    Tensors that do not depend on findings are computed once for all rows and have no lanes.

    Attributes:
        question: the question for each row.
        lanes: rows per block.
        varies: which tensors differ between rows.
        offsets: the start of each tensor in a workspace of `size` floats.
        ops, groups: the instructions whose results vary.
        likelihoods: column of the codes, offset and number of states of each mask.
        moving: factors whose part depends on the row's findings.
        counted: factors whose marginals are summed.
        copies, fixed: the layout of the parts of factors in the store.
        roots, reads: the tensors of the partition function, and the marginals with their place in the answer.
        places: from variable position to its slice of the answer.
        work: multiplications per row.
        seconds: about how long a row takes.
    """

    question: Question
    lanes: int
    varies: Bools = field(repr=False)
    offsets: Ints = field(repr=False)
    size: int
    ops: Ints = field(repr=False)
    groups: Ints = field(repr=False)
    likelihoods: Ints = field(repr=False)
    moving: Ints = field(repr=False)
    counted: Ints = field(repr=False)
    copies: Ints = field(repr=False)
    fixed: Ints = field(repr=False)
    roots: Ints = field(repr=False)
    reads: Ints = field(repr=False)
    places: dict[int, slice] = field(repr=False)
    work: int
    seconds: float

    @lazy
    def width(self) -> int:
        """The length of a row's answer."""
        return int(self.reads[:, 1].sum())


def row_program(question: Question, columns: Sequence[int]) -> RowProgram:
    """The question over rows of codes, one column per variable position; its findings are among the columns."""
    made = question.program.contraction
    varies = _varying(question)
    sizes = made.sizes.astype(np.int64)
    lanes = _lanes(int(sizes[varies].sum()))
    ends = np.cumsum(sizes * np.where(varies, lanes, 1))
    offsets = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    ops, groups, work = _instructions(question, varies, offsets, lanes)
    place = np.full(len(question.cards), -1, np.int64)
    place[list(columns)] = np.arange(len(columns))
    moving, counted = _parts(question, varies, offsets)
    touched, observed = (np.array(positions, np.int64) for positions in (question.touched, question.observed))
    masks = len(question.numbers) + 1 + np.arange(len(touched))
    read, homes = (np.array(list(part), np.int64) for part in (question.singles, question.singles.values()))
    starts = np.concatenate([[0], np.cumsum(sizes[homes])]).astype(np.int64)
    roots = np.array(made.roots, np.int64)
    return RowProgram(
        question,
        lanes,
        varies,
        offsets,
        int(ends[-1]),
        ops,
        groups,
        _matrix(place[touched], offsets[masks], question.cards[touched]),
        moving,
        counted,
        question.program.copies,
        _matrix(place[observed[question.program.fixed[0]]], question.program.fixed[1]),
        _matrix(offsets[roots], sizes[roots], varies[roots], roots),
        _matrix(offsets[homes], sizes[homes], varies[homes], starts[:-1]),
        {v: slice(s, e) for v, (s, e) in zip(read.tolist(), itertools.pairwise(starts.tolist()), strict=True)},
        work,
        work * costs.ROW_SECONDS_PER_MULTIPLICATION + costs.BLOCK_SECONDS_PER_INSTRUCTION * (len(ops) + 1) / lanes,
    )


def _matrix(*columns: AnyArray) -> Ints:
    return np.stack(columns, axis=1).astype(np.int64)


def _lanes(entries: int) -> int:
    fitting = [n for n in costs.LANES if 8 * n * entries <= costs.CACHED_WORKSPACE_BYTES]
    return fitting[0] if fitting else costs.LANES[-1]


def _varying(question: Question) -> Bools:
    """Which tensors depend on findings: masks, reduced factors, and what is computed from them."""
    from sepset.kernels.compiled import instructions
    from sepset.kernels.rows.batches import vary

    num_factors = len(question.numbers)
    varies = np.zeros(question.program.num_tensors, dtype=np.bool_)
    varies[question.moving + 1] = True
    varies[num_factors + 1 : num_factors + 1 + len(question.touched)] = True
    columns = [instructions.TENSOR_D, instructions.TENSOR_A, instructions.TENSOR_B]
    vary(np.ascontiguousarray(question.program.ops[:, columns]), varies)
    return varies


def _instructions(question: Question, varies: Bools, offsets: Ints, lanes: int) -> tuple[Ints, Ints, int]:
    """The instructions with lanes in all strides, their groups, and the multiplications per row."""
    from sepset.kernels.compiled import instructions

    ops = question.program.ops[varies[question.program.ops[:, instructions.TENSOR_D]]]
    d, a, b = ops[:, instructions.TENSOR_D], ops[:, instructions.TENSOR_A], ops[:, instructions.TENSOR_B]
    first, count = ops[:, instructions.FIRST], ops[:, instructions.COUNT]
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    which = np.repeat(first - start[:-1], count) + np.arange(start[-1])
    wide = np.where(varies[np.stack([a, b, d], axis=1)], lanes, 1)
    scale = np.repeat(np.concatenate([np.ones((len(ops), 1), np.int64), wide], axis=1), count, axis=0)
    groups = question.program.groups[which] * scale
    total = np.multiply.reduceat(groups[:, 0], start[:-1]) if len(ops) else np.zeros(0, np.int64)
    size = ops[:, instructions.SIZE]
    rows = [offsets[d], offsets[a], offsets[b], size, d, a, b, start[:-1], count, varies[a], varies[b], total // size]
    return np.stack(rows, axis=1).astype(np.int64), groups.astype(np.int64), int(total.sum())


def _parts(question: Question, varies: Bools, offsets: Ints) -> tuple[Ints, Ints]:
    """The factors whose part depends on findings, and those whose marginals are counted."""
    tail = list(question.program.rows.T[1:])
    inputs = slice(1, len(question.numbers) + 1)
    moving = np.stack([offsets[inputs], varies[inputs], *tail], axis=1).astype(np.int64)[question.moving]
    homes = np.array(question.factor_homes, dtype=np.int64)
    if not len(homes):
        return moving, np.zeros((0, 7), np.int64)
    return moving, np.stack([offsets[homes], varies[homes], *tail], axis=1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class LoadedRows:
    """A row program with the values of a store, and the part shared by all rows computed.

    Attributes:
        is_safe: False if even the shared part needs log space.
    """

    program: RowProgram
    store: FactorStore
    shared: Floats = field(repr=False)
    exponents: Ints = field(repr=False)
    checks: Bytes = field(repr=False)
    is_safe: bool
    _idle: list[tuple[Floats, Ints]] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, program: RowProgram, store: FactorStore) -> LoadedRows:
        """The program with this store's values."""
        from sepset.kernels.rows import batches

        plain, exponents, is_wide = _shared_run(program, store)
        lows, highs = _bounds(program, store, plain)
        checks = np.zeros(len(program.ops), dtype=np.uint8)
        inside = bool((np.abs(lows) <= batches.LIMIT).all() and (np.abs(highs) <= batches.LIMIT).all())
        if inside:
            batches.bounds(program.ops, lows, highs, checks)
        return cls(program, store, plain, exponents, checks, store.is_safe and inside and not is_wide)

    def run(self, codes: Int32s, weights: Floats, cancel: Bytes) -> tuple[Floats, Floats, Floats, Bytes]:
        """Log partitions, concatenated marginals, summed factor marginals, and which rows need log space."""
        from sepset.kernels.rows import batches

        p = self.program
        log_partition = np.empty(len(codes))
        out = np.full((len(codes), p.width), np.nan)
        totals = np.zeros(len(self.store.values) if len(p.counted) else 0)
        wide = np.zeros(len(codes), dtype=np.uint8)
        columns = np.ascontiguousarray(codes.T)
        with self.workspace() as (workspace, exponents):
            batches.run_rows(
                workspace, p.ops, p.groups, self.checks, exponents, self.store.values, columns, p.likelihoods, p.moving,
                p.copies, p.fixed, p.roots, p.reads, p.counted, weights, log_partition, out, totals, wide, cancel,
            )  # fmt: skip
        return log_partition, out, totals, wide

    @contextmanager
    def workspace(self) -> Iterator[tuple[Floats, Ints]]:
        """A workspace and the powers of two of its tensors, returned to the pool at the end."""
        space = self._idle.pop() if self._idle else self._fresh()
        yield space
        self._idle.append(space)

    def _fresh(self) -> tuple[Floats, Ints]:
        """A new workspace with the shared tensors filled in."""
        p = self.program
        old, made = p.question.program.offsets, p.question.program.contraction
        workspace = np.empty(p.size)
        for t in np.flatnonzero(~p.varies).tolist():
            size = int(made.sizes[t])
            workspace[p.offsets[t] : p.offsets[t] + size] = self.shared[old[t] : old[t] + size]
        return workspace, np.repeat(self.exponents[:, None], p.lanes, axis=1)


def _shared_run(program: RowProgram, store: FactorStore) -> tuple[Floats, Ints, bool]:
    """The question's own workspace after the instructions that do not depend on findings."""
    from sepset.kernels.compiled import contraction as kernels, instructions

    question, own = program.question, program.question.program
    space = question.workspace(store, np.zeros(own.size))
    codes = np.zeros(len(question.observed), dtype=np.int64)
    ops = np.ascontiguousarray(own.ops[~program.varies[own.ops[:, instructions.TENSOR_D]]])
    copied = own.rows, own.copies, own.fixed, codes, codes, space.dirty
    kept = space.exponents, space.flags, NO_SPANS
    rest = ops, own.groups, *kept, question.maximize, NEVER, NO_READS, NO_READS, NOTHING
    kernels.run(space.values, store.values, *copied, *rest)
    return space.values, space.exponents, bool(space.flags[0])


def _bounds(program: RowProgram, store: FactorStore, plain: Floats) -> tuple[Floats, Floats]:
    """Bounds on the powers of two of the nonzero entries of shared tensors and of inputs."""
    question = program.question
    lows, highs = _powers(plain, question.program.offsets)
    lows[program.varies], highs[program.varies] = 0.0, 0.0
    if len(store.values):
        factor_lows, factor_highs = _powers(store.values, store.layout.offsets[:-1])
        moving = question.moving
        numbers = question.numbers[moving]
        lows[moving + 1], highs[moving + 1] = factor_lows[numbers], factor_highs[numbers]
    return lows, highs


def _powers(values: Floats, starts: Ints) -> tuple[Floats, Floats]:
    """Bounds on the powers of two of the nonzero entries of each part; zero for parts without any."""
    low = np.minimum.reduceat(np.where(values > 0, values, np.inf), starts)
    high = np.maximum.reduceat(values, starts)
    empty = high <= 0.0
    low[empty] = high[empty] = 1.0
    return np.asarray(np.floor(np.log2(low))), np.asarray(np.ceil(np.log2(high)))
