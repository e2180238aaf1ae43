"""Programs: contractions laid out as integers over one workspace, run by one compiled call; and pools of workspaces."""

from __future__ import annotations

import weakref
from bisect import insort
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Floats, Ints
from sepset.base.memory import aligned_floats
from sepset.inference import costs
from sepset.inference.compiled.contraction import Contraction
from sepset.inference.compiled.slices import Slices, sliced
from sepset.inference.compiled.store import FactorStore, Layout
from sepset.kernels.compiled.contraction import scratch_room
from sepset.kernels.compiled.costs import ALIGNED_ENTRIES, LINE_ENTRIES
from sepset.kernels.compiled.instructions import ALWAYS, DST, SCRATCH, TENSOR_A, TENSOR_B, TENSOR_D, TO, A, B
from sepset.kernels.compiled.slices import SLICED_PARTS

INPUT_SPAN = (-462, 61)
"""Exponents between which the entries of every input are; see `kernels.compiled.contraction`."""

FIXED, END_FIXED = 4, 5
"""Columns of a program's rows: where a factor's findings begin and end."""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Instructions over a flat workspace of floats.

    Attributes:
        ops, groups: the instructions and their groups of axes.
        offsets: the start of each tensor.
        size: floats in the workspace, but for tensors that are never there as wholes.
        work: multiplications of all steps.
        rows, copies, fixed: how factors are copied from the store: source and target, groups of axes, and the strides
            of findings.
        roots: tensor, place and size of each root; the product of their sums is the total.
        reads: for each marginal its start in the workspace (for finding i, -1 - i), its start in the answer, and its
            size.
        slices: the steps that run by slices; what is between them comes last in the workspace, and has no place in that
            of a run by slices.
        whole: floats in a workspace with a place for what is sliced too.
        is_shared: whether some tensors have places in common, one after the other.
    """

    ops: Ints
    groups: Ints
    offsets: Ints
    size: int
    work: float
    rows: Ints
    copies: Ints
    fixed: Ints
    roots: Ints
    reads: Ints
    contraction: Contraction = field(repr=False)
    slices: tuple[Slices, ...] = field(default=(), repr=False)
    whole: int = 0
    is_shared: bool = False

    @property
    def num_tensors(self) -> int:
        """The number of tensors."""
        return len(self.offsets)

    @property
    def num_forward(self) -> int:
        """The number of instructions of the forward sweep."""
        return self.contraction.num_forward

    @property
    def num_fixed(self) -> Ints:
        """The number of findings in the scope of each factor."""
        return np.asarray(self.rows[:, END_FIXED] - self.rows[:, FIXED])

    @property
    def nbytes(self) -> int:
        """Bytes of one workspace."""
        return 8 * self.size


def assemble(
    made: Contraction,
    layout: Layout,
    numbers: Ints,
    rank: Ints,
    seen: Ints,
    num_targets: int,
    found: Ints,
    *,
    reads_tensors: bool = True,
) -> Program:
    """The program that runs a contraction's steps in order.

    Args:
        layout: the layout of the store.
        numbers: the numbers of the factors, which are the first inputs.
        rank, seen: for each variable its rank, and its number among the findings; -1 for neither.
        num_targets: the number of the contraction's reads that a run returns.
        found: the number of states of each finding's variable; their point masses follow in the answer.
        reads_tensors: whether any tensor may be read; if only roots and marginals are, the axes of a large program's
            tensors are in the order that its steps read fastest.
    """
    from sepset.kernels.compiled import axes, layout as kernels

    is_free = not reads_tensors and made.entries > costs.ENTRIES_FOR_FREE_AXES
    tensors = made.weights, made.bounds, made.pool, made.sizes, made.rows
    strides = axes.axis_strides(*tensors, made.num_forward, made.roots, is_free)
    ends = made.roots, made.reads[:num_targets], found
    parts = *tensors, strides, *layout.rows, layout.offsets, numbers, rank, seen
    program = Program(*kernels.assemble(*parts, *ends), made)
    return program if reads_tensors else _placed(program, sliced(made, strides))


def _placed(program: Program, slices: tuple[Slices, ...]) -> Program:
    """The program with less memory: large results of the reverse sweep have places in common, and what is made by
    slices comes after all others."""
    made, ops = program.contraction, program.ops.copy()
    sizes, last = made.sizes.astype(np.int64), np.zeros(len(made.sizes), bool)
    last[ops[[each.first for each in slices], TENSOR_D]] = True
    passing = _passing(made) & ~last
    if not slices and not passing.any():
        return program
    ops[:, ALWAYS] = passing[ops[:, TENSOR_D]]
    offsets, shared = _end_to_end(np.where(last | passing, 0, sizes))
    shared += -shared % LINE_ENTRIES
    offsets[passing], room = _shared_places(made, passing, slices)
    offsets[passing] += shared
    is_run = np.ones(len(ops), bool)
    is_run[[number for each in slices for number in each[:2]]] = False
    scratch = shared + room
    start = scratch + int(scratch_room(ops[is_run]).max(initial=0))
    size = start + SLICED_PARTS * max((each.room for each in slices), default=0)
    offsets[last], behind = _end_to_end(sizes[last], size)
    ops[:, SCRATCH] = scratch
    moved = _moved(program, ops, offsets)
    placed = tuple(each.placed(moved.ops, start) for each in slices)
    return replace(moved, size=size, slices=placed, whole=behind, is_shared=bool(passing.any()))


def _end_to_end(sizes: Ints, first: int = 0) -> tuple[Ints, int]:
    """Places of tensors one after the other, large ones at a line of the cache; and the end of the last."""
    found = []
    for size in sizes.tolist():
        first += -first % LINE_ENTRIES if size >= ALIGNED_ENTRIES else 0
        found.append(first)
        first += size
    return np.array(found, dtype=np.int64), first


def _moved(program: Program, ops: Ints, offsets: Ints) -> Program:
    """The program with its tensors at these places."""
    for column, tensor in ((DST, TENSOR_D), (A, TENSOR_A), (B, TENSOR_B)):
        ops[:, column] = offsets[ops[:, tensor]]
    rows, roots, reads = program.rows.copy(), program.roots.copy(), program.reads.copy()
    rows[:, TO], roots[:, 1] = offsets[1 : len(rows) + 1], offsets[roots[:, 0]]
    is_read = np.flatnonzero(reads[:, 0] >= 0)
    reads[is_read, 0] = offsets[program.contraction.reads[: len(is_read)]]
    return replace(program, ops=ops, offsets=offsets, rows=rows, roots=roots, reads=reads)


def _passing(made: Contraction) -> Bools:
    """Which tensors need a place only until their last reader: large ones of the reverse sweep of a large program.

    Those of the forward sweep stay for the next run, unless there is no other and they are very large; and so do all if
    the model has several parts, most of which a finding does not change.
    """
    found = np.zeros(len(made.sizes), bool)
    is_passing = made.num_forward == len(made.rows) and made.entries > costs.ENTRIES_FOR_PASSING
    if is_passing or (made.entries > costs.ENTRIES_FOR_SHARED_PLACES and len(made.roots) == 1):
        found[made.rows[0 if is_passing else made.num_forward :, 0]] = True
        found &= made.sizes >= costs.ENTRIES_WITH_SHARED_PLACES
        found[made.reads] = found[made.roots] = False
    return found


def _shared_places(made: Contraction, passing: Bools, slices: tuple[Slices, ...]) -> tuple[Ints, int]:
    """The places of these tensors, by number, in the first gap that is large enough while each is needed; and the room
    of all."""
    until = np.zeros(len(made.sizes), np.int64)
    until[made.rows[:, 0]] = np.arange(len(made.rows))
    np.maximum.at(until, made.rows[:, 1:].ravel(), np.repeat(np.arange(len(made.rows)), 2))
    for each in slices:  # what makes slices is read whenever they are
        np.maximum.at(until, made.rows[each.first, 1:], each.second)
    found, room = np.zeros(len(made.sizes), np.int64), 0
    needed: list[tuple[int, int, int]] = []
    for number in np.flatnonzero(passing[made.rows[:, 0]]).tolist():
        tensor = int(made.rows[number, 0])
        needed = [each for each in needed if each[2] >= number]
        place, size = 0, int(made.sizes[tensor])
        size += -size % LINE_ENTRIES if size >= ALIGNED_ENTRIES else 0
        for start, end, _ in needed:
            if place + size <= start:
                break
            place = max(place, end)
        insort(needed, (place, place + size, int(until[tensor])))
        found[tensor], room = place, max(room, place + size)
    return found[passing], room


@dataclass(frozen=True, slots=True, eq=False)
class Workspace:
    """Arrays for one run, with the results of the last.

    Attributes:
        values: the entries of all tensors.
        exponents: the power of two of each tensor.
        dirty: by tensor, whether it has to be computed again.
        codes: the findings of the last run.
        flags: whether some range was too wide, whether the run was canceled, and whether some range is wide.
        spans: by tensor the exponents of its smallest positive and of its largest entry.
    """

    values: Floats
    exponents: Ints
    dirty: Bytes
    codes: Ints
    flags: Ints
    spans: Ints

    @classmethod
    def of(cls, values: Floats, exponents: Ints, num_findings: int) -> Workspace:
        """A workspace in the given array, in which everything has to be computed."""
        dirty = np.empty(len(exponents), dtype=np.uint8)
        dirty.fill(1)
        codes = np.empty(num_findings, dtype=np.int64)
        codes.fill(-1)
        spans = np.zeros((len(exponents), 2), dtype=np.int64)  # right for tensors of ones; others are filled in
        return cls(values, exponents, dirty, codes, np.zeros(3, dtype=np.int64), spans)


class WorkspacePool:
    """Idle workspaces of a question, which serve several threads; each is stored with the store whose values it holds.

    A large one is idle only until another question needs a large one: those of several questions would add up. The one
    that was used last is taken first: it is in a cache. Callers never wait for each other: all that is done to the list
    is single operations, and no two threads can take the same one.

    Args:
        size: the largest number of idle workspaces.
        memory: the largest number of bytes of all of them together, if there are several; a larger one is large.
    """

    def __init__(self, size: int = 8, memory: int = 2**26) -> None:
        self._size, self._memory = size, memory
        self._idle: list[tuple[FactorStore, Workspace]] = []

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled empty: workspaces are made again when they are needed."""
        return WorkspacePool, (self._size, self._memory)

    def take(self, store: FactorStore) -> Workspace | None:
        """An idle workspace with this store's values, or None."""
        try:
            last = self._idle.pop()
        except IndexError:
            return None
        return last[1] if last[0] is store else self._found(store, last)

    def _found(self, store: FactorStore, last: tuple[FactorStore, Workspace]) -> Workspace | None:
        """The latest of the idle workspaces with this store's values, or None; `last` is idle again."""
        taken, found = [last], None
        while self._idle and found is None:
            try:
                last = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            if last[0] is store:
                found = last[1]
            else:
                taken.append(last)
        self._idle.extend(reversed(taken))
        return found

    def room(self, size: int) -> Floats:
        """An array of this many floats for a workspace: new, or that of the oldest idle one if the pool is full."""
        if 8 * size > self._memory:
            LARGE.free(self)
        if len(self._idle) >= self._most(8 * size):
            with suppress(IndexError):  # another thread was quicker
                return self._idle.pop(0)[1].values
        return aligned_floats(size) if size >= costs.ENTRIES_AT_A_LINE else np.empty(size)

    def give(self, store: FactorStore, workspace: Workspace) -> None:
        """Return a workspace to the pool."""
        nbytes = workspace.values.nbytes
        self._idle.append((store, workspace))
        if len(self._idle) > 1:
            del self._idle[: -self._most(nbytes)]
        if nbytes > self._memory:
            LARGE.keep(self)

    def clear(self) -> None:
        """Free the idle workspaces."""
        self._idle.clear()

    def _most(self, nbytes: int) -> int:
        return max(1, min(self._size, self._memory // max(nbytes, 1)))


class LargePool:
    """The pool with the large workspace that is idle, of all questions of the process."""

    def __init__(self) -> None:
        self._pool: weakref.ref[WorkspacePool] | None = None
        self._lock = Lock()

    def keep(self, pool: WorkspacePool) -> None:
        """Let this pool have it; that of another is freed."""
        self.free(pool)
        with self._lock:
            self._pool = weakref.ref(pool)

    def free(self, but: WorkspacePool) -> None:
        """Free it, unless this pool has it."""
        with self._lock:
            found, self._pool = None if self._pool is None else self._pool(), None
            if found is but:
                self._pool = weakref.ref(but)
        if found is not None and found is not but:
            found.clear()


LARGE = LargePool()
