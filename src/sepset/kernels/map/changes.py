r"""Moves of a local search: the best change of one variable at a time, with what every change is worth kept up to date.

$$\Delta_i(x) = \ell_i(x) - \ell_i(x_i), \qquad
\ell_i(x) = \theta_i(x) + \sum_{f \ni i} \theta_f(x, \mathbf x_{f \setminus i})$$

A move changes $\ell_j$ of the neighbors $j$ only, by the factors that they share. Zeros are counted apart from finite
numbers: fewer zeros are always better. Two tournaments over the variables, those that may change and those that changed
lately, have the best changes at their roots.

Reference: Glover (1989), Tabu search, part I.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import Wires, add_conditional

NONE = -(2**40)
"""So many fewer zeros has the change of a variable with one state."""

SLACK = 1e-12
"""A change must be better by this part of the value, or by this much if the value is small: less is rounding."""

MOVES, IDLE, ZEROS, LOGGED, IS_BETTER, IS_DONE = range(6)
"""The counters of a walk: moves so far; moves since the best assignment, and how many more zeros there are than in it;
the length of the log; whether the best assignment is one of this call, and whether the walk ended."""


class Changes(NamedTuple):
    """The changes that a walk chooses from.

    Attributes:
        values, zeros: the sum of the finite log values of each state given all others, and the number of infinite ones.
        choice: the best other state of each variable, -1 if there is none.
        fewer, gain: how many fewer zeros it has, and by how much the finite values rise.
        leaves: the place of each variable in both tournaments.
        winners: the best variable below each node, -1 if there is none: of those that may change, then, after as many
            nodes, of those that changed lately. Node one is the root, and the leaves are the second half.
        free: the move from which each variable may change.
        part: room for one number per state.
    """

    values: Floats
    zeros: Ints
    choice: Ints
    fewer: Ints
    gain: Floats
    leaves: Ints
    winners: Ints
    free: Ints
    part: Floats


@kernel(inner=True, borrows=True)
def account(wires: Wires, changes: Changes, s: int, f: int, codes: Ints, sign: int) -> None:
    """Add or subtract a factor's log values at the states of the variable of a slot."""
    i = wires.scope[s]
    base, part = wires.states[i], changes.part
    for x in range(wires.cards[i]):
        part[x] = 0.0
    add_conditional(wires, s, f, codes, part)
    for x in range(wires.cards[i]):
        if part[x] == -np.inf:
            changes.zeros[base + x] += sign
        else:
            changes.values[base + x] += sign * part[x]


@kernel(inner=True, borrows=True)
def weigh(wires: Wires, changes: Changes, i: int, code: int) -> None:
    """Find the best other state of a variable."""
    base, found, fewer, gain = wires.states[i], -1, NONE, -np.inf
    for x in range(wires.cards[i]):
        if x != code:
            less = changes.zeros[base + code] - changes.zeros[base + x]
            more = changes.values[base + x] - changes.values[base + code]
            if less > fewer or (less == fewer and more > gain):
                found, fewer, gain = x, less, more
    changes.choice[i], changes.fewer[i], changes.gain[i] = found, fewer, gain


@kernel(borrows=True)
def is_above(changes: Changes, i: int, j: int) -> bool:
    """Whether the change of one variable is better than that of another; -1 stands for no variable."""
    if i < 0 or j < 0:
        return i >= 0
    more = changes.fewer[i] - changes.fewer[j]
    return bool(more > 0 or (more == 0 and changes.gain[i] > changes.gain[j]))


@kernel(inner=True, borrows=True)
def decide(changes: Changes, base: int, node: int) -> None:
    """Find the winner of a node of the tournament that begins at `base`."""
    one, two = changes.winners[base + 2 * node], changes.winners[base + 2 * node + 1]
    changes.winners[base + node] = two if is_above(changes, two, one) else one


@kernel(borrows=True)
def replay(changes: Changes, i: int, move: int) -> None:
    """Let a variable take part as it is now: with those that may change at this move, or with the others."""
    winners, size = changes.winners, len(changes.winners) // 2
    for side in range(2):
        base, node = side * size, changes.leaves[i]
        takes_part = changes.choice[i] >= 0 and (changes.free[i] > move) == (side == 1)
        if not takes_part and winners[base + node] < 0:
            continue
        winners[base + node] = i if takes_part else -1
        while node > 1:
            node //= 2
            decide(changes, base, node)


def _model_work(wires: Wires, *_: object) -> float:
    return 8.0 * float(wires.messages[-1] + wires.states[-1])


