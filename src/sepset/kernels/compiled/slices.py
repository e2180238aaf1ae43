"""Two instructions by slices: the first one's result is an operand of the second, and never in memory as a whole.

A slice has fixed states of some axes of the second result, all of which the first one has. It stays in a cache between
the two. Parts of the slices have places of their own, so that several threads run them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.kernels.compiled.contraction import (
    DUE,
    LEAST,
    LIMIT,
    MOST,
    RANGE,
    UNCHANGED,
    begin,
    is_bounded,
    look,
    looped,
    looped_product,
    packed_product,
    span,
)
from sepset.kernels.compiled.instructions import (
    ALWAYS,
    DST,
    KIND,
    PACKED,
    PANELS,
    SCRATCH,
    SIZE,
    STRIDE_A,
    STRIDE_B,
    TENSOR_A,
    TENSOR_B,
    TENSOR_D,
    A,
    B,
)
from sepset.kernels.compiled.panels import multiply_panels
from sepset.kernels.kernel import kernel

# Parts into which all slices are divided.
SLICED_PARTS = 8

# Columns of an axis of slices after its size: its strides in the operands of the first instruction, and in the operands
# and the result of the second.
FIRST_A, FIRST_B, SECOND_A, SECOND_B, SECOND_D = range(1, 6)

# A step that is due, but whose range, or that of its products, is not known to be that of floats.
UNBOUNDED = 3

# Exponents between which a sliced result needs no scale of its own.
SLICED_BOUND = 400


@kernel(borrows=True)
def _move(pair: Any, own: Any, axes: Any, number: int, shift: int) -> None:
    """Write the places of both instructions for one slice, in a part whose own place is shifted."""
    for c in (A, B, DST, SCRATCH):
        own[0, c], own[1, c] = pair[0, c], pair[1, c]
    own[0, DST] += shift
    for i in range(2):
        own[i, SCRATCH] += shift
    for c in (A, B):
        own[1, c] += shift if pair[1, c] == pair[0, DST] else 0
    for i in range(len(axes) - 1, -1, -1):
        code = number % axes[i, 0]
        number //= axes[i, 0]
        own[0, A] += code * axes[i, FIRST_A]
        own[0, B] += code * axes[i, FIRST_B]
        own[1, A] += code * axes[i, SECOND_A]
        own[1, B] += code * axes[i, SECOND_B]
        own[1, DST] += code * axes[i, SECOND_D]


@kernel
def _run(w: Any, op: Any, groups: Any, counter: Any, cancel: Any) -> None:
    """Run one instruction over a slice."""
    if op[KIND] == PANELS:
        multiply_panels(w, op, groups, False, cancel)
    elif op[KIND] == PACKED:
        packed_product(w, op, groups, False, counter, cancel)
    else:
        a, b, d, first, count = looped(op)
        looped_product(w, op, d, a, b, groups, first, count, False, counter, cancel)


@kernel
def run_slices(
    w: Any, pair: Any, groups: Any, axes: Any, room: int, scale: float, num: int, first: int, end: int, cancel: Any
) -> None:
    """Run both instructions of some parts of all slices; the first result is multiplied by a scale."""
    counter, own = np.zeros(64, np.int64), pair.copy()
    for part in range(first, end):
        for number in range(num * part // SLICED_PARTS, num * (part + 1) // SLICED_PARTS):
            if cancel[0] != 0:
                return
            _move(pair, own, axes, number, part * room)
            _run(w, own[0], groups, counter, cancel)
            if scale != 1.0:
                for i in range(own[0, DST], own[0, DST] + own[0, SIZE]):
                    w[i] *= scale
            _run(w, own[1], groups, counter, cancel)


@kernel
def first_span(w: Any, pair: Any, groups: Any, axes: Any, num: int, cancel: Any) -> Any:
    """The exponents of the smallest positive and of the largest entry of the first result; zeros if it has none."""
    counter, own, bits = np.zeros(64, np.int64), pair.copy(), w.view(np.int64)
    bottom, top = np.int64(2**32), np.int64(-(2**32))
    for number in range(num):
        if cancel[0] != 0:
            break
        _move(pair, own, axes, number, 0)
        _run(w, own[0], groups, counter, cancel)
        low, high = span(bits, own[0, DST], own[0, SIZE])
        if low <= high:
            bottom, top = min(bottom, low), max(top, high)
    return (bottom, top) if bottom <= top else (np.int64(0), np.int64(0))


@kernel
def begin_first(w: Any, op: Any, groups: Any, dirty: Any, exponents: Any, flags: Any, spans: Any) -> int:
    """Whether the first instruction is due, as `begin` says, and whether the range of its result is bounded."""
    bits = w.view(np.int64)
    due = begin(bits, op, groups, dirty, exponents, flags, spans)
    if due == DUE and not is_bounded(bits, op, groups, spans, SLICED_BOUND, 2 * SLICED_BOUND):
        return UNBOUNDED
    return int(due)


@kernel
def scale_first(tensor: int, bottom: int, top: int, exponents: Any, flags: Any, spans: Any) -> None:
    """Note the range of the first result: its largest entry near one if it has drifted, or the middle of a wide
    range."""
    shift = top if top < -LIMIT or top > LIMIT else 0
    if top - bottom > RANGE:
        flags[2] = 1
        shift = (top + bottom) // 2
    exponents[tensor] += shift
    spans[tensor, 0], spans[tensor, 1] = bottom - shift, top - shift


@kernel
def begin_second(w: Any, op: Any, groups: Any, dirty: Any, exponents: Any, spans: Any, first: int) -> int:
    """Whether the second instruction is due, and whether its products are in the range of floats.

    As `begin`, but the first result, whose number is given, is not there to be looked at. The second is then zero.
    """
    a, b, d = op[TENSOR_A], op[TENSOR_B], op[TENSOR_D]
    dirty[d] = max(dirty[a], dirty[b], np.uint8(op[ALWAYS]))
    if dirty[d] == 0:
        return UNCHANGED
    if spans[a, 0] + spans[b, 0] < LEAST or spans[a, 1] + spans[b, 1] > MOST:
        place, column = (op[B], STRIDE_B) if a == first else (op[A], STRIDE_A)
        look(w.view(np.int64), op, groups, spans, b if a == first else a, place, column)
    if spans[a, 0] + spans[b, 0] < LEAST or spans[a, 1] + spans[b, 1] > MOST:
        return UNBOUNDED
    exponents[d] = exponents[a] + exponents[b]
    for i in range(op[DST], op[DST] + op[SIZE]):
        w[i] = 0.0
    return DUE
