"""Refusals: of what every elimination order needs, before any plan is made, and of what takes too much work."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.cache import Slot
from sepset.base.text import readable
from sepset.base.threads import OutOfWork, working
from sepset.errors import TooLarge
from sepset.factors.block import FactorBlock, Single
from sepset.factors.table import Table
from sepset.graphs.costs import BITS_OF_ANY_MEMORY, NODES_LOOKED_AT
from sepset.graphs.csr import pairs_within_rows, sorted_pairs
from sepset.graphs.minors import core, wide_minor
from sepset.inference import costs
from sepset.inference.plan import ENTRY_BYTES, hopeless_bits
from sepset.kernels.kernel import are_loaded
from sepset.problem import Block, Problem

P = ParamSpec("P")
T = TypeVar("T")

MOST_PAIRS = 2**22
"""The most pairs of variables of one factor, in all factors, that are looked at."""

MINORS: Slot[Ints] = Slot("the part of the whole graph that is hopeless by its minors", size=4)
"""That of a problem, by the number of neighbors."""

ASKED: Slot[Ints] = Slot("the part of what a question needs that is hopeless by its minors", size=4)
"""That of a problem, by the number of neighbors, what is asked for and what is observed."""

SUMS: Slot[Ints] = Slot("the part of what is summed out before maxima that is hopeless by its minors", size=4)
"""That of a problem, by what is asked for and observed."""

CORES: Slot[Ints] = Slot("pairs of variables in parts where each has many neighbors", size=4)
"""Those of a problem, by the number of neighbors."""

MORE_TIME = (
    "A search takes about two seconds; give it more time, as in map_assignment(..., until=Until(seconds=60)), or "
    "observe more variables."
)
"""The end of a refusal."""


def refuse_cores(problem: Problem, observed: Collection[int], memory: int) -> None:
    r"""Raise if every order needs tables far beyond the memory, as the graph of an undirected problem shows.

    If all nodes of a subgraph have at least $k$ neighbors in it, whatever is eliminated first among them has $k$: each
    order has a clique of $k + 1$ variables. Such parts remain when nodes of fewer neighbors are removed again and
    again. This is for problems without zeros, where no table can leave out states.

    Reference: Lick & White (1970); Koster, Wolle & Bodlaender (2005).
    Guarantee: only what every order needs is refused.
    Tested by: inference/test_refusals.py::test_what_is_refused_has_no_smaller_order
    """
    least = hopeless_bits(memory)
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
    Tested by: inference/test_refusals.py::test_minors_refuse_only_what_every_order_needs
    """
    num, is_large = problem.num_visible, problem.num_visible > costs.VARIABLES_ALWAYS_PLANNED
    least = int(BITS_OF_ANY_MEMORY) if memory is None else hopeless_bits(memory)
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
        key = least, None if targets is None else tuple(targets), tuple(observed)
        part = problem.kept.get(ASKED, lambda: wide(targets, observed), key=key)
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
    Tested by: inference/test_refusals.py::test_sums_before_maxima_are_refused_only_if_every_order_needs_it
    """
    if len(over) + len(observed) < problem.num_visible:
        _refuse_rest(problem, over, observed, memory, apart, without=(*over, *observed))


def refuse_maxima(
    problem: Problem,
    over: Sequence[int],
    observed: Sequence[int],
    memory: int,
    apart: Collection[int] = (),
    joined: Ints | None = None,
) -> None:
    """Raise if the sums and the maxima after them need tables far beyond the memory in every order, as minors show.

    Args:
        over: the variables of the maxima.
        memory: the largest number of bytes of one table.
        apart: the children of chains that may have other factors than a table, or than a chain through all parents.
        joined: pairs of variables that are known to be in one table besides.

    Guarantee: only what every order needs is refused, if no zeros are left out.
    Tested by: inference/test_refusals.py::test_sums_before_maxima_are_refused_only_if_every_order_needs_it
    """
    _refuse_rest(problem, over, observed, memory, apart, without=tuple(observed), joined=joined)


def _refuse_rest(
    problem: Problem,
    over: Sequence[int],
    observed: Sequence[int],
    memory: int,
    apart: Collection[int],
    without: tuple[int, ...],
    joined: Ints | None = None,
) -> None:
    """Raise if what is left of a question about maxima without some variables has a hopeless part."""
    num, least = problem.num_visible, hopeless_bits(memory)
    if not _has_stars(problem) or num < max(least, costs.VARIABLES_OF_MINORS):
        return

    def find() -> Ints:
        is_needed, is_kept = problem.ancestral((*over, *observed))[0], np.ones(len(problem.variables), bool)
        is_needed[list(apart)], is_kept[list(without)] = False, False
        pairs = _family_pairs(problem, is_needed, is_kept)
        if joined is not None:
            own = joined[(is_kept & (problem.variables.cards > 1))[joined].all(axis=1)]
            pairs = sorted_pairs(np.sort(np.concatenate([pairs, own]), axis=1), num)
        return wide_minor(pairs, (), _least_neighbors(problem, least))

    key = tuple(over), tuple(observed), tuple(apart), without, least
    part = problem.kept.get(SUMS, find, key=key) if joined is None else find()
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


def refusing(method: Callable[P, T]) -> Callable[P, T]:
    """The method, which raises `TooLarge` once there is no work left."""

    @wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except OutOfWork:
            raise TooLarge(f"The best values are not certain after a search. {MORE_TIME}") from None

    return called


@contextmanager
def limited_elimination(problem: Problem, search: working | None = None) -> Iterator[None]:
    """Inside, one elimination is refused if it would take too long: before it begins or, if functions in the problem
    make its tables rows, of which it is not known before how many there will be, after the work of a search.

    Args:
        search: a search of the same question, for what is left of its work; None for a new one.
    """
    search = search or working(costs.NANOSECONDS_OF_A_SEARCH)
    with search if problem.functions else working(costs.NANOSECONDS_OF_ONE_MAXIMUM):
        try:
            yield
        except OutOfWork:
            longest = "two seconds, besides a search" if problem.functions else "ten seconds"
            raise TooLarge(
                f"The best values would take more than about {longest}, by elimination, though its tables fit. "
                f"{MORE_TIME}"
            ) from None


@contextmanager
def limited_rows(problem: Problem) -> Iterator[None]:
    """Inside, an elimination is refused if functions in the problem make it too long: their tables are rows, of which
    it is not known before how many there will be."""
    with working(costs.NANOSECONDS_OF_A_SEARCH if problem.functions else math.inf):
        try:
            yield
        except OutOfWork:
            raise TooLarge(
                "The tables of functions of many variables have so many rows that an elimination takes more than about "
                "two seconds. Observe more variables, ask for fewer, or give it more time, as in map_assignment(..., "
                "until=Until(seconds=60))."
            ) from None
