"""Compiled questions: a plan, its contraction and its program, made once for an observed set and run many times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.threads import NEVER
from sepset.graphs import costs as pace
from sepset.inference import costs
from sepset.inference.compiled.bounds import least_entries
from sepset.inference.compiled.contraction import (
    Choice,
    Contraction,
    Groups,
    Inputs,
    Ranks,
    Traceback,
    choices,
    contract,
    follow,
    mode_choices,
    traceback,
    tree_groups,
)
from sepset.inference.compiled.domains import Spread, States
from sepset.inference.compiled.program import Program, Workspace, WorkspacePool, assemble
from sepset.inference.compiled.store import FactorStore, Layout
from sepset.inference.compiled.teams import large_steps
from sepset.inference.compiled.treesearch import cheaper_tree, estimated, is_searched
from sepset.inference.plan import ENTRY_BYTES, EliminationPlan
from sepset.kernels.kernel import is_at_hand
from sepset.variables.evidence import Evidence

NO_CODES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Question:
    """A compiled question: an executor runs it with findings, and answers are read from the run.

    Attributes:
        cards: the number of states of every variable of the problem in tables.
        order: the variable position at each rank.
        observed: observed positions, in order; a run takes their codes.
        touched: positions with likelihood weights, in order.
        tree: the cliques of the plan.
        numbers: the numbers of the factors used, in order.
        targets: positions whose single marginals a run reads.
        kept: ranks that are not eliminated: the scope of the only root.
        maximize: maximize instead of summing.
        states: the domains of tables if impossible states are left out; codes, weights and answers are then over these.
        reads_singles: whether a run reads single marginals, those of findings included.
        is_shared: whether it is several questions in one program.
        need: the bytes that an answer takes: the factors laid out, a workspace, and the answer.
        pool: workspaces of earlier runs.
    """

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
    reads_singles: bool = False
    is_shared: bool = False
    need: int = 0
    pool: WorkspacePool = field(default_factory=WorkspacePool, repr=False)

    @lazy
    def contraction(self) -> Contraction:
        """The tensors and steps behind the program."""
        return self.program.contraction

    @lazy
    def ids(self) -> tuple[int, ...]:
        """The variable position at each rank."""
        return tuple(self.order.tolist())

    @lazy
    def joint_positions(self) -> tuple[int, ...]:
        """The positions of the variables of the only root, in the order of its axes."""
        return tuple(self.ids[r] for r in self.kept)

    @lazy
    def is_expensive(self) -> bool:
        """Whether a longer search for a plan may be worth it after repeated questions."""
        most = 3.0 * self.program.work  # no tensor of a step has more entries than it has multiplications
        return most > costs.ENTRIES_BEFORE_TREE_SEARCH and is_searched(self.program.contraction)

    @lazy
    def nanoseconds(self) -> float:
        """The estimated time of a run."""
        return estimated(self.program.contraction, maximize=self.maximize)

    @lazy
    def large_steps(self) -> Ints:
        """The steps that several threads may share, with the numbers of their parts."""
        return large_steps(self.program, maximize=self.maximize)

    @lazy
    def choices(self) -> list[Choice]:
        """How values are drawn after a run, root first."""
        return choices(self.program.contraction, self.tree)

    @lazy
    def mode_choices(self) -> list[Choice]:
        """How a most probable assignment is read back after a run, root first, whatever ties there are."""
        return mode_choices(self.program.contraction, self.tree, work=costs.WORK_OF_READING)

    @lazy
    def tied_traceback(self) -> Traceback:
        """The same as flat arrays."""
        found = traceback(self.program.contraction, self.tree, work=costs.WORK_OF_READING)
        return found._replace(is_step=np.zeros_like(found.is_step))

    @lazy
    def traceback(self) -> Traceback:
        """The same by steps where a clique has many joint states: if they have no ties, all ways are the same."""
        return traceback(self.program.contraction, self.tree, work=0.0)

    @property
    def singles(self) -> dict[int, int]:
        """From variable position to the tensor that holds its marginal after a run."""
        if len(self.kept) == 1:
            return {self.joint_positions[0]: int(self.program.contraction.roots[0])}
        return dict(zip(self.targets.tolist(), self.program.contraction.reads.tolist(), strict=False))

    @lazy
    def factor_homes(self) -> tuple[int, ...]:
        """For each relevant factor the tensor that holds its marginal, if requested."""
        return tuple(self.program.contraction.reads[len(self.targets) :].tolist())

    @lazy
    def places(self) -> Mapping[int, slice]:
        """From variable position to its slice of the single marginals: the targets, then the findings."""
        rows = self.program.reads.tolist()
        positions = (*self.targets.tolist(), *self.observed)
        return {v: slice(start, start + size) for v, (_, start, size) in zip(positions, rows, strict=True)}

    @lazy
    def width(self) -> int:
        """The total length of all single marginals."""
        reads = self.program.reads
        return int(reads[-1, 1] + reads[-1, 2]) if len(reads) else 0

    @lazy
    def spread(self) -> Spread | None:
        """The extension of single marginals to all states, if tables leave some out."""
        return None if self.states is None else Spread.of(self.states, list(self.places))

    @lazy
    def moving(self) -> Ints:
        """The factors whose place in the store depends on findings."""
        return np.flatnonzero(self.program.num_fixed)

    def codes(self, evidence: Evidence) -> Ints:
        """The findings a run takes."""
        found = evidence.codes
        return np.array([found[v] for v in self.observed], dtype=np.int64) if found else NO_CODES

    def workspace(self, store: FactorStore, values: Floats) -> Workspace:
        """A new workspace in the given array, with the constant tensors filled in."""
        values[0] = 1.0
        num = len(self.numbers)
        if self.program.contraction.num_inputs > num + len(self.touched):
            values[self.free] = 1.0
        exponents = np.zeros(self.program.num_tensors, dtype=np.int64)
        exponents[1 : num + 1] = store.exponents if num == store.num_factors else store.exponents[self.numbers]
        return Workspace.of(values, exponents, len(self.observed))

    @property
    def free(self) -> slice:
        """The slice of the workspace for variables in no factor's scope: always one."""
        first, last = len(self.numbers) + len(self.touched) + 1, self.program.contraction.num_inputs
        if first > last:
            return slice(0, 0)
        start, end = self.program.offsets[[first, last]].tolist()
        return slice(start, end + int(self.program.contraction.sizes[last]))


