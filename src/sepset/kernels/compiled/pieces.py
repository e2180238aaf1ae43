"""Large instructions by phases, each of which is divided into parts for several threads.

Packed loops pack their operands, multiply, and unpack the result; panels and other loops only multiply. The parts of a
phase write to different places, and none changes the order of a sum: results are the same, whoever runs them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.kernels.compiled.contraction import DUE, begin, end, looped, mode_of, places
from sepset.kernels.compiled.instructions import (
    COUNT_A,
    COUNT_B,
    COUNT_D,
    DST,
    KIND,
    PACK_A,
    PACK_B,
    PACKED,
    PANELS,
    SIZE,
    SIZE_OF,
    STRIDE_D,
    UNPACK,
    A,
    B,
)
from sepset.kernels.compiled.loops import MAX, SET, copy, loops
from sepset.kernels.compiled.panels import multiply_parts, num_parts
from sepset.kernels.compiled.tiles import is_tiled, multiply_tiles, num_tiles
from sepset.kernels.kernel import kernel

FIRST_PACK, SECOND_PACK, MULTIPLY, UNPACKING = 0, 1, 2, 3
PHASES = 4

# Parts of loops and copies.
PARTS = 8


@kernel(borrows=True)
def _split(groups: Any, first: int, count: int, chosen: Any) -> int:
    """Choose axes of the result over which loops are divided: a long one, or several; the number of parts.

    Sums are over other axes, and in the same order in all parts.
    """
    for g in range(count):
        chosen[g] = 0
    best, num = -1, 1
    for g in range(count - 1):
        long = groups[first + g, SIZE_OF] >= PARTS and groups[first + g, STRIDE_D] > 0
        if long and (best < 0 or groups[first + g, STRIDE_D] > groups[first + best, STRIDE_D]):
            best = g
    if best >= 0:
        chosen[best] = 1
        return PARTS
    while num < PARTS:
        best = -1
        for g in range(count - 2):
            is_open = chosen[g] == 0 and groups[first + g, STRIDE_D] > 0
            if is_open and (best < 0 or groups[first + g, STRIDE_D] > groups[first + best, STRIDE_D]):
                best = g
        if best < 0:
            break
        chosen[best] = 1
        num *= groups[first + best, SIZE_OF]
    return num


@kernel
def _num_parts(groups: Any, first: int, count: int) -> int:
    """The number of parts into which nested loops are divided."""
    return int(_split(groups, first, count, np.zeros(count, np.int64)))


@kernel(borrows=True)
def _part(groups: Any, first: int, count: int, part: int, chosen: Any, found: Any, place: Any) -> int:
    """Write the groups of one part, and the places of its first entries of a, b and d; the number of groups."""
    _split(groups, first, count, chosen)
    is_long = False
    for g in range(count):
        is_long = is_long or (chosen[g] == 1 and groups[first + g, SIZE_OF] >= PARTS)
    top = 0 if is_long else 2  # loops have two groups at least
    for i in range(top):
        found[i, SIZE_OF] = 1
        for c in range(1, 4):
            found[i, c] = 0
    for c in range(3):
        place[c] = 0
    for g in range(count):
        size, start = groups[first + g, SIZE_OF], 0
        if chosen[g] == 1 and is_long:
            start = size * part // PARTS
            size = size * (part + 1) // PARTS - start
        elif chosen[g] == 1:
            start, part, size = part % size, part // size, 1
        for c in range(1, 4):
            place[c - 1] += start * groups[first + g, c]
            found[top, c] = groups[first + g, c]
        found[top, SIZE_OF] = size
        top += 1 if chosen[g] == 0 or is_long else 0
    return top


@kernel
def _product_parts(
    w: Any, op: Any, groups: Any, part: int, end_part: int, maximize: bool, counter: Any, cancel: Any
) -> None:
    """Run parts of the loops of an instruction."""
    a, b, d, first, count = looped(op)
    mode = mode_of(op, groups, maximize)
    if is_tiled(groups, first, count):
        multiply_tiles(w, d, a, b, groups, first, count, mode == SET, mode == MAX, part, end_part, cancel)
        return
    chosen, own, place = np.zeros(count, np.int64), np.zeros((count + 3, 4), np.int64), np.zeros(3, np.int64)
    for i in range(part, end_part):
        num = _part(groups, first, count, i, chosen, own, place)
        loops(w, d + place[2], a + place[0], b + place[1], own, 0, num, mode, counter, cancel)


@kernel
def _copy_parts(
    w: Any, d: int, a: int, groups: Any, first: int, count: int, part: int, end_part: int, counter: Any, cancel: Any
) -> None:
    """Run parts of a copy."""
    chosen, own, place = np.zeros(count, np.int64), np.zeros((count + 3, 4), np.int64), np.zeros(3, np.int64)
    for i in range(part, end_part):
        num = _part(groups, first, count, i, chosen, own, place)
        copy(w, d + place[2], a + place[0], own, 0, num, counter, cancel)


@kernel
def phases(op: Any, groups: Any, maximize: bool) -> Ints:
    """The number of parts of each phase of an instruction; zero for phases that it does not have."""
    found = np.zeros(PHASES, np.int64)
    if op[KIND] == PANELS:
        found[MULTIPLY] = num_parts(op)
        return found
    _, _, _, first, count = looped(op)
    by_tiles = is_tiled(groups, first, count)
    found[MULTIPLY] = num_tiles(groups, first, count) if by_tiles else _num_parts(groups, first, count)
    if op[KIND] != PACKED:
        return found
    for phase, first, count in (
        (FIRST_PACK, op[PACK_A], op[COUNT_A]),
        (SECOND_PACK, op[PACK_B], op[COUNT_B]),
        (UNPACKING, op[UNPACK], op[COUNT_D]),
    ):
        if count > 0:
            found[phase] = _num_parts(groups, first, count)
    return found


@kernel
def begin_step(w: Any, op: Any, groups: Any, dirty: Any, exponents: Any, flags: Any, spans: Any, maximize: bool) -> int:
    """Whether an instruction is due, as `begin` says; its result is then ready for its phases."""
    due = begin(w.view(np.int64), op, groups, dirty, exponents, flags, spans)
    if due == DUE and op[KIND] != PANELS and mode_of(op, groups, maximize) != SET:
        _, _, d, _, _ = looped(op)
        for i in range(d, d + op[SIZE]):
            w[i] = 0.0
    return int(due)


@kernel
def run_parts(w: Any, op: Any, groups: Any, phase: int, first: int, last: int, maximize: bool, cancel: Any) -> None:
    """Run some parts of a phase."""
    counter = np.zeros(64, np.int64)
    if phase == MULTIPLY and op[KIND] == PANELS:
        multiply_parts(w, op, groups, maximize, first, last, cancel)
        return
    a, b, out = places(op)
    if phase == MULTIPLY:
        _product_parts(w, op, groups, first, last, maximize, counter, cancel)
    elif phase == FIRST_PACK:
        _copy_parts(w, a, op[A], groups, op[PACK_A], op[COUNT_A], first, last, counter, cancel)
    elif phase == SECOND_PACK:
        _copy_parts(w, b, op[B], groups, op[PACK_B], op[COUNT_B], first, last, counter, cancel)
    else:
        _copy_parts(w, op[DST], out, groups, op[UNPACK], op[COUNT_D], first, last, counter, cancel)


@kernel
def end_step(w: Any, op: Any, groups: Any, exponents: Any, flags: Any, spans: Any) -> None:
    """Bound the range of a result, or look at it, as after any instruction."""
    end(w, w.view(np.int64), op, groups, exponents, flags, spans)
