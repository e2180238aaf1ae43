"""Compiled questions: a plan, its contraction and its program, made once for an observed set and run many times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.cache import Cache
from sepset.base.frozen import read_only
from sepset.base.lazy import lazy
from sepset.base.logarithms import LN2
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
from sepset.inference.compiled.store import FactorStore, Layout, near_one
from sepset.inference.compiled.teams import large_steps
from sepset.inference.compiled.treesearch import cheaper_tree, estimated, is_searched
from sepset.inference.plan import ENTRY_BYTES, EliminationPlan
from sepset.kernels.compiled import onepass
from sepset.kernels.compiled.instructions import KIND, WIDTH
from sepset.kernels.kernel import is_at_hand
from sepset.variables.evidence import Evidence

NO_CODES = np.zeros(0, dtype=np.int64)
NOTHING = np.empty(0)


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
        is_whole: whether its single marginals are those of all variables, in the order of their positions.
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
    is_whole: bool = False
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
    def has_only_loops(self) -> bool:
        """Whether no step runs by panels or slices, or over packed operands."""
        return not (self.program.ops[:, KIND].any() or self.program.slices)

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
    def cells(self) -> Cache[tuple[Ints, Ints]]:
        """Where the entries of relevant factors are in the store."""
        return Cache(1)

    @lazy
    def factor_homes(self) -> tuple[int, ...]:
        """For each relevant factor the tensor that holds its marginal, if requested."""
        return tuple(self.program.contraction.reads[len(self.targets) :].tolist())

    @lazy
    def places(self) -> Mapping[int, slice]:
        """From variable position to its slice of the single marginals, those of findings included."""
        rows, targets, observed = self.program.reads.tolist(), iter(self.targets.tolist()), self.observed
        return {
            next(targets) if source >= 0 else observed[-1 - source]: slice(start, start + size)
            for source, start, size in rows
        }

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
        exponents = np.zeros(len(self.program.offsets), dtype=np.int64)
        exponents[1 : num + 1] = store.exponents if num == len(store.exponents) else store.exponents[self.numbers]
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
    is_passing = marginals is None and not (factors or reads_tensors)  # one sweep, whose tensors pass
    most = limit * costs.TIMES_OF_MEMORY if is_passing else limit
    made = contract(inputs, plan.symbolic.ranked_cards, tree, **asked._asdict(), limit=most)
    if made.num_forward < 0 or made.entries > most:
        _refuse(plan, math.inf if made.num_forward < 0 else made.entries, limit)
    if search > 0.0 and is_searched(made):
        made, tree = _rearranged(made, tree, inputs, asked, maximize=maximize, share=search, limit=limit)
    program = used.assembled(made, found, cards, len(targets), reads_tensors=reads_tensors or factors)
    need = ENTRY_BYTES * (program.size + int(layout.offsets[-1]) + _answer(program.size, kept, cards, states))
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
    need = ENTRY_BYTES * (program.size + int(layout.offsets[-1]) + _answer(program.size, kept, cards, question.states))
    if need > memory:
        return question
    return replace(question, tree=tree, program=program, need=need, is_whole=False, pool=WorkspacePool())


class Attempt:
    """A question compiled with one greedy order.

    Args:
        total: log2 of the entries of the order's tables; None if it was not tried.
        parts: the compiled question as it comes from the kernel; None if it is too large, or a better order is worth a
            search, or it was not tried.
        about: the other parts of the question, by name.
        singles, log_partition: if the program ran at once, the marginals of all variables, in the order of their
            positions, and the logarithm of the total.
    """

    def __init__(
        self,
        total: float | None,
        parts: Ints | None = None,
        about: Mapping[str, Any] | None = None,
        singles: Floats | None = None,
        log_partition: float = math.nan,
    ) -> None:
        self.total, self._parts, self._about = total, parts, about
        self.singles, self.log_partition = singles, log_partition

    @property
    def entries(self) -> float | None:
        """The entries of the order's tables."""
        return None if self.total is None else float(2.0 ** min(self.total, 1000.0))

    @lazy
    def question(self) -> Question | None:
        """The question; None if it was not compiled."""
        if self._parts is None or self._about is None:
            return None
        order, targets, tree, program = _unpacked(self._parts)
        about = {"numbers": np.arange(len(program.rows)), **self._about}
        return Question(order=order, tree=tree, program=program, **{"targets": targets, **about})


NUM_PARTS, NUM_FLOATS = 23, 3
"""The parts of a question as it comes from the kernel, and those of floats among them, which come first."""


def _unpacked(parts: Ints) -> tuple[Ints, Ints, Groups, Program]:
    """The order, the targets, the cliques and the program of a question as it comes from the kernel."""
    *sizes, num_inputs, num_forward, size = parts[: NUM_PARTS + 3].tolist()
    ends = itertools.accumulate(sizes, initial=NUM_PARTS + 3)
    each = [parts[first:end] for first, end in itertools.pairwise(ends)]
    ranked, results, work = each[0].view(np.float64), each[1].view(np.float64), float(each[2].view(np.float64)[0])
    order, targets, group, sep_start, sepsets, bounds, pool, steps, roots, box_start, boxes, reads = each[NUM_FLOATS:-8]
    boxed, counts = (box_start, boxes), (num_inputs, num_forward)
    made = Contraction(ranked, bounds, pool, results, steps.reshape(-1, 3), roots, boxed, reads, *counts)
    ops, groups, offsets, rows, copies, fixed, sums, singles = each[-8:]
    loops = ops.reshape(-1, WIDTH), groups.reshape(-1, 4), offsets, size, work
    copied = rows.reshape(-1, 6), copies.reshape(-1, 4), fixed.reshape(2, -1)
    program = Program(*loops, *copied, sums.reshape(-1, 3), singles.reshape(-1, 3), made)
    return order, targets, Groups(group, sep_start, sepsets), program