def _refuse(plan: EliminationPlan, entries: float, limit: float) -> None:
    """Raise if there will be more entries than the limit; the error states those of the plan's tables."""
    if entries > limit:
        total = plan.symbolic.rounded_total
        need = int(total) if total < math.inf else plan.largest
        plan.check(int(ENTRY_BYTES * limit), ENTRY_BYTES * max(need, int(limit) + 1))


def compile_question(
    layout: Layout,
    plan: EliminationPlan,
    *,
    cards: Ints,
    observed: Sequence[int],
    touched: Sequence[int] = (),
    kept: Sequence[int] = (),
    marginals: Sequence[int] | Ints | None = None,
    factors: bool = False,
    maximize: bool = False,
    reads_tensors: bool = True,
    memory: int | None = None,
    states: States | None = None,
    search: float = costs.SHARE_OF_TREE_SEARCH,
) -> Question:
    """The question of a plan, compiled.

    Args:
        layout: the layout of the stores that runs take.
        cards: the number of states of every variable in the plan and the layout.
        kept: positions that are not eliminated, last in the plan's order: the answer is one tensor over them.
        marginals: positions whose single marginals are read after a reverse sweep; None reads none.
        factors: whether the marginal over every factor's scope is read too.
        maximize: maximize instead of summing.
        reads_tensors: whether a run's tensors are read, beyond the joint or the single marginals.
        memory: the largest number of bytes that an answer takes; above it, `TooLarge` before anything is allocated.
        states: the domains of tables, if impossible states are left out.
        search: the time to look for a cheaper tree if the steps are expensive, as a share of theirs; zero follows the
            plan's cliques.
    """
    ids, numbers, found = plan.positions, plan.relevant.numbers, _places(observed)
    used = Used(layout, numbers, _ranks(ids, len(cards)), _places(touched))
    inputs, rank = used.inputs, used.rank
    tree = tree_groups(plan.symbolic, len(kept))
    last = np.sort(rank[list(kept)]) if kept else NO_CODES
    targets = NO_CODES if marginals is None else np.asarray(marginals, dtype=np.int64)
    limit = math.inf if memory is None else memory / ENTRY_BYTES
    if plan.symbolic.rounded_total > limit and plan.largest > limit:
        _refuse(plan, least_entries(inputs, plan.symbolic.ranked_cards, tree), limit)
    asked = Asked(last, rank[targets], len(numbers) if factors else 0)
    made = contract(inputs, plan.symbolic.ranked_cards, tree, **asked._asdict(), limit=limit)
    if made.num_forward < 0:
        _refuse(plan, math.inf, limit)
    if made.entries > limit:
        _refuse(plan, made.entries, limit)
    if search > 0.0 and is_searched(made):
        made, tree = _rearranged(made, tree, inputs, asked, maximize=maximize, share=search, limit=limit)
    program = used.assembled(made, found, cards, len(targets), reads_tensors=reads_tensors or factors)
    need = ENTRY_BYTES * (program.size + int(layout.offsets[-1]) + _answer(program, kept, cards, states))
    if memory is not None and need > memory:
        plan.check(memory, need)
    about = tree, program, numbers, targets, tuple(last.tolist()), maximize, states, marginals is not None
    return Question(cards, ids, tuple(observed), tuple(touched), *about, need=need)


