r"""Depth-first branch and bound over a network of whole costs that is kept soft arc consistent.

At a node every variable has a state without a cost of its own. If those states together cost nothing in the functions
either, they are a best assignment of the branch; otherwise one of the variables in functions that cost something is
decided, first as the state suggests, then without that state.

Reference: Larrosa & Schiex (2004), Solving weighted CSP by maintaining arc consistency; Trösser, de Givry & Katsirelos
(2020), Relaxation-aware heuristics, for the choice; Lecoutre, Saïs, Tabary & Vidal (2009), for the last conflict.
"""

from __future__ import annotations

from typing import NamedTuple

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.map.costs import (
    FAILED,
    FORBIDDEN,
    HEIGHT,
    LEVEL,
    LOWER,
    UPPER,
    Network,
    State,
    remove,
    settle,
    undo,
)
from sepset.kernels.map.softarcs import propagate, renewed

BACKTRACKS, NODES, CONFLICT = range(3)
"""The counters of a search: backtracks and nodes so far, and the variable of the last conflict."""

RENEW, ENTER, LEAVE = -1, -2, -3
"""In place of backtracks: propagate at the root, for good; go to a node; and go back to the root. See `depth_first`."""

FADES = 0.999
"""The factor by which earlier conflicts count less."""


class Search(NamedTuple):
    """A search from one node.

    Attributes:
        decisions: the open branch: twice the place of a state, and one more if the state was removed.
        bounds: the lower bound of each decision's other side.
        heights, lowers: the trail and the lower bound before each decision.
        best: the costs of the best assignments, in increasing order.
        found: their codes, one row after the other.
        codes: room for an assignment.
        scores: room for one number per variable.
        counters: see `BACKTRACKS`.
    """

    decisions: Ints
    bounds: Ints
    heights: Ints
    lowers: Ints
    best: Ints
    found: Ints
    codes: Ints
    scores: Floats
    counters: Ints


@kernel(inner=True, borrows=True)
def decide(network: Network, state: State, decision: int) -> bool:
    """Fix the state of a variable, or remove the state; False if none is left."""
    place = decision // 2
    i = network.variable[place]
    if decision % 2:
        if state.live[place]:
            remove(network, state, i, place)
    else:
        for other in range(network.states[i], network.states[i + 1]):
            if other != place and state.live[other]:
                remove(network, state, i, other)
    if state.left[i] == 0:
        state.numbers[FAILED] = i
        return False
    return bool(settle(network, state, i))


@kernel(inner=True, borrows=True)
def suggest(network: Network, state: State, codes: Ints) -> None:
    """A state without cost of each variable: its support if it has one."""
    for i in range(len(codes)):
        base = network.states[i]
        x = state.supports[i]
        if not state.live[base + x] or state.cells[base + x] > 0:
            x = 0
            while not state.live[base + x] or state.cells[base + x] > 0:
                x += 1
            state.supports[i] = x
        codes[i] = x


@kernel(inner=True, borrows=True)
def cost_of(network: Network, state: State, f: int, codes: Ints) -> int:
    """The cost of a function at an assignment, without what it has sent."""
    place, total = network.places[f], 0
    for s in range(network.starts[f], network.starts[f + 1]):
        x = codes[network.scope[s]]
        place += x * network.steps[s]
        total -= state.cells[network.sent[s] + x]
    return FORBIDDEN if network.tables[place] >= FORBIDDEN else network.tables[place] + total


@kernel(inner=True, borrows=True)
def examine(network: Network, state: State, search: Search) -> int:
    """The cost of the suggested assignment; scores say how much each variable matters for what it costs too much."""
    codes, total = search.codes, state.numbers[LOWER]
    for i in range(len(codes)):
        search.scores[i] = 0.0
    for f in range(len(network.places)):
        cost = cost_of(network, state, f, codes)
        if cost > 0:
            total = FORBIDDEN if cost >= FORBIDDEN else min(FORBIDDEN, total + cost)
            for s in range(network.starts[f], network.starts[f + 1]):
                i = network.scope[s]
                if state.left[i] > 1:
                    search.scores[i] += 1.0
    return int(total)


@kernel(inner=True, borrows=True)
def keep(network: Network, state: State, search: Search, cost: int) -> None:
    """Put the suggested assignment among the best ones; the last one's cost is what the next must be below."""
    best, n = search.best, len(search.codes)
    k = len(best) - 1
    while k > 0 and best[k - 1] > cost:
        best[k] = best[k - 1]
        for i in range(n):
            search.found[k * n + i] = search.found[(k - 1) * n + i]
        k -= 1
    best[k] = cost
    for i in range(n):
        search.found[k * n + i] = search.codes[i]
    state.numbers[UPPER] = min(state.numbers[UPPER], best[len(best) - 1])


