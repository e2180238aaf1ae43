"""The dense executor: a question's program over linear tables, in a workspace that holds its last results."""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.logarithms import LN2
from sepset.base.threads import NEVER, TURNS, interruptible, num_threads, spend, work_left
from sepset.inference import costs
from sepset.inference.compiled.program import INPUT_SPAN, Workspace
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.run import TensorRun
from sepset.inference.compiled.store import FactorStore, FactorValues, near_one
from sepset.inference.compiled.teams import Call, is_ready, run_divided
from sepset.kernels.compiled import contraction as kernels
from sepset.variables.evidence import Evidence

NO_READS = np.zeros((0, 3), dtype=np.int64)
NO_SPANS = np.zeros((0, 2), dtype=np.int64)
NO_STEPS = np.zeros((0, 5), dtype=np.int64)
NOTHING = np.empty(0)

READ_BITS = 960
"""The widest range of a distribution that is read as linear numbers, in powers of two."""


class DenseRun(TensorRun):
    """A question's workspace after a run; it returns to the question's pool at the end of the `with` block.

    Attributes:
        is_wide: whether some range was too wide for linear arithmetic; then nothing can be read.
    """

    __slots__ = ("_is_taken", "_singles", "_space", "_store", "is_wide", "log_partition", "question")

    is_log = False

    def __init__(
        self,
        question: Question,
        store: FactorStore,
        space: Workspace,
        log_partition: float,
        singles: Floats,
        is_wide: bool,
    ) -> None:
        self.question = question
        self.log_partition = log_partition
        self.is_wide = is_wide
        self._store, self._space, self._singles = store, space, singles
        self._is_taken = False

    def __exit__(self, *_: object) -> None:
        """Return the workspace to the pool, unless an answer has taken it."""
        if not self._is_taken:
            self.question.pool.give(self._store, self._space)

    def tensor(self, number: int) -> Floats:
        """The entries of one tensor, flat; a view, for as long as the run is open."""
        start = int(self.question.program.offsets[number])
        return self._space.values[start : start + int(self.question.contraction.sizes[number])]

    @property
    def workspace(self) -> Floats:
        """All tensors, each from its offset; a view, for as long as the run is open."""
        return self._space.values

    def scaled(self, number: int) -> tuple[Floats, float]:
        """The entries of one tensor up to a power of two, flat, and the logarithm of that."""
        return self.tensor(number), int(self._space.exponents[number]) * LN2

    def joint(self) -> Floats:
        """The normalized joint over the kept variables, flat in rank order.

        One that is most of a large workspace is not copied: it takes the workspace.
        """
        values = self.tensor(int(self.question.contraction.roots[0]))
        if len(values) < costs.ENTRIES_TAKEN or 2 * len(values) < len(self._space.values):
            return np.asarray(values / values.sum())
        self._is_taken = True
        values /= values.sum()
        return values

    def singles(self) -> Floats:
        """All single marginals, concatenated at the question's `places`; findings are point masses."""
        return self._singles

    def factor_marginal(self, number: int) -> Floats:
        """The normalized marginal over the free variables of a relevant factor, flat in rank order."""
        values = self.tensor(self.question.factor_homes[number])
        return np.asarray(values / values.sum())

    def factor_marginals(self) -> Floats:
        """Those of all relevant factors, one after the other."""
        homes = np.array(self.question.factor_homes)
        sizes = np.asarray(self.question.contraction.sizes, np.int64)[homes]
        ends = sizes.cumsum()
        places = np.arange(ends[-1]) + np.repeat(self.question.program.offsets[homes] - ends + sizes, sizes)
        values = self._space.values[places]
        return np.asarray(values / np.repeat(np.add.reduceat(values, ends - sizes), sizes))


def run_dense(
    question: Question, values: FactorValues, evidence: Evidence, *, reads_tensors: bool = True, threads: int | None = 1
) -> DenseRun:
    """A run of the question with these findings; only what changed since the workspace's last run is computed.

    Args:
        reads_tensors: whether any tensor may be read afterward, and multiplied by others: then the range of each is
            limited. If only a joint or single marginals are read, a wide tensor is kept with the middle of its range
            at one, and it is the products of two tensors that must be in the range of floats.
        threads: the number of threads that share a large step; None for one per processor.
    """
    if _is_short(question):
        return _run(question, values, evidence, reads_tensors=reads_tensors, threads=threads)
    with TURNS:
        return _run(question, values, evidence, reads_tensors=reads_tensors, threads=threads)


