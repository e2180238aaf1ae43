"""Compiled questions: a plan, its contraction and its program, run on new evidence without planning again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sepset.evidence import Evidence
from sepset.inference.contraction import Contraction, Groups, Ranks, contract, differentiate, tree_groups
from sepset.inference.plan import Plan
from sepset.inference.program import Ints, Program, assemble
from sepset.inference.tables import FactorStore, near_one
from sepset.inference.workers import Cancel, interruptible
from sepset.problem import Problem

Floats = NDArray[np.float64]
T = TypeVar("T")

LN2 = math.log(2.0)
LONG = 100_000_000
"""Multiplications (a tenth of a second or so) beyond which a run listens for interruptions."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """How factors enter a workspace: copies from the store, some at an offset that the findings decide.

    Attributes:
        rows: for each factor where it goes and which groups copy it.
        groups: sizes and strides of the copies.
        base: where each factor starts in the store.
        indptr, columns, strides: for each factor its observed variables (as positions in the finding vector) and their
            strides.
        numbers: which factors these are.
    """

    rows: Ints
    groups: Ints
    base: Ints
    indptr: Ints
    columns: Ints
    strides: Ints
    numbers: Ints

    @cached_property
    def moving(self) -> Ints:
        """The factors whose place in the store depends on findings."""
        return np.flatnonzero(np.diff(self.indptr))

    @cached_property
    def moving_rows(self) -> Ints:
        """Where these factors go."""
        return self.rows[self.moving]

    def offsets(self, codes: Ints) -> Ints:
        """Where each factor's reduced part starts in the store."""
        found = self.base.copy()
        if len(self.columns):
            found[self.moving] += np.add.reduceat(self.strides * codes[self.columns], self.indptr[self.moving])
        return found


class WorkspacePool:
    """Workspaces between runs, so that one question serves many threads; each remembers whose numbers it holds."""

    def __init__(self, size: int = 4) -> None:
        self._size = size
        self._idle: list[tuple[FactorStore, Floats]] = []
        self._lock = Lock()

    def take(self, store: FactorStore, size: int) -> tuple[Floats, bool]:
        """A workspace, and whether the store's numbers are still to be copied to it."""
        with self._lock:
            for i, (owner, workspace) in enumerate(self._idle):
                if owner is store:
                    del self._idle[i]
                    return workspace, False
        return np.empty(size), True

    def give(self, store: FactorStore, workspace: Floats) -> None:
        """Put a workspace back."""
        with self._lock:
            self._idle.append((store, workspace))
            del self._idle[: -self._size]


