"""Plans: the cost of an elimination, known before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.cache import Slot
from sepset.base.display import Report, Shown
from sepset.base.lazy import lazy
from sepset.base.text import readable, rounded
from sepset.errors import TooLarge
from sepset.graphs.costs import SWEPT_REALS
from sepset.graphs.csr import sorted_pairs
from sepset.graphs.elimination import GraphElimination
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.names import Names
from sepset.graphs.ordering import GivenOrder, OrderingMethod, OrderingTask, refuse_matrices
from sepset.graphs.sweeps import side_by_side
from sepset.graphs.symbolic import SymbolicElimination, symbolic_elimination
from sepset.inference import costs
from sepset.problem import Problem, Relevant
from sepset.variables.universe import Universe

ENTRY_BYTES = 8
"""Bytes of a table entry, a float64."""

RECURSIVE_ENTRIES = 10**10
"""The largest plan for which recursive conditioning, which visits every entry, is advised: about ten minutes."""

ALONG_CHAINS: Slot[Floats] = Slot("ranks of variables in an order along all chains")
"""Those of all variables of a problem."""


@dataclass(frozen=True)
class EliminationPlan(Report):
    """The plan of a question: the relevant factors, an elimination order, and its cost in entries and bytes.

    Attributes:
        relevant: the factors and variables that remain after pruning.
        symbolic: the symbolic elimination; its nodes are the relevant variables in order.
        num_variables: the number of variables of the model.
        scopes: the factors' scopes as compressed rows of nodes.
        need: the bytes that an answer takes at once, if that is known; all clique tables together by default.
    """

    relevant: Relevant = field(repr=False)
    symbolic: SymbolicElimination = field(repr=False)
    _: KW_ONLY
    num_variables: int
    scopes: tuple[Ints, Ints] = field(repr=False)
    targets: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    need: int | None = field(default=None, kw_only=True, repr=False)

    @lazy
    def cost(self) -> int:
        """Multiplications of variable elimination."""
        return self.symbolic.cost(_first_ranks(*self.scopes, self.symbolic.order))

    @property
    def elimination(self) -> GraphElimination:
        """The order with its cliques and sizes, by name."""
        return self.symbolic.named

    @property
    def order(self) -> tuple[str, ...]:
        """The variables in elimination order."""
        return self.symbolic.names

    @lazy
    def positions(self) -> Ints:
        """The positions of the variables in elimination order."""
        return np.asarray(self.relevant.places[self.symbolic.order])

    @property
    def width(self) -> int:
        """The induced width."""
        return self.symbolic.width

    @property
    def largest(self) -> int:
        """The entries of the largest table."""
        return self.symbolic.largest

    @property
    def total_size(self) -> int:
        """The entries of all clique tables together."""
        return self.symbolic.total_size

    @property
    def memory(self) -> int:
        """Bytes that an answer takes at once; of all clique tables together where that is not known."""
        return ENTRY_BYTES * self.total_size if self.need is None else self.need

    @property
    def step_memory(self) -> int:
        """Bytes for the largest step: a product, one of its operands, and the product in another order."""
        return 3 * ENTRY_BYTES * self.largest

    def check(self, limit: int, need: int | None = None) -> None:
        """Raise if the plan needs more than `limit` bytes; by default, for its largest step."""
        need = self.step_memory if need is None else need
        if need > limit:
            slower = ", or use RecursiveConditioning" if self.total_size <= RECURSIVE_ENTRIES else ""
            if self.targets and self.step_memory <= limit:  # its messages are gone once they are multiplied
                slower = ", or use VariableElimination, which holds few of them at a time"
            raise TooLarge(
                f"The largest of the plan's tables has {rounded(self.largest)} entries (width {self.width}), about "
                f"{readable(need)} in total; the limit is {readable(limit)}. Observe more variables, ask for fewer "
                f"targets, raise `memory=` on the method{slower}."
            )

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "targets", _names(self.targets) or "every variable"
        yield "observed", _names(self.observed) or "none"
        yield "order", _names(self.order, 12)
        yield "width", str(self.width)
        yield "largest table", f"{_counted(self.largest)} entries"
        yield "total", f"{_counted(self.total_size)} entries, {readable(ENTRY_BYTES * self.total_size)}"
        yield "memory", readable(self.memory)
        yield "cost", f"{_counted(self.cost)} multiplications"

    def to_dict(self) -> dict[str, Any]:
        """The plan in plain values, as `to_json` writes it: the order, the width, and the costs."""
        costs = ("width", "largest", "total_size", "memory", "cost")
        names = {"targets": list(self.targets), "observed": list(self.observed), "order": list(self.order)}
        return {"num_variables": self.num_variables, **names, **{name: int(getattr(self, name)) for name in costs}}

    def _shown(self) -> Shown:
        own = int((self.relevant.places < self.num_variables).sum())
        hidden, factors = len(self.relevant.places) - own, len(self.relevant.factors)
        more = f", {hidden} auxiliaries" if hidden else ""
        title = f"Plan: {own} of {self.num_variables} variables{more} and {factors} factors are relevant"
        return Shown((), list(self._facts()), title)

    def __repr__(self) -> str:
        own = int((self.relevant.places < self.num_variables).sum())
        sizes = f"width {self.width}, largest table {rounded(self.largest)}, {readable(self.memory)}"
        return f"{type(self).__name__}({own} of {self.num_variables} variables, {sizes})"


class JointPlan(Protocol):
    """The plan of a joint, with a calibrated tree available."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The query."""

    @property
    def elimination(self) -> EliminationPlan:
        """The plan of an elimination without the tree."""

    @property
    def route(self) -> Literal["clique", "merging", "elimination"]:
        """The cheapest way: within one clique, by merging cliques, or by elimination."""

    @property
    def cost(self) -> int:
        """The number of operations of the chosen way."""

    @property
    def memory(self) -> int:
        """Bytes of the largest table of the chosen way, while it is built."""

    def check(self, limit: int) -> None:
        """Raise if the largest step needs more than `limit` bytes."""


