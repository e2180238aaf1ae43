"""Zeros as structure: states that occur in no joint state of positive weight, and tables without them.

Factors are compressed rows: the scope of factor f is `members[start[f] : start[f + 1]]`, with a stride for each in the
flat values from `offsets[f]` on. The states of variable v are `first[v]` to `first[v + 1]` in `allowed`.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel, sizes, times


@kernel(work=times(4))
def forbid_states(
    start: Ints,
    members: Ints,
    strides: Ints,
    offsets: Ints,
    values: Floats,
    first: Ints,
    allowed: Bytes,
    home_start: Ints,
    homes: Ints,
    queue: Ints,
) -> bool:
    """Forbid every state that has no support in some factor among allowed states, until there is none.

    The factors in `queue` are examined first, then those of each variable that loses a state (arc consistency on the
    factors' zeros). False as soon as a variable has no state left.
    """
    num = len(start) - 1
    ring = np.empty(num + 1, np.int64)
    waits = np.zeros(num, np.uint8)
    head, tail = 0, 0
    for f in queue:
        if waits[f] == 0:
            waits[f] = 1
            ring[tail] = f
            tail += 1
    widest = 1
    for f in range(num):
        widest = max(widest, start[f + 1] - start[f])
    seen = np.zeros(len(allowed), np.uint8)
    codes, lack = np.empty(widest, np.int64), np.empty(len(allowed), np.int64)
    while head != tail:
        f = ring[head]
        head = (head + 1) % (num + 1)
        waits[f] = 0
        if start[f] == start[f + 1]:
            continue
        b, e, o = start[f], start[f + 1], offsets[f]
        _mark_supported(b, e, members, strides, o, values, first, allowed, seen, codes, lack)
        for k in range(start[f], start[f + 1]):
            v = members[k]
            lost, left = False, False
            for s in range(first[v], first[v + 1]):
                if allowed[s] == 1 and seen[s] == 0:
                    allowed[s] = 0
                    lost = True
                left = left or allowed[s] == 1
                seen[s] = 0
            if not left:
                return False
            for i in range(home_start[v], home_start[v + 1] if lost else home_start[v]):
                g = homes[i]
                if waits[g] == 0 and g != f:
                    waits[g] = 1
                    ring[tail] = g
                    tail = (tail + 1) % (num + 1)
    return True


@kernel(borrows=True)
def _next_cell(
    begin: int, last: int, members: Ints, strides: Ints, offset: int, first: Ints, allowed: Bytes, codes: Ints
) -> int:
    """Where the next combination of allowed states of all axes but the last begins, in `codes`; -1 after all."""
    for k in range(last - 1, begin - 1, -1):
        v = members[k]
        after = _next_allowed(allowed, codes[k - begin] + 1, first[v + 1])
        is_next = after < first[v + 1]
        if not is_next:
            after = _next_allowed(allowed, first[v], first[v + 1])
        offset += strides[k] * (after - codes[k - begin])
        codes[k - begin] = after
        if is_next:
            return offset
    return -1


@kernel(inline=True)
def _mark_supported(
    begin: int,
    end: int,
    members: Ints,
    strides: Ints,
    offset: int,
    values: Floats,
    first: Ints,
    allowed: Bytes,
    seen: Bytes,
    codes: Ints,
    lack: Ints,
) -> None:
    """Mark the states of positive entries over allowed states, until all allowed ones are marked.

    The last axis is scanned only for unmarked states, soon few; `lack` lists them.
    """
    last = end - 1
    inner, top = first[members[last]], first[members[last] + 1]
    num_lack, outside = 0, 0
    for s in range(inner, top):
        if allowed[s] == 1:
            lack[num_lack] = s
            num_lack += 1
    for k in range(begin, last):
        v = members[k]
        codes[k - begin] = _next_allowed(allowed, first[v], first[v + 1])
        offset += strides[k] * (codes[k - begin] - first[v])
        for s in range(first[v], first[v + 1]):
            outside += int(allowed[s])
    step = strides[last]
    while num_lack + outside > 0:
        found = False
        i = 0
        while i < num_lack:
            if values[offset + step * (lack[i] - inner)] > 0.0:
                found = True
                seen[lack[i]] = 1
                num_lack -= 1
                lack[i] = lack[num_lack]
            else:
                i += 1
        fresh = 0
        for k in range(begin, last):
            fresh += 1 - int(seen[codes[k - begin]])
        s = inner
        while fresh > 0 and not found and s < top:
            found = allowed[s] == 1 and values[offset + step * (s - inner)] > 0.0
            s += 1
        if found and fresh > 0:
            outside -= fresh
            for k in range(begin, last):
                seen[codes[k - begin]] = 1
        offset = _next_cell(begin, last, members, strides, offset, first, allowed, codes)
        if offset < 0:
            return


@kernel(borrows=True)
def _next_allowed(allowed: Bytes, s: int, end: int) -> int:
    while s < end and allowed[s] == 0:
        s += 1
    return s


@kernel(work=sizes)
def allowed_cells(
    start: Ints, members: Ints, strides: Ints, offsets: Ints, first: Ints, allowed: Bytes
) -> tuple[Ints, Ints, Ints]:
    """Every factor restricted to allowed states: the places of its entries in the whole store, in C order,
    concatenated; the start of each factor among them; and the strides of the smaller tables."""
    num = len(start) - 1
    small_offsets, small_strides = np.zeros(num + 1, np.int64), np.empty(len(strides), np.int64)
    for f in range(num):
        size = 1
        for k in range(start[f + 1] - 1, start[f] - 1, -1):
            small_strides[k] = size
            count = 0
            for s in range(first[members[k]], first[members[k] + 1]):
                count += int(allowed[s])
            size *= count
        small_offsets[f + 1] = small_offsets[f] + size
    cells = np.empty(small_offsets[num], np.int64)
    for f in range(num):
        top = small_offsets[f]
        cells[top] = offsets[f]
        filled = 1
        # Each axis in turn repeats the places so far, from the last axis, so that earlier axes vary slowest.
        for k in range(start[f + 1] - 1, start[f] - 1, -1):
            v = members[k]
            block = 0
            for s in range(first[v + 1] - 1, first[v] - 1, -1):
                block += int(allowed[s])
            for s in range(first[v + 1] - 1, first[v] - 1, -1):
                if allowed[s] == 1:
                    block -= 1
                    for i in range(filled):
                        cells[top + block * filled + i] = cells[top + i] + strides[k] * (s - first[v])
            filled = small_offsets[f + 1] - top if k == start[f] else small_strides[k - 1]
    return cells, small_offsets, small_strides
