"""A question compiled in one call: its graph, one greedy order, the cliques, the steps, and the instructions; and run.

Small questions spend most of their time between calls, so that all stages of planning run in one, and the first run of
a short program with them. The stages are those of `planning`, `graphs.ordering`, `steps`, `layout` and `contraction`,
in which everything is documented. Arguments and results are few arrays, each of several parts: every one takes time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.compiled.axes import axis_strides
from sepset.kernels.compiled.contraction import run_once
from sepset.kernels.compiled.layout import assemble
from sepset.kernels.compiled.planning import eliminate, maximal_cliques, scope_graph
from sepset.kernels.compiled.sorting import ascending
from sepset.kernels.compiled.steps import trace
from sepset.kernels.compiled.stores import LAYOUT, NUM_FACTORS, NUM_PLACES
from sepset.kernels.graphs.ordering import greedy_order
from sepset.kernels.kernel import kernel, pairs

# The parts of what is asked: first their sizes, then one after the other. A number of -1 factors stands for all of
# them, and for all variables that are not observed.
NUM_NUMBERS, NUM_HIDDEN, NUM_LAST, NUM_OBSERVED, NUM_TOUCHED, NUM_TARGETS, NUM_READS, ASKED = range(8)
EVERYTHING = -1

# The limits: entries of clique tables, or those for each variable in one factor only, and of results; log2 of hopeless
# ones; entries from which axes are free; the passes of a search for an order; the products up to which the program runs
# at once; and the times that decide on a search.
MOST, PER_SINK, LIMIT, HOPELESS, FREE_FROM, EFFORT, RUN, TRY, READ, ENTRY, HASTY_FROM, HASTY = range(12)

# What is returned as floats: log2 of the entries of clique tables, the logarithm of the total, the state of the answer,
# and the marginals.
TOTAL, LOG_TOTAL, STATE, SINGLES = range(4)
NOT_MADE, MADE, ANSWERED = 0.0, 1.0, 2.0


def _question_work(layout: Ints, asked: Ints, *others: Any) -> float:
    """Every stage looks at the scopes, and some at all pairs of factors that share a variable."""
    num, first = int(layout[NUM_PLACES]), LAYOUT + int(layout[NUM_FACTORS]) + 1
    return 16.0 * (len(layout) + len(asked)) + 10 * pairs(layout[:1], layout[first : first + num])


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


@kernel(inline=True)
def _laid_out(layout: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """The parts of a layout."""
    num, num_factors = layout[NUM_PLACES], layout[NUM_FACTORS]
    second = LAYOUT + num_factors + 1
    fourth = second + 2 * num
    start, members, strides = layout[LAYOUT:second], layout[second : second + num], layout[second + num : fourth]
    places, cards = layout[fourth : fourth + num_factors + 1], layout[fourth + num_factors + 1 :]
    return start, members, strides, places, cards


@kernel(inline=True)
def _parts_asked(asked: Ints, num_factors: int, num_variables: int) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints]:
    """The parts of what is asked."""
    first = ASKED + max(asked[NUM_NUMBERS], 0)
    numbers, hidden = asked[ASKED:first], asked[first : first + asked[NUM_HIDDEN]]
    first += asked[NUM_HIDDEN]
    last = asked[first : first + asked[NUM_LAST]]
    first += asked[NUM_LAST]
    num = asked[NUM_OBSERVED]
    observed, codes = asked[first : first + num], asked[first + num : first + 2 * num]
    first += 2 * num
    touched, targets = asked[first : first + asked[NUM_TOUCHED]], asked[first + asked[NUM_TOUCHED] :]
    if asked[NUM_NUMBERS] != EVERYTHING:
        return numbers, hidden, last, observed, codes, touched, targets
    every, free = np.arange(num_factors), np.empty(num_variables - num, np.int64)
    i, k = 0, 0
    for v in range(num_variables):
        if k < num and observed[k] == v:
            k += 1
        else:
            free[i] = v
            i += 1
    return every, free, last, observed, codes, touched, free


@kernel(inline=True)
def _num_sinks(members: Ints, num: int) -> int:
    """The number of variables that are in one factor only."""
    times, found = np.zeros(num, np.int64), 0
    for v in members:
        times[v] += 1
    for v in range(num):
        found += 1 if times[v] == 1 else 0
    return found


@kernel(borrows=True)
def _is_enough(limits: Floats, total: float, work: int) -> bool:
    """Whether finding an order took as long as a search for another one would."""
    entries = 2.0 ** min(total, 64.0)
    passes = min(limits[EFFORT], limits[HASTY]) if entries >= limits[HASTY_FROM] else limits[EFFORT]
    return bool(limits[TRY] + limits[READ] * work >= passes * limits[ENTRY] * entries)


@kernel(inline=True)
def _by_position(reads: Ints, num_targets: int, observed: Ints) -> Ints:
    """The reads of all variables, those observed behind the others, in the order of their positions."""
    found = np.empty_like(reads)
    i, k, place = 0, 0, 0
    for v in range(len(reads)):
        if k < len(observed) and observed[k] == v:
            row = num_targets + k
            k += 1
        else:
            row = i
            i += 1
        found[v, 0], found[v, 1], found[v, 2] = reads[row, 0], place, reads[row, 2]
        place += reads[row, 2]
    return found


@kernel(borrows=True)
def _put(parts: Ints, number: int, first: int, part: Ints) -> int:
    """Write a part behind others, and its size in front of all; where it ends."""
    parts[number] = len(part)
    for i in range(len(part)):
        parts[first + i] = part[i]
    return int(first + len(part))


@kernel(inline=True)
def _packed(floats: Any, ints: Any, numbers: Any) -> Ints:
    """Parts one after the other, floats as their bits; in front of them their sizes, and then some numbers."""
    at = len(floats) + len(ints) + len(numbers)
    total = at
    for part in floats:
        total += len(part)
    for part in ints:
        total += len(part)
    parts = np.empty(total, np.int64)
    number = 0
    for part in floats:
        at = _put(parts, number, at, part.view(np.int64))
        number += 1
    for part in ints:
        at = _put(parts, number, at, part)
        number += 1
    for each in numbers:
        parts[number] = each
        number += 1
    return parts


@kernel(inline=True)
def _ranks(hidden: Ints, order: Ints, num_variables: int) -> tuple[Ints, Ints]:
    """The variable of each rank, and the rank of each variable, or -1."""
    positions, rank = np.empty(len(order), np.int64), np.full(num_variables, -1)
    for i in range(len(order)):
        positions[i] = hidden[order[i]]
        rank[positions[i]] = i
    return positions, rank


@kernel(inline=True)
def _answer(
    total: float,
    values: Floats,
    exponents: Ints,
    numbers: Ints,
    weights: Floats,
    num_touched: int,
    program: Any,
    reads: Ints,
    cancel: Bytes,
) -> Floats:
    """The answer of a run of a program, or the state without one if a range is too wide."""
    answer = np.empty(SINGLES + (reads[-1, 1] + reads[-1, 2] if len(reads) > 0 else 0))
    answer[LOG_TOTAL], is_wide = run_once(  # type: ignore[call-arg]  # the program is several of its arguments
        values, exponents, numbers, weights, num_touched, *program, reads, answer[SINGLES:], cancel
    )
    answer[TOTAL], answer[STATE] = total, MADE if is_wide else ANSWERED
    return answer


@kernel(work=_question_work)
def compile_greedily(
    layout: Ints, asked: Ints, limits: Floats, values: Floats, exponents: Ints, weights: Floats, cancel: Bytes
) -> tuple[Ints, Floats]:
    """A question with the order of least weighted fill; only the order if that is too large, or not worth its tables.

    Args:
        layout: the starts, variables and strides of all factors of the store as compressed rows, where each begins in
            the store, and the number of states of each variable.
        asked: the numbers of the factors used; the variables that are not observed, ascending; those that are not
            eliminated, in the order of the answer's axes; those with findings, and the findings; those with
            likelihoods; and those whose marginals are read. Then the marginals over the first factors' scopes are read.
        limits: a question is compiled only within these, and if its order adds no edge, or if finding it took as long
            as so many passes over its tables, so that no other is looked for.
        values, exponents: the entries of the store, and the power of two of each factor.
        weights: the likelihoods, one after the other.

    Returns its parts, as `_packed` writes them: the states by rank, and the sizes of all tensors; the order and the
    cliques; the contraction, as `trace` returns it, and what `assemble` returns; then the other numbers of both.
    And its answer, if its program is short: the marginals of all variables, by position.
    """
    start, members, strides, places, cards = _laid_out(layout)
    numbers, hidden, last, observed, codes, touched, targets = _parts_asked(asked, len(start) - 1, len(cards))
    num, is_all, limit = len(hidden), asked[NUM_NUMBERS] == EVERYTHING, float(limits[LIMIT])
    place, states, group, together = _hidden_places(hidden, last, cards)
    _, _, near_start, near = scope_graph(start, members, numbers, place, together[ascending(together)], num)
    order, total, work = _order(near_start, near, states, group, limits[HOPELESS], cancel)
    is_ordered = len(order) == num
    for i in range(len(last) if is_ordered else 0):
        order[num - len(last) + i] = together[i]
    scope_start, scopes, _, absorbed, _, ranked, entries = eliminate(near_start, near, order, states, np.inf, 0)
    out = np.empty(SINGLES)
    out[TOTAL], out[LOG_TOTAL], out[STATE] = total, 0.0, NOT_MADE
    is_perfect = is_ordered and 2 * scope_start[num] == len(near)  # no edge was added
    is_small = entries <= min(limit, max(limits[MOST], limits[PER_SINK] * _num_sinks(members, len(cards))))
    if not (is_ordered and is_small and (is_perfect or _is_enough(limits, total, work))):
        return np.empty(0, np.int64), out
    positions, rank = _ranks(hidden, order, len(cards))
    cliques = maximal_cliques(scope_start, scopes, absorbed, num - len(last))
    kept = np.arange(num - len(last), num)  # those that are not eliminated come last
    inputs = start, members, numbers, rank, rank[touched], ranked
    no_tree = np.empty((0, 2), np.int64)
    traced = trace(*inputs, *cliques, kept, rank[targets], asked[NUM_READS], no_tree, 0, limit, cancel)
    bounds, pool, results, steps, roots, box_start, boxes, reads, num_inputs, num_forward, _, _, _ = traced
    if num_forward < 0 or np.sum(results) > limit:
        return np.empty(0, np.int64), out
    seen, found = _findings(observed, cards)
    tensors = ranked, bounds, pool, results, steps
    moves = axis_strides(*tensors, num_forward, roots, bool(np.sum(results) > limits[FREE_FROM]))
    stored = start, members, strides, places, numbers
    program = assemble(*tensors, moves, *stored, rank, seen, roots, reads[: len(targets)], found)
    ops, groups, offsets, size, products, rows, copies, fixed, ends, read = program
    read = _by_position(read, len(targets), observed) if is_all else read
    planned = positions, targets.copy(), *cliques, bounds, pool, steps.ravel(), roots, box_start, boxes, reads
    laid = ops.ravel(), groups.ravel(), offsets, rows.ravel(), copies.ravel(), fixed.ravel(), ends.ravel(), read.ravel()
    parts = _packed((ranked, results, np.array([products])), (*planned, *laid), (num_inputs, num_forward, size))
    if not is_all or products > limits[RUN]:
        out[STATE] = MADE
        return parts, out
    rest = rows, copies, fixed, codes, ops, groups, offsets, results, num_inputs, size, ends
    return parts, _answer(total, values, exponents, numbers, weights, len(touched), rest, read, cancel)
