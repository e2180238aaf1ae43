"""Steps laid out as instructions over one workspace: offsets, merged groups of axes, and loops or panels.

A group is a run of axes that every operand steps through as one: its size, and its strides in the first operand, the
second, and the result. Axes of one state never appear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.kernels.compiled.costs import (
    ALIGNED_ENTRIES,
    BATCH_STATE,
    CACHED_ENTRIES,
    COLUMNS,
    LINE_ENTRIES,
    NEAR_ENTRIES,
    PACKED_PRODUCTS,
    PANEL,
    PANEL_ENTRY,
    PANEL_PRODUCT,
    PANEL_VECTOR,
    PANELS_CALL,
    REPACKED_ENTRY,
    ROWS,
    SCATTERED_ENTRY,
    TILED_PRODUCT,
)
from sepset.kernels.compiled.instructions import (
    BATCH,
    COPIES,
    COUNT,
    COUNT_A,
    COUNT_B,
    COUNT_D,
    COUNT_L,
    DST,
    END_FIXED,
    FIRST,
    FIXED,
    FROM,
    KIND,
    LOOPED,
    LOOPS,
    NUM_BATCH,
    NUM_COPIES,
    PACK_A,
    PACK_B,
    PACKED,
    PANELS,
    ROLES,
    ROOM_A,
    ROOM_B,
    SCRATCH,
    SIZE,
    SWAPPED,
    TENSOR_A,
    TENSOR_B,
    TENSOR_D,
    TO,
    UNPACK,
    WIDTH,
    A,
    B,
)
from sepset.kernels.compiled.loops import line_cost, order_loops, stream
from sepset.kernels.compiled.panels import FEW_ROWS, is_by_runs, lanes_of
from sepset.kernels.compiled.tape import ONE, ends_of, room_of_steps
from sepset.kernels.compiled.tiles import is_tiled
from sepset.kernels.kernel import kernel, times
from sepset.kernels.vectors import LANES

NUM_GROUPS, ROOM = 0, 1


class Tensors(NamedTuple):
    """The tensors and steps of a contraction.

    Attributes:
        cards: the number of states by rank.
        start, pool: the scope of tensor t is `pool[start[t] : start[t + 1]]`, ranks ascending.
        sizes: the entries of each tensor.
        steps: rows (result, first, second); a second of `ONE` only sums.
        strides: the stride of each axis, in the order of `pool`.
    """

    cards: Floats
    start: Ints
    pool: Ints
    sizes: Floats
    steps: Ints
    strides: Ints


class Scratch(NamedTuple):
    """The working arrays of the layout.

    Attributes:
        groups: rows (size, strides in a, b and d), all instructions together.
        tally: the number of groups, and the scratch space for packed tensors.
        strides: by operand (a, b, d) and rank, zero outside its scope.
        axes: ranks of the current step: its union, then packing orders.
    """

    groups: Ints
    tally: Ints
    strides: Ints
    axes: Ints


@kernel(borrows=True)
def _set_strides(tensors: Tensors, tensor: int, row: Ints, on: bool) -> None:
    for k in range(tensors.start[tensor], tensors.start[tensor + 1]):
        row[tensors.pool[k]] = tensors.strides[k] if on else 0


@kernel(borrows=True)
def _add_group(scratch: Scratch, first: int, size: int, a: int, b: int, d: int) -> None:
    """Append an axis to the groups from `first` on, merged with the last if all operands step through both as one."""
    top = scratch.tally[NUM_GROUPS]
    groups = scratch.groups
    if top > first:
        last = top - 1
        if groups[last, 1] == a * size and groups[last, 2] == b * size and groups[last, 3] == d * size:
            size *= groups[last, 0]
            top = last
    groups[top, 0], groups[top, 1], groups[top, 2], groups[top, 3] = size, a, b, d
    scratch.tally[NUM_GROUPS] = top + 1


@kernel(borrows=True)
def _pad(scratch: Scratch, first: int) -> int:
    """Pad the groups from `first` on to at least two, with neutral ones in front; their number."""
    while scratch.tally[NUM_GROUPS] - first < 2:
        top = scratch.tally[NUM_GROUPS]
        for c in range(4):
            if top > first:
                scratch.groups[top, c] = scratch.groups[first, c]
            scratch.groups[first, c] = 1 if c == 0 else 0
        scratch.tally[NUM_GROUPS] = top + 1
    return int(scratch.tally[NUM_GROUPS] - first)


@kernel(inline=True)
def _union(tensors: Tensors, a: int, b: int, axes: Ints) -> int:
    """Write the ranks of two scopes that have more than one state, ascending; their number."""
    pool = tensors.pool
    i, j, end_i, end_j = tensors.start[a], tensors.start[b], tensors.start[a + 1], tensors.start[b + 1]
    num = 0
    while i < end_i or j < end_j:
        if j == end_j or (i < end_i and pool[i] <= pool[j]):
            r = pool[i]
            if j < end_j and pool[j] == r:
                j += 1
            i += 1
        else:
            r = pool[j]
            j += 1
        if tensors.cards[r] > 1.0:
            axes[num] = r
            num += 1
    return num


@kernel(inline=True)
def _roles(scratch: Scratch, num: int, part: Ints, tensors: Tensors) -> bool:
    """Sort the union into the roles of panels: batch, own axes of a, terms, and own axes of b (rows of `part`: their
    number, their states, the axes); False if a variable of only one operand is summed."""
    for c in range(4):
        part[c, 0] = 0
        part[c, 1] = 1
    for i in range(num):
        r = scratch.axes[i]
        in_a, in_b, in_d = scratch.strides[0, r] > 0, scratch.strides[1, r] > 0, scratch.strides[2, r] > 0
        if in_a and in_b:
            role = 0 if in_d else 2
        elif not in_d:
            return False
        else:
            role = 1 if in_a else 3
        part[role, 2 + part[role, 0]] = r
        part[role, 0] += 1
        part[role, 1] *= int(tensors.cards[r])
    return True


@kernel(borrows=True)
def _by_stride(scratch: Scratch, part: Ints, role: int, operand: int) -> None:
    """Order the axes of a role as an operand has them, the slowest first."""
    strides, axes = scratch.strides[operand], part[role]
    for i in range(1, part[role, 0]):
        r, k = axes[2 + i], 2 + i
        while k > 2 and strides[r] > strides[axes[k - 1]]:
            axes[k] = axes[k - 1]
            k -= 1
        axes[k] = r


@kernel(borrows=True)
def _fill_lines(
    tensors: Tensors, scratch: Scratch, part: Ints, role: int, operand: int, other: int, entries: float
) -> None:
    """Order the axes of a role as an operand has them, the slowest first; but axes within a line of a large other one
    come just before those that fill a line of the operand: all entries of a line are used soon after each other."""
    _by_stride(scratch, part, role, operand)
    if entries <= NEAR_ENTRIES:
        return
    strides, axes = scratch.strides, part[role]
    end, run = part[role, 0] + 2, 1
    while end > 2 and run < LINE_ENTRIES and strides[operand, axes[end - 1]] <= run:
        run *= int(tensors.cards[axes[end - 1]])
        end -= 1
    near = end
    for i in range(end - 1, 1, -1):
        r = axes[i]
        if 0 < strides[other, r] < LINE_ENTRIES:
            near -= 1
            for k in range(i, near):
                axes[k] = axes[k + 1]
            axes[near] = r
    for i in range(near + 1, end):
        r, k = axes[i], i
        while k > near and strides[other, r] > strides[other, axes[k - 1]]:
            axes[k] = axes[k - 1]
            k -= 1
        axes[k] = r


@kernel(borrows=True)
def _run_of(tensors: Tensors, scratch: Scratch, part: Ints, role: int, operand: int) -> int:
    """The number of neighbors among the states of a role, in an operand by whose strides it is ordered."""
    step = 1
    for i in range(part[role, 0] + 1, 1, -1):
        r = part[role, i]
        if scratch.strides[operand, r] != step:
            break
        step *= int(tensors.cards[r])
    return step


@kernel(borrows=True)
def _has_neighbors(scratch: Scratch, part: Ints, role: int, operand: int) -> bool:
    """Whether an axis of a role steps to neighbors in an operand."""
    for i in range(part[role, 0]):
        if scratch.strides[operand, part[role, 2 + i]] == 1:
            return True
    return False


@kernel(borrows=True)
def _is_apart(scratch: Scratch, part: Ints, operand: int, entries: float) -> bool:
    """Whether neighbors in a large operand are of different products: then no line is read or written as a whole."""
    return entries > CACHED_ENTRIES and _has_neighbors(scratch, part, 0, operand)


@kernel(borrows=True)
def _panel_cost(tensors: Tensors, scratch: Scratch, part: Ints, rows: int, columns: int) -> float:
    """Nanoseconds of a step by panels, with the own axes of either operand as columns."""
    batch, m, k, n = float(part[0, 1]), float(part[rows, 1]), float(part[2, 1]), float(part[columns, 1])
    _by_stride(scratch, part, columns, 2)
    first, second = (0, 1) if rows == 1 else (1, 0)
    run = _run_of(tensors, scratch, part, columns, 2)
    source = _run_of(tensors, scratch, part, columns, second)
    lanes = lanes_of(part[columns, 1], run, part[2, 1])
    vectors, wide, scattered = np.ceil(n / lanes), 2.0 if lanes == LANES else 1.0, 0.0
    if lanes == LANES and is_by_runs(part[columns, 1], run, part[2, 1]):
        vectors = n / run * np.ceil(run / LANES)
    elif lanes == LANES:
        scattered = 2.0 * np.ceil(k / 256) - 1.0
    above = m // 8 * 8
    padded = above + (0.0 if m == above else 4.0 if m - above <= 4 else 8.0)
    cost = batch * (BATCH_STATE + PANEL * np.ceil(m / 8) * np.ceil(vectors / wide) * np.ceil(k / 256))
    cost += batch * (PANEL_PRODUCT * LANES * k * padded * vectors + SCATTERED_ENTRY * scattered * m * n)
    if m > FEW_ROWS or source < (lanes if lanes < LANES else max(n, LANES)):
        cost += batch * k * (PANEL_VECTOR * vectors if lanes == LANES and source >= LANES else PANEL_ENTRY * n)
    for operand, entries in ((first, batch * m * k), (second, batch * k * n), (2, batch * m * n)):
        cost += REPACKED_ENTRY * entries if _is_apart(scratch, part, operand, entries) else 0.0
    return float(cost)


@kernel(borrows=True)
def _batch(tensors: Tensors, part: Ints, role: int, enough: int) -> None:
    """Move the slowest axes of many rows or columns to the batch: those of one product are listed, and lists stay in a
    cache."""
    num, end = 1, part[role, 0] + 2
    while end > 2 and num < enough:
        end -= 1
        num *= int(tensors.cards[part[role, end]])
    for i in range(2, end):
        part[0, 2 + part[0, 0]] = part[role, i]
        part[0, 0] += 1
    for i in range(end, part[role, 0] + 2):
        part[role, i - end + 2] = part[role, i]
    part[0, 1] *= part[role, 1] // num
    part[role, 0] -= end - 2
    part[role, 1] = num


@kernel(borrows=True)
def _emit_panels(tensors: Tensors, scratch: Scratch, op: Ints, part: Ints, least: float) -> None:
    """Turn an instruction into panels if that is faster than loops."""
    straight = _panel_cost(tensors, scratch, part, 1, 3)
    swapped = _panel_cost(tensors, scratch, part, 3, 1)
    if PANELS_CALL + min(straight, swapped) >= least:
        return
    is_swapped = swapped < straight
    rows, columns = (3, 1) if is_swapped else (1, 3)
    op[KIND], op[SWAPPED], op[ROLES] = PANELS, 1 if is_swapped else 0, scratch.tally[NUM_GROUPS]
    source, batch = 1 if is_swapped else 0, float(part[0, 1])
    result, packed = batch * part[rows, 1] * part[columns, 1], batch * part[2, 1] * part[columns, 1]
    _by_stride(scratch, part, 0, 2)
    if _has_neighbors(scratch, part, rows, source):
        _fill_lines(tensors, scratch, part, rows, source, 2, result)
    else:
        _by_stride(scratch, part, rows, 2)
    _fill_lines(tensors, scratch, part, columns, 2, 1 - source, packed)
    _fill_lines(tensors, scratch, part, 2, source, 1 - source, packed)
    _batch(tensors, part, columns, COLUMNS)
    _batch(tensors, part, rows, ROWS)
    for place, role in enumerate((0, rows, 2, columns)):
        first = scratch.tally[NUM_GROUPS]
        for i in range(part[role, 0]):
            r = part[role, 2 + i]
            strides = scratch.strides
            _add_group(scratch, first, int(tensors.cards[r]), strides[0, r], strides[1, r], strides[2, r])
        op[NUM_BATCH + place], op[BATCH + place] = scratch.tally[NUM_GROUPS] - first, part[role, 1]


@kernel(borrows=True)
def _is_by_rank(tensors: Tensors, tensor: int) -> bool:
    """Whether the axes of a tensor are in the order of their ranks."""
    for k in range(tensors.start[tensor] + 1, tensors.start[tensor + 1]):
        if tensors.strides[k] > tensors.strides[k - 1]:
            return False
    return True


@kernel(borrows=True)
def _sort_axes(tensors: Tensors, scratch: Scratch, num: int, d: int, a: int, b: int) -> None:
    """Order the axes of a step like those of its largest tensor, those that it does not have first."""
    big = 2
    if tensors.sizes[a] > tensors.sizes[d] and tensors.sizes[a] >= tensors.sizes[b]:
        big = 0
    elif tensors.sizes[b] > tensors.sizes[d]:
        big = 1
    strides, axes = scratch.strides, scratch.axes
    for i in range(1, num):
        r, k = axes[i], i
        while k > 0 and _is_farther(strides, big, r, axes[k - 1]):
            axes[k] = axes[k - 1]
            k -= 1
        axes[k] = r


@kernel(borrows=True)
def _is_farther(strides: Ints, big: int, r: int, other: int) -> bool:
    """Whether an axis is before another: outside the largest tensor, or of a larger stride in the first with both."""
    if strides[big, r] == 0 or strides[big, other] == 0:
        if strides[big, r] != strides[big, other]:
            return bool(strides[big, r] == 0)
        for operand in range(3):
            if strides[operand, r] > 0 and strides[operand, other] > 0:
                return bool(strides[operand, r] > strides[operand, other])
        return r < other
    return bool(strides[big, r] > strides[big, other])


@kernel(borrows=True)
def _packed_strides(tensors: Tensors, scratch: Scratch, num: int, operand: int, steps: Ints) -> bool:
    """Write the strides of an operand with its axes in the order of the step; whether it has another order."""
    step, is_other = 1, False
    for i in range(num - 1, -1, -1):
        r = scratch.axes[i]
        own = scratch.strides[operand, r]
        steps[i] = step if own > 0 else 0
        is_other = is_other or steps[i] != own
        step *= int(tensors.cards[r]) if own > 0 else 1
    return is_other


@kernel(borrows=True)
def _pack_groups(tensors: Tensors, scratch: Scratch, num: int, operand: int, steps: Ints) -> tuple[int, int]:
    """Groups that copy operand a or b to its packed order, or d from it."""
    first = scratch.tally[NUM_GROUPS]
    for i in range(num):
        r = scratch.axes[i]
        own = scratch.strides[operand, r]
        if own > 0:
            source, target = (steps[i], own) if operand == 2 else (own, steps[i])
            _add_group(scratch, first, int(tensors.cards[r]), source, 0, target)
    return first, _pad(scratch, first)


@kernel(borrows=True)
def _emit_packed(
    tensors: Tensors, scratch: Scratch, op: Ints, part: Ints, d: int, a: int, b: int, least: float
) -> float:
    """Turn loops over one large tensor into loops over tensors that are packed in the order of its axes, if that is
    faster; the nanoseconds of the loops."""
    num = _union(tensors, a, b, scratch.axes)
    _sort_axes(tensors, scratch, num, d, a, b)
    room, work = 0, 1.0
    sizes = int(tensors.sizes[a]), int(tensors.sizes[b]), int(tensors.sizes[d])
    for operand in range(3):
        is_other = _packed_strides(tensors, scratch, num, operand, part[operand])
        room += sizes[operand] if is_other else 0
        part[3, operand] = 1 if is_other else 0
    if room == 0:
        return least
    before = first = scratch.tally[NUM_GROUPS]
    for i in range(num):
        size = int(tensors.cards[scratch.axes[i]])
        work *= size
        _add_group(scratch, first, size, part[0, i], part[1, i], part[2, i])
    count = _pad(scratch, first)
    nanoseconds = work * order_loops(scratch.groups, first, count, work) + REPACKED_ENTRY * room
    if nanoseconds >= least:
        scratch.tally[NUM_GROUPS] = before
        return least
    op[KIND], op[LOOPED], op[COUNT_L], op[ROOM_A], op[ROOM_B] = PACKED, first, count, sizes[0], sizes[1]
    if part[3, 0] == 1:
        op[PACK_A], op[COUNT_A] = _pack_groups(tensors, scratch, num, 0, part[0])
    if part[3, 1] == 1:
        op[PACK_B], op[COUNT_B] = _pack_groups(tensors, scratch, num, 1, part[1])
    if part[3, 2] == 1:
        op[UNPACK], op[COUNT_D] = _pack_groups(tensors, scratch, num, 2, part[2])
    scratch.tally[ROOM] = max(scratch.tally[ROOM], room)
    return nanoseconds


@kernel(borrows=True)
def _emit(tensors: Tensors, scratch: Scratch, offsets: Ints, s: int, op: Ints, part: Ints) -> float:
    """Write one instruction; its multiplications."""
    d, a, b = tensors.steps[s, 0], tensors.steps[s, 1], tensors.steps[s, 2]
    op[KIND], op[DST], op[A], op[B] = LOOPS, offsets[d], offsets[a], offsets[b]
    op[SIZE], op[TENSOR_D], op[TENSOR_A], op[TENSOR_B] = int(tensors.sizes[d]), d, a, b
    for row, t in ((0, a), (1, b), (2, d)):
        _set_strides(tensors, t, scratch.strides[row], True)
    num = _union(tensors, a, b, scratch.axes)
    if not (_is_by_rank(tensors, d) and _is_by_rank(tensors, a) and _is_by_rank(tensors, b)):
        _sort_axes(tensors, scratch, num, d, a, b)
    first = scratch.tally[NUM_GROUPS]
    work = 1.0
    for i in range(num):
        r = scratch.axes[i]
        work *= tensors.cards[r]
        _add_group(
            scratch, first, int(tensors.cards[r]), scratch.strides[0, r], scratch.strides[1, r], scratch.strides[2, r]
        )
    op[FIRST], op[COUNT] = first, _pad(scratch, first)
    largest = max(tensors.sizes[a], tensors.sizes[b], tensors.sizes[d])
    loops = order_loops(scratch.groups, first, op[COUNT], largest)
    if largest > CACHED_ENTRIES:
        big = tensors.sizes[a] > CACHED_ENTRIES, tensors.sizes[b] > CACHED_ENTRIES, tensors.sizes[d] > CACHED_ENTRIES
        stream(scratch.groups, first, op[COUNT], *big)
    for column, t in ((1, a), (2, b), (3, d)):
        loops += line_cost(scratch.groups, first, op[COUNT], column, tensors.sizes[t])
    least = loops * work
    if is_tiled(scratch.groups, first, op[COUNT]):
        least = TILED_PRODUCT * work
    if work >= PACKED_PRODUCTS and work == largest:
        least = _emit_packed(tensors, scratch, op, part, d, a, b, least)
    if b != ONE and PANEL_PRODUCT * work + PANELS_CALL < least and _roles(scratch, num, part, tensors):
        if min(part[1, 1], part[2, 1], part[3, 1]) > 1:
            _emit_panels(tensors, scratch, op, part, least)
    for row, t in ((0, a), (1, b), (2, d)):
        _set_strides(tensors, t, scratch.strides[row], False)
    return work


@kernel(borrows=True)
def _emit_all(tensors: Tensors, scratch: Scratch, offsets: Ints, size: int, ops: Ints, part: Ints) -> float:
    """Write every instruction; their multiplications."""
    work = 0.0
    for s in range(len(ops)):
        work += _emit(tensors, scratch, offsets, s, ops[s], part)
        ops[s, SCRATCH] = size
    return work


@kernel(borrows=True)
def _gather_rows(
    tensors: Tensors,
    scratch: Scratch,
    offsets: Ints,
    start: Ints,
    members: Ints,
    strides: Ints,
    places: Ints,
    numbers: Ints,
    rank: Ints,
    seen: Ints,
    rows: Ints,
    fixed: Ints,
) -> None:
    """Write how factors are copied from the store: one row per factor, with the strides of findings in `fixed`."""
    top = 0
    for i in range(len(numbers)):
        first, begin = scratch.tally[NUM_GROUPS], top
        for k in range(start[numbers[i]], start[numbers[i] + 1]):
            v = members[k]
            if rank[v] >= 0:
                scratch.strides[0, rank[v]] = strides[k]
            elif seen[v] >= 0:
                fixed[0, top], fixed[1, top] = seen[v], strides[k]
                top += 1
        _set_strides(tensors, i + 1, scratch.strides[2], True)
        for k in range(tensors.start[i + 1], tensors.start[i + 2]):
            r = tensors.pool[k]
            if tensors.cards[r] > 1.0:
                _add_group(scratch, first, int(tensors.cards[r]), scratch.strides[0, r], 0, scratch.strides[2, r])
        if scratch.tally[NUM_GROUPS] == first:
            _add_group(scratch, first, 1, 0, 0, 0)
        rows[i, TO], rows[i, COPIES], rows[i, NUM_COPIES] = offsets[i + 1], first, scratch.tally[NUM_GROUPS] - first
        rows[i, FROM], rows[i, FIXED], rows[i, END_FIXED] = places[numbers[i]], begin, top


@kernel(work=times(3))
def assemble(
    cards: Floats,
    bounds: Ints,
    pool: Ints,
    sizes: Floats,
    steps: Ints,
    moves: Ints,
    start: Ints,
    members: Ints,
    strides: Ints,
    places: Ints,
    numbers: Ints,
    rank: Ints,
    seen: Ints,
    roots: Ints,
    wanted: Ints,
    found: Ints,
) -> tuple[Ints, Ints, Ints, int, float, Ints, Ints, Ints, Ints, Ints]:
    """The instructions of a contraction, and the copies of its factors from the store.

    Args:
        moves: the stride of every axis of every tensor, in the order of `pool`.
        start, members, strides, places: all factors of the store: variables and strides as compressed rows, and the
            start of each factor.
        numbers: the numbers of the factors, which are the first inputs.
        rank, seen: for each variable its rank, and its number among the findings; -1 for neither.
        roots: the tensors whose sums have the total as their product.
        wanted: the tensors that are read; after them comes a point mass for each finding, over `found` states.

    Returns instructions, groups, the start of each tensor, the size of a workspace, and multiplications; for the
    factors rows, groups, and strides of findings; and rows of the roots and of the reads.
    """
    tensors = Tensors(cards, bounds, pool, sizes, steps, moves)
    num_steps, num_tensors = len(steps), len(sizes)
    offsets = np.empty(num_tensors, np.int64)
    size = np.int64(0)
    for t in range(num_tensors):
        if sizes[t] >= ALIGNED_ENTRIES:
            size += -size % LINE_ENTRIES
        offsets[t] = size
        size += int(sizes[t])
    room, widest = room_of_steps(steps, bounds)
    total = 1
    for i in numbers:
        total += start[i + 1] - start[i] + 1
    scratch = Scratch(
        np.empty((max(room, total) + 8, 4), np.int64),
        np.zeros(2, np.int64),
        np.zeros((3, len(cards)), np.int64),
        np.empty(2 * widest + 2, np.int64),
    )
    rows, fixed = np.empty((len(numbers), 6), np.int64), np.empty((2, total), np.int64)
    _gather_rows(tensors, scratch, offsets, start, members, strides, places, numbers, rank, seen, rows, fixed)
    copies = scratch.groups[: scratch.tally[NUM_GROUPS]].copy()
    fixed = fixed[:, : rows[-1, END_FIXED] if len(rows) > 0 else 0].copy()
    scratch.tally[NUM_GROUPS] = 0
    for i in range(len(cards)):
        scratch.strides[0, i] = scratch.strides[2, i] = 0
    part = np.empty((4, widest + 2), np.int64)
    ops = np.zeros((num_steps, WIDTH), np.int64)
    work = _emit_all(tensors, scratch, offsets, int(size), ops, part)
    groups = scratch.groups[: scratch.tally[NUM_GROUPS]].copy()
    ends, reads = ends_of(offsets, sizes, roots, wanted, found)
    return ops, groups, offsets, size + scratch.tally[ROOM], work, rows, copies, fixed, ends, reads
