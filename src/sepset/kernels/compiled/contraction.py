r"""Binary contractions over one flat workspace: the only numeric operation of exact table programs.

$$d(\mathbf u) = \bigoplus_{\mathbf v} a(\mathbf u, \mathbf v)\, b(\mathbf u, \mathbf v)$$

An instruction is a row of integers. Its axes are merged into groups with one stride per operand and run as nested
loops, the last two innermost; a large sum runs by panels, and large loops run over packed operands where the order of
their axes is not that of the largest tensor. Results are rescaled by powers of two, so that only exponents grow; a
table whose range is too wide for that raises a flag.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.kernels.compiled.instructions import (
    ALWAYS,
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
    NUM_COPIES,
    PACK_A,
    PACK_B,
    PACKED,
    PANELS,
    ROOM_A,
    ROOM_B,
    SCRATCH,
    SIZE,
    SIZE_OF,
    STRIDE_A,
    STRIDE_B,
    STRIDE_D,
    TENSOR_A,
    TENSOR_B,
    TENSOR_D,
    TO,
    UNPACK,
    A,
    B,
)
from sepset.kernels.compiled.loops import MAX, SET, SUM, copy, loops
from sepset.kernels.compiled.panels import multiply_panels
from sepset.kernels.compiled.tiles import SHORT, TILED_PRODUCTS, advance, multiply_tiles, num_tiles
from sepset.kernels.kernel import kernel

UNCHANGED, DUE, TOO_WIDE = 0, 1, 2

# The largest entry stays within 2 to plus or minus LIMIT, unless the range has more bits than RANGE: then the middle of
# the range is at one, and products are checked before they are made. None is below 2**LEAST, the least normal number,
# and no sum of 2**64 of them above the largest. Where any tensor may be read, a range of more bits is flagged instead.
LIMIT, RANGE = 60, 450
LEAST, MOST = -1022, 957
# Entries of a result up to which its range is always looked at; that of a larger one is bounded by those of its
# operands, as long as it is between 2**-BOUND and 2**BOUND.
LOOKED_AT, BOUND = 4096, 60
# Exponents between which the entries of every input are (its range, and the distance of its largest entry from one).
LEAST_INPUT, MOST_INPUT = -462, 61
# The least entry of a distribution that is read; smaller ones are flagged.
LEAST_READ = 2.0**-960
# The exponent bits of float64.
MANTISSA, BIAS = 52, 1023


@kernel(borrows=True, inner=True)
def mode_of(op: Any, groups: Any, maximize: bool) -> int:
    """How the products of an instruction are combined; if nothing is summed, they are written."""
    work = 1
    for g in range(op[FIRST], op[FIRST] + op[COUNT]):
        work *= groups[g, 0]
    return SET if work == op[SIZE] else MAX if maximize else SUM


@kernel(borrows=True, inner=True)
def places(op: Any) -> Any:
    """Where an instruction reads its operands and writes its result, packed or not."""
    a, b, out, scratch = op[A], op[B], op[DST], op[SCRATCH]
    if op[COUNT_A] > 0:
        a = scratch
        scratch += op[ROOM_A]
    if op[COUNT_B] > 0:
        b = scratch
        scratch += op[ROOM_B]
    return a, b, scratch if op[COUNT_D] > 0 else out


@kernel(borrows=True, inner=True)
def looped(op: Any) -> Any:
    """Where the loops of an instruction read a and b and write d, and the first of their groups and their number."""
    if op[KIND] == PACKED:
        a, b, d = places(op)
        return a, b, d, op[LOOPED], op[COUNT_L]
    return op[A], op[B], op[DST], op[FIRST], op[COUNT]


@kernel
def _pack(w: Any, op: Any, groups: Any, counter: Any, cancel: Any) -> None:
    """Pack the operands of an instruction that are to be packed."""
    a, b, _ = places(op)
    if op[COUNT_A] > 0:
        copy(w, a, op[A], groups, op[PACK_A], op[COUNT_A], counter, cancel)
    if op[COUNT_B] > 0:
        copy(w, b, op[B], groups, op[PACK_B], op[COUNT_B], counter, cancel)


@kernel(inner=True)
def packed_product(w: Any, op: Any, groups: Any, maximize: bool, counter: Any, cancel: Any) -> None:
    """Run one instruction as loops over tensors that are packed first."""
    a, b, out = places(op)
    _pack(w, op, groups, counter, cancel)
    looped_product(w, op, out, a, b, groups, op[LOOPED], op[COUNT_L], maximize, counter, cancel)
    if op[COUNT_D] > 0:
        copy(w, op[DST], out, groups, op[UNPACK], op[COUNT_D], counter, cancel)


@kernel(inline=True)
def _product(
    w: Any,
    op: Any,
    d: int,
    a: int,
    b: int,
    groups: Any,
    first: int,
    count: int,
    maximize: bool,
    counter: Any,
    cancel: Any,
) -> None:
    """Run loops over these groups, as `mode_of` and `is_tiled` say."""
    work, shortest = 1, groups[first + count - 1, SIZE_OF]
    for g in range(first, first + count):
        work *= groups[g, SIZE_OF]
    mode = SET if work == op[SIZE] else MAX if maximize else SUM
    if mode != SET:
        for i in range(d, d + op[SIZE]):
            w[i] = 0.0
    if work >= TILED_PRODUCTS and shortest <= SHORT:
        num = num_tiles(groups, first, count)
        multiply_tiles(w, d, a, b, groups, first, count, mode == SET, mode == MAX, 0, num, cancel)
    else:
        loops(w, d, a, b, groups, first, count, mode, counter, cancel)


@kernel(borrows=True, inner=True)
def looped_product(
    w: Any,
    op: Any,
    d: int,
    a: int,
    b: int,
    groups: Any,
    first: int,
    count: int,
    maximize: bool,
    counter: Any,
    cancel: Any,
) -> None:
    """The same, as a call: for large instructions."""
    _product(w, op, d, a, b, groups, first, count, maximize, counter, cancel)


@kernel(borrows=True, inner=True)
def span(bits: Any, first: int, size: int) -> Any:
    """The exponents of the smallest positive and of the largest entry; the second is below the first if all are zero.

    Non-negative floats have the order of their bits, and integers are compared faster.
    """
    high = np.int64(0)
    low = np.int64(2**62)
    start = np.uint64(first)
    for i in range(np.uint64(size)):
        value = bits[start + i]
        high = max(high, value)
        low = min(low, value if value > 0 else np.int64(2**62))
    return (low >> MANTISSA) - BIAS, (high >> MANTISSA) - BIAS


@kernel(inline=True)
def _rescale(w: Any, bits: Any, d: int, size: int, exponents: Any, tensor: int, flags: Any, spans: Any) -> None:
    """Scale the largest entry near one if it has drifted, or the middle of a wide range."""
    bottom, top = span(bits, d, size)
    if top < bottom:
        bottom, top = np.int64(0), np.int64(0)
    shift = top if top < -LIMIT or top > LIMIT else np.int64(0)
    if top - bottom > RANGE:
        if len(spans) == 0:
            flags[0] = 1
        else:
            flags[2] = 1
            shift = (top + bottom) // 2
    if shift != 0:
        scale = 2.0 ** float(-shift)
        for i in range(d, d + size):
            w[i] *= scale
        exponents[tensor] += shift
    if len(spans) > 0:
        spans[tensor, 0], spans[tensor, 1] = bottom - shift, top - shift


@kernel(borrows=True, inner=True)
def look(bits: Any, op: Any, groups: Any, spans: Any, tensor: int, first: int, column: int) -> None:
    """Look at the range of an operand."""
    size = 1
    for g in range(op[FIRST], op[FIRST] + op[COUNT]):
        size *= groups[g, SIZE_OF] if groups[g, column] > 0 else 1
    low, high = span(bits, first, size)
    spans[tensor, 0], spans[tensor, 1] = (low, high) if low <= high else (0, 0)


@kernel(inline=True)
def _fits(bits: Any, op: Any, groups: Any, spans: Any) -> bool:
    """Whether every product of an instruction, and every sum of them, is a normal number."""
    a, b = op[TENSOR_A], op[TENSOR_B]
    if spans[a, 0] + spans[b, 0] >= LEAST and spans[a, 1] + spans[b, 1] <= MOST:
        return True
    look(bits, op, groups, spans, a, op[A], STRIDE_A)
    look(bits, op, groups, spans, b, op[B], STRIDE_B)
    return bool(spans[a, 0] + spans[b, 0] >= LEAST and spans[a, 1] + spans[b, 1] <= MOST)


@kernel(borrows=True, inner=True)
def is_bounded(bits: Any, op: Any, groups: Any, spans: Any, most: int, widest: int) -> bool:
    """Whether the range of a large result follows from those of its operands, and then write its bounds: between plus
    and minus `most`, and no wider than `widest`.

    The exponent of a sum of n products is at most that of the largest product plus log2 n, rounded up, plus one.
    """
    for tensor, first, column in ((op[TENSOR_A], op[A], STRIDE_A), (op[TENSOR_B], op[B], STRIDE_B)):
        if spans[tensor, 0] == LEAST_INPUT and spans[tensor, 1] == MOST_INPUT:
            look(bits, op, groups, spans, tensor, first, column)
    low = spans[op[TENSOR_A], 0] + spans[op[TENSOR_B], 0]
    high = spans[op[TENSOR_A], 1] + spans[op[TENSOR_B], 1] + 1
    for g in range(op[FIRST], op[FIRST] + op[COUNT]):
        size = groups[g, SIZE_OF] if groups[g, STRIDE_D] == 0 else 1
        while size > 1:
            size = (size + 1) // 2
            high += 1
    if low < -most or high > most or high - low > widest:
        return False
    spans[op[TENSOR_D], 0], spans[op[TENSOR_D], 1] = low, high
    return True


@kernel(borrows=True)
def _gather(
    w: Any, store: Any, rows: Any, copies: Any, fixed: Any, codes: Any, old: Any, dirty: Any, counter: Any, spans: Any
) -> None:
    """Copy reduced factors from the store to the workspace, each from the place given by the codes of its findings,
    unless these have not changed."""
    for r in range(rows.shape[0]):
        d, first, count, s = rows[r, TO], rows[r, COPIES], rows[r, NUM_COPIES], rows[r, FROM]
        for k in range(rows[r, FIXED], rows[r, END_FIXED]):
            s += fixed[1, k] * codes[fixed[0, k]]
            if codes[fixed[0, k]] != old[fixed[0, k]]:
                dirty[r + 1] = 1
        if dirty[r + 1] == 0:
            continue
        if len(spans) > 0:
            spans[r + 1, 0], spans[r + 1, 1] = LEAST_INPUT, MOST_INPUT
        last = first + count - 1
        outer = count - 1
        n, sa, sd = copies[last, 0], copies[last, 1], copies[last, 3]
        for g in range(outer):
            counter[g] = 0
        while True:
            for i in range(n):
                w[d + i * sd] = store[s + i * sa]
            g, s, _, d = advance(copies, first, outer, counter, s, 0, d)
            if g < 0:
                break


@kernel(borrows=True)
def _read(w: Any, reads: Any, codes: Any, out: Any, flags: Any) -> None:
    """Write concatenated distributions, each normalized if it has any mass; findings are point masses.

    A positive entry that may not be a normal number is flagged.
    """
    for i in range(reads.shape[0]):
        source, first, size = reads[i, 0], reads[i, 1], reads[i, 2]
        if source < 0:
            for k in range(size):
                out[first + k] = 0.0
            out[first + codes[-1 - source]] = 1.0
            continue
        total = 0.0
        for k in range(size):
            total += w[source + k]
        scale = 1.0 / total if total > 0.0 else 1.0
        for k in range(size):
            value = w[source + k] * scale
            if value < LEAST_READ and w[source + k] > 0.0:
                flags[0] = 1
            out[first + k] = value


@kernel(borrows=True)
def _execute(
    w: Any,
    bits: Any,
    ops: Any,
    groups: Any,
    dirty: Any,
    exponents: Any,
    flags: Any,
    spans: Any,
    maximize: Any,
    cancel: Any,
    counter: Any,
) -> bool:
    """Run the instructions whose operands have changed, or those before one with too wide a range; True unless
    canceled."""
    for r in range(ops.shape[0]):
        if cancel[0] != 0:
            return False
        op = ops[r]
        due = begin(bits, op, groups, dirty, exponents, flags, spans)
        if due == TOO_WIDE:
            return True
        if due == DUE:
            if op[KIND] == PANELS:
                multiply_panels(w, op, groups, maximize, cancel)
            elif op[KIND] == PACKED:
                packed_product(w, op, groups, maximize, counter, cancel)
            else:
                d, a, b, first, count = op[DST], op[A], op[B], op[FIRST], op[COUNT]
                _product(w, op, d, a, b, groups, first, count, maximize, counter, cancel)
            end(w, bits, op, groups, exponents, flags, spans)
    return True


@kernel(borrows=True)
def _execute_loops(
    w: Any,
    bits: Any,
    ops: Any,
    groups: Any,
    dirty: Any,
    exponents: Any,
    flags: Any,
    spans: Any,
    maximize: Any,
    cancel: Any,
    counter: Any,
) -> None:
    """The same as loops over the tensors as they are, and soon: most programs have no other instructions."""
    for r in range(ops.shape[0]):
        op = ops[r]
        due = begin(bits, op, groups, dirty, exponents, flags, spans)
        if due == TOO_WIDE:
            return
        if due == DUE:
            _product(w, op, op[DST], op[A], op[B], groups, op[FIRST], op[COUNT], maximize, counter, cancel)
            end(w, bits, op, groups, exponents, flags, spans)


@kernel(inline=True, inner=True)
def begin(bits: Any, op: Any, groups: Any, dirty: Any, exponents: Any, flags: Any, spans: Any) -> int:
    """Whether an instruction is due because an operand has changed; or whether its range is too wide, which is flagged.

    The exponent of its result is then that of the product.
    """
    if dirty[op[TENSOR_A]] == 0 and dirty[op[TENSOR_B]] == 0 and op[ALWAYS] == 0:
        dirty[op[TENSOR_D]] = 0
        return UNCHANGED
    dirty[op[TENSOR_D]] = 1
    if len(spans) > 0 and not _fits(bits, op, groups, spans):
        flags[0] = 1
        return TOO_WIDE
    exponents[op[TENSOR_D]] = exponents[op[TENSOR_A]] + exponents[op[TENSOR_B]]
    return DUE


@kernel(inline=True, inner=True)
def end(w: Any, bits: Any, op: Any, groups: Any, exponents: Any, flags: Any, spans: Any) -> None:
    """Bound the range of a result by those of its operands, or look at it and rescale the result if it has drifted."""
    if op[SIZE] <= LOOKED_AT or len(spans) == 0 or not is_bounded(bits, op, groups, spans, BOUND, RANGE):
        _rescale(w, bits, op[DST], op[SIZE], exponents, op[TENSOR_D], flags, spans)


@kernel(borrows=True)
def _log_total(w: Any, exponents: Any, roots: Any) -> float:
    """The logarithm of the product of the roots' sums."""
    total = 0.0
    for i in range(roots.shape[0]):
        mass = 0.0
        for k in range(roots[i, 1], roots[i, 1] + roots[i, 2]):
            mass += w[k]
        total += np.log(mass) + exponents[roots[i, 0]] * np.log(2.0)
    return float(total)