def _counted(number: int) -> str:
    """A number with all its digits, as long as they can be read."""
    return f"{number:,}" if number < 10**15 else f"about {rounded(number)}"


def _names(names: Sequence[str], limit: int = 8) -> str:
    return ", ".join(names[:limit]) + (f", ... ({len(names)} in all)" if len(names) > limit else "")


def hopeless_bits(memory: int) -> int:
    """log2 of the number of entries from which tables are far beyond the memory."""
    return math.ceil(math.log2(costs.HOPELESS_FACTOR * max(memory, 1) / ENTRY_BYTES))


def interaction_graph(problem: Problem, relevant: Relevant, together: Sequence[int] = ()) -> UndirectedGraph:
    """The graph that joins the unobserved variables of each relevant factor, and those of `together`."""
    from sepset.kernels.compiled.planning import scope_graph

    kept, place = relevant.places, np.full(len(problem.variables), -1)
    place[kept] = np.arange(len(kept))
    joined = np.array(sorted(place[v] for v in together if place[v] >= 0), np.int64)
    _, _, start, near = scope_graph(*problem.scopes, relevant.numbers, place, joined, len(kept))
    sources = np.repeat(np.arange(len(kept)), np.diff(start))
    once = sources < near
    names = [problem.variables[v].name for v in relevant.variables]
    return UndirectedGraph.from_arrays(names, sources=sources[once], targets=near[once])


def make_plan(
    problem: Problem,
    relevant: Relevant,
    *,
    method: OrderingMethod,
    targets: Sequence[int] = (),
    observed: Sequence[int] = (),
    last: Sequence[int] = (),
    joint: bool = True,
    limit: int | None = None,
    cards: Ints | None = None,
    effort: float = 1.0,
    has_tables: bool = True,
) -> EliminationPlan:
    """The plan that eliminates all but `last` first, then `last`; in both, continuous variables before discrete ones.

    Args:
        last: the variables that are eliminated last, or kept.
        joint: whether the variables of `last` remain in one table to the end.
        limit: the largest number of bytes of tables; if every order tried is far beyond it, `TooLarge` as soon as that
            is known. Without one the plan is made to be looked at.
        cards: the number of states of each variable in tables; all by default.
        effort: how long to search for an order, in passes over the best tables so far.
        has_tables: whether cliques become tables; programs of contractions hold separators only.
    """
    from sepset.kernels.compiled.planning import scope_graph

    cards, kept = problem.variables.cards if cards is None else cards, relevant.places
    place = np.empty(len(cards), np.int64)
    place.fill(-1)
    place[kept] = np.arange(len(kept))
    later = np.array(sorted(last), dtype=np.int64) if last else kept[:0]
    together = place[later] if joint else later[:0]
    start, members, *graph = scope_graph(*problem.scopes, relevant.numbers, place, together, len(kept))
    states, group = cards[kept], np.ones(len(kept), np.int64)
    if not problem.variables.all_discrete:
        group[states == 0] = 0
        states = np.maximum(states, 1)
    if last:
        group[place[later]] += 2
    name = partial(_name, problem.variables)
    nodes = Names(name, kept)
    if isinstance(method, GivenOrder):
        method = _within(method, problem, nodes, group)
    elif not problem.variables.all_discrete:
        if limit is not None:
            refuse_contexts((graph[0], graph[1]), states, (group == 0) & (cards[kept] == 0), limit)
        _refuse_matrices(nodes, (graph[0], graph[1]), cards[kept] == 0)
    entries = math.inf if limit is None else math.log2(max(limit, 1) / ENTRY_BYTES)
    # A table over them then has its axes in the order asked.
    ends = place[list(last)] if joint and last and problem.variables.all_discrete else None
    along = partial(_along_chains, problem, kept) if len(cards) > problem.num_visible else None
    rows = graph[0], graph[1]
    search: dict[str, Any] = {"effort": effort, "along": along, "has_tables": has_tables}
    symbolic = symbolic_elimination(nodes, rows, states, group, method, entries, ends, **search)
    return EliminationPlan(
        relevant=relevant,
        symbolic=symbolic,
        num_variables=problem.num_visible,
        scopes=(start[:-1], members),
        targets=tuple([problem.variables[v].name for v in targets]),
        observed=tuple([problem.variables[v].name for v in observed if v < problem.num_visible]),
    )


