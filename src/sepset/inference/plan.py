"""Plans: the cost of an elimination, known before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
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
from sepset.factors.block import FactorBlock, Single
from sepset.factors.table import Table
from sepset.graphs.costs import BITS_OF_ANY_MEMORY, NODES_LOOKED_AT, SWEPT_REALS
from sepset.graphs.csr import pairs_within_rows, sorted_pairs
from sepset.graphs.elimination import GraphElimination
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.minors import core, wide_minor
from sepset.graphs.names import Names
from sepset.graphs.ordering import GivenOrder, OrderingMethod, OrderingTask, refuse_matrices
from sepset.graphs.sweeps import side_by_side
from sepset.graphs.symbolic import SymbolicElimination, symbolic_elimination
from sepset.inference import costs
from sepset.kernels.kernel import are_loaded
from sepset.problem import Block, Problem, Relevant
from sepset.variables.universe import Universe

ENTRY_BYTES = 8
"""Bytes of a table entry, a float64."""

RECURSIVE_ENTRIES = 10**10
"""The largest plan for which recursive conditioning, which visits every entry, is advised: about ten minutes."""

ALONG_CHAINS: Slot[Floats] = Slot("ranks of variables in an order along all chains")
"""Those of all variables of a problem."""

MOST_PAIRS = 2**22
"""The most pairs of variables of one factor, in all factors, that are looked at."""

MINORS: Slot[Ints] = Slot("the part of the whole graph that is hopeless by its minors", size=4)
"""That of a problem, by the number of neighbors."""

SUMS: Slot[Ints] = Slot("the part of what is summed out before maxima that is hopeless by its minors", size=4)
"""That of a problem, by what is asked for and observed."""

CORES: Slot[Ints] = Slot("pairs of variables in parts where each has many neighbors", size=4)
"""Those of a problem, by the number of neighbors."""


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
    if bits.max() > (least := _hopeless(limit)):
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


def refuse_cores(problem: Problem, observed: Collection[int], memory: int) -> None:
    r"""Raise if every order needs tables far beyond the memory, as the graph of an undirected problem shows.

    If all nodes of a subgraph have at least $k$ neighbors in it, whatever is eliminated first among them has $k$: each
    order has a clique of $k + 1$ variables. Such parts remain when nodes of fewer neighbors are removed again and
    again. This is for problems without zeros, where no table can leave out states.

    Reference: Lick & White (1970); Koster, Wolle & Bodlaender (2005).
    Guarantee: only what every order needs is refused.
    Tested by: inference/test_plan.py::test_what_is_refused_has_no_smaller_order
    """
    least = _hopeless(memory)
    if problem.conditionals or len(problem.variables) <= least:
        return
    pairs = problem.kept.get(CORES, lambda: core(_pairs(problem), least), key=least)
    if len(pairs) and observed:
        is_hidden = np.ones(len(problem.variables), bool)
        is_hidden[list(observed)] = False
        pairs = core(pairs[is_hidden[pairs].all(axis=1)], least)
    if len(pairs) and all(map(_is_positive, problem.blocks)):
        count, size = len(np.unique(pairs)), readable(ENTRY_BYTES * 2**least)
        raise TooLarge(
            f"Every elimination order needs tables of more than 2^{least} entries ({size} at 8 bytes each), since "
            f"{count:,} variables have {least} neighbors or more among them; the limit is {readable(memory)}. Observe "
            "more variables, or use an approximate method, such as LoopyBP."
        )


def _hopeless(memory: int) -> int:
    """log2 of the number of entries from which tables are far beyond the memory."""
    return math.ceil(math.log2(costs.HOPELESS_FACTOR * max(memory, 1) / ENTRY_BYTES))


def has_minors(problem: Problem) -> bool:
    """Whether to look at minors of the graph first: they need no compiled kernels, and no line for long chains."""
    return problem.num_visible > costs.VARIABLES_ALWAYS_PLANNED or _has_stars(problem) or not are_loaded()


def _has_stars(problem: Problem) -> bool:
    """Whether auxiliaries join children with their parents, as stars when they are contracted."""
    return len(problem.chains) + len(problem.gated) > 0


def refuse_minors(
    problem: Problem, targets: Sequence[int] | None, observed: Collection[int], memory: int | None = None
) -> None:
    r"""Raise if every order needs tables far beyond the memory, as minors of a part of the graph show.

    Neither leaving out nodes nor contracting edges makes the treewidth larger. If all nodes of such a minor have at
    least $k$ neighbors, or if it is a grid of $k$ rows and columns, each order has a clique of $k + 1$ variables. The
    graph is that of the ancestors of what is asked or observed; this is for problems without zeros near the part.

    It takes no compiled kernels: for questions that come before these are loaded.

    Args:
        targets: what is asked for; none for the probability of the evidence, None for all marginals.
        memory: the largest number of bytes; by default those of any machine, for a plan that is only looked at.

    Reference: Gogate & Dechter (2004), minor-min-width.
    Guarantee: only what every order needs is refused.
    Tested by: inference/test_plan.py::test_minors_refuse_only_what_every_order_needs
    """
    num, is_large = problem.num_visible, problem.num_visible > costs.VARIABLES_ALWAYS_PLANNED
    least = int(BITS_OF_ANY_MEMORY) if memory is None else _hopeless(memory)
    if num < max(least, costs.VARIABLES_OF_MINORS if memory else NODES_LOOKED_AT):
        return
    if num < len(problem.variables) and not (is_large and _has_stars(problem)):
        return

    def wide(asked: Sequence[int] | None, seen: Collection[int]) -> Ints:
        return wide_minor(_needed_pairs(problem, asked, seen), asked or (), _least_neighbors(problem, least))

    part = problem.kept.get(MINORS, lambda: wide(None, ()), key=least)
    if not len(part):
        return
    if targets is None and not is_large:  # any will do, as each is asked for: one that may have many ancestors
        targets = [g.child for g in problem.conditionals[-1:] if g.child not in observed]
    if targets is not None or len(observed):
        part = wide(targets, observed)
    if len(part) and (is_large or all(map(_is_positive, _blocks_of(problem, part)))):
        raise _too_wide(part, least, memory)


def _least_neighbors(problem: Problem, least: int) -> int:
    r"""The $k$ from which $k + 1$ variables, each with several states, have at least $2^l$ joint states."""
    cards = problem.variables.cards
    fewest = int(cards.min(where=cards > 1, initial=cards.max(initial=2)))
    return math.ceil(least / math.log2(max(fewest, 2)))


def _too_wide(part: Ints, least: int, memory: int | None) -> TooLarge:
    """The refusal of what has a hopeless part."""
    limit = "no machine has these" if memory is None else f"the limit is {readable(memory)}"
    return TooLarge(
        f"Every elimination order needs tables of more than 2^{least} entries ({readable(ENTRY_BYTES * 2**least)} "
        f"at 8 bytes each), as a part of {len(part):,} variables shows; {limit}. Observe more variables, ask for "
        "fewer targets, or use an approximate method, such as LoopyBP."
    )


def refuse_sums(
    problem: Problem, over: Sequence[int], observed: Sequence[int], memory: int, apart: Collection[int] = ()
) -> None:
    """Raise if the sums before maxima need tables far beyond the memory in every order, as minors of the graph show.

    All other variables are eliminated before those of the maxima: these are left out, which makes no table larger.

    Args:
        over: the variables of the maxima.
        memory: the largest number of bytes of one table.
        apart: the children of chains that may have other factors.

    Guarantee: only what every order needs is refused, if no zeros are left out.
    Tested by: inference/test_plan.py::test_sums_before_maxima_are_refused_only_if_every_order_needs_it
    """
    if len(over) + len(observed) < problem.num_visible:
        _refuse_rest(problem, over, observed, memory, apart, without=(*over, *observed))


def refuse_maxima(
    problem: Problem, over: Sequence[int], observed: Sequence[int], memory: int, apart: Collection[int] = ()
) -> None:
    """Raise if the sums and the maxima after them need tables far beyond the memory in every order, as minors show.

    Args:
        over: the variables of the maxima.
        memory: the largest number of bytes of one table.
        apart: the children of chains that may have other factors than a table, or than a chain through all parents.

    Guarantee: only what every order needs is refused, if no zeros are left out.
    Tested by: inference/test_plan.py::test_sums_before_maxima_are_refused_only_if_every_order_needs_it
    """
    _refuse_rest(problem, over, observed, memory, apart, without=tuple(observed))


def _refuse_rest(
    problem: Problem,
    over: Sequence[int],
    observed: Sequence[int],
    memory: int,
    apart: Collection[int],
    without: tuple[int, ...],
) -> None:
    """Raise if what is left of a question about maxima without some variables has a hopeless part."""
    num, least = problem.num_visible, _hopeless(memory)
    if not _has_stars(problem) or num < max(least, costs.VARIABLES_OF_MINORS):
        return

    def find() -> Ints:
        is_needed, is_kept = problem.ancestral((*over, *observed))[0], np.ones(len(problem.variables), bool)
        is_needed[list(apart)], is_kept[list(without)] = False, False
        return wide_minor(_family_pairs(problem, is_needed, is_kept), (), _least_neighbors(problem, least))

    part = problem.kept.get(SUMS, find, key=(tuple(over), tuple(observed), tuple(apart), without, least))
    if len(part):
        raise _too_wide(part, least, memory)


def _needed_pairs(problem: Problem, targets: Sequence[int] | None, observed: Collection[int]) -> Ints:
    """The pairs of variables that are neighbors in what a question needs, in which chains are contracted.

    Args:
        targets: what is asked for; None for all variables.
    """
    is_needed, is_kept = np.ones(len(problem.variables), bool), np.ones(len(problem.variables), bool)
    factors = None
    if targets is not None:
        is_needed, factors = problem.ancestral((*targets, *observed))
    is_kept[list(observed)] = False
    if _has_stars(problem):
        return _family_pairs(problem, is_needed, is_kept)
    pairs = _pairs(problem, factors)
    return pairs[is_kept[pairs].all(axis=1)]


def _family_pairs(problem: Problem, is_needed: Bools, is_kept: Bools) -> Ints:
    """The pairs of variables with several states in a table, and those of a star, as one node, with its parents.

    A chain has the number of its child, and is there even if that is observed, but not if its auxiliaries are. Gates
    are there if nothing of their conditional is observed: what is may leave fewer of them.
    """
    start, members, _ = problem.families
    num, sizes = problem.num_visible, np.diff(start)
    owner, is_own = np.repeat(np.arange(len(sizes)), sizes), members < num
    is_star, is_table = _stars(problem, is_kept), np.ones(len(sizes), bool)
    deferred = [problem.conditionals[form.group].child for form in problem.forms if form.is_deferred]
    for others in (problem.chains, problem.split, deferred):
        is_table[others] = False
    is_inside = is_own & is_needed[owner] & is_kept[members] & (problem.variables.cards > 1)[members]
    is_end = is_inside & is_star[owner] & (members != owner)
    stars = np.stack([owner[is_end], members[is_end]], axis=1)
    is_member = is_inside & is_table[owner]
    counts = np.bincount(owner[is_member], minlength=num)
    cliques = pairs_within_rows((np.append(0, counts.cumsum()), members[is_member].astype(np.int32)))
    return sorted_pairs(np.sort(np.concatenate([stars, cliques]), axis=1), num)


def _stars(problem: Problem, is_kept: Bools) -> Bools:
    """Which children are joined with their parents by auxiliaries, of which enough are left to be contracted."""
    (start, members, _), chains = problem.families, problem.chains
    if not is_kept[problem.num_visible :].all():
        first = [problem.conditionals[child].auxiliaries[0] for child in chains.tolist()]
        chains = chains[is_kept[first]]
    sizes = np.diff(start)
    is_star, is_whole = np.zeros(len(sizes), bool), np.ones(len(sizes), bool)
    is_star[chains] = True
    is_whole[np.repeat(np.arange(len(sizes)), sizes)[~is_kept[members]]] = False
    is_star[problem.gated] = is_whole[problem.gated]
    return is_star


def _blocks_of(problem: Problem, part: Ints) -> list[Block]:
    """The blocks of factors that have variables of a part."""
    start, members = problem.scopes
    is_inside = np.zeros(len(problem.variables), bool)
    is_inside[part] = True
    near = np.repeat(np.arange(len(start) - 1), np.diff(start))[is_inside[members]]
    return [problem.blocks[i] for i in np.unique(np.searchsorted(problem.offsets, near, "right") - 1).tolist()]


def _pairs(problem: Problem, factors: Ints | None = None) -> Ints:
    """The pairs of variables with several states that share a factor; none if they are too many to be looked at.

    Args:
        factors: the numbers of those that count; all by default.
    """
    start, members = problem.scopes
    if factors is not None:
        is_kept = np.zeros(len(start) - 1, bool)
        is_kept[factors] = True
        members, start = members[np.repeat(is_kept, np.diff(start))], np.append(0, np.diff(start)[is_kept].cumsum())
    sizes = np.diff(start)
    if int((sizes * (sizes - 1)).sum()) > 2 * MOST_PAIRS:
        return np.zeros((0, 2), np.int64)
    pairs = np.sort(pairs_within_rows((start, members.astype(np.int32))), axis=1)
    found = sorted_pairs(pairs, len(problem.variables))
    return found[(problem.variables.cards > 1)[found].all(axis=1)]


def _is_positive(block: Block) -> bool:
    """Whether no factor of a block has a zero."""
    if isinstance(block, FactorBlock):
        linear = block.linear()
        return linear is not None and bool((linear[0] > 0.0).all())
    table = block.value if isinstance(block, Single) else None
    return isinstance(table, Table) and bool((table.log_values > -np.inf).all())