def step_products(ops: Any, groups: Any) -> Any:
    """The products of each instruction: the passes of its innermost loops."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(groups[:, SIZE_OF]))])
    return np.exp(logs[ops[:, FIRST] + ops[:, COUNT]] - logs[ops[:, FIRST]])


def scratch_room(ops: Any) -> Any:
    """The floats that each instruction packs."""
    rooms, is_packed = ((COUNT_A, ROOM_A), (COUNT_B, ROOM_B), (COUNT_D, SIZE)), ops[:, KIND] == PACKED
    return sum(np.where(is_packed & (ops[:, count] > 0), ops[:, room], 0) for count, room in rooms)


def products(ops: Any, groups: Any) -> float:
    """The products of all instructions."""
    return float(step_products(ops, groups).sum())


def _run_work(w: Any, store: Any, *others: Any) -> float:
    ops, groups = others[6:8]
    return float(w.size + 20 * len(ops) + products(ops, groups))


@kernel(work=_run_work)
def run(
    w: Any,
    store: Any,
    rows: Any,
    copies: Any,
    fixed: Any,
    codes: Any,
    old: Any,
    dirty: Any,
    ops: Any,
    groups: Any,
    exponents: Any,
    flags: Any,
    spans: Any,
    maximize: Any,
    cancel: Any,
    roots: Any,
    reads: Any,
    out: Any,
) -> float:
    """Copy factors, run the instructions in order, and read the marginals; the logarithm of the total.

    Only what depends on changed findings is copied and computed: a workspace keeps the results of its last run.
    `flags[0]` is set if a range is too wide for linear arithmetic, `flags[1]` if the run was canceled, and `flags[2]`
    if a range is wider than RANGE.

    Args:
        rows, copies, fixed: how each factor is copied, its groups, and the strides of the findings `codes`.
        old: the codes of the last run.
        dirty: by tensor, 1 for inputs to be copied or changed; afterward, for all changed tensors.
        spans: by tensor the exponents of its smallest positive and of its largest entry; empty if every tensor is read,
            and a range of more bits than RANGE is too wide.
        roots: the tensors (number, place, size) whose sums have the total as their product.
        reads: source in the workspace, target in `out`, and size; the source of finding i is -1 - i.
    """
    counter = np.zeros(64, np.int64)
    _gather(w, store, rows, copies, fixed, codes, old, dirty, counter, spans)
    if not _execute(w, w.view(np.int64), ops, groups, dirty, exponents, flags, spans, maximize, cancel, counter):
        flags[1] = 1
        return 0.0
    _read(w, reads, codes, out, flags)
    return _log_total(w, exponents, roots)


@kernel(holds=True, work=_run_work)
def run_briefly(
    w: Any,
    store: Any,
    rows: Any,
    copies: Any,
    fixed: Any,
    codes: Any,
    old: Any,
    dirty: Any,
    ops: Any,
    groups: Any,
    exponents: Any,
    flags: Any,
    spans: Any,
    maximize: Any,
    cancel: Any,
    roots: Any,
    reads: Any,
    out: Any,
) -> float:
    """The same for a short program of loops alone, while other Python threads wait."""
    counter = np.zeros(64, np.int64)
    _gather(w, store, rows, copies, fixed, codes, old, dirty, counter, spans)
    _execute_loops(w, w.view(np.int64), ops, groups, dirty, exponents, flags, spans, maximize, cancel, counter)
    _read(w, reads, codes, out, flags)
    return _log_total(w, exponents, roots)


@kernel(inner=True)
def run_once(
    store: Any,
    exponents: Any,
    numbers: Any,
    weights: Any,
    num_touched: Any,
    rows: Any,
    copies: Any,
    fixed: Any,
    codes: Any,
    ops: Any,
    groups: Any,
    offsets: Any,
    sizes: Any,
    num_inputs: Any,
    size: Any,
    roots: Any,
    reads: Any,
    out: Any,
    cancel: Any,
) -> tuple[float, bool]:
    """Run a program, all of it as loops, in a workspace that is not kept; the logarithm of the total, and whether a
    range was too wide.

    Args:
        exponents: the power of two of each factor of the store.
        numbers: the numbers of the factors used.
        weights: the likelihoods, which are the inputs after the factors, one after the other.
        offsets, sizes: of all tensors.
        size: the floats of a workspace.
    """
    num, first, at = len(offsets), 1 + len(numbers), 0
    w, counter, flags = np.empty(size), np.zeros(64, np.int64), np.zeros(3, np.int64)
    powers, spans, dirty = np.zeros(num, np.int64), np.zeros((num, 2), np.int64), np.ones(num, np.uint8)
    w[0] = 1.0
    for i in range(len(numbers)):
        powers[i + 1] = exponents[numbers[i]]
    for t in range(first, num_inputs + 1):
        if t < first + num_touched:
            spans[t, 0], spans[t, 1] = LEAST_INPUT, MOST_INPUT
        for k in range(offsets[t], offsets[t] + int(sizes[t])):
            w[k] = 1.0
            if t < first + num_touched:
                w[k] = weights[at]
                at += 1
    _gather(w, store, rows, copies, fixed, codes, codes, dirty, counter, spans)
    _execute_loops(w, w.view(np.int64), ops, groups, dirty, powers, flags, spans, False, cancel, counter)
    _read(w, reads, codes, out, flags)
    return _log_total(w, powers, roots), flags[0] != 0
