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
from sepset.problem import Problem

Floats = NDArray[np.float64]
LN2 = math.log(2.0)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Inputs:
    """How factors enter a workspace: copies from the store, some at an offset that the findings decide.

    Attributes:
        rows: for each factor where it goes and which groups copy it.
        groups: sizes and strides of the copies.
        base: where each factor starts in the store.
        indptr, columns, strides: for each factor its observed variables (as positions in the finding vector) and their
            strides.
    """

    rows: Ints
    groups: Ints
    base: Ints
    indptr: Ints
    columns: Ints
    strides: Ints

    @cached_property
    def moving(self) -> Ints:
        """The factors whose place in the store depends on findings."""
        return np.flatnonzero(np.diff(self.indptr))

    def offsets(self, codes: Ints) -> Ints:
        """Where each factor's reduced part starts in the store."""
        shifts = np.concatenate([[0], np.cumsum(self.strides * codes[self.columns])])
        return np.asarray(self.base + shifts[self.indptr[1:]] - shifts[self.indptr[:-1]], dtype=np.int64)


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
        first = len(self.plan.relevant.factors) + len(self.touched) + 1
        made, start = self.contraction, int(self.program.offsets[first]) if first < self.program.num_tensors else 0
        return slice(start, start + sum(made.size(s) for s in made.scopes[first : made.num_inputs + 1]))

    @cached_property
    def layout(self) -> Layout:
        """Where the single marginals lie."""
        return Layout.of(self)

    def ask(self, store: FactorStore, evidence: Evidence, read: Callable[[Run], T]) -> T:
        """What `read` finds in the workspace after a run with these findings."""
        workspace, is_fresh = self.pool.take(store, self.program.size)
        try:
            return read(self._run(workspace, is_fresh, store, evidence))
        finally:
            self.pool.give(store, workspace)

    def _run(self, w: Floats, is_fresh: bool, store: FactorStore, evidence: Evidence) -> Run:
        from sepset.kernels import contraction as kernels

        codes = np.array([evidence.codes[v] for v in self.observed], dtype=np.int64)
        which = slice(None) if is_fresh else self.inputs.moving
        rows, offsets = self.inputs.rows[which], self.inputs.offsets(codes)[which]
        kernels.gather(w, store.values, rows, self.inputs.groups, offsets)
        if is_fresh:
            w[0] = w[self.free] = 1.0
        num_factors = len(self.plan.relevant.factors)
        exponents = np.zeros(self.program.num_tensors, dtype=np.int64)
        for place, v in enumerate(self.touched, start=num_factors + 1):
            start = int(self.program.offsets[place])
            w[start : start + len(evidence.weights[v])], exponents[place] = near_one(evidence.weights[v])
        exponents[1 : num_factors + 1] = store.exponents[list(self.plan.relevant.factors)]
        flags, cancel = np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.uint8)
        kernels.execute(w, self.program.ops, self.program.groups, exponents, flags, self.maximize, cancel)
        return Run(self, w, exponents, bool(flags[0]))


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Single marginals end to end: where each lies in the workspace and in the answer.

    Attributes:
        index: workspace places, in answer order.
        starts: where each marginal begins in the answer.
        places: from variable position to its part of the answer.
    """

    index: Ints
    starts: Ints
    places: Mapping[int, slice]

    @classmethod
    def of(cls, question: Question) -> Layout:
        """The layout of a question's single marginals."""
        made, offsets = question.contraction, question.program.offsets
        singles = [(scope[0], tensor) for scope, tensor in question.homes.items() if len(scope) == 1]
        sizes = [made.cards[r] for r, _ in singles]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        parts = [np.arange(offsets[t], offsets[t] + n) for (_, t), n in zip(singles, sizes, strict=True)]
        places = {
            question.ids[r]: slice(int(s), int(s) + n) for (r, _), s, n in zip(singles, starts, sizes, strict=False)
        }
        return cls(np.concatenate(parts) if parts else np.zeros(0, np.int64), starts[:-1], places)

    def read(self, workspace: Floats) -> Floats:
        """All marginals, normalized, end to end."""
        values = workspace[self.index]
        if len(values):
            totals = np.add.reduceat(values, self.starts)
            totals[totals == 0.0] = 1.0
            values /= np.repeat(totals, np.diff(self.starts, append=len(values)))
        return values


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A question's workspace after a run."""

    question: Question
    workspace: Floats = field(repr=False)
    exponents: Ints = field(repr=False)
    is_wide: bool

    def tensor(self, number: int) -> Floats:
        """The entries of one tensor, flat."""
        start = int(self.question.program.offsets[number])
        made = self.question.contraction
        return self.workspace[start : start + made.size(made.scopes[number])]

    @property
    def log_partition(self) -> float:
        """The logarithm of the product of the roots, summed over what is kept."""
        total = 0.0
        for root in self.question.contraction.roots:
            mass = self.tensor(root).sum()
            if mass == 0.0:
                return -math.inf
            total += math.log(mass) + int(self.exponents[root]) * LN2
        return total

    def marginal(self, scope: Ranks) -> Floats:
        """The normalized marginal over an asked scope, flat; a copy."""
        values = self.tensor(self.question.homes[scope])
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
    rows, groups, *fixed = gather_rows(ledger, program.offsets, *store.rows, numbers, rank, place)
    return Inputs(rows, groups, store.offsets[numbers], *fixed)