@kernel(inner=True, borrows=True)
def choose(network: Network, state: State, search: Search) -> int:
    """The variable to decide next, -1 if all are: the last conflict's, else the one that matters most."""
    i = search.counters[CONFLICT]
    if i >= 0 and state.left[i] > 1:
        return int(i)
    chosen, most = -1, -1.0
    for i in range(len(state.left)):
        if state.left[i] > 1:
            score = search.scores[i] * (1.0 + state.activity[i]) / state.left[i]
            if score > most:
                chosen, most = i, score
    return chosen


@kernel(inner=True, borrows=True)
def visit(network: Network, state: State, search: Search, cancel: Bytes) -> int:
    """Propagate at a node and look at the suggested assignment; returns the variable to decide, -1 if it is closed."""
    search.counters[NODES] += 1
    if not propagate(network, state, cancel):
        return -1
    suggest(network, state, search.codes)
    total, one = examine(network, state, search), len(search.best) == 1
    i = choose(network, state, search)
    if (one or i < 0) and total < state.numbers[UPPER]:
        keep(network, state, search, total)
        if one and state.numbers[LOWER] >= state.numbers[UPPER]:
            return -1
    return i


@kernel(inner=True, borrows=True)
def blame(network: Network, state: State, search: Search, i: int) -> None:
    """Remember a conflict."""
    search.counters[CONFLICT] = i
    failed = state.numbers[FAILED]
    state.activity[failed] += 1.0
    for place in range(network.degrees[failed], network.degrees[failed + 1]):
        f = network.owner[network.slots[place]]
        for s in range(network.starts[f], network.starts[f + 1]):
            state.activity[network.scope[s]] += 0.25
    if search.counters[BACKTRACKS] % 64 == 0:
        for v in range(len(state.activity)):
            state.activity[v] *= FADES


@kernel(inner=True, borrows=True)
def turn(network: Network, state: State, search: Search, depth: int) -> int:
    """Go back to the last decision that has another side, and take it; returns the depth, zero if there is none."""
    numbers = state.numbers
    while depth > 0:
        at = depth - 1
        undo(network, state, search.heights[at])
        numbers[LOWER] = search.lowers[at]
        numbers[LEVEL] += 1
        if search.decisions[at] % 2 == 0 and numbers[LOWER] < numbers[UPPER]:
            search.counters[BACKTRACKS] += 1
            blame(network, state, search, network.variable[search.decisions[at] // 2])
            search.decisions[at] += 1
            if decide(network, state, search.decisions[at]):
                return depth
        depth -= 1
    return 0


@kernel(inner=True, borrows=True)
def descend(network: Network, state: State, search: Search, path: Ints, backtracks: int, cancel: Bytes) -> int:
    """Search below a path of decisions; see `depth_first`."""
    numbers, limit, depth = state.numbers, search.counters[BACKTRACKS] + backtracks, 0
    for decision in path:
        if not decide(network, state, decision):
            return 0
    if backtracks == ENTER:
        return 1 if propagate(network, state, cancel) else 0
    while True:
        i = visit(network, state, search, cancel)
        if i < 0:
            depth = turn(network, state, search, depth)
            if depth == 0:
                return 0
            continue
        search.heights[depth] = numbers[HEIGHT]
        search.lowers[depth] = numbers[LOWER]
        search.bounds[depth] = numbers[LOWER]
        search.decisions[depth] = 2 * (network.states[i] + search.codes[i])
        depth += 1
        if cancel[0] or search.counters[BACKTRACKS] >= limit:
            return depth
        numbers[LEVEL] += 1
        if not decide(network, state, search.decisions[depth - 1]):
            depth = turn(network, state, search, depth)
            if depth == 0:
                return 0


def _search_work(network: Network, state: State, search: Search, path: Ints, backtracks: int, *_: object) -> float:
    return 40.0 * max(1, backtracks) * (len(network.scope) + len(state.left))


@kernel(work=_search_work, borrows=True)
def depth_first(network: Network, state: State, search: Search, path: Ints, backtracks: int, cancel: Bytes) -> int:
    """Search below a path of decisions until so many backtracks; returns the depth of the open branch, zero at the end.

    The decisions of the open branch that removed no state have another side, which is open with its bound. The last
    one has not been entered: both its sides are open. The state is that of the root after, and before unless a node was
    entered, whose path then is left out.

    Args:
        backtracks: `RENEW` and `ENTER` only propagate, and return whether something is open; `LEAVE` does nothing.
    """
    numbers, root, depth = state.numbers, len(search.lowers) - 1, 0
    numbers[LEVEL] += 1
    if backtracks == RENEW:
        is_open = renewed(network, state, cancel)
        search.lowers[root] = numbers[LOWER]
        numbers[HEIGHT] = 0
        return 1 if is_open else 0
    if backtracks != LEAVE:
        depth = descend(network, state, search, path, backtracks, cancel)
    if backtracks != ENTER or depth == 0:
        undo(network, state, 0)
        numbers[LOWER] = search.lowers[root]
    return int(depth)
