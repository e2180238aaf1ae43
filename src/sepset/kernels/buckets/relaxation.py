r"""Branch and bound with concave relaxations: independent variables under concave functions of sums of their terms.

$$\max_{\mathbf x} \sum_i a_i(x_i) + \sum_f g_f\Bigl(\mathbf s_f + \sum_i \mathbf t_{f,i}(x_i)\Bigr)$$

With shares of the states in place of states this is a concave problem. A function of one sum is bounded both by its
tangents and by the chords from the largest sum $b$ to those with one variable in another state,

$$g\Bigl(b - \sum_i d_i\Bigr) \le g(b) + \sum_i \bigl[g(b - d_i) - g(b)\bigr], \qquad d_i \ge 0,$$

and a smooth minimum of both is maximized, one variable after the other and all undecided ones together. Its gradient at
any shares is a valid bound, and tells how much each state loses at least. States that lose too much are left out, and a
variable whose shares are undecided is divided, depth first.

Reference: Land & Doig (1960); Frank & Wolfe (1956) for tangents; Nemhauser & Wolsey (1981) for chords; Dantzig,
Fulkerson & Johnson (1954) for leaving states out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.buckets.causes import Causes, offer, row, value_of
from sepset.kernels.buckets.climbing import climb, polish, without_each
from sepset.kernels.buckets.newton import move_together
from sepset.kernels.buckets.shares import Shares, bound, move, num_alive, set_chords, set_sums, slope_along
from sepset.kernels.kernel import kernel

SLACK = 1e-11
"""The part of the value by which an assignment must be better."""

MOVES_TOGETHER = 5
"""The most moves of all undecided variables in one pass."""

NODES_UNPOLISHED = 4
"""One in so many nodes looks for better assignments near the one of its largest shares."""

WORK_NEARBY = 2_000_000
"""The terms that are read while better assignments near a new best one are looked for."""


class Branches(NamedTuple):
    """The path of the search.

    Attributes:
        trail: the states that were left out, in that order.
        marks: for each branch the length of the trail before it.
        chosen: the state that was tried first.
        bounds: the bound before it.
        now: the number of branches, the length of the trail, one at the end of the search, the work so far, and
            the number of nodes.
        codes: room for an assignment.
    """

    trail: Ints
    marks: Ints
    chosen: Ints
    bounds: Floats
    now: Ints
    codes: Ints


@kernel(borrows=True, inner=True)
def leave_out(path: Branches, here: Shares, o: int) -> None:
    """Forbid a state on the path."""
    here.alive[o] = 0
    path.trail[path.now[1]] = o
    path.now[1] += 1


@kernel(borrows=True, inner=True)
def filtered(causes: Causes, here: Shares, path: Branches, most: float, least: float) -> bool:
    """Forbid states that lose so much that the bound falls to `least`; returns whether any has been."""
    before = path.now[1]
    for i in range(len(causes.states) - 1):
        best = -np.inf
        for o in range(causes.states[i], causes.states[i + 1]):
            if here.alive[o]:
                best = max(best, here.scores[o])
        for o in range(causes.states[i], causes.states[i + 1]):
            if here.alive[o] and most - (best - here.scores[o]) <= least:
                leave_out(path, here, o)
    return bool(path.now[1] > before)


@kernel(borrows=True, inner=True)
def level(value: float) -> float:
    """The bound that a branch must exceed if this value is known."""
    return value if value == -np.inf else value + SLACK * max(1.0, abs(value))


@kernel(borrows=True, inner=True)
def relax(
    causes: Causes,
    here: Shares,
    path: Branches,
    work: int,
    passes: int,
    best: Floats,
    found: Ints,
    cancel: Bytes,
) -> float:
    """The bound after some passes over the variables, -inf if it is not above the best assignments."""
    set_chords(causes, here)
    set_sums(causes, here)
    lowest, before, least = np.inf, np.inf, -np.inf
    path.now[4] += 1
    for turn in range(passes):
        path.now[3] += 4 * len(causes.own) + 2 * len(causes.terms)
        for i in range(len(causes.states) - 1):
            if num_alive(causes, here, i) > 1:
                move(causes, here, i)
                path.now[3] += 8 * (causes.starts[i + 1] - causes.starts[i])
        for _ in range(MOVES_TOGETHER):
            if not move_together(causes, here, path.now):
                break
        set_sums(causes, here)
        now = bound(causes, here)
        lowest = min(lowest, now)
        if turn == 0:
            rounded(causes, here, path.codes)
            if path.now[4] % NODES_UNPOLISHED == 0:
                polish(causes, here, path.now, path.codes, best, found)
            else:
                offer(value_of(causes, path.codes, here.ascents), path.codes, best, found)
                for m in range(len(here.ascents)):
                    here.ascents[m] = 0.0
        least = level(best[len(best) - 1])
        if not lowest > least:
            return -np.inf
        if filtered(causes, here, path, now, least):
            set_chords(causes, here)
            set_sums(causes, here)
        elif before - lowest < 0.05 * (lowest - least) and turn > 1:
            break
        if cancel[0] or path.now[3] >= work:
            break
        before = lowest
    return lowest


@kernel(borrows=True, inner=True)
def rounded(causes: Causes, here: Shares, codes: Ints) -> None:
    """The assignment of the largest shares."""
    for i in range(len(codes)):
        most = -1.0
        for o in range(causes.states[i], causes.states[i + 1]):
            if here.alive[o] and here.shares[o] > most:
                most, codes[i] = here.shares[o], o - causes.states[i]


@kernel(borrows=True, inner=True)
def divided(causes: Causes, here: Shares, now: Ints) -> int:
    """The state to be tried first: the largest share of the variable whose decision lowers the value most; -1 if all
    are decided."""
    most, smallest, chosen = -1.0, np.inf, -1
    for i in range(len(causes.states) - 1):
        if num_alive(causes, here, i) < 2:
            continue
        now[3] += 3 * (causes.starts[i + 1] - causes.starts[i])
        at, other = two_largest(causes, here, i, here.shares)
        best, next_best = two_largest(causes, here, i, here.scores)
        less = here.scores[best] - here.scores[next_best]
        loss = -bend_between(causes, here, i, at, other) * here.shares[at] * (1.0 - here.shares[at])
        if loss > most * (1.0 + 1e-9) + 1e-12 or (loss >= most * (1.0 - 1e-9) - 1e-12 and less < smallest):
            most, smallest, chosen = max(loss, most), less, at
    return chosen


@kernel(borrows=True, inner=True)
def two_largest(causes: Causes, here: Shares, i: int, values: Floats) -> tuple[int, int]:
    """The allowed states of a variable with the largest values."""
    a, b = -1, -1
    for o in range(causes.states[i], causes.states[i + 1]):
        if here.alive[o]:
            if a < 0 or values[o] > values[a]:
                a, b = o, a
            elif b < 0 or values[o] > values[b]:
                b = o
    return a, b


@kernel(borrows=True, inner=True)
def bend_between(causes: Causes, here: Shares, i: int, a: int, b: int) -> float:
    """The second derivative of the functions along a move of a variable from one state to another."""
    to, back, first, last = row(causes, i, a), row(causes, i, b), causes.starts[i], causes.starts[i + 1]
    for j in range(first, last):
        here.moves[causes.numbers[j]] = causes.terms[to + j] - causes.terms[back + j]
        here.ascents[causes.numbers[j]] = here.chords[to + j] - here.chords[back + j]
    _, bend = slope_along(causes, here, causes.numbers, first, last, 0.0)
    for j in range(first, last):
        here.moves[causes.numbers[j]] = here.ascents[causes.numbers[j]] = 0.0
    return bend


@kernel(borrows=True, inner=True)
def step_back(causes: Causes, here: Shares, path: Branches, least: float) -> None:
    """Return to the last branch whose bound is high enough, and forbid what was tried first."""
    while path.now[0] > 0:
        path.now[0] -= 1
        depth = path.now[0]
        while path.now[1] > path.marks[depth]:
            path.now[1] -= 1
            here.alive[path.trail[path.now[1]]] = 1
        if path.bounds[depth] > least:
            leave_out(path, here, path.chosen[depth])
            return
    path.now[2] = 1


def _work(causes: Causes, here: Shares, path: Branches, work: int, *_: object) -> float:
    return 4.0 * (work + len(causes.own) + 2 * len(causes.terms))  # it is read once at least


@kernel(work=_work, borrows=True)
def branch(
    causes: Causes,
    here: Shares,
    path: Branches,
    work: int,
    passes: int,
    best: Floats,
    found: Ints,
    cancel: Bytes,
) -> None:
    """Search on until so much work is done, or to the end.

    Args:
        work: in terms that are read.
        passes: over the variables at each node.
        best: the values of the best assignments in decreasing order, -inf (or a value to be exceeded) without one.
        found: their codes, one row after the other.
    """
    while not path.now[2] and path.now[3] < work and not cancel[0]:
        before = best[0]
        most = relax(causes, here, path, work, passes, best, found, cancel)
        if best[0] > before:
            for v in range(len(path.codes)):
                path.codes[v] = found[v]
            climb(causes, here, path.now, path.codes, path.now[3] + WORK_NEARBY, best, found, cancel)
        chosen = divided(causes, here, path.now) if most > -np.inf else -1
        if chosen < 0 and most > -np.inf:  # all variables are decided
            rounded(causes, here, path.codes)
            offer(value_of(causes, path.codes, here.moves), path.codes, best, found)
        if chosen < 0:
            step_back(causes, here, path, level(best[len(best) - 1]))
            continue
        depth = path.now[0]
        path.marks[depth], path.chosen[depth], path.bounds[depth] = path.now[1], chosen, most
        path.now[0] += 1
        i = np.searchsorted(causes.states, chosen, side="right") - 1
        for o in range(causes.states[i], causes.states[i + 1]):
            if o != chosen and here.alive[o]:
                leave_out(path, here, o)


@kernel(work=_work, borrows=True)
def begin(
    causes: Causes,
    here: Shares,
    path: Branches,
    work: int,
    passes: int,
    best: Floats,
    found: Ints,
    cancel: Bytes,
) -> None:
    """A good assignment before the search: the rounded relaxation, and better ones near it.

    Args:
        work: in terms that are read, after which pairs of variables are no longer tried.
        passes: over the variables.
    """
    most = relax(causes, here, path, work, passes, best, found, cancel)
    if most == -np.inf:  # nothing is better than what was found
        path.now[2] = 1
        return
    path.bounds[0] = most
    rounded(causes, here, path.codes)
    climb(causes, here, path.now, path.codes, work, best, found, cancel)
    without_each(causes, here, path.now, path.codes, work, best, found, cancel)