PACE = pace.NANOSECONDS_PER_TRY, pace.NANOSECONDS_PER_READ, pace.NANOSECONDS_PER_ENTRY
STEADY = *PACE, math.inf, 0.0
"""When a greedy order is taken at once: if a search would end with it."""

HASTY = PACE[0] + costs.NANOSECONDS_BEFORE_SEARCH, *PACE[1:], costs.ENTRIES_FOR_HASTE, costs.HASTY_ORDER_PASSES
"""The same for questions that are planned again after some uses: small tables get no search, large ones a shorter."""


@lru_cache(64)
def limits(
    memory: int,
    most: float,
    effort: float,
    times: tuple[float, ...],
    free_from: float,
    per_sink: float = 0.0,
    run: float = 0.0,
) -> Floats:
    """The limits within which a question is compiled in one call, as the kernel takes them; by position, since names
    would take longer than the look into the cache.

    Args:
        memory: the largest number of bytes of all results.
        most, per_sink: the entries of all tables up to which it is compiled, or those for each variable in one factor
            only if they are more.
        effort, times: how long to search for an order, in passes over its tables, and the times that decide: if this
            one is found sooner, it is not compiled.
        free_from: the entries of all tensors from which their axes may be in any order.
        run: the multiplications up to which the program is run at once.
    """
    limit = memory / ENTRY_BYTES
    hopeless = math.log2(max(limit, 1.0)) + pace.HOPELESS_BITS
    return read_only(np.array([most, per_sink, limit, hopeless, free_from, effort, run, *times], np.float64))


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
    compiled = onepass.compile_greedily
    if not is_at_hand(compiled):  # a large kernel, which is compiled in the background; its stages answer meanwhile
        return Attempt(None)
    targets, num_reads = NO_CODES if marginals is None else marginals, len(numbers) if factors else 0
    sizes = len(numbers), len(hidden), len(kept), len(observed), len(touched), len(targets), num_reads
    lists = *kept, *observed, *(0 for _ in observed), *touched  # findings have no values yet
    asked = np.concatenate([sizes, numbers, hidden, lists, targets]).astype(np.int64)
    free_from = math.inf if reads_tensors or factors else costs.ENTRIES_FOR_FREE_AXES
    within = limits(memory, most, effort, HASTY if haste else STEADY, free_from)
    parts, out = compiled(layout.numbers, asked, within, NOTHING, NO_CODES, NOTHING, NEVER)
    total = float(out[0])
    if not len(parts):
        return Attempt(total)
    need = ENTRY_BYTES * (_size(parts) + int(layout.offsets[-1]) + _answer(_size(parts), kept, cards, states))
    about = {
        "cards": cards,
        "observed": tuple(observed),
        "touched": tuple(touched),
        "numbers": numbers,
        "targets": targets,
        "kept": tuple(range(len(hidden) - len(kept), len(hidden))),
        "maximize": maximize,
        "states": states,
        "reads_singles": marginals is not None,
        "need": need,
    }
    return Attempt(total, parts, about) if need <= memory else Attempt(total)


def answer_greedily(
    store: FactorStore, evidence: Evidence, about: dict[str, Any], within: Floats, memory: int
) -> Attempt:
    """All marginals with the order of least weighted fill, compiled in one call, which also runs a short program.

    Args:
        store, evidence: the factors and the findings.
        about: the parts of the question that are known: the number of states of every variable, the positions with
            findings and with likelihoods, in order.
        within: the limits, with the multiplications up to which the program runs.
        memory: the largest number of bytes that an answer takes.
    """
    compiled, codes, observed, touched = onepass.compile_greedily, evidence.codes, about["observed"], about["touched"]
    if not is_at_hand(compiled):
        return Attempt(None)
    sizes = onepass.EVERYTHING, 0, 0, len(observed), len(touched), 0, 0
    asked = np.array((*sizes, *observed, *[codes[v] for v in observed], *touched), np.int64)
    weights, shift = _together([evidence.weights[v] for v in touched]) if touched else (NOTHING, 0)
    parts, out = compiled(store.layout.numbers, asked, within, store.values, store.exponents, weights, NEVER)
    total, log_partition, state = out[: onepass.SINGLES].tolist()
    about["need"] = ENTRY_BYTES * (_size(parts) + len(store.values) + 1) if len(parts) else 0
    if not len(parts) or about["need"] > memory:
        return Attempt(total)
    if state != onepass.ANSWERED:
        return Attempt(total, parts, about)
    out.setflags(write=False)
    return Attempt(total, parts, about, out[onepass.SINGLES :], log_partition + LN2 * shift)


def _together(likelihoods: Sequence[Floats]) -> tuple[Floats, int]:
    """Likelihoods one after the other, each scaled to a largest weight near one, and the power of two divided out."""
    near = [near_one(weights) for weights in likelihoods]
    return np.concatenate([weights for weights, _ in near]), sum(shift for _, shift in near)


def _size(parts: Ints) -> int:
    """The floats of a workspace of a question as it comes from the kernel."""
    return int(parts[NUM_PARTS + 2])


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


def _answer(room: int, kept: Sequence[int], cards: Ints, states: States | None) -> int:
    """The entries of a joint, beyond those of a workspace of this size: none if it takes the workspace."""
    if not kept:
        return 1
    size = math.prod(int(cards[v]) for v in kept)
    whole = 0 if states is None else math.prod(map(states.num_states, kept))
    is_copied = size < costs.ENTRIES_TAKEN or 2 * size < room
    return (size if is_copied else 0) + whole