def _along_chains(problem: Problem, kept: Ints) -> Floats:
    """The ranks of some variables in an order along all chains side by side; nan for those in no chain."""
    shape = problem.num_visible, len(problem.variables)
    return problem.kept.get(ALONG_CHAINS, lambda: side_by_side(*problem.scopes, *shape))[kept]


def refuse_contexts(rows: tuple[Ints, Ints], states: Ints, is_first: Bools, limit: int) -> None:
    """Raise if real variables that are eliminated first leave tables far beyond the limit, whatever their order.

    The last one of a connected part of them has all discrete neighbors of the part in its clique.

    Args:
        rows: the neighbors of all nodes, as compressed rows.
        states: the number of states of each node.
        is_first: which nodes are real variables that come before all discrete ones.
        limit: the largest number of bytes of tables.

    Guarantee: only what every order needs is refused.
    Tested by: inference/test_plan.py::test_contexts_are_refused_only_if_every_order_needs_them
    """
    if np.count_nonzero(is_first) <= SWEPT_REALS:
        return
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    num, ends = len(is_first), np.repeat(np.arange(len(is_first)), np.diff(rows[0]))
    inside, near = is_first[ends], is_first[rows[1]]
    links = np.ones(int((inside & near).sum()), np.int8), (ends[inside & near], rows[1][inside & near])
    part = connected_components(sparse.coo_array(links, shape=(num, num)), directed=False)[1]
    pairs = np.stack([part[ends], rows[1]], axis=1)[inside & ~near]
    pairs = sorted_pairs(pairs.astype(np.int64), num)
    bits = np.bincount(pairs[:, 0], np.log2(np.maximum(states, 1))[pairs[:, 1]], num)
    if bits.max() > (least := hopeless_bits(limit)):
        count = np.count_nonzero(is_first & (part == bits.argmax()))
        raise TooLarge(
            f"The discrete variables that {count:,} hidden real variables depend on have more than 2^{least} joint "
            f"states, of which every elimination order needs a table ({readable(ENTRY_BYTES * 2**least)} at 8 bytes "
            f"each); the limit is {readable(limit)}. Observe more variables, or use an approximate method."
        )


def _refuse_matrices(nodes: Names, rows: tuple[Ints, Ints], is_real: Bools) -> None:
    """Raise if the real variables, which are eliminated before the discrete ones, are hopeless."""
    blank = np.zeros(len(nodes), np.int64)
    task = OrderingTask(nodes, rows[0], rows[1].astype(np.int32), np.ones(len(nodes)), blank)
    refuse_matrices(task, np.flatnonzero(~is_real))


def _name(variables: Universe, position: int) -> str:
    return variables[position].name


def _first_ranks(start: Ints, members: Ints, order: Ints) -> Ints:
    """For each nonempty scope the rank of its first eliminated variable."""
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    filled = np.flatnonzero(np.diff(start))
    members = members[: start[-1]]
    return np.minimum.reduceat(rank[members], start[filled]) if len(filled) else np.zeros(0, np.int64)


def _within(given: GivenOrder, problem: Problem, nodes: Sequence[str], group: Ints) -> GivenOrder:
    """The given order restricted to a question: group by group, and only its relevant variables."""
    rank = {problem.variables[name].name: i for i, name in enumerate(given.order)}
    keys = [(g, rank.get(name, len(rank))) for name, g in zip(nodes, group.tolist(), strict=True)]
    return GivenOrder(nodes[i] for i in sorted(range(len(nodes)), key=keys.__getitem__))