@kernel(work=_model_work, borrows=True)
def weigh_all(wires: Wires, unary: Floats, factors: Ints, codes: Ints, changes: Changes, move: int) -> None:
    """Find all changes from the beginning.

    Args:
        factors: the factor of each slot.
        move: the number of the next move.
    """
    for place in range(len(unary)):
        is_zero = unary[place] == -np.inf
        changes.values[place] = 0.0 if is_zero else unary[place]
        changes.zeros[place] = 1 if is_zero else 0
    for s in range(len(wires.scope)):
        account(wires, changes, s, factors[s], codes, 1)
    size = len(changes.winners) // 2
    for node in range(2 * size):
        changes.winners[node] = -1
    for i in range(len(codes)):
        weigh(wires, changes, i, codes[i])
        if changes.choice[i] >= 0:
            changes.winners[changes.leaves[i] + (size if changes.free[i] > move else 0)] = i
    for node in range(size // 2 - 1, 0, -1):
        decide(changes, 0, node)
        decide(changes, size, node)


@kernel(borrows=True)
def change(wires: Wires, factors: Ints, codes: Ints, changes: Changes, i: int, move: int) -> None:
    """Make the best change of a variable, and find those of its neighbors."""
    for sign in (-1, 1):
        for place in range(wires.degrees[i], wires.degrees[i + 1]):
            s = wires.slots[place]
            f = factors[s]
            for t in range(wires.starts[f], wires.starts[f + 1]):
                if t != s:
                    account(wires, changes, t, f, codes, sign)
        if sign < 0:
            codes[i] = changes.choice[i]
    for place in range(wires.degrees[i], wires.degrees[i + 1]):
        f = factors[wires.slots[place]]
        for t in range(wires.starts[f], wires.starts[f + 1]):
            j = wires.scope[t]
            if j != i:
                weigh(wires, changes, j, codes[j])
                replay(changes, j, move)
    weigh(wires, changes, i, codes[i])


@kernel(inline=True, borrows=True)
def is_best(wires: Wires, codes: Ints, changes: Changes, i: int, zeros: int, lag: float) -> bool:
    """Whether the change of a variable leads above the best assignment; -1 stands for no variable.

    Args:
        zeros, lag: how many more zeros the present assignment has than the best, and how much less value.
    """
    if i < 0:
        return False
    fewer = changes.fewer[i] - zeros
    size = max(1.0, abs(changes.values[wires.states[i] + codes[i]]), abs(lag))
    return bool(fewer > 0 or (fewer == 0 and changes.gain[i] - lag > SLACK * size))


def _walk_work(wires: Wires, factors: Ints, codes: Ints, *rest: object) -> float:
    near = float(wires.messages[-1]) / max(1, len(codes))
    return float(len(rest[3])) * 20.0 * (4.0 + near)  # type: ignore[arg-type]


@kernel(work=_walk_work, borrows=True)
def walk(
    wires: Wires,
    factors: Ints,
    codes: Ints,
    changes: Changes,
    recent: Ints,
    lag: Floats,
    log: Ints,
    counters: Ints,
    patience: int,
    cancel: Bytes,
) -> None:
    """Make moves, as many as the log has room for, each the best change that is allowed.

    Args:
        recent: the last variables that changed, in a ring; one may change if that leads above the best assignment.
            If it is empty, only changes for the better are made.
        lag: one number, how much less the present assignment has than the best.
        log: the places of the states that the moves since the best assignment left, among all states.
        counters: see `MOVES`.
        patience: the most moves since the best assignment.
    """
    tenure, held = len(recent), len(changes.winners) // 2 + 1
    for _ in range(len(log)):
        i, j, move = changes.winners[1], changes.winners[held], counters[MOVES]
        if is_above(changes, j, i) and is_best(wires, codes, changes, j, counters[ZEROS], lag[0]):
            i = j
        better = is_best(wires, codes, changes, i, counters[ZEROS], lag[0])
        if i < 0 or (not better and (tenure == 0 or counters[IDLE] >= patience)):
            counters[IS_DONE] = 1
            return
        log[counters[LOGGED]] = wires.states[i] + codes[i]
        if better:
            counters[IDLE] = counters[ZEROS] = counters[LOGGED] = 0
            counters[IS_BETTER], lag[0] = 1, 0.0
        else:
            counters[IDLE] += 1
            counters[LOGGED] += 1
            counters[ZEROS] -= changes.fewer[i]
            lag[0] -= changes.gain[i]
        counters[MOVES] = move + 1
        change(wires, factors, codes, changes, i, move + 1)
        if tenure:
            old = recent[move % tenure]
            recent[move % tenure] = i
            changes.free[i] = move + 1 + tenure
            if old >= 0 and old != i:
                replay(changes, old, move + 1)
        replay(changes, i, move + 1)
        if cancel[0]:
            return
