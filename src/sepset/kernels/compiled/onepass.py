"""A question compiled in one call: its graph, one greedy order, the cliques, the steps, and the instructions.

Small questions spend most of their time between calls, so that all stages of planning run in one. The stages are those
of `planning`, `graphs.ordering`, `steps` and `layout`, in which everything is documented.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.compiled.axes import axis_strides
from sepset.kernels.compiled.layout import assemble
from sepset.kernels.compiled.planning import eliminate, maximal_cliques, scope_graph
from sepset.kernels.compiled.sorting import ascending
from sepset.kernels.compiled.steps import trace
from sepset.kernels.graphs.ordering import greedy_order
from sepset.kernels.kernel import kernel, pairs, sizes


def _question_work(start: Ints, members: Ints, *others: Any) -> float:
    """Every stage looks at the scopes, and some at all pairs of factors that share a variable."""
    return 16 * sizes(start, members, *others[2:]) + 10 * pairs(start, members)


@kernel(inline=True)
def _order(start: Ints, near: Ints, cards: Floats, group: Ints, limit: float, cancel: Bytes) -> tuple[Ints, float, int]:
    """The order of least weighted fill, ties by number; log2 of its total table size, and the work done.

    An order whose tables have more than 2^`limit` entries is not finished: its total is infinite.
    """
    n = len(cards)
    neighbors: Int32s = np.empty(len(near), np.int32)
    for k in range(len(near)):
        neighbors[k] = near[k]
    logs, blank, tie = np.empty(n), np.zeros(n), np.empty(n)
    for i in range(n):
        logs[i] = np.rint(np.log2(cards[i]) * 2.0**20) / 2.0**20  # sums are exact, and equal costs tie
        tie[i] = i
    mix = np.array([1.0, 0.0])
    return greedy_order(start, neighbors, cards, logs, group, mix, blank, tie, limit, 0, cancel)


@kernel(inline=True)
def _hidden_places(hidden: Ints, last: Ints, cards: Ints) -> tuple[Ints, Floats, Ints, Ints]:
    """The place of each variable among the hidden ones, or -1; their states and groups; and the places of `last`."""
    place = np.full(len(cards), -1)
    states, group = np.empty(len(hidden)), np.ones(len(hidden), np.int64)
    for i in range(len(hidden)):
        place[hidden[i]] = i
        states[i] = cards[hidden[i]]
    together = np.empty(len(last), np.int64)
    for i in range(len(last)):
        together[i] = place[last[i]]
        group[together[i]] = 3
    return place, states, group, together


@kernel(inline=True)
def _findings(observed: Ints, cards: Ints) -> tuple[Ints, Ints]:
    """The number of each variable's finding, or -1, and the states of those observed."""
    seen, found = np.full(len(cards), -1), np.empty(len(observed), np.int64)
    for i in range(len(observed)):
        seen[observed[i]] = i
        found[i] = cards[observed[i]]
    return seen, found


@kernel(work=_question_work)
def compile_greedily(
    start: Ints,
    members: Ints,
    strides: Ints,
    places: Ints,
    cards: Ints,
    numbers: Ints,
    hidden: Ints,
    last: Ints,
    observed: Ints,
    touched: Ints,
    targets: Ints,
    num_reads: int,
    most: float,
    limit: float,
    hopeless: float,
    free_from: float,
    effort: float,
    times: Floats,
    cancel: Bytes,
) -> Any:
    """A question with the order of least weighted fill; only the order if that is too large, or not worth its tables.

    Args:
        start, members, strides, places: all factors of the store, as in `assemble`.
        cards: the number of states of each variable.
        numbers: the numbers of the factors used.
        hidden: the variables that are not observed, ascending.
        last: those that are not eliminated, in the order of the answer's axes.
        observed, touched: variables with findings and with likelihoods.
        targets: variables whose marginals are read; then the marginals over the first `num_reads` factors' scopes.
        most: the entries of all clique tables up to which the question is compiled.
        limit: the entries of all results up to which it is.
        hopeless: log2 of the entries of tables from which an order is not even finished.
        free_from: the entries of all tensors from which their axes are in the order that steps read fastest.
        effort, times: it is compiled only if its order adds no edge, or if finding it took as long as so many passes
            over its tables, so that no other is looked for; with the nanoseconds of an order, a read in its search, and
            an entry of a table; and the entries of tables from which fewer passes are enough, and how many.

    Returns whether it was compiled, and log2 of the entries of its tables; the variable of each rank with its number of
    states; the cliques; the contraction, as `trace` returns it; and what `assemble` returns.
    """
    num = len(hidden)
    place, states, group, together = _hidden_places(hidden, last, cards)
    _, _, near_start, near = scope_graph(start, members, numbers, place, together[ascending(together)], num)
    order, total, work = _order(near_start, near, states, group, hopeless, cancel)
    is_ordered = len(order) == num
    for i in range(len(last) if is_ordered else 0):
        order[num - len(last) + i] = together[i]
    scope_start, scopes, _, absorbed, _, ranked, entries = eliminate(near_start, near, order, states, np.inf, 0)
    is_made = is_ordered and entries <= most and entries <= limit
    is_perfect = is_ordered and 2 * scope_start[num] == len(near)  # no edge was added
    num_entries = 2.0 ** min(total, 64.0)
    passes = min(effort, times[4]) if num_entries >= times[3] else effort
    worth = passes * times[2] * num_entries
    is_made = is_made and (is_perfect or times[0] + times[1] * work >= worth)
    if not is_made:
        none = hidden[:0]
        numbers, order, last, observed, touched, targets, num_reads = none, none, none, none, none, none, 0
        scope_start, absorbed, ranked = near_start[:1], none, ranked[:0]
    positions, rank = np.empty(len(order), np.int64), np.full(len(cards), -1)
    for i in range(len(order)):
        positions[i] = hidden[order[i]]
        rank[positions[i]] = i
    cliques = maximal_cliques(scope_start, scopes, absorbed, len(order) - len(last))
    kept = rank[last]
    kept = kept[ascending(kept)]
    inputs = start, members, numbers, rank, rank[touched], ranked
    no_tree = np.empty((0, 2), np.int64)
    traced = trace(*inputs, *cliques, kept, rank[targets], num_reads, no_tree, 0, limit, cancel)
    bounds, pool, results, steps, roots, box_start, boxes, reads, num_inputs, num_forward, _, _, _ = traced
    if num_forward < 0 or np.sum(results) > limit:
        is_made, roots, reads = False, roots[:0], reads[:0]
    seen, found = _findings(observed, cards)
    tensors = ranked, bounds, pool, results, steps
    moves = axis_strides(*tensors, num_forward, roots, bool(np.sum(results) > free_from))
    stored = start, members, strides, places, numbers
    program = assemble(*tensors, moves, *stored, rank, seen, roots, reads[: len(targets)], found)
    contraction = bounds, pool, results, steps, roots, box_start, boxes, reads, num_inputs, num_forward
    return is_made, total, positions, ranked, cliques, contraction, program