def narrowed(question: Question, layout: Layout, states: States) -> Question:
    """A question without targets over fewer states: the same order and cliques, so that ties are broken alike.

    Args:
        layout: that of the stores over these states.
    """
    cards, order = states.cards, question.order
    used = Used(layout, question.numbers, _ranks(order, len(cards)), _places(question.touched))
    made = contract(used.inputs, cards[order].astype(np.float64), question.tree)
    program = used.assembled(made, _places(question.observed), cards, 0, reads_tensors=True)
    need = ENTRY_BYTES * (program.size + int(layout.offsets[-1]))
    return replace(question, cards=cards, program=program, states=states, need=need, pool=WorkspacePool())


def rearranged(question: Question, layout: Layout, *, reads_tensors: bool, share: float, memory: int) -> Question:
    """A question along a cheaper tree, if one is found and the answer takes no more than the memory.

    Args:
        layout, reads_tensors, memory: those that it was compiled with.
        share: the time of the search, as a share of that of its steps.
    """
    cards, order, made = question.cards, question.order, question.program.contraction
    used = Used(layout, question.numbers, _ranks(order, len(cards)), _places(question.touched))
    num_factors = len(made.reads) - len(question.targets)
    asked = Asked(np.array(question.kept, np.int64), used.rank[question.targets], num_factors)
    limit = memory / ENTRY_BYTES
    other, tree = _rearranged(
        made, question.tree, used.inputs, asked, maximize=question.maximize, share=share, limit=limit
    )
    if other is made:
        return question
    seen = _places(question.observed)
    program = used.assembled(other, seen, cards, len(question.targets), reads_tensors=reads_tensors)
    kept = [int(order[r]) for r in question.kept]
    need = ENTRY_BYTES * (program.size + int(layout.offsets[-1]) + _answer(program, kept, cards, question.states))
    if need > memory:
        return question
    return replace(question, tree=tree, program=program, need=need, pool=WorkspacePool())


class Attempt(NamedTuple):
    """A question compiled with one greedy order.

    Attributes:
        question: None if it is too large, or a better order is worth a search, or it was not tried.
        total: log2 of the entries of the order's tables; None if it was not tried.
    """

    question: Question | None
    total: float | None

    @property
    def entries(self) -> float | None:
        """The entries of the order's tables."""
        return None if self.total is None else float(2.0 ** min(self.total, 1000.0))


PACE = pace.NANOSECONDS_PER_TRY, pace.NANOSECONDS_PER_READ, pace.NANOSECONDS_PER_ENTRY
STEADY = np.array([*PACE, math.inf, 0.0])
"""When a greedy order is taken at once: if a search would end with it."""

HASTY = np.array([*PACE, costs.ENTRIES_FOR_HASTE, costs.HASTY_ORDER_PASSES])
HASTY[0] += costs.NANOSECONDS_BEFORE_SEARCH
"""The same for questions that are planned again after some uses: small tables get no search, large ones a shorter."""


