"""Compiled questions: a plan, its contraction and its program, run on new evidence without planning again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sepset.evidence import Evidence
from sepset.inference.contraction import Contraction, Groups, Inputs, Ranks, contract, tree_groups
from sepset.inference.plan import Plan
from sepset.inference.program import Ints, Program, assemble
from sepset.inference.sparseprogram import Tier
from sepset.inference.sparsestates import Spread, States
from sepset.inference.tables import FactorStore, near_one
from sepset.inference.workers import interruptible
from sepset.problem import Problem

Floats = NDArray[np.float64]
T = TypeVar("T")

FIXED, END_FIXED = 4, 5
"""Columns of a program's rows: where a factor's findings begin and end."""

NOTHING = np.zeros((0, 3), dtype=np.int64)
NO_CODES = np.zeros(0, dtype=np.int64)
NEVER = np.zeros(1, dtype=np.uint8)

LN2 = math.log(2.0)
LONG = 100_000_000
"""Multiplications (a tenth of a second or so) beyond which a run listens for interruptions."""


@dataclass(frozen=True, slots=True, eq=False)
class Workspace:
    """Room for one run: numbers, the power of two of each tensor, and what happened."""

    values: Floats
    exponents: Ints
    flags: Ints


class WorkspacePool:
    """Workspaces between runs, so that one question serves many threads; each remembers whose numbers it holds."""

    def __init__(self, size: int = 4) -> None:
        self._size = size
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

    def give(self, store: FactorStore, workspace: Workspace) -> None:
        """Put a workspace back."""
        with self._lock:
            self._idle.append((store, workspace))
            del self._idle[: -self._size]


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

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The variable position at each rank."""
        return tuple(self.order.tolist())

    @property
    def singles(self) -> dict[int, int]:
        """From variable position to the tensor that holds its marginal after a run."""
        if len(self.kept) == 1:
            return {int(self.order[self.kept[0]]): int(self.contraction.roots[0])}
        return dict(zip(self.targets.tolist(), self.contraction.reads.tolist(), strict=False))

    @cached_property
    def factor_homes(self) -> tuple[int, ...]:
        """For each relevant factor the tensor that holds its marginal, where asked for."""
        return tuple(self.contraction.reads[len(self.targets) :].tolist())

    @cached_property
    def layout(self) -> Layout:
        """Where the single marginals and the findings lie in what a run reads."""
        return Layout.of(self)

    @cached_property
    def spread(self) -> Spread | None:
        """How single marginals go to all states, where tables leave some out."""
        return None if self.states is None else Spread.of(self.states, list(self.layout.places))

    @cached_property
    def moving(self) -> Ints:
        """The factors whose place in the store depends on findings."""
        rows = self.program.rows
        return np.flatnonzero(rows[:, FIXED] < rows[:, END_FIXED])

    @cached_property
    def moving_rows(self) -> Ints:
        """How these come from the store."""
        return np.ascontiguousarray(self.program.rows[self.moving])

    @cached_property
    def roots(self) -> Ints:
        """The roots: tensor, where it starts, and how many entries it has."""
        made, roots = self.contraction, self.contraction.roots
        return np.stack([roots, self.program.offsets[roots], made.sizes[roots].astype(np.int64)], axis=1)

    def ask(self, store: FactorStore, evidence: Evidence, read: Callable[[Run], T]) -> T:
        """What `read` finds in the workspace after a run with these findings."""
        return self._run(store, evidence, NOTHING, np.empty(0), read)

    def marginals(self, store: FactorStore, evidence: Evidence) -> tuple[float, Floats, bool]:
        """The log partition, every target's marginal end to end as `layout` says, and whether a range was too wide."""
        layout = self.layout
        out = np.empty(layout.size)
        log_partition, is_wide = self._run(
            store, evidence, layout.reads, out, lambda run: (run.log_partition, run.is_wide)
        )
        out.setflags(write=False)
        return log_partition, out, is_wide

    def _run(self, store: FactorStore, evidence: Evidence, reads: Ints, out: Floats, then: Callable[[Run], T]) -> T:
        from sepset.kernels.contraction import run

        program, rows = self.program, self.moving_rows
        space = self.pool.take(store)
        if space is None:
            space, rows = self.workspace(store, np.empty(program.size)), program.rows
        codes = self.codes(evidence)
        w, exponents, flags = space.values, space.exponents, space.flags
        for place, v in enumerate(self.touched, start=len(self.numbers) + 1):
            start = int(program.offsets[place])
            w[start : start + len(evidence.weights[v])], exponents[place] = near_one(evidence.weights[v])
        flags[0] = 0
        parts = program.copies, program.fixed, codes, program.ops, program.groups, exponents, flags, self.maximize
        if program.work > LONG:
            log_partition = interruptible(
                lambda cancel: run(w, store.values, rows, *parts, cancel, self.roots, reads, out)
            )
        else:
            log_partition = run(w, store.values, rows, *parts, NEVER, self.roots, reads, out)
        answer = then(Run(self, w, exponents, bool(flags[0]), log_partition))
        self.pool.give(store, space)  # not after an interruption, which may leave it half filled
        return answer

    def codes(self, evidence: Evidence) -> Ints:
        """The findings a run takes."""
        found = evidence.codes
        return np.array([found[v] for v in self.observed], dtype=np.int64) if found else NO_CODES

    def workspace(self, store: FactorStore, values: Floats) -> Workspace:
        """A new workspace in the room given, the tensors in it that are always the same filled in."""
        program = self.program
        values[0] = values[self.free] = 1.0
        exponents = np.zeros(program.num_tensors, dtype=np.int64)
        exponents[1 : len(self.numbers) + 1] = store.exponents[self.numbers]
        return Workspace(values, exponents, np.zeros(2, dtype=np.int64))

    @property
    def free(self) -> slice:
        """The part of the workspace that holds variables no factor mentions: always one."""
        first = len(self.numbers) + len(self.touched) + 1
        made = self.contraction
        start = int(self.program.offsets[first]) if first < self.program.num_tensors else 0
        return slice(start, start + int(made.sizes[first : made.num_inputs + 1].sum()))


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Single marginals end to end, then a point mass for each finding.

    Attributes:
        reads: for each where it begins in the workspace (a finding: minus one minus its number), where in the answer,
            and its size.
        places: from variable position to its part of the answer.
        size: of the answer.
    """

    reads: Ints
    places: Mapping[int, slice]
    size: int

    @classmethod
    def of(cls, question: Question) -> Layout:
        """The layout of a question's single marginals."""
        targets, observed = question.targets, np.array(question.observed, dtype=np.int64)
        found = question.program.offsets[question.contraction.reads[: len(targets)]]
        reads = np.zeros((len(targets) + len(observed), 3), dtype=np.int64)
        reads[: len(targets), 0] = found
        reads[len(targets) :, 0] = -1 - np.arange(len(observed))
        positions = np.concatenate([targets, observed])
        reads[:, 2] = question.cards[positions]
        ends = np.cumsum(reads[:, 2])
        reads[1:, 1] = ends[:-1]
        starts, stops = reads[:, 1].tolist(), ends.tolist()
        places = dict(zip(positions.tolist(), map(slice, starts, stops), strict=True))
        return cls(reads, places, stops[-1] if stops else 0)


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
    rank = np.full(len(problem.variables), -1, np.int64)
    rank[ids] = np.arange(len(ids))
    seen = np.full(len(rank), -1, np.int64)
    seen[list(observed)] = np.arange(len(observed))
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
    program = assemble(made, store, numbers, rank, seen)
    ranks = tuple(last.tolist())
    cards = problem.variables.cards if states is None else states.cards
    about = tuple(observed), tuple(touched), tree, program, numbers, targets, ranks, maximize, states
    return Question(plan, cards, ids, *about)
