r"""Large sums of products by panels: tensors are read where they are, whatever the order of their axes.

$$d(\mathbf b, \mathbf i, \mathbf j) =
\bigoplus_{\mathbf k} s(\mathbf b, \mathbf i, \mathbf k)\, v(\mathbf b, \mathbf k, \mathbf j)$$

The axes of a step have four roles. Those of all three tensors are a batch; for each of its states there is a matrix
product of rows $\mathbf i$ and columns $\mathbf j$. The offsets of rows, columns and terms in each tensor are listed
once. A block of $v$, small enough for a cache, is packed so that the columns of a panel are neighbors, by squares of
vectors if the neighbors in $v$ are others; the numbers of $s$ are read one by one, wherever they are, and each is
multiplied by whole vectors of columns. While a panel is computed, the rows of the next one are brought from memory.

Reference: Matthews (2018), High-performance tensor contraction without transposition, SIAM Journal on Scientific
Computing 40(1); Goto & van de Geijn (2008), Anatomy of high-performance matrix multiplication.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.compiled.costs import PANEL_PRODUCT, SCATTERED_ENTRY
from sepset.kernels.compiled.instructions import (
    BATCH,
    DST,
    NUM_BATCH,
    NUM_COLUMNS,
    NUM_ROWS,
    NUM_TERMS,
    ROLES,
    SIZE_OF,
    STRIDE_A,
    STRIDE_B,
    STRIDE_D,
    SWAPPED,
    A,
    B,
    K,
    M,
    N,
)
from sepset.kernels.kernel import kernel
from sepset.kernels.vectors import LANES, copy_vectors, panel_product, panel_rows, panel_vectors, turn_vectors

# Terms of a block, and entries of a packed one: rows of the former stay in the first cache, the latter in the second.
TERMS, PACKED_ENTRIES = 256, 2**16

# Entries among which the columns of one term are near each other: then each term is packed by itself.
NEAR_COLUMNS = 2**13

# Rows up to which columns that are neighbors already are not packed.
FEW_ROWS = 32

# Parts of a batch of large products; each has at least so many products and rows (all pack the same columns).
PARTS, PRODUCTS_OF_PART, ROWS_OF_PART = 4, 2**22, 192


class Places(NamedTuple):
    """Where rows, terms and columns are in the tensors of a step, from the first entry of a product.

    Attributes:
        rows_s, rows_d: the offset of each row, and some more, in the operand with the rows and in the result.
        terms_s, terms_v: the offset of each term in either operand.
        columns_v, columns_d: the offset of each column, and some more, in the other operand; and in the result.
        lanes: the number of columns of a vector, less than its width if only so many are neighbors in the result.
        vectors, starts: the first column of each vector, and its offset in the result.
        is_run_v, is_run_d: whether the columns of each vector are neighbors there.
        line_terms, line_vectors: how many terms, or vectors, are neighbors in the other operand, and how far apart in
            their list these are; zeros if they do not fill a vector.
    """

    rows_s: Ints
    rows_d: Ints
    terms_s: Ints
    terms_v: Ints
    columns_v: Ints
    columns_d: Ints
    lanes: int
    vectors: Ints
    starts: Ints
    is_run_v: Bytes
    is_run_d: Bytes
    line_terms: tuple[int, int]
    line_vectors: tuple[int, int]


class Room(NamedTuple):
    """Arrays of its own for a step by panels.

    Attributes:
        packed, steps: a block of columns, empty if they are read where they are; and the offset of each term in it.
        homes: the offset of each vector in it.
        tile, lines, starts: a panel that is not written where it belongs, and the offsets of its rows and vectors.
    """

    packed: Floats
    steps: Ints
    homes: Ints
    tile: Floats
    lines: Ints
    starts: Ints


@kernel(borrows=True, inner=True)
def num_parts(op: Any) -> int:
    """The number of parts of an instruction: blocks of the rows of each product."""
    products = op[M] * op[N] * op[K]
    return int(op[BATCH] * max(1, min(PARTS // op[BATCH], op[M] // ROWS_OF_PART, products // PRODUCTS_OF_PART)))


@kernel(borrows=True)
def _list(groups: Any, first: int, count: int, column: int, table: Any) -> None:
    """Write the offsets of one role in a tensor, the first group slowest; what is left of the table has the last."""
    table[0] = 0
    size = np.uint64(1)
    for g in range(first + count - 1, first - 1, -1):
        num, step = np.uint64(groups[g, SIZE_OF]), groups[g, column]
        if size == np.uint64(1):
            for i in range(num):
                table[i] = np.int64(i) * step
        else:
            for i in range(np.uint64(1), num):
                for k in range(size):
                    table[i * size + k] = table[k] + np.int64(i) * step
        size *= num
    for i in range(size, np.uint64(len(table))):
        table[i] = table[size - np.uint64(1)]


@kernel(borrows=True)
def _run(groups: Any, first: int, count: int, column: int) -> int:
    """The number of columns that are neighbors in a tensor, one after the other."""
    run = 1
    for g in range(first + count - 1, first - 1, -1):
        if groups[g, column] != run:
            break
        run *= groups[g, SIZE_OF]
    return int(run)


@kernel(borrows=True)
def lanes_of(num: int, run: int, terms: int) -> int:
    """The columns of a vector: all that are neighbors in the result if these are few, and if to multiply what is left
    of the vector takes less time than to write one column at a time."""
    if run >= LANES or terms > TERMS:
        return LANES
    wasted = PANEL_PRODUCT * terms * (LANES - run)
    return run if run == num or wasted < SCATTERED_ENTRY * run else LANES


@kernel(borrows=True, inner=True)
def is_by_runs(num: int, run: int, terms: int) -> bool:
    """Whether vectors are of neighbors in the result: if these are enough, and to multiply the common columns of two
    vectors twice takes less time than to write one column at a time."""
    common = -run % LANES
    is_worth = terms <= TERMS and PANEL_PRODUCT * terms * common < SCATTERED_ENTRY * run
    return run >= LANES and (common == 0 or run == num or is_worth)


@kernel(borrows=True)
def _find_vectors(num: int, run: int, lanes: int, terms: int, vectors: Any) -> int:
    """Write the first column of each vector; their number.

    Those of neighbors in the result have a vector's width each: the last of a run has some columns of the one before,
    if that does no harm. If there are only few neighbors, vectors have as many columns, or are of any columns, and the
    last may be short.
    """
    overlaps = terms <= TERMS
    count = 0
    length = run if lanes < LANES or is_by_runs(num, run, terms) else num
    for start in range(0, num, length):
        for place in range(0, length, lanes):
            is_short = place + lanes > length
            vectors[count] = start + (length - LANES if is_short and overlaps and length >= LANES else place)
            count += 1
    return count


@kernel(borrows=True)
def _find_runs(num: int, run: int, vectors: Any, lanes: int, is_run: Any) -> None:
    """Write whether the columns of each vector are neighbors in a tensor, in which so many are, one after the other."""
    for q in range(len(vectors)):
        begin = vectors[q]
        is_run[q] = 1 if begin % run + lanes <= run and begin + lanes <= num else 0


@kernel(borrows=True)
def _line(groups: Any, first: int, count: int, column: int) -> tuple[int, int]:
    """How many states of a role are neighbors in a tensor, if these fill a vector, and how far apart they are."""
    run, apart = 1, 1
    for g in range(first + count - 1, first - 1, -1):
        if groups[g, column] == run:
            run *= groups[g, SIZE_OF]
        elif run == 1:
            apart *= groups[g, SIZE_OF]
        else:
            break
    return (int(run), int(apart)) if run >= LANES else (0, 0)


@kernel(borrows=True)
def _line_of_vectors(line: Any, num: int, run: int, lanes: int, terms: int) -> tuple[int, int]:
    """The same, of vectors of columns as `_find_vectors` lists them."""
    length, apart = line
    whole = run if lanes < LANES or is_by_runs(num, run, terms) else LANES
    if length == 0 or apart % whole != 0 or apart == 1:
        return 0, 0
    return length, apart // whole * ((whole + lanes - 1) // lanes)


@kernel(inline=True)
def _places(op: Any, groups: Any) -> Places:
    """Where everything is, in parts of one array: to make an array takes longer than to fill a short one."""
    at_s, at_v = (STRIDE_B, STRIDE_A) if op[SWAPPED] != 0 else (STRIDE_A, STRIDE_B)
    m, k, n = op[M], op[K], op[N]
    rows = op[ROLES] + op[NUM_BATCH]
    terms = rows + op[NUM_ROWS]
    columns = terms + op[NUM_TERMS]
    run = _run(groups, columns, op[NUM_COLUMNS], STRIDE_D)
    lanes = lanes_of(n, run, k)
    most, listed = 2 * (n // lanes) + 1, m + 2 * panel_rows()
    of_terms, of_columns = 2 * listed, 2 * (listed + k)
    of_vectors = of_columns + 2 * n + LANES
    of_starts = of_vectors + most
    table, runs = np.empty(of_starts + most + panel_vectors(), np.int64), np.empty(2 * most, np.uint8)
    num = _find_vectors(n, run, lanes, k, table[of_vectors:of_starts])
    found = Places(
        table[:listed],
        table[listed:of_terms],
        table[of_terms : of_terms + k],
        table[of_terms + k : of_columns],
        table[of_columns : of_columns + n + LANES],
        table[of_columns + n + LANES : of_vectors],
        lanes,
        table[of_vectors : of_vectors + num],
        table[of_starts : of_starts + num + panel_vectors()],
        runs[:num],
        runs[most : most + num],
        _line(groups, terms, op[NUM_TERMS], at_v),
        _line_of_vectors(_line(groups, columns, op[NUM_COLUMNS], at_v), n, run, lanes, k),
    )
    _list(groups, rows, op[NUM_ROWS], at_s, found.rows_s)
    _list(groups, rows, op[NUM_ROWS], STRIDE_D, found.rows_d)
    _list(groups, terms, op[NUM_TERMS], at_s, found.terms_s)
    _list(groups, terms, op[NUM_TERMS], at_v, found.terms_v)
    _list(groups, columns, op[NUM_COLUMNS], at_v, found.columns_v)
    _list(groups, columns, op[NUM_COLUMNS], STRIDE_D, found.columns_d)
    _find_runs(n, _run(groups, columns, op[NUM_COLUMNS], at_v), found.vectors, lanes, found.is_run_v)
    _find_runs(n, run, found.vectors, lanes, found.is_run_d)
    for q in range(num + panel_vectors()):
        found.starts[q] = found.columns_d[found.vectors[q]] if q < num else 0
    return found


@kernel(borrows=True)
def _is_read_in_place(at: Places, num_rows: int) -> bool:
    """Whether the vectors of every panel are neighbors already, and used too rarely to be packed."""
    is_so = num_rows <= FEW_ROWS
    for q in range(len(at.vectors)):
        is_so = is_so and at.is_run_v[q] != 0
        if q % panel_vectors() != 0 and at.lanes == LANES:
            is_so = is_so and at.columns_v[at.vectors[q]] == at.columns_v[at.vectors[q - 1]] + LANES
    return is_so


@kernel(borrows=True)
def _fill_multiples(table: Any, step: int) -> None:
    for i in range(len(table)):
        table[i] = i * step


@kernel(inline=True)
def _room(at: Places, num_rows: int, num_terms: int) -> Room:
    """The arrays that a step needs, vectors at whole lines of a cache."""
    height, wide, depth = panel_rows(), panel_vectors(), min(num_terms, TERMS)
    width = LANES * wide
    panels = (len(at.vectors) + wide - 1) // wide
    panels = min(panels, max(1, PACKED_ENTRIES // (depth * width)))
    packed = 0 if _is_read_in_place(at, num_rows) else depth * width * panels
    floats = np.empty(packed + height * width + LANES)
    first = -(floats.ctypes.data // 8) % LANES
    table = np.empty(depth + panels * wide + height + wide, np.int64)
    steps, homes, rest = table[:depth], table[depth : depth + panels * wide], table[depth + panels * wide :]
    lines, starts = rest[:height], rest[height:]
    _fill_multiples(steps, width)
    _fill_multiples(lines, width)
    _fill_multiples(starts, LANES)
    tile = floats[first + packed : first + packed + height * width]
    return Room(floats[first : first + packed], steps, homes, tile, lines, starts)


@kernel(borrows=True)
def _copy_vector(w: Any, start: int, at: Places, q: int, packed: Any, place: int) -> None:
    """Copy a vector of one term."""
    begin = at.vectors[q]
    if at.is_run_v[q] != 0 and at.lanes == LANES:
        copy_vectors(w, start + at.columns_v[begin], packed, place, 1)
        return
    for j in range(LANES):
        packed[np.uint64(place + j)] = w[np.uint64(start + at.columns_v[np.uint64(begin + j)])]


@kernel(borrows=True)
def _pack_terms(w: Any, start: int, at: Places, first: int, depth: int, q: int, room: Room, place: int) -> None:
    """Copy a vector of a block of terms: squares of terms that are neighbors, the others one by one."""
    (length, apart), k = at.line_terms, first
    while k < first + depth:
        near = min(length - k % length, first + depth - k) if apart == 1 else length
        is_whole = apart == 1 or (length > 0 and k % (length * apart) == 0 and k + length * apart <= first + depth)
        if is_whole and near >= LANES:
            for i in range(k, k + apart):
                for e in range(0, near, LANES):
                    term = i + min(e, near - LANES) * apart
                    turn_vectors(
                        w, start + at.terms_v[term], at.columns_v, at.vectors[q],
                        room.packed, place, room.steps, term - first, apart, 1,
                    )  # fmt: skip
            k += near * apart
        else:
            _copy_vector(w, start + at.terms_v[k], at, q, room.packed, place + room.steps[k - first])
            k += 1


@kernel(borrows=True)
def _pack_vectors(w: Any, start: int, at: Places, first: int, depth: int, q: int, room: Room, place: int) -> None:
    """Copy squares of vectors that are neighbors, from the first of them on, for a block of terms."""
    length, apart = at.line_vectors
    for i in range(q, q + apart):
        for e in range(0, length, LANES):
            number = i + min(e, length - LANES) * apart
            for k in range(depth):
                turn_vectors(
                    w, start + at.terms_v[first + k], at.columns_v, at.vectors[number],
                    room.packed, room.steps[k], room.homes, place + number - q, apart, 1,
                )  # fmt: skip


@kernel(borrows=True)
def _pack(w: Any, start: int, at: Places, first: int, depth: int, left: int, right: int, room: Room) -> None:
    """Copy some vectors of a block of terms, panel by panel."""
    width = LANES * panel_vectors()
    for number in range(right - left):
        room.homes[number] = number // panel_vectors() * depth * width + number % panel_vectors() * LANES
    period, q = at.line_vectors[0] * at.line_vectors[1], left
    if period == 0 and at.line_terms[0] == 0 and at.columns_v[len(at.columns_d) - 1] < NEAR_COLUMNS:
        for k in range(depth):
            for number in range(right - left):
                place = room.homes[number] + room.steps[k]
                _copy_vector(w, start + at.terms_v[first + k], at, left + number, room.packed, place)
        return
    while q < right:
        if period > 0 and q % period == 0 and q + period <= right:
            _pack_vectors(w, start, at, first, depth, q, room, q - left)
            q += period
        else:
            _pack_terms(w, start, at, first, depth, q, room, room.homes[q - left])
            q += 1


@kernel(borrows=True)
def _spill(tile: Any, w: Any, start: int, at: Places, row: int, stop: int, q: int, last: int) -> None:
    """Copy a panel from a tile of its own to the result."""
    for r in range(q, last):
        first, num = np.uint64(at.vectors[r]), np.uint64(min(at.lanes, len(at.columns_d) - at.vectors[r]))
        for i in range(row, stop):
            place, own = np.uint64(start + at.rows_d[i]), np.uint64(((i - row) * panel_vectors() + r - q) * LANES)
            for j in range(num):
                w[place + np.uint64(at.columns_d[first + j])] = tile[own + j]


@kernel(borrows=True)
def _fill(tile: Any, w: Any, start: int, at: Places, row: int, stop: int, q: int, last: int) -> None:
    """Copy a panel of the result to a tile of its own."""
    for r in range(q, last):
        first, num = np.uint64(at.vectors[r]), np.uint64(min(at.lanes, len(at.columns_d) - at.vectors[r]))
        for i in range(row, stop):
            place, own = np.uint64(start + at.rows_d[i]), np.uint64(((i - row) * panel_vectors() + r - q) * LANES)
            for j in range(num):
                tile[own + j] = w[place + np.uint64(at.columns_d[first + j])]


@kernel(borrows=True)
def _multiply_block(
    w: Any,
    here: Any,
    after: Any,
    at: Places,
    room: Room,
    block: Any,
    rows: Any,
    maximize: bool,
    cancel: Any,
) -> None:
    """The products of some rows with a block: the vectors from `left` to `right`, and `depth` terms from the first."""
    (s, v, d), (left, right, first, depth), (begin, end) = here, block, rows
    height, overlaps, adds = panel_rows(), len(at.terms_s) <= TERMS, first > 0
    wide = panel_vectors()
    most = wide if at.lanes == LANES else 1
    num_rows = len(at.rows_s) - 2 * height
    for above in range(begin, end, height):
        if cancel[0] != 0:
            return
        size = height if end - above > height // 2 else height // 2
        row = end - size if overlaps and above + size > end and end - size >= begin else above
        stop = min(row + size, end)
        s_next, d_below, below = (after[0], after[2], begin) if above + height >= end else (s, d, above + height)
        for q in range(left, right, most):
            last = min(q + most, right)
            source, steps, step = room.packed, room.steps, 0
            place = ((q - left) // wide * depth * wide + (q - left) % wide) * LANES
            if len(room.packed) == 0:
                source, place, steps, step = w, v + at.columns_v[at.vectors[q]], at.terms_v, first
            d_next, to_next, q_next = (d, row, last) if last < right else (d_below, below, left)
            is_whole = stop == row + size or (overlaps and end == num_rows)  # what is beyond is the last row again
            for r in range(q, last):
                is_whole = is_whole and at.is_run_d[r] != 0
            if is_whole:
                panel_product(
                    w, s, at.rows_s, row, at.terms_s, first, source, place, steps, step, depth,
                    w, d, at.rows_d, row, at.starts, q, s_next, below, d_next, to_next, q_next,
                    size, last - q, at.lanes, maximize, adds,
                )  # fmt: skip
                continue
            if adds:
                _fill(room.tile, w, d, at, row, stop, q, last)
            panel_product(
                w, s, at.rows_s, row, at.terms_s, first, source, place, steps, step, depth,
                room.tile, 0, room.lines, 0, room.starts, 0, s_next, below, 0, 0, 0,
                size, last - q, at.lanes, maximize, adds,
            )  # fmt: skip
            _spill(room.tile, w, d, at, row, stop, q, last)


@kernel(borrows=True)
def _multiply(w: Any, here: Any, after: Any, at: Places, room: Room, rows: Any, maximize: bool, cancel: Any) -> None:
    """Some rows of one matrix product, block by block; `after` is where the next product is."""
    num_terms, num_vectors = len(at.terms_s), len(at.vectors)
    most = num_vectors
    if len(room.packed) > 0:
        most = len(room.packed) // (len(room.steps) * LANES)
    for left in range(0, num_vectors, most):
        right = min(num_vectors, left + most)
        for first in range(0, num_terms, TERMS):
            depth = min(TERMS, num_terms - first)
            if len(room.packed) > 0:
                _pack(w, here[1], at, first, depth, left, right, room)
            _multiply_block(w, here, after, at, room, (left, right, first, depth), rows, maximize, cancel)


@kernel(borrows=True)
def _seek(groups: Any, first: int, count: int, number: int, counter: Any, place: Any) -> None:
    """Move places in the three tensors to one state of a batch, and count there from then on."""
    for g in range(first + count - 1, first - 1, -1):
        code = number % groups[g, SIZE_OF]
        number //= groups[g, SIZE_OF]
        counter[g - first] = code
        for t in range(3):
            place[t] += code * groups[g, 1 + t]


@kernel(borrows=True)
def _advance(groups: Any, first: int, count: int, counter: Any, place: Any) -> None:
    """Move places in the three tensors to the next state of a batch."""
    for g in range(first + count - 1, first - 1, -1):
        counter[g - first] += 1
        for t in range(3):
            place[t] += groups[g, 1 + t]
        if counter[g - first] < groups[g, SIZE_OF]:
            return
        counter[g - first] = 0
        for t in range(3):
            place[t] -= groups[g, SIZE_OF] * groups[g, 1 + t]


@kernel(inner=True)
def multiply_parts(w: Any, op: Any, groups: Any, maximize: bool, first: int, end: int, cancel: Any) -> None:
    """Compute some parts of an instruction."""
    s, v = (1, 0) if op[SWAPPED] != 0 else (0, 1)
    at = _places(op, groups)
    room = _room(at, op[M], op[K])
    m, height, blocks = op[M], panel_rows(), num_parts(op) // op[BATCH]
    counter, place = np.empty(op[NUM_BATCH], np.int64), np.empty(3, np.int64)
    place[0], place[1], place[2] = op[A], op[B], op[DST]
    _seek(groups, op[ROLES], op[NUM_BATCH], first // blocks, counter, place)
    for part in range(first, end):
        block = part % blocks
        rows = m * block // blocks // height * height, m * (block + 1) // blocks // height * height
        here = place[s], place[v], place[2]
        if block == blocks - 1:
            rows = rows[0], m
            _advance(groups, op[ROLES], op[NUM_BATCH], counter, place)
        _multiply(w, here, (place[s], place[v], place[2]), at, room, rows, maximize, cancel)
        if cancel[0] != 0:
            return


@kernel(inner=True)
def multiply_panels(w: Any, op: Any, groups: Any, maximize: bool, cancel: Any) -> None:
    """Compute an instruction."""
    multiply_parts(w, op, groups, maximize, 0, num_parts(op), cancel)