def compile_greedily(
    layout: Layout,
    *,
    cards: Ints,
    numbers: Ints,
    hidden: Ints,
    observed: Sequence[int],
    touched: Sequence[int] = (),
    kept: Sequence[int] = (),
    marginals: Ints | None = None,
    factors: bool = False,
    maximize: bool = False,
    reads_tensors: bool = True,
    memory: int,
    states: States | None = None,
    most: float = math.inf,
    effort: float = 1.0,
    haste: bool = False,
) -> Attempt:
    """The question with the order of least weighted fill, in one compiled call; as `compile_question` otherwise.

    Its steps follow the cliques, also if they are expensive (`rearranged`).

    Args:
        numbers: the numbers of the relevant factors.
        hidden: the relevant variables that are not observed, ascending.
        most: the entries of all tables up to which it is compiled.
        effort: how long to search for an order, in passes over its tables: if this one is found sooner, it is not
            compiled.
        haste: whether its order is soon found, as it is planned again after some uses.
    """
    from sepset.kernels.compiled.onepass import compile_greedily as compiled

    if not is_at_hand(compiled):  # a large kernel, which is compiled in the background; its stages answer meanwhile
        return Attempt(None, None)
    targets, num_reads = NO_CODES if marginals is None else marginals, len(numbers) if factors else 0
    seen, with_likelihoods = _places(observed), _places(touched)
    limit, is_free = memory / ENTRY_BYTES, not (reads_tensors or factors)
    is_made, total, order, ranked, cliques, traced, parts = compiled(
        *layout.rows,
        layout.offsets,
        cards,
        *(numbers, hidden, _places(kept), seen, with_likelihoods, targets),
        num_reads,
        most,
        limit,
        math.log2(max(limit, 1.0)) + pace.HOPELESS_BITS,
        float(costs.ENTRIES_FOR_FREE_AXES) if is_free else math.inf,
        effort,
        HASTY if haste else STEADY,
        NEVER,
    )
    if not is_made:
        return Attempt(None, total)
    bounds, pool, sizes, steps, roots, box_start, boxes, reads, *counts = traced
    made = Contraction(ranked, bounds, pool, sizes, steps, roots, (box_start, boxes), reads, *counts)
    instructions: tuple[Ints, Ints, Ints, int, float, Ints, Ints, Ints, Ints, Ints] = parts
    program, tree, last = (
        Program(*instructions, made),
        Groups(*cliques),
        tuple(range(len(order) - len(kept), len(order))),
    )
    need = int(ENTRY_BYTES * (program.size + int(layout.offsets[-1]) + _answer(program, kept, cards, states)))
    if need > memory:
        return Attempt(None, total)
    about = tree, program, numbers, targets, last, maximize, states, marginals is not None
    return Attempt(Question(cards, order, tuple(observed), tuple(touched), *about, need=need), total)


def _ranks(positions: Ints, num_variables: int) -> Ints:
    """The place of each variable among these positions; -1 for all others."""
    found = np.full(num_variables, -1)
    found[positions] = np.arange(len(positions))
    return found


def _places(positions: Sequence[int]) -> Ints:
    return np.array(positions, dtype=np.int64) if positions else NO_CODES


class Used(NamedTuple):
    """The factors of a question: their layout and numbers, the rank of each variable, and those with likelihoods."""

    layout: Layout
    numbers: Ints
    rank: Ints
    touched: Ints

    @property
    def inputs(self) -> Inputs:
        """The scopes of all factors that a contraction begins with."""
        start, members, _ = self.layout.rows
        return Inputs(start, members, self.numbers, self.rank, self.rank[self.touched])

    def assembled(
        self, made: Contraction, observed: Ints, cards: Ints, num_targets: int, *, reads_tensors: bool
    ) -> Program:
        """The instructions of a contraction."""
        seen = _ranks(observed, len(cards))
        return assemble(
            made, self.layout, self.numbers, self.rank, seen, num_targets, cards[observed], reads_tensors=reads_tensors
        )


class Asked(NamedTuple):
    """The ends of a contraction: ranks kept, ranks whose marginals are read, and the number of factors read."""

    kept: Ints
    targets: Ints
    num_factors: int


def _rearranged(
    made: Contraction, tree: Groups, inputs: Inputs, asked: Asked, *, maximize: bool, share: float, limit: float
) -> tuple[Contraction, Groups]:
    """The contraction along a cheaper tree, if there is one that takes no more memory than is certainly available."""
    found = cheaper_tree(made, **asked._asdict(), maximize=maximize, share=share)
    if found.cost >= found.first:
        return made, tree
    other, cliques = follow(inputs, made.weights, found.tree, **asked._asdict(), limit=max(made.entries, limit / 2))
    if other.num_forward < 0 or other.entries > max(made.entries, limit / 2):
        return made, tree
    is_cheaper = estimated(other, maximize=maximize) < estimated(made, maximize=maximize)
    return (other, cliques) if is_cheaper else (made, tree)


def _answer(program: Program, kept: Sequence[int], cards: Ints, states: States | None) -> int:
    """The entries of a joint, beyond those of a workspace: none if it takes the workspace."""
    if not kept:
        return 1
    size = math.prod(int(cards[v]) for v in kept)
    whole = 0 if states is None else math.prod(map(states.num_states, kept))
    is_copied = size < costs.ENTRIES_TAKEN or 2 * size < program.size
    return (size if is_copied else 0) + whole