def _is_short(question: Question) -> bool:
    return question.program.work <= costs.WORK_OF_A_SHORT_RUN and question.has_only_loops


def _run(
    question: Question, values: FactorValues, evidence: Evidence, *, reads_tensors: bool, threads: int | None
) -> DenseRun:
    program, store, codes = question.program, values.store, question.codes(evidence)
    space = _workspace(question, store)
    _put_likelihoods(question, space, evidence)
    reads, out = (program.reads, np.empty(question.width)) if question.reads_singles else (NO_READS, NOTHING)
    copied = program.rows, program.copies, program.fixed, codes, space.codes, space.dirty
    spans = NO_SPANS if reads_tensors else space.spans
    is_same = program.is_shared and _is_same(question, space, codes)
    steps = program.ops[:0] if is_same else program.ops
    parts = *copied, steps, program.groups, space.exponents, space.flags, spans, question.maximize
    if is_same:
        log_partition = kernels.run(space.values, store.values, *parts, NEVER, program.roots, reads, out)
    elif _is_short(question):
        log_partition = kernels.run_briefly(space.values, store.values, *parts, NEVER, program.roots, reads, out)
    elif program.work <= costs.WORK_UNDIVIDED and not program.slices:
        log_partition = kernels.run(space.values, store.values, *parts, NEVER, program.roots, reads, out)
    else:
        states = space.exponents, space.flags, spans, question.maximize
        call = Call(space.values, store.values, copied, *states, program.roots, reads, out)
        log_partition = _long_run(question, call, threads)
    space.codes[:] = codes  # not after an interrupt, which may leave the workspace half filled: it is then discarded
    if question.reads_singles:
        out.setflags(write=False)
    is_wide = bool(space.flags[0]) or (bool(space.flags[2]) and _is_wide(question, space, reads_tensors))
    return DenseRun(question, store, space, log_partition, out, is_wide)


def _is_wide(question: Question, space: Workspace, reads_tensors: bool) -> bool:
    """Whether what is read from a workspace with wide ranges is too wide: any tensor, or the joint."""
    if reads_tensors or not question.kept:
        return reads_tensors
    low, high = space.spans[int(question.contraction.roots[0])].tolist()
    return bool(high - low > READ_BITS)


def _workspace(question: Question, store: FactorStore) -> Workspace:
    """A workspace with this store's values: that of an earlier run, or a new one."""
    space = question.pool.take(store)
    if space is None:
        return question.workspace(store, question.pool.room(question.program.size))
    space.dirty[: question.contraction.num_inputs + 1] = 0
    return space


def _is_same(question: Question, space: Workspace, codes: Ints) -> bool:
    """Whether a workspace has the answers already."""
    return not space.dirty[: question.contraction.num_inputs + 1].any() and np.array_equal(codes, space.codes)


def _put_likelihoods(question: Question, space: Workspace, evidence: Evidence) -> None:
    for place, v in enumerate(question.touched, start=len(question.numbers) + 1):
        start, weights = int(question.program.offsets[place]), evidence.weights[v]
        space.values[start : start + len(weights)], space.exponents[place] = near_one(weights)
        space.dirty[place] = 1
        space.spans[place] = INPUT_SPAN


def _long_run(question: Question, call: Call, threads: int | None) -> float:
    """A run that may take long: it heeds Ctrl-C, and its large steps run on several threads."""
    if work_left() < math.inf:
        spend(question.nanoseconds)
    program, num = question.program, num_threads(threads)
    large = question.large_steps if num > 1 and is_ready() else NO_STEPS

    def task(cancel: Bytes) -> float:
        return run_divided(program, large, call, num, cancel)

    return interruptible(task) if program.work > costs.WORK_UNINTERRUPTED else task(NEVER)
