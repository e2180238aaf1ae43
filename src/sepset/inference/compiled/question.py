"""Compiled questions: a plan, its contraction and its program, run on new evidence without planning again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.logarithms import LN2
from sepset.base.threads import NEVER, SINGLE_BLAS, interruptible
from sepset.inference.compiled.contraction import Contraction, Groups, Inputs, Ranks, contract, tree_groups
from sepset.inference.compiled.domains import Spread, States
from sepset.inference.compiled.program import Program, assemble
from sepset.inference.compiled.store import FactorStore, near_one
from sepset.inference.compiled.supports import Tier
from sepset.inference.plan import Plan
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

T = TypeVar("T")

NOTHING = np.zeros((0, 3), dtype=np.int64)
NO_CODES = np.zeros(0, dtype=np.int64)

SHORT = 1_000_000
"""Multiplications up to which a run has no matrix products that are worth more than one thread."""

LONG = 100_000_000
"""Multiplications (a tenth of a second or so) beyond which a run listens for interruptions."""


@dataclass(frozen=True, slots=True, eq=False)
class Workspace:
    """Room for one run, with the results of the last.

    Attributes:
        values: the entries of all tensors.
        exponents: the power of two of each tensor.
        dirty: by tensor, whether it is to be computed anew.
        codes: the findings of the last run.
        flags: whether some range was too wide, and whether the run was cancelled.
    """

    values: Floats
    exponents: Ints
    dirty: Bytes
    codes: Ints
    flags: Ints


class WorkspacePool:
    """Workspaces between runs, so that one question serves many threads; each remembers whose numbers it holds.

    Args:
        size: the most workspaces kept.
        memory: the most bytes that more than one of them may have together.
    """

    def __init__(self, size: int = 4, memory: int = 2**26) -> None:
        self._size, self._memory = size, memory
        self._idle: list[tuple[FactorStore, Workspace]] = []
        self._lock = Lock()

    def take(self, store: FactorStore) -> Workspace | None:
        """A workspace that holds this store's numbers, or None."""
        with self._lock:
            for i, (owner, workspace) in enumerate(self._idle):
                if owner is store:
                    del self._idle[i]
                    return workspace
        return None

    def room(self, size: int) -> Floats:
        """Room for a workspace of so many floats: new, or where another would be too many, that of the oldest."""
        with self._lock:
            if len(self._idle) >= self._most(8 * size):
                return self._idle.pop(0)[1].values
        return np.empty(size)

    def give(self, store: FactorStore, workspace: Workspace) -> None:
        """Put a workspace back."""
        with self._lock:
            self._idle.append((store, workspace))
            del self._idle[: -self._most(workspace.values.nbytes)]

    def _most(self, nbytes: int) -> int:
        return max(1, min(self._size, self._memory // max(nbytes, 1)))


@dataclass(frozen=True, eq=False)
class Question:
    """A compiled question: run it with findings, read answers from the workspace.

    Attributes:
        plan: what it costs.
        cards: how many states of every variable of the problem tables range over.
        order: the variable position at each rank.
        observed: positions whose codes a run takes, in order.
        touched: positions with likelihood weights, in order.
        numbers: the factors that enter, in order.
        targets: positions whose single marginals a run reads.
        kept: ranks over which the one root is.
        states: what tables range over, where some states are left out; codes, weights and answers are then among these.
    """

    plan: Plan
    cards: Ints = field(repr=False)
    order: Ints = field(repr=False)
    observed: tuple[int, ...]
    touched: tuple[int, ...]
    tree: Groups
    program: Program = field(repr=False)
    numbers: Ints
    targets: Ints
    kept: Ranks = ()
    maximize: bool = False
    states: States | None = field(default=None, repr=False)
    pool: WorkspacePool = field(default_factory=WorkspacePool, repr=False)
    tier: Tier = field(default_factory=Tier, repr=False)

    @property
    def contraction(self) -> Contraction:
        """The tensors and steps behind the program."""
        return self.program.contraction

    @lazy
    def ids(self) -> tuple[int, ...]:
        """The variable position at each rank."""
        return tuple(self.order.tolist())

    @property
    def singles(self) -> dict[int, int]:
        """From variable position to the tensor that holds its marginal after a run."""
        if len(self.kept) == 1:
            return {int(self.order[self.kept[0]]): int(self.contraction.roots[0])}
        return dict(zip(self.targets.tolist(), self.contraction.reads.tolist(), strict=False))

    @lazy
    def factor_homes(self) -> tuple[int, ...]:
        """For each relevant factor the tensor that holds its marginal, where asked for."""
        return tuple(self.contraction.reads[len(self.targets) :].tolist())

    @lazy
    def places(self) -> Mapping[int, slice]:
        """From variable position to its part of what a run reads: the targets' marginals, then the findings."""
        reads = self.program.reads
        starts = reads[:, 1]
        slices = map(slice, starts.tolist(), (starts + reads[:, 2]).tolist())
        return dict(zip((*self.targets.tolist(), *self.observed), slices, strict=True))

    @lazy
    def width(self) -> int:
        """How many numbers a run reads."""
        reads = self.program.reads
        return int(reads[-1, 1] + reads[-1, 2]) if len(reads) else 0

    @lazy
    def spread(self) -> Spread | None:
        """How single marginals go to all states, where tables leave some out."""
        return None if self.states is None else Spread.of(self.states, list(self.places))

    @lazy
    def moving(self) -> Ints:
        """The factors whose place in the store depends on findings."""
        return np.flatnonzero(self.program.num_fixed)

    def ask(self, store: FactorStore, evidence: Evidence, read: Callable[[Run], T]) -> T:
        """What `read` finds in the workspace after a run with these findings."""
        return self._run(store, evidence, NOTHING, np.empty(0), read)

    def marginals(self, store: FactorStore, evidence: Evidence) -> tuple[float, Floats, bool]:
        """The log partition, every target's marginal end to end as `places` says, and whether a range was too wide."""
        out = np.empty(self.width)
        run = self._run(store, evidence, self.program.reads, out, _itself)
        out.setflags(write=False)
        return run.log_partition, out, run.is_wide

    def _run(self, store: FactorStore, evidence: Evidence, reads: Ints, out: Floats, then: Callable[[Run], T]) -> T:
        from sepset.kernels.compiled.contraction import run

        program, codes = self.program, self.codes(evidence)
        space = self.pool.take(store)
        if space is None:
            space = self.workspace(store, self.pool.room(program.size))
        else:
            space.dirty[: self.contraction.num_inputs + 1] = 0
        w, exponents = space.values, space.exponents
        for place, v in enumerate(self.touched, start=len(self.numbers) + 1):
            start = int(program.offsets[place])
            w[start : start + len(evidence.weights[v])], exponents[place] = near_one(evidence.weights[v])
            space.dirty[place] = 1
        copied = program.rows, program.copies, program.fixed, codes, space.codes, space.dirty
        parts = *copied, program.ops, program.groups, exponents, space.flags, self.maximize
        if program.work <= SHORT:
            log_partition = run(w, store.values, *parts, NEVER, program.roots, reads, out)
        else:
            with SINGLE_BLAS:
                log_partition = self._long_run(lambda c: run(w, store.values, *parts, c, program.roots, reads, out))
        space.codes[:] = codes
        is_wide = bool(space.flags[0])
        answer = then(Run(self, w, exponents, is_wide, log_partition))
        if not is_wide:  # its numbers are of no use
            self.pool.give(store, space)  # not after an interruption, which may leave it half filled
        return answer

    def _long_run(self, task: Callable[[Bytes], float]) -> float:
        return interruptible(task) if self.program.work > LONG else task(NEVER)

    def codes(self, evidence: Evidence) -> Ints:
        """The findings a run takes."""
        found = evidence.codes
        return np.array([found[v] for v in self.observed], dtype=np.int64) if found else NO_CODES

    def workspace(self, store: FactorStore, values: Floats) -> Workspace:
        """A new workspace in the room given, the tensors in it that are always the same filled in."""
        program = self.program
        values[0] = 1.0
        if self.contraction.num_inputs > len(self.numbers) + len(self.touched):
            values[self.free] = 1.0
        exponents = np.zeros(program.num_tensors, dtype=np.int64)
        exponents[1 : len(self.numbers) + 1] = store.exponents[self.numbers]
        dirty = np.empty(program.num_tensors, dtype=np.uint8)
        dirty.fill(1)
        codes = np.empty(len(self.observed), dtype=np.int64)
        codes.fill(-1)
        return Workspace(values, exponents, dirty, codes, np.zeros(2, dtype=np.int64))

    @property
    def free(self) -> slice:
        """The part of the workspace that holds variables no factor mentions: always one."""
        first = len(self.numbers) + len(self.touched) + 1
        made = self.contraction
        start = int(self.program.offsets[first]) if first < self.program.num_tensors else 0
        return slice(start, start + int(made.sizes[first : made.num_inputs + 1].sum()))


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A question's workspace after a run."""

    question: Question
    workspace: Floats = field(repr=False)
    exponents: Ints = field(repr=False)
    is_wide: bool
    log_partition: float
    """The logarithm of the product of the roots, summed over what is kept."""

    @property
    def is_log(self) -> bool:
        """Whether tensors hold logarithms."""
        return False

    def tensor(self, number: int) -> Floats:
        """The entries of one tensor, flat."""
        start = int(self.question.program.offsets[number])
        return self.workspace[start : start + int(self.question.contraction.sizes[number])]

    def scaled(self, number: int) -> tuple[Floats, float]:
        """The entries of one tensor up to a common factor, flat, and the logarithm of that."""
        return self.tensor(number), int(self.exponents[number]) * LN2

    def joint(self) -> Floats:
        """The normalized joint over what is kept, flat in rank order; a copy."""
        values = self.tensor(int(self.question.contraction.roots[0]))
        return np.asarray(values / values.sum())

    def factor_marginal(self, number: int) -> Floats:
        """The normalized marginal over the free variables of a relevant factor, flat in rank order; a copy."""
        values = self.tensor(self.question.factor_homes[number])
        return np.asarray(values / values.sum())


def _itself(run: Run) -> Run:
    """The run, for what it read out; its workspace is soon another's."""
    return run


def compile_question(
    problem: Problem,
    store: FactorStore,
    plan: Plan,
    *,
    observed: Sequence[int],
    touched: Sequence[int] = (),
    kept: Sequence[int] = (),
    marginals: Sequence[int] | Ints = (),
    factors: bool = False,
    maximize: bool = False,
    memory: int | None = None,
    states: States | None = None,
) -> Question:
    """A plan turned into a program.

    Args:
        kept: positions never eliminated, last in the plan's order: the answer is one tensor over them.
        marginals: positions whose single marginals are read after a reverse sweep.
        factors: also read the marginal over every factor's scope.
        maximize: maximize instead of summing.
        memory: the most bytes of a workspace; a larger one is refused before anything is allocated.
        states: what the tables of the plan and the store range over, where some states are left out.
    """
    ids, numbers = plan.positions, plan.relevant.numbers
    cards = problem.variables.cards if states is None else states.cards
    rank, seen = np.empty((2, len(cards)), np.int64)
    rank.fill(-1)
    rank[ids] = np.arange(len(ids))
    seen.fill(-1)
    found = np.array(observed, dtype=np.int64)
    seen[found] = np.arange(len(found))
    tree = tree_groups(plan.symbolic, len(kept))
    last = np.sort(rank[list(kept)]) if kept else NO_CODES
    targets = np.asarray(marginals, dtype=np.int64)
    start, members, _ = store.rows
    made = contract(
        Inputs(start, members, numbers, rank, rank[list(touched)] if touched else NO_CODES),
        plan.symbolic.ranked_cards,
        tree,
        kept=last,
        targets=rank[targets],
        num_factors=len(numbers) if factors else 0,
    )
    if memory is not None:
        plan.check(memory, 8 * made.entries)
    program = assemble(made, store, numbers, rank, seen, len(targets), cards[found])
    about = tree, program, numbers, targets, tuple(last.tolist()), maximize, states
    return Question(plan, cards, ids, tuple(observed), tuple(touched), *about)
