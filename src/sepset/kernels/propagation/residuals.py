"""Residual message passing: the factor whose messages would change most is next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.loopy import message_pass
from sepset.kernels.propagation.wires import Wires


@kernel(borrows=True)
def sift(heap: Ints, places: Ints, keys: Floats, place: int) -> None:
    """Move one factor to its place in a heap whose largest key is first."""
    f, size = heap[place], len(heap)
    while place > 0 and keys[heap[(place - 1) // 2]] < keys[f]:
        heap[place] = heap[(place - 1) // 2]
        places[heap[place]] = place
        place = (place - 1) // 2
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and keys[heap[child + 1]] > keys[heap[child]]:
            child += 1
        if keys[heap[child]] <= keys[f]:
            break
        heap[place] = heap[child]
        places[heap[place]] = place
        place = child
    heap[place], places[f] = f, place


def _residual_work(wires: Wires, *_: object) -> float:
    return 120.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


class Queue(NamedTuple):
    """Factors by the change that their messages would make.

    Attributes:
        keys: the change of each factor.
        heap: the factors, the one of the largest change first.
        places: where each factor is in the heap.
        one: room for the number of one factor.
        fresh: room for messages.
    """

    keys: Floats
    heap: Ints
    places: Ints
    one: Ints
    fresh: Floats


class Rooms(NamedTuple):
    """Room for the messages of one factor: of its variables, from it, two numbers more than those, and codes."""

    h: Floats
    out: Floats
    room: Floats
    codes: Ints


@kernel(borrows=True)
def look(
    wires: Wires, f: int, rhos: Floats, counts: Floats, is_max: bool, beliefs: Floats, messages: Floats, queue: Queue,
    rooms: Rooms, cancel: Bytes,
) -> float:  # fmt: skip
    """The change that the messages of a factor would make, which is put into the queue."""
    queue.one[0] = f
    change = message_pass(
        wires, queue.one, rhos, counts, 0.0, is_max, False, beliefs, messages, queue.fresh, rooms.h, rooms.out,
        rooms.room, rooms.codes, cancel,
    )  # fmt: skip
    queue.keys[f] = change
    sift(queue.heap, queue.places, queue.keys, queue.places[f])
    return change


@kernel(work=_residual_work, borrows=True)
def residual_pass(
    wires: Wires, factors: Ints, rhos: Floats, counts: Floats, damping: float, is_max: bool, beliefs: Floats,
    messages: Floats, queue: Queue, rooms: Rooms, cancel: Bytes,
) -> float:  # fmt: skip
    """As many updates as there are factors, each of the one whose messages would change most; returns what remains.

    Args:
        factors: the factor of each slot.
    """
    num = len(queue.heap)
    for f in range(num):
        if np.isnan(look(wires, f, rhos, counts, is_max, beliefs, messages, queue, rooms, cancel)):
            return np.nan
    for _ in range(num):
        f = queue.heap[0]
        if cancel[0] or queue.keys[f] == 0.0:
            break
        queue.one[0] = f
        message_pass(
            wires, queue.one, rhos, counts, damping, is_max, True, beliefs, messages, messages, rooms.h, rooms.out,
            rooms.room, rooms.codes, cancel,
        )  # fmt: skip
        for s in range(wires.starts[f], wires.starts[f + 1]):
            for place in range(wires.degrees[wires.scope[s]], wires.degrees[wires.scope[s] + 1]):
                g = factors[wires.slots[place]]
                if np.isnan(look(wires, g, rhos, counts, is_max, beliefs, messages, queue, rooms, cancel)):
                    return np.nan
    return float(queue.keys[queue.heap[0]]) if num else 0.0
