"""Tensors and steps written one after the other, and the scopes of products among current tensors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel

ONE = 0
TENSORS, STEPS, STAMP = 0, 1, 2


class Tape(NamedTuple):
    """Tensors and steps so far, in arrays with space for more.

    Attributes:
        cards: the number of states by rank.
        start, pool: the scope of tensor t is `pool[start[t] : start[t + 1]]`, ranks ascending.
        sizes: the entries of each tensor.
        steps: rows (result, first, second); a second of `ONE` only sums.
        made: the number of tensors and steps, and the last stamp.
        counts: by rank, the number of current tensors with it in scope.
        stamps: by rank, marks.
        scope: scratch for one scope.
        spent: the entries of all tensors made by steps, and how many there may be.
        cancel: whether to stop.
    """

    cards: Floats
    start: Ints
    pool: Ints
    sizes: Floats
    steps: Ints
    made: Ints
    counts: Ints
    stamps: Ints
    scope: Ints
    spent: Floats
    cancel: Bytes


@kernel(borrows=True)
def is_over(tape: Tape) -> bool:
    """Whether the work is in vain: more entries than there may be, or canceled."""
    return bool(tape.spent[0] > tape.spent[1] or tape.cancel[0])


@kernel(borrows=True)
def add_step(tape: Tape, first: int, second: int, length: int) -> int:
    """The tensor over the first `length` of `scope` that sums the product of two; no step if one of them equals it."""
    start, scope = tape.start, tape.scope
    if second == ONE and start[first + 1] - start[first] == length:
        return first
    if first == ONE:
        if start[second + 1] - start[second] == length:
            return second
        first, second = second, first
    t, s = tape.made[TENSORS], tape.made[STEPS]
    tape.sizes[t] = 1.0
    for k in range(length):
        tape.pool[start[t] + k] = scope[k]
        tape.sizes[t] *= tape.cards[scope[k]]
    start[t + 1] = start[t] + length
    tape.spent[0] += tape.sizes[t]
    tape.steps[s, 0], tape.steps[s, 1], tape.steps[s, 2] = t, first, second
    tape.made[TENSORS] = t + 1
    tape.made[STEPS] = s + 1
    return int(t)


@kernel(borrows=True)
def stamp(tape: Tape, ranks: Ints, first: int, end: int) -> None:
    """Mark a part of the ranks with the last stamp."""
    for k in range(first, end):
        tape.stamps[ranks[k]] = tape.made[STAMP]


@kernel(borrows=True)
def count(tape: Tape, tensor: int, by: int) -> None:
    """Add to the counts of a tensor's variables."""
    for k in range(tape.start[tensor], tape.start[tensor + 1]):
        tape.counts[tape.pool[k]] += by


@kernel(borrows=True)
def is_needed(tape: Tape, r: int, shared: int) -> bool:
    """Whether a variable is needed after a product of tensors, `shared` of them with it in scope."""
    return bool(tape.stamps[r] == tape.made[STAMP] or tape.counts[r] > shared)


@kernel(borrows=True)
def restrict(tape: Tape, tensor: int, shared: int) -> int:
    """Write the needed variables of one tensor to `scope`; their number."""
    length = 0
    for k in range(tape.start[tensor], tape.start[tensor + 1]):
        if is_needed(tape, tape.pool[k], shared):
            tape.scope[length] = tape.pool[k]
            length += 1
    return length


@kernel(borrows=True)
def join(tape: Tape, a: int, b: int) -> tuple[int, float, float]:
    """Write the needed variables of a product to `scope`; their number, their entries, and the multiplications."""
    pool = tape.pool
    i, j, end_i, end_j = tape.start[a], tape.start[b], tape.start[a + 1], tape.start[b + 1]
    length, size, union = 0, 1.0, 1.0
    while i < end_i or j < end_j:
        shared = 1
        if j == end_j or (i < end_i and pool[i] < pool[j]):
            r = pool[i]
            i += 1
        elif i == end_i or pool[j] < pool[i]:
            r = pool[j]
            j += 1
        else:
            r, shared = pool[i], 2
            i += 1
            j += 1
        union *= tape.cards[r]
        if is_needed(tape, r, shared):
            tape.scope[length] = r
            length += 1
            size *= tape.cards[r]
    return length, size, union


@kernel(inline=True)
def room_of_steps(steps: Ints, bounds: Ints) -> tuple[int, int]:
    """Groups of axes that all steps have at most, and axes of the widest step."""
    room, widest = 0, 0
    for s in range(len(steps)):
        width = 4
        for t in (steps[s, 1], steps[s, 2]):
            width += bounds[t + 1] - bounds[t]
        room += 8 * width
        widest = max(widest, width)
    return room, widest


@kernel(inline=True)
def ends_of(offsets: Ints, sizes: Floats, roots: Ints, wanted: Ints, found: Ints) -> tuple[Ints, Ints]:
    """Rows of the roots (tensor, start, size), and of the reads (start, place in the answer, size)."""
    ends = np.empty((len(roots), 3), np.int64)
    for i in range(len(roots)):
        ends[i, 0], ends[i, 1], ends[i, 2] = roots[i], offsets[roots[i]], int(sizes[roots[i]])
    reads = np.empty((len(wanted) + len(found), 3), np.int64)
    place = 0
    for i in range(len(reads)):
        k = i - len(wanted)
        reads[i, 0], reads[i, 1] = offsets[wanted[i]] if k < 0 else -1 - k, place
        reads[i, 2] = int(sizes[wanted[i]]) if k < 0 else found[k]
        place += reads[i, 2]
    return ends, reads
