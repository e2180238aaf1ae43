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
from sepset.inference.contraction import (
    Contraction,
    Groups,
    Ranks,
    cheapest_homes,
    contract,
    differentiate,
    tree_groups,
)
from sepset.inference.plan import Plan
from sepset.inference.program import Ints, Program, assemble, merged
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
    variables = problem.variables
    ids = tuple(variables.id(name) for name in plan.order)
    rank = {v: i for i, v in enumerate(ids)}
    cards = [int(variables.cards[v]) for v in ids]
    numbers = plan.relevant.factors
    scopes = [tuple(sorted(rank[v] for v in store.strides[i] if v in rank)) for i in numbers]
    scopes += [(rank[v],) for v in touched]
    free = _unmentioned(scopes, len(ids))
    kept_ranks = tuple(sorted(rank[v] for v in kept))
    tree = tree_groups(plan.elimination, len(kept))
    made = contract([*scopes, *free], cards, tree, kept_ranks)
    num_forward = len(made.steps)
    reads, factor_reads = _with_reads(made, [rank[v] for v in marginals], len(numbers) if factors else 0)
    if kept:
        reads[kept_ranks] = made.roots[0]
    if memory is not None:
        plan.check(memory, 8 * made.entries)
    program = assemble(made, num_forward)
    inputs = _inputs(store, numbers, scopes, ids, program, observed)
    return Question(plan, ids, tuple(observed), tuple(touched), tree, program, inputs, reads, factor_reads, maximize)


def _unmentioned(scopes: Sequence[Ranks], num: int) -> list[Ranks]:
    """A neutral input for each variable that no factor mentions."""
    mentioned = {r for scope in scopes for r in scope}
    return [(r,) for r in range(num) if r not in mentioned]


def _with_reads(
    made: Contraction, targets: Sequence[int], num_factors: int
) -> tuple[dict[Ranks, int], tuple[int, ...]]:
    """Append the reverse sweep and the products that give each asked marginal, and those of the first factors."""
    homes = cheapest_homes(made, targets)
    inputs = range(1, num_factors + 1)
    differentiate(made, [*homes.values(), *inputs])
    reads: dict[Ranks, int] = {(r,): made.step(home, made.adjoints[home], (r,)) for r, home in homes.items()}
    products = tuple(made.step(tensor, made.adjoints[tensor], made.scopes[tensor]) for tensor in inputs)
    return reads, products


def _inputs(
    store: FactorStore,
    numbers: Sequence[int],
    scopes: Sequence[Ranks],
    ids: Sequence[int],
    program: Program,
    observed: Sequence[int],
) -> Inputs:
    place = {v: i for i, v in enumerate(observed)}
    cards = program.contraction.cards
    rows: list[tuple[int, int, int]] = []
    groups: list[tuple[int, int, int, int]] = []
    indptr, columns, strides = [0], [], []
    for tensor, (number, scope) in enumerate(zip(numbers, scopes, strict=False), start=1):
        source = store.strides[number]
        target = _c_strides(scope, cards)
        copy = merged(scope, cards, [{r: source[ids[r]] for r in scope}, {}, target]) or [(1, 0, 0, 0)]
        rows.append((int(program.offsets[tensor]), len(groups), len(copy)))
        groups.extend(copy)
        fixed = [(place[v], stride) for v, stride in source.items() if v in place]
        columns += [column for column, _ in fixed]
        strides += [stride for _, stride in fixed]
        indptr.append(len(columns))
    copies = np.array(rows, dtype=np.int64).reshape(-1, 3), np.array(groups, dtype=np.int64).reshape(-1, 4)
    fixed_parts = [np.array(x, dtype=np.int64) for x in (indptr, columns, strides)]
    return Inputs(*copies, store.offsets[list(numbers)], *fixed_parts)


def _c_strides(scope: Ranks, cards: Sequence[int]) -> dict[int, int]:
    strides, step = {}, 1
    for r in reversed(scope):
        strides[r] = step
        step *= cards[r]
    return strides
