"""Walks over a wired model: variables near one another, parts in which assignments differ, and values with losses."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.map.regions import softened
from sepset.kernels.propagation.wires import Wires, conditional, factor_value


def _grow_work(wires: Wires, *_: object) -> float:
    return float(len(wires.cards)) + 10.0 * float(len(wires.slots))


@kernel(work=_grow_work, borrows=True)
def grow(wires: Wires, factors: Ints, root: int, seen: Bytes, members: Ints) -> int:
    """Variables near a root, breadth first, as many as there is room for; their number.

    Args:
        seen: one mark per variable; those that are marked are not entered.
        members: receives the variables, the nearest first.
    """
    members[0], seen[root], count, at = root, 1, 1, 0
    while at < count and count < len(members):
        i = members[at]
        at += 1
        for place in range(wires.degrees[i], wires.degrees[i + 1]):
            f = factors[wires.slots[place]]
            for s in range(wires.starts[f], wires.starts[f + 1]):
                j = wires.scope[s]
                if not seen[j] and count < len(members):
                    members[count], seen[j] = j, 1
                    count += 1
    return count


@kernel(work=_grow_work, borrows=True)
def depths(wires: Wires, factors: Ints, roots: Ints, queue: Ints, out: Ints) -> None:
    """The distance of each variable from the first root of its component.

    Args:
        roots: all variables; the first of each component is its root.
        queue: room for one entry per variable.
        out: receives the distances.
    """
    out[:] = -1
    for root in roots:
        if out[root] >= 0:
            continue
        queue[0], out[root], count, at = root, 0, 1, 0
        while at < count:
            i = queue[at]
            at += 1
            for place in range(wires.degrees[i], wires.degrees[i + 1]):
                f = factors[wires.slots[place]]
                for s in range(wires.starts[f], wires.starts[f + 1]):
                    j = wires.scope[s]
                    if out[j] < 0:
                        queue[count], out[j] = j, out[i] + 1
                        count += 1


@kernel(borrows=True)
def part_value(
    wires: Wires, unary: Floats, factors: Ints, members: Ints, owners: Ints, stamp: int, codes: Ints, loss: float
) -> float:
    """The sum of all terms about some variables; each factor counts once, which its stamp says."""
    total = 0.0
    for i in members:
        total += softened(unary[wires.states[i] + codes[i]], loss)
        for place in range(wires.degrees[i], wires.degrees[i + 1]):
            f = factors[wires.slots[place]]
            if owners[f] != stamp:
                owners[f] = stamp
                total += softened(factor_value(wires, f, codes), loss)
    return total


@kernel(borrows=True)
def swap(members: Ints, codes: Ints, other: Ints) -> None:
    """Exchange the states of some variables between two assignments."""
    for i in members:
        codes[i], other[i] = other[i], codes[i]


@kernel(work=_grow_work, borrows=True)
def exchange(
    wires: Wires, unary: Floats, factors: Ints, codes: Ints, other: Ints, loss: float, seen: Bytes, queue: Ints,
    owners: Ints,
) -> int:  # fmt: skip
    """Take from another assignment each connected part of the differences that makes this one better; their number.

    No factor is about two of these parts, so that their gains add up, and the result is the best of all combinations.

    Args:
        codes: the assignment; changed.
        other: the other one; it receives what is replaced.
        seen, queue: room for one entry per variable.
        owners: room for one entry per factor.
    """
    taken, stamp = 0, 0
    owners[:] = 0
    for i in range(len(codes)):
        seen[i] = codes[i] == other[i]
    for root in range(len(codes)):
        if seen[root]:
            continue
        members = queue[: grow(wires, factors, root, seen, queue)]
        before = part_value(wires, unary, factors, members, owners, stamp + 1, codes, loss)
        swap(members, codes, other)
        after = part_value(wires, unary, factors, members, owners, stamp + 2, codes, loss)
        stamp += 2
        if after > before:
            taken += 1
        else:
            swap(members, codes, other)
    return taken


@kernel(work=_grow_work, borrows=True)
def free_states(wires: Wires, unary: Floats, factors: Ints, codes: Ints, room: Floats, out: Ints) -> None:
    """The number of possible states of each variable given all others."""
    for i in range(len(codes)):
        conditional(wires, unary, factors, i, codes, room)
        out[i] = 0
        for x in range(wires.cards[i]):
            out[i] += room[x] > -np.inf


def _value_work(wires: Wires, *_: object) -> float:
    return float(len(wires.scope) + len(wires.cards))


@kernel(work=_value_work, borrows=True)
def soft_value(wires: Wires, unary: Floats, codes: Ints, loss: float) -> float:
    """The log value of an assignment, with a loss for each factor of value zero."""
    total = 0.0
    for i in range(len(wires.cards)):
        total += softened(unary[wires.states[i] + codes[i]], loss)
    for f in range(len(wires.kinds)):
        total += softened(factor_value(wires, f, codes), loss)
    return total