@dataclass(frozen=True, eq=False)
class Question:
    """A compiled question: run it with findings, read answers from the workspace.

    Attributes:
        plan: what it costs.
        ids: the variable position at each rank.
        observed: positions whose codes a run takes, in order.
        touched: positions with likelihood weights, in order.
        homes: for each asked scope (ranks) the tensor that holds it after a run.
        factor_homes: for each relevant factor the tensor that holds its marginal, where asked for.
    """

    plan: Plan
    ids: tuple[int, ...]
    observed: tuple[int, ...]
    touched: tuple[int, ...]
    tree: Groups
    program: Program = field(repr=False)
    inputs: Inputs = field(repr=False)
    homes: Mapping[Ranks, int] = field(repr=False)
    factor_homes: tuple[int, ...] = field(default=(), repr=False)
    maximize: bool = False
    pool: WorkspacePool = field(default_factory=WorkspacePool, repr=False)

    @property
    def contraction(self) -> Contraction:
        """The tensors and steps behind the program."""
        return self.program.contraction

    @cached_property
    def free(self) -> slice:
        """The part of the workspace that holds variables no factor mentions: always one."""
        first = len(self.inputs.numbers) + len(self.touched) + 1
        made = self.contraction
        start = int(self.program.offsets[first]) if first < self.program.num_tensors else 0
        return slice(start, start + int(made.sizes[first : made.num_inputs + 1].sum()))

    @cached_property
    def layout(self) -> Layout:
        """Where the single marginals lie."""
        return Layout.of(self)

    def ask(self, store: FactorStore, evidence: Evidence, read: Callable[[Run], T]) -> T:
        """What `read` finds in the workspace after a run with these findings."""
        workspace, is_fresh = self.pool.take(store, self.program.size)
        answer = read(self._run(workspace, is_fresh, store, evidence))
        self.pool.give(store, workspace)  # not after an interruption, which may leave it half filled
        return answer

    def _run(self, w: Floats, is_fresh: bool, store: FactorStore, evidence: Evidence) -> Run:
        from sepset.kernels import contraction as kernels

        inputs, program = self.inputs, self.program
        if is_fresh:
            w[0] = w[self.free] = 1.0
        exponents = np.zeros(program.num_tensors, dtype=np.int64)
        exponents[1 : len(inputs.numbers) + 1] = store.exponents[inputs.numbers]
        for place, v in enumerate(self.touched, start=len(inputs.numbers) + 1):
            start = int(program.offsets[place])
            w[start : start + len(evidence.weights[v])], exponents[place] = near_one(evidence.weights[v])
        codes = np.array([evidence.codes[v] for v in self.observed], dtype=np.int64)
        if is_fresh:
            kernels.gather(w, store.values, inputs.rows, inputs.groups, inputs.offsets(codes))
        elif len(codes):
            kernels.gather(w, store.values, inputs.moving_rows, inputs.groups, inputs.offsets(codes)[inputs.moving])
        flags = np.zeros(2, dtype=np.int64)

        def run(cancel: Cancel) -> None:
            kernels.execute(w, program.ops, program.groups, exponents, flags, self.maximize, cancel)

        interruptible(run) if self.is_long else run(np.zeros(1, dtype=np.uint8))
        return Run(self, w, exponents, bool(flags[0]))

    @cached_property
    def is_long(self) -> bool:
        """Whether a run may take long enough for someone to interrupt it."""
        return self.contraction.work > LONG

    @cached_property
    def roots(self) -> tuple[Ints, Ints, Ints]:
        """The roots: their tensors, where each starts, and how many entries it has."""
        tensors = np.array(self.contraction.roots, dtype=np.int64)
        return tensors, self.program.offsets[tensors], self.contraction.sizes[tensors].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Single marginals end to end: where each lies in the workspace and in the answer.

    Attributes:
        offsets: where each marginal begins in the workspace.
        starts: where each begins in the answer, and the end.
        places: from variable position to its part of the answer.
    """

    offsets: Ints
    starts: Ints
    places: Mapping[int, slice]

    @classmethod
    def of(cls, question: Question) -> Layout:
        """The layout of a question's single marginals."""
        singles = [(scope[0], tensor) for scope, tensor in question.homes.items() if len(scope) == 1]
        ranks, tensors = np.array(singles, dtype=np.int64).reshape(-1, 2).T
        sizes = question.contraction.ledger.cards[ranks].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        ends = starts.tolist()
        places = {question.ids[r]: slice(ends[i], ends[i + 1]) for i, (r, _) in enumerate(singles)}
        return cls(question.program.offsets[tensors], starts, places)

    def read(self, workspace: Floats) -> Floats:
        """All marginals, normalized, end to end."""
        from sepset.kernels.contraction import read_normalized

        return read_normalized(workspace, self.offsets, self.starts)  # type: ignore[no-any-return]  # untyped kernel


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A question's workspace after a run."""

    question: Question
    workspace: Floats = field(repr=False)
    exponents: Ints = field(repr=False)
    is_wide: bool

    @property
    def is_log(self) -> bool:
        """Whether tensors hold logarithms."""
        return False

    def tensor(self, number: int) -> Floats:
        """The entries of one tensor, flat."""
        start = int(self.question.program.offsets[number])
        return self.workspace[start : start + int(self.question.contraction.ledger.sizes[number])]

    def scaled(self, number: int) -> tuple[Floats, float]:
        """The entries of one tensor up to a common factor, flat, and the logarithm of that."""
        return self.tensor(number), int(self.exponents[number]) * LN2

    @property
    def log_partition(self) -> float:
        """The logarithm of the product of the roots, summed over what is kept."""
        from sepset.kernels.contraction import log_total

        tensors, offsets, sizes = self.question.roots
        return log_total(self.workspace, offsets, sizes, self.exponents[tensors])

    def marginal(self, scope: Ranks) -> Floats:
        """The normalized marginal over an asked scope, flat; a copy."""
        values = self.tensor(self.question.homes[scope])
        return np.asarray(values / values.sum())

    def singles(self, layout: Layout) -> Floats:
        """All single marginals, normalized, end to end."""
        return layout.read(self.workspace)

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
    marginals: Iterable[int] = (),
    factors: bool = False,
    maximize: bool = False,
    memory: int | None = None,
) -> Question:
    """A plan turned into a program.

    Args:
        kept: positions never eliminated, last in the plan's order: the answer is one tensor over them.
        marginals: positions whose single marginals are read after a reverse sweep.
        factors: also read the marginal over every factor's scope.
        maximize: maximize instead of summing.
        memory: the most bytes of a workspace; a larger one is refused before anything is allocated.
    """
    ids = plan.positions
    rank = np.full(len(problem.variables), -1, np.int64)
    rank[ids] = np.arange(len(ids))
    numbers = np.array(plan.relevant.factors, dtype=np.int64)
    tree = tree_groups(plan.symbolic, len(kept))
    kept_ranks = tuple(sorted(rank[list(kept)].tolist()))
    scopes = _input_scopes(store, numbers, rank, rank[list(touched)])
    made = contract(*scopes, plan.symbolic.ranked_cards, tree, kept_ranks)
    targets = rank[np.array(list(marginals), dtype=np.int64)]
    reads, factor_reads = differentiate(made, targets, len(numbers) if factors else 0)
    homes: dict[Ranks, int] = {(r,): t for r, t in zip(targets.tolist(), reads.tolist(), strict=True)}
    if kept:
        homes[kept_ranks] = made.roots[0]
    if memory is not None:
        plan.check(memory, 8 * made.entries)
    program = assemble(made)
    return Question(
        plan,
        tuple(ids.tolist()),
        tuple(observed),
        tuple(touched),
        tree,
        program,
        _inputs(store, numbers, rank, program, observed),
        homes,
        tuple(factor_reads.tolist()),
        maximize,
    )


def _input_scopes(store: FactorStore, numbers: Ints, rank: Ints, touched: Ints) -> tuple[Ints, Ints]:
    """Scopes of the inputs: factors, likelihoods, and a neutral one for each variable that none of these mentions."""
    from sepset.kernels.planning import local_scopes

    start, members, _ = store.rows
    start, members = local_scopes(start, members, numbers, rank)
    mentioned = np.zeros(int((rank >= 0).sum()), bool)
    mentioned[members] = True
    mentioned[touched] = True
    singles = np.concatenate([touched, np.flatnonzero(~mentioned)])
    starts = np.concatenate([start, start[-1] + 1 + np.arange(len(singles))])
    return starts, np.concatenate([members, singles])


def _inputs(store: FactorStore, numbers: Ints, rank: Ints, program: Program, observed: Sequence[int]) -> Inputs:
    from sepset.kernels.layout import gather_rows

    place = np.full(len(rank), -1, np.int64)
    place[list(observed)] = np.arange(len(observed))
    ledger = program.contraction.ledger
    rows, groups, start, columns, strides = gather_rows(ledger, program.offsets, *store.rows, numbers, rank, place)
    return Inputs(rows, groups, store.offsets[numbers], start, columns, strides, numbers)
